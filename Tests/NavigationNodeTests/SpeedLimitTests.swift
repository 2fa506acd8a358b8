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
import NavTestSupport
import NavWire
import NavigationNode
import Testing

/// The published speed limit applies to this vehicle at this time.
struct SpeedLimitTests {
    private static let street = Result {
        try ASCIIMap(
            "A-----B-----C-----D",
            ways: [
                "AB": [
                    "highway": "secondary", "maxspeed": "80", "maxspeed:conditional": "60 @ (22:00-06:00)",
                ],
                "BC": ["highway": "secondary", "maxspeed": "80", "maxspeed:hgv": "60"],
                "CD": ["highway": "secondary"],
            ])
    }

    /// The publications about one road.
    private struct Limit: Equatable, CustomStringConvertible {
        var kmh: Int?
        var source: LimitSource?

        init(_ kmh: Int?, _ source: LimitSource?) { (self.kmh, self.source) = (kmh, source) }

        init(mps speed: Double?, _ source: LimitSource?) {
            self.init(speed.map { Int(($0 * 3.6).rounded()) }, source)
        }

        var description: String { "\(kmh.map(String.init) ?? "-") \(source.map { "\($0)" } ?? "-")" }
    }

    /// The positions, progress and route annotations on each of the three roads.
    private static func drive(at hour: Int64, _ keys: [String]) throws -> (
        position: [Limit], progress: [Limit], spans: [Limit]
    ) {
        let map = try street.get()
        let configuration = try ConfigLoader.load(
            NavigationConfiguration.self, file: nil, overrides: ["destination=\(try map.coordinate("D").text)"] + keys)
        let snapshot = MapSnapshot(graph: map.graph, model: CostModel(profile: configuration.profile))
        let session = NavigationSession(map: snapshot, configuration: configuration, nodeName: "test")
        let planner = RoutePlanner()
        let start = NavGeo.Timestamp(nanoseconds: (1_767_571_200 + hour * 3_600) * 1_000_000_000)
        var messages: [OutgoingMessage] = []
        for second in 0..<85 {
            let metres = 20 + Double(second) * 20
            let ends: (Character, Character) = metres < 600 ? ("A", "B") : metres < 1_200 ? ("B", "C") : ("C", "D")
            let fix = GnssFix(
                Fix(
                    stamp: start.advanced(bySeconds: Double(second)),
                    coordinate: try map.position(
                        between: ends.0, ends.1, at: metres.truncatingRemainder(dividingBy: 600) / 600),
                    horizontalSigma: 4, speed: 20, course: .pi / 2, type: .fix3D))
            var outcomes = [session.handle(fix, sequence: UInt64(second + 1))]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                messages += outcome.messages
                outcomes += outcome.queries.map { session.handle(planner.answer($0, on: snapshot), to: $0) }
            }
        }
        let ways: [Int64] = [1_000, 1_001, 1_002]
        let positions = messages.compactMap { $0.message as? NavMessages.MatchedPosition }
        let progress = messages.compactMap { $0.message as? NavMessages.RouteProgress }
        func seen(_ way: Int64, _ limit: (NavMessages.MatchedPosition) -> Limit?) -> Limit? {
            // Near the nodes two roads are close.
            positions.filter { $0.road?.wayId == way && (100...500).contains($0.road?.edgeOffsetM ?? 0) }
                .compactMap(limit).first
        }
        let route = try #require(
            messages.compactMap { $0.message as? NavMessages.Route }.first { $0.geometry != nil })
        return (
            try ways.map { way in
                try #require(seen(way) { Limit(mps: $0.speedLimitMps, $0.limitSource) }, "way \(way)")
            },
            try ways.map { way in
                try #require(
                    seen(way) { position in
                        progress.first { $0.stampNs == position.stampNs }.map {
                            Limit(mps: $0.speedLimitMps, $0.limitSource)
                        }
                    }, "way \(way)")
            },
            route.legs.flatMap { $0.annotation?.speedLimits ?? [] }.map {
                Limit(mps: $0.limitMps.map(Double.init), $0.source)
            }
        )
    }

    @Test("a night-time limit is published at night")
    func conditional() throws {
        let night = try Self.drive(at: 2, ["utc_offset_min=0"])
        let wanted = [Limit(60, .signed), Limit(80, .signed), Limit(nil, .unknown)]
        #expect(night.position == wanted && night.progress == wanted)
        #expect(night.spans == [Limit(60, .signed), Limit(80, .signed)])
        let day = try Self.drive(at: 12, ["utc_offset_min=0"])
        #expect(day.position.first == Limit(80, .signed) && day.progress.first == Limit(80, .signed))
        // Local time decides, not UTC.
        let east = try Self.drive(at: 20, ["utc_offset_min=180"])
        #expect(east.position.first == Limit(60, .signed))
    }

    @Test("a limit that depends on an unknown hour is unknown")
    func unknownHour() throws {
        let drive = try Self.drive(at: 12, [])
        #expect(drive.position == [Limit(nil, .unknown), Limit(80, .signed), Limit(nil, .unknown)])
        #expect(drive.progress == drive.position)
    }

    @Test("a truck gets the limit for trucks")
    func truck() throws {
        let truck = try Self.drive(at: 12, ["utc_offset_min=0", "vehicle.kind=truck"])
        let wanted = [Limit(80, .signed), Limit(60, .signed), Limit(nil, .unknown)]
        #expect(truck.position == wanted && truck.progress == wanted)
        #expect(truck.spans == [Limit(80, .signed), Limit(60, .signed)])
        let night = try Self.drive(at: 2, ["utc_offset_min=0", "vehicle.kind=truck"])
        #expect(night.position.prefix(2) == [Limit(60, .signed), Limit(60, .signed)])
    }
}
