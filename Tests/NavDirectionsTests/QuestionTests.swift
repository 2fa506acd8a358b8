import Foundation
import NavDirections
import NavGeo
import NavMap
import NavRouting
import NavTestKit
import Testing

/// The exact requests sent to providers.
struct QuestionTests {
    private let from = Coordinate(latitude: 41.15, longitude: -8.61)
    private let to = Coordinate(latitude: 41.16, longitude: -8.59)

    private func configuration(_ dialect: DirectionsConfiguration.Dialect) -> DirectionsConfiguration {
        var configuration = DirectionsConfiguration()
        configuration.url = "https://directions.example/"
        configuration.dialect = dialect
        return configuration
    }

    /// Returns the path, and the query as keys and values.
    private func parts(_ question: DirectionsRequest) throws -> (path: String, query: [String: String]) {
        let parts = try #require(URLComponents(string: question.url))
        let items = (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        return (parts.path, Dictionary(items, uniquingKeysWith: { first, _ in first }))
    }

    @Test func osrmRequestUsesOnlyOSRMOptions() throws {
        let question = try DirectionsRequest(
            RouteRequest(waypoints: [Waypoint(from), Waypoint(to)]), vehicle: VehicleProfile(), configuration(.osrm),
            token: nil)
        #expect(
            question.url
                == "https://directions.example/route/v1/driving/-8.610000,41.150000;-8.590000,41.160000?overview=full"
                + "&geometries=polyline6&steps=false&radiuses=500;500&annotations=distance,duration,speed,nodes"
                + "&generate_hints=false")
        #expect(question.body == nil && question.bearer == nil)
    }

    @Test func bearingsSidesSilentPointsAndAvoidancesAreSent() throws {
        var request = RouteRequest(
            waypoints: [
                Waypoint(from, bearing: .pi / 2, bearingTolerance: .pi / 4), Waypoint(from, isStop: false),
                Waypoint(to, approach: .kerb),
            ], snapRadius: 50, positionSnapRadius: 15)
        request.options.waypointTurns = .never
        var options = configuration(.osrm)
        options.alternatives = 2
        let question = try DirectionsRequest(
            request, vehicle: VehicleProfile(avoid: [.tolls, .unpaved]), options, token: AccessToken("secret"))
        let (path, query) = try parts(question)
        #expect(path.split(separator: ";").count == 3)
        #expect(query["bearings"] == "90,45;;")
        #expect(query["radiuses"] == "15;50;50")
        #expect(query["approaches"] == "unrestricted;unrestricted;curb")
        #expect(query["waypoints"] == "0;2")
        #expect(query["exclude"] == "toll", "OSRM's car profile does not support unpaved")
        #expect(query["alternatives"] == "2" && query["continue_straight"] == "true")
        #expect(question.bearer == "secret" && !question.url.contains("secret"))
    }

    @Test func mapboxRequestHasTrafficAndNoTexts() throws {
        var request = RouteRequest(waypoints: [Waypoint(from), Waypoint(to)])
        request.options.initialManeuverAvoidance = 160
        request.options.departure = LocalTime(year: 2_026, month: 3, day: 9, hour: 8, minute: 5)
        var options = configuration(.mapbox)
        options.alternatives = 1
        options.language = "de"
        options.sendsDeparture = true
        let question = try DirectionsRequest(
            request, vehicle: VehicleProfile(avoid: [.ferries, .unpaved], height: 3.5), options,
            token: AccessToken("pk.a+b&c"))
        let (path, query) = try parts(question)
        #expect(path.hasPrefix("/directions/v5/mapbox/driving-traffic/-8.610000,41.150000;"))
        #expect(query["annotations"] == "distance,duration,speed,congestion")
        #expect(query["voice_instructions"] == "false" && query["banner_instructions"] == "false")
        #expect(query["avoid_maneuver_radius"] == "160")
        #expect(query["exclude"] == "ferry,unpaved" && query["max_height"] == "3.5" && query["max_width"] == nil)
        #expect(query["depart_at"] == "2026-03-09T08:05" && query["language"] == "de")
        #expect(query["alternatives"] == "true")
        #expect(query["access_token"] == "pk.a+b&c" && question.bearer == nil)
    }

    @Test func valhallaRequestIsJSON() throws {
        var request = RouteRequest(
            waypoints: [
                Waypoint(from, bearing: .pi, bearingTolerance: .pi / 6), Waypoint(to, isStop: false), Waypoint(to),
            ])
        request.options.excludedAreas = [
            ExcludedArea(corners: [from, to, Coordinate(latitude: 41.2, longitude: -8.6)])
        ]
        request.options.departure = LocalTime(year: 2_026, month: 11, day: 1, hour: 23)
        var options = configuration(.valhalla)
        options.alternatives = 1
        options.sendsDeparture = true
        let vehicle = VehicleProfile(kind: .truck, avoid: [.tolls, .motorways], carriesDangerousGoods: true)
        let question = try DirectionsRequest(request, vehicle: vehicle, options, token: nil)
        #expect(question.url == "https://directions.example/route")
        let body = try #require(question.body)
        let document = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        #expect(document["format"] as? String == "osrm" && document["shape_format"] as? String == "polyline6")
        #expect(document["costing"] as? String == "truck" && document["alternates"] as? Int == 1)
        #expect(document["directions_type"] as? String == "none")
        let costing = try #require((document["costing_options"] as? [String: Any])?["truck"] as? [String: Any])
        #expect(costing["height"] as? Double == 4 && costing["axle_load"] as? Double == 11.5)
        #expect(costing["hazmat"] as? Bool == true && costing["top_speed"] as? Int == 80)
        #expect(costing["use_tolls"] as? Int == 0 && costing["use_highways"] as? Int == 0)
        let locations = try #require(document["locations"] as? [[String: Any]])
        #expect(locations.compactMap { $0["type"] as? String } == ["break", "through", "break"])
        #expect(locations[0]["heading"] as? Int == 180 && locations[0]["heading_tolerance"] as? Int == 30)
        #expect(locations[1]["heading"] == nil && locations[1]["lon"] as? Double == -8.59)
        #expect((document["exclude_polygons"] as? [[[Double]]])?.first?.first == [-8.61, 41.15])
        #expect((document["date_time"] as? [String: Any])?["value"] as? String == "2026-11-01T23:00")
    }

    @Test(arguments: DirectionsConfiguration.Dialect.allCases)
    func nonFiniteNumbersAreRejectedOrOmitted(dialect: DirectionsConfiguration.Dialect) throws {
        var vehicle = VehicleProfile(kind: .truck)
        vehicle.height = .nan
        vehicle.weight = .infinity
        vehicle.maximumSpeed = .nan
        var options = configuration(dialect)
        options.sendsDeparture = true
        var request = RouteRequest(waypoints: [
            Waypoint(from, bearing: -1e9, bearingTolerance: .infinity), Waypoint(to),
        ])
        request.options.departure = LocalTime(localSeconds: .max)
        let question = try DirectionsRequest(request, vehicle: vehicle, options, token: nil)
        for text in [question.url, question.body ?? ""] {
            #expect(!text.contains("nan") && !text.contains("inf,") && !text.contains("depart_at"))
        }
        for broken in [
            RouteRequest(waypoints: [Waypoint(from)]),
            RouteRequest(waypoints: [Waypoint(from), Waypoint(Coordinate(latitude: .nan, longitude: 0))]),
            RouteRequest(waypoints: [Waypoint(from, bearing: .nan), Waypoint(to)]),
            RouteRequest(waypoints: [Waypoint(from), Waypoint(to)], snapRadius: .infinity),
        ] {
            let error = #expect(throws: DirectionsError.self) {
                try DirectionsRequest(broken, vehicle: VehicleProfile(), options, token: nil)
            }
            #expect(error?.code == .invalidInput)
        }
    }

    @Test func tokenIsReadFromFileOrEnvironmentAndNeverPrinted() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("token", "  pk.secret\n".utf8)
        let environment = ["NAVBUS_DIRECTIONS_TOKEN": "other"]
        #expect(try AccessToken.read(file: file, environment: environment) == AccessToken("pk.secret"))
        #expect(try AccessToken.read(file: "", environment: environment) == AccessToken("other"))
        #expect(try AccessToken.read(file: "", environment: [:]) == nil)
        #expect(
            "\(try AccessToken("pk.secret"))\(String(reflecting: try AccessToken("pk.secret")))".contains("pk.")
                == false)
        for text in ["", " \n", "a b", "a\r\nX-Header: b", "ä", String(repeating: "x", count: 5_000)] {
            try folder.write("token", text.utf8)
            #expect(throws: DirectionsError.self) { try AccessToken.read(file: file, environment: [:]) }
        }
        #expect(throws: DirectionsError.self) { try AccessToken.read(file: "/nowhere", environment: [:]) }
    }
}
