import NavGeo
import NavMap
import NavRouting
import NavTestSupport
import Testing

private let road = ["highway": "residential"]

@Suite("Road properties of a route")
struct RouteResultTests {
    @Test("tolls for cars and trucks are reported with the booths passed")
    func tolls() throws {
        let map = try ASCIIMap(
            "A---B---C---D---E",
            ways: [
                "AB": road, "BC": ["highway": "motorway", "toll": "yes"],
                "CD": ["highway": "motorway", "toll:hgv": "yes"],
                "DE": road,
            ], nodes: ["C": ["barrier": "toll_booth"]])
        let route = try map.route("AE".map { Waypoint(try map.coordinate($0)) })
        let summary = RouteSummary(route, for: VehicleProfile())
        #expect(abs(summary.tollLength - 400) < 1)
        #expect(abs(summary.truckTollLength - 400) < 1 || abs(summary.truckTollLength - 800) < 1)
        #expect(summary.tollBooths == 1)
        #expect(abs(summary.motorwayLength - 800) < 1)
        let before = try map.route([
            Waypoint(try map.coordinate("A")), Waypoint(try map.position(between: "B", "C")),
        ])
        #expect(RouteSummary(before, for: VehicleProfile()).tollBooths == 0)
    }

    @Test("only limits close to the vehicle's dimensions are reported")
    func restrictions() throws {
        let map = try ASCIIMap(
            "A---B---C---D---E",
            ways: [
                "AB": road, "BC": ["highway": "residential", "maxheight": "4.2"],
                "CD": ["highway": "residential", "maxheight": "5"],
                "DE": ["highway": "residential", "maxweight": "40"],
            ])
        let lorry = VehicleProfile(kind: .truck)
        let route = try map.route("AE".map { Waypoint(try map.coordinate($0)) }, lorry)
        let told = RouteSummary(route, for: lorry).restrictions
        #expect(told.map(\.kind) == [.height, .weight])
        #expect(told.map(\.limit) == [4.2, 40] && told.map(\.own) == [4, 40])
        #expect(abs(told[0].routeOffset - 400) < 1 && abs(told[0].distance - 400) < 1)
        #expect(RouteSummary(route, for: VehicleProfile()).restrictions.isEmpty)
    }

    @Test("a ferry of several edges is one passage")
    func ferries() throws {
        let map = try ASCIIMap(
            "A---B------C------D---E",
            ways: [
                "AB": road, "BCD": ["route": "ferry", "name": "River Ferry", "duration": "00:10"], "DE": road,
            ])
        let route = try map.route("AE".map { Waypoint(try map.coordinate($0)) })
        let ferries = RouteSummary(route, for: VehicleProfile()).ferries
        #expect(ferries.map(\.name) == ["River Ferry"])
        #expect(abs((ferries.first?.length ?? 0) - 1_400) < 2 && (ferries.first?.duration ?? 0) >= 600)
    }

    @Test("without traffic data the delay is unknown and durations are free-flow")
    func noTraffic() throws {
        let map = try ASCIIMap("A---B---C", ways: ["AB": road, "BC": road])
        let route = try map.route("AC".map { Waypoint(try map.coordinate($0)) })
        #expect(route.trafficDelay == nil && route.freeFlowDuration == route.duration)
        #expect(route.edges.allSatisfy { $0.congestion == .unknown && $0.speed > 0 })
    }

    @Test(
        "congestion follows the ratio of current to free-flow speed",
        arguments: [(100.0, Congestion.low), (124, .low), (126, .moderate), (170, .heavy), (260, .severe)])
    func congestion(duration: Double, level: Congestion) {
        #expect(Congestion(duration: duration, freeFlow: 100) == level)
        #expect(Congestion(duration: 0, freeFlow: 0) != .unknown)
    }

    @Test("the driving side is that of the country")
    func drivingSide() throws {
        let ways: KeyValuePairs<String, [String: String]> = ["AB": road]
        for left in [false, true] {
            let map = try ASCIIMap("A---B", ways: ways, leftHandTraffic: left)
            let route = try map.route("AB".map { Waypoint(try map.coordinate($0)) })
            let summary = RouteSummary(route, for: VehicleProfile())
            #expect(summary.startsOnLeft == left)
        }
    }

    @Test("countries are listed in travel order with border crossings and driving sides")
    func countries() throws {
        let map = try ASCIIMap(
            "A---B---C---D---E",
            ways: [
                "AB": ["highway": "residential", "maxspeed:type": "GB:urban"],
                "BC": ["highway": "residential", "maxspeed:type": "GB:urban"],
                "CD": ["highway": "residential", "maxspeed:type": "FR:urban"],
                "DE": ["highway": "residential", "maxspeed:type": "GB:urban"],
            ])
        let summary = RouteSummary(try map.route("AE".map { Waypoint(try map.coordinate($0)) }))
        #expect(summary.countries.map(\.country) == ["GB", "FR", "GB"])
        for (passage, expected) in zip(summary.countries, [(0.0, 800.0), (800, 400), (1_200, 400)]) {
            #expect(abs(passage.routeOffset - expected.0) < 1 && abs(passage.length - expected.1) < 1)
        }
        let unknown = try ASCIIMap("A---B", ways: ["AB": road])
        let there = RouteSummary(try unknown.route("AB".map { Waypoint(try unknown.coordinate($0)) }))
        #expect(there.countries.map(\.country) == [""] && there.countries.map(\.drivesOnLeft) == [false])
    }

    @Test("access rules and limits are reported with their ways")
    func rules() throws {
        let map = try ASCIIMap(
            "A---B---C---D---E",
            ways: [
                "AB": ["highway": "residential", "access": "private"],
                "BC": ["highway": "residential", "maxwidth": "2.6"],
                "CD": ["highway": "residential", "motor_vehicle:conditional": "no @ (22:00-05:00)"],
                "DE": ["highway": "residential", "motor_vehicle": "destination"],
            ])
        let lorry = VehicleProfile(kind: .truck)
        let route = try map.route("AE".map { Waypoint(try map.coordinate($0)) }, lorry)
        let told = RouteSummary(route).restrictions
        #expect(route.vehicle == lorry)
        #expect(told.map(\.kind) == [.privateGround, .width, .timeDependent, .destinationOnly])
        #expect(told.map(\.limit) == [nil, 2.6, nil, nil] && told.map(\.own) == [nil, 2.55, nil, nil])
        #expect(told.map(\.wayID) == route.edges.map(\.wayID))
        // A car without a width here, but with the same rules.
        #expect(RouteSummary(route, for: VehicleProfile()).restrictions.count == 3)
    }

    @Test("a route never uses a road whose limit the vehicle exceeds")
    func exceeded() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            |       |
            D-------E
            """, ways: ["AB": road, "BC": ["highway": "residential", "maxheight": "3.5"], "ADEC": road])
        let lorry = VehicleProfile(kind: .truck)
        let route = try map.route("AC".map { Waypoint(try map.coordinate($0)) }, lorry)
        #expect(route.length > 1_000 && RouteSummary(route).restrictions.isEmpty)
    }

    @Test("the toll total includes roads where any vehicle pays")
    func anyToll() throws {
        let map = try ASCIIMap(
            "A---B---C---D",
            ways: [
                "AB": ["highway": "motorway", "toll:hgv": "yes", "toll:motorcar": "no"],
                "BC": ["highway": "motorway", "toll": "yes"], "CD": ["highway": "motorway", "toll:motorcar": "yes"],
            ])
        let summary = RouteSummary(try map.route("AD".map { Waypoint(try map.coordinate($0)) }))
        #expect(abs(summary.anyTollLength - 1_200) < 1)
        #expect(abs(summary.tollLength - 800) < 1 && abs(summary.truckTollLength - 800) < 1)
    }

    @Test("with traffic each edge has both durations, and the delay is their difference")
    func traffic() throws {
        let map = try ASCIIMap("A---B---C", ways: ["AB": ["highway": "primary"], "BC": ["highway": "primary"]])
        let router = Router(graph: map.graph).live(TrafficTests.overlay(TrafficTests.speed("BC", "B", "C", 2)))
        let route = try #require(try TrafficTests.route(map, router, "AC"))
        #expect(route.edges.map(\.congestion) == [.unknown, .severe])
        #expect(abs(route.edges[1].duration - 200) < 1 && route.edges[1].freeFlowDuration < 40)
        #expect(route.trafficDelay == route.duration - route.freeFlowDuration)
        #expect(route.legs[0].freeFlowDuration < route.legs[0].duration)
        #expect(abs(route.edges[1].speed - 2) < 0.05)
    }
    @Test("a road closed by traffic is reported as closed, but not one with almost no speed")
    func closedByTraffic() throws {
        let map = try ASCIIMap("A---B---C", ways: ["AB": ["highway": "primary"], "BC": ["highway": "primary"]])
        let router = Router(graph: map.graph)
        let route = try #require(try TrafficTests.route(map, router, "AC"))
        let closed = router.live(TrafficTests.overlay(TrafficTests.speed("BC", "B", "C", 0)))
        let priced = try #require(RoutePricing(closed).repriced(route)).route
        #expect(priced.edges.map(\.congestion) == [.unknown, .closed])
        let slow = router.live(TrafficTests.overlay(TrafficTests.speed("BC", "B", "C", 1e-300)))
        #expect(try TrafficTests.route(map, slow, "AC")?.edges.map(\.congestion) == [.unknown, .severe])
    }
}
