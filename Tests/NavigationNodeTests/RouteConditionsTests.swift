import GNSSNode
import NavBag
import NavConfig
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestKit
import NavTestSystem
import NavTestSupport
import NavWire
import NavigationNode
import Testing

private let road = ["highway": "residential"]

/// Routes for the hour and the vehicle of the configuration.
struct RouteConditionsTests {
    /// From A to G the shortest way is BC, which is closed at night and to vehicles above 12 t; at B the turn to D is
    /// forbidden in the morning. From A to F, DF is a shortcut that is open only by day.
    private static let town = Result {
        try ASCIIMap(
            """
                D---F
                |   |
            A---B---C---G
                |   |
                E---H
            """,
            ways: [
                "AB": road,
                "BC": [
                    "highway": "residential", "motor_vehicle:conditional": "no @ (22:00-06:00)", "maxweight": "12",
                ],
                "CG": road, "BD": road, "FC": road, "BE": road, "EH": road, "HC": road,
                "DF": ["highway": "residential", "access": "no", "access:conditional": "yes @ (06:00-20:00)"],
            ],
            restrictions: [
                ASCIIMap.Restriction(
                    "", from: "AB", via: "B", to: "BD",
                    tags: ["restriction:conditional": "no_left_turn @ (07:00-09:00)"])
            ])
    }

    /// Returns an hour of Monday, 2026-01-05, UTC.
    private static func monday(_ hour: Int64) -> NavGeo.Timestamp {
        NavGeo.Timestamp(nanoseconds: (1_767_571_200 + hour * 3_600) * 1_000_000_000)
    }

    /// Returns ten seconds of driving from A towards B.
    private static func drive(_ map: ASCIIMap, at start: NavGeo.Timestamp) throws -> [GnssFix] {
        try (0..<10).map { second in
            GnssFix(
                Fix(
                    stamp: start.advanced(bySeconds: Double(second)),
                    coordinate: try map.position(between: "A", "B", at: 0.1 + Double(second) * 0.025),
                    horizontalSigma: 4, speed: 10, course: .pi / 2, type: .fix3D))
        }
    }

    private static func configuration(_ map: ASCIIMap, to place: Character, _ keys: [String]) throws
        -> NavigationConfiguration
    {
        try ConfigLoader.load(
            NavigationConfiguration.self, file: nil,
            overrides: ["destination=\(try map.coordinate(place).text)"] + keys)
    }

    /// Returns the output of a replay of the drive.
    private static func replay(
        to place: Character, at start: NavGeo.Timestamp, _ keys: [String], traffic: TrafficSpeeds? = nil
    ) throws -> [RecordedMessage] {
        let map = try town.get()
        let configuration = try configuration(map, to: place, keys)
        let snapshot = MapSnapshot(graph: map.graph, model: CostModel(profile: configuration.profile))
        return try withTemporaryFolder { folder in
            var input = MessageLog(try BagWriter(path: folder + "/in.mcap", overwrite: true))
            for (index, fix) in try drive(map, at: start).enumerated() {
                let stamp = fix.stampNs ?? 0
                try input.write(fix, topic: "/gnss/fix", logTime: stamp, publishTime: stamp)
                if index == 4, let traffic {
                    try input.write(traffic, topic: "/traffic/speeds", logTime: stamp, publishTime: stamp)
                }
            }
            try input.close()
            let trace = try TraceInput(path: folder + "/in.mcap")
            var log = MessageLog(try BagWriter(path: folder + "/out.mcap", overwrite: true))
            _ = try Replay(map: snapshot, configuration: configuration)
                .run(trace.fixes, others: trace.others, into: &log)
            try log.close()
            return try content(of: folder + "/out.mcap")
        }
    }

    /// Returns the nodes of each route that came into force.
    private static func routes(_ messages: [RecordedMessage]) throws -> [String] {
        try messages.filter { $0.topic == "/nav/route" }.map { try NavMessages.Route(decoding: $0.data) }
            .filter { $0.geometry != nil }
            .map { route in
                var letters = ""
                for id in route.legs.flatMap({ $0.annotation?.nodeIds ?? [] }) {
                    guard let scalar = UInt32(exactly: id).flatMap(Unicode.Scalar.init) else { continue }
                    if letters.last != Character(scalar) { letters.append(Character(scalar)) }
                }
                return letters
            }
    }

    @Test(
        "the route depends on the local time",
        arguments: [
            ("G", 12, "", "ABCG"), ("G", 12, "0", "ABCG"), ("G", 23, "", "ABCG"), ("G", 23, "0", "ABEHCG"),
            ("G", 21, "0", "ABCG"), ("G", 21, "60", "ABEHCG"), ("G", 6, "0", "ABCG"), ("G", 6, "-60", "ABEHCG"),
            ("D", 12, "0", "ABD"), ("D", 8, "0", "ABCFD"), ("D", 8, "", "ABD"), ("D", 6, "60", "ABCFD"),
        ] as [(Character, Int64, String, String)])
    func routeDependsOnLocalTime(place: Character, hour: Int64, offset: String, expected: String) throws {
        let keys = ["utc_offset_min=\(offset)"]
        let messages = try Self.replay(to: place, at: Self.monday(hour), keys)
        #expect(try Self.routes(messages) == [expected])
        #expect(try Self.replay(to: place, at: Self.monday(hour), keys) == messages)
    }

    @Test(
        "a bridge is closed to vehicles above its weight limit",
        arguments: [
            (["vehicle.kind=truck"], false), (["vehicle.weight_t=12", "vehicle.kind=truck"], true),
            (["vehicle.kind=truck", "vehicle.weight_t=12.5"], false), (["vehicle.weight_t=13"], false), ([], true),
        ])
    func weightLimitAppliesToHeavyVehicles(keys: [String], passes: Bool) throws {
        let routes = try Self.routes(try Self.replay(to: "G", at: Self.monday(12), keys))
        #expect(routes.count == 1 && routes.first?.contains("BC") == passes, "\(routes)")
    }

    @Test("traffic elsewhere does not close a road that is open at this hour")
    func trafficDoesNotCloseRoadsOpenAtThisHour() throws {
        let traffic = TrafficSpeeds(speeds: [
            NavMessages.TrafficSpeed(fromNode: ASCIIMap.nodeID("B"), toNode: ASCIIMap.nodeID("C"), speedMps: 0.5),
            NavMessages.TrafficSpeed(fromNode: ASCIIMap.nodeID("C"), toNode: ASCIIMap.nodeID("G"), speedMps: 5),
        ])
        let messages = try Self.replay(to: "F", at: Self.monday(12), ["utc_offset_min=0"], traffic: traffic)
        #expect(messages.contains { $0.topic == "/traffic/speeds" })
        let routes = try Self.routes(messages)
        #expect(routes.count == 1 && ["ABDF", "ABCF"].contains(routes.first), "\(routes)")
        #expect(!messages.contains { $0.topic == "/nav/reroute" })
    }

    @Test("a combination of conditions is customised once per map")
    func conditionsAreCustomisedOncePerMap() throws {
        let map = try Self.town.get()
        let snapshot = MapSnapshot(graph: map.graph)
        let planner = RoutePlanner()
        func ask(_ hour: Int64, on snapshot: MapSnapshot) throws -> [EdgeKey] {
            let configuration = try Self.configuration(map, to: "G", ["utc_offset_min=0"])
            let session = NavigationSession(map: snapshot, configuration: configuration, nodeName: "test")
            let fix = try #require(try Self.drive(map, at: Self.monday(hour)).first)
            let query = try #require(session.handle(fix, sequence: 1).queries.first)
            #expect(query.request.options.departure == configuration.departure(at: Self.monday(hour)))
            guard case .found(let found) = planner.answer(query, on: snapshot) else { return [] }
            return found.main.route.edges.map(\.key)
        }
        let day = try ask(13, on: snapshot)
        let count = planner.cachedCount
        let night = try ask(23, on: snapshot)
        #expect(day != night && planner.cachedCount == count + 1)
        #expect(try ask(3, on: snapshot) == night && planner.cachedCount == count + 1)
        #expect(try ask(14, on: snapshot) == day && planner.cachedCount == count + 1)

        let store = MapStore(snapshot)
        var update = TrafficUpdate(NavMessages.TrafficSpeeds(replacesAll: true))
        update.speeds.append(
            NavRouting.TrafficSpeed(
                fromNodeID: ASCIIMap.nodeID("B"), toNodeID: ASCIIMap.nodeID("E"), speed: 0))
        #expect(store.update([update], at: Self.monday(0)).isChanged)
        planner.adopt(snapshot)
        #expect(planner.cachedCount == count + 1)
        planner.adopt(store.current)
        #expect(planner.cachedCount == 0)
        #expect(try ask(23, on: store.current) != night)
    }

    @Test("a refusal of speeds states their range")
    func refusedSpeedsAreExplained() throws {
        let map = try Self.town.get()
        let store = MapStore(MapSnapshot(graph: map.graph))
        let (from, to) = (ASCIIMap.nodeID("B"), ASCIIMap.nodeID("E"))
        func refusal(_ speeds: [Double]) -> String? {
            let speeds = speeds.map { NavMessages.TrafficSpeed(fromNode: from, toNode: to, speedMps: $0) }
            return store.update([TrafficUpdate(TrafficSpeeds(speeds: speeds))], at: Self.monday(0)).refusal
        }
        #expect(refusal([100]) == nil)
        let text = try #require(refusal([100.1, .nan, -1, 20]))
        #expect(text.hasPrefix("3 speeds on /traffic/speeds were ignored") && text.contains("at most 100;"), "\(text)")
    }
}
