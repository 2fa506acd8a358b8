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

/// The published speed limit, which must apply to the vehicle at the time.
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

    /// Streets without signs in Finland, where 50 km/h is the general limit within towns.
    private static let village = Result {
        let tags = ["highway": "residential", "addr:country": "FI"]
        return try ASCIIMap("A-----B-----C-----D", ways: ["AB": tags, "BC": tags, "CD": tags])
    }

    /// The published limit of one road.
    private struct Limit: Equatable, CustomStringConvertible {
        var kmh: Int?
        var source: LimitSource?

        init(_ kmh: Int?, _ source: LimitSource?) { (self.kmh, self.source) = (kmh, source) }

        init(mps speed: Double?, _ source: LimitSource?) {
            self.init(speed.map { Int(($0 * 3.6).rounded()) }, source)
        }

        var description: String { "\(kmh.map(String.init) ?? "-") \(source.map { "\($0)" } ?? "-")" }
    }

    /// 2026-01-05 00:00 UTC, seconds since 1970.
    private static let midnight: Int64 = 1_767_571_200

    /// Returns the publications of a session for a vehicle that drives eastwards; `vehicle` returns its place and speed
    /// for each second.
    private static func run(
        _ map: ASCIIMap, from start: NavGeo.Timestamp, _ keys: [String],
        _ vehicle: (Int) throws -> (place: NavGeo.Coordinate, speed: Double)?
    ) throws -> [OutgoingMessage] {
        let configuration = try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: keys)
        let snapshot = MapSnapshot(graph: map.graph, model: CostModel(profile: configuration.profile))
        let session = NavigationSession(map: snapshot, configuration: configuration, nodeName: "test")
        let planner = RoutePlanner()
        var messages: [OutgoingMessage] = []
        var second = 0
        while let (place, speed) = try vehicle(second) {
            let fix = GnssFix(
                Fix(
                    stamp: start.advanced(bySeconds: Double(second)), coordinate: place, horizontalSigma: 4,
                    speed: speed, course: .pi / 2, type: .fix3D))
            second += 1
            var outcomes = [session.handle(fix, sequence: UInt64(second))]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                messages += outcome.messages
                outcomes += outcome.queries.map { session.handle(planner.answer($0, on: snapshot), to: $0) }
            }
        }
        return messages
    }

    /// Returns the positions, progress and route annotations on each of the three roads.
    private static func drive(
        at hour: Int64, _ keys: [String], on road: Result<ASCIIMap, any Error> = street
    ) throws -> (position: [Limit], progress: [Limit], spans: [Limit]) {
        let map = try road.get()
        let start = NavGeo.Timestamp(nanoseconds: (midnight + hour * 3_600) * 1_000_000_000)
        let messages = try run(map, from: start, ["destination=\(try map.coordinate("D").text)"] + keys) { second in
            guard second < 85 else { return nil }
            let metres = 20 + Double(second) * 20
            let ends: (Character, Character) = metres < 600 ? ("A", "B") : metres < 1_200 ? ("B", "C") : ("C", "D")
            let share = metres.truncatingRemainder(dividingBy: 600) / 600
            return (try map.position(between: ends.0, ends.1, at: share), 20)
        }
        let ways: [Int64] = [1_000, 1_001, 1_002]
        let positions = messages.compactMap { $0.message as? NavMessages.MatchedPosition }
        let progress = messages.compactMap { $0.message as? NavMessages.RouteProgress }
        func seen(_ way: Int64, _ limit: (NavMessages.MatchedPosition) -> Limit?) -> Limit? {
            // Near the nodes two roads are close to the vehicle.
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
        // The local time counts, not UTC.
        let east = try Self.drive(at: 20, ["utc_offset_min=180"])
        #expect(east.position.first == Limit(60, .signed))
    }

    @Test("a limit that depends on an unknown hour is unknown")
    func unknownHour() throws {
        let drive = try Self.drive(at: 12, [])
        #expect(drive.position == [Limit(nil, .unknown), Limit(80, .signed), Limit(nil, .unknown)])
        #expect(drive.progress == drive.position)
    }

    @Test("a street without a sign gets the general limit of the country")
    func implied() throws {
        let drive = try Self.drive(at: 12, [], on: Self.village)
        let general = Limit(50, .implied)
        #expect(drive.position == [general, general, general] && drive.progress == drive.position)
        #expect(!drive.spans.isEmpty && drive.spans.allSatisfy { $0 == general })
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

    // MARK: The limit changes on the way

    /// A road of 3.6 km with a limit for the night.
    private static let road = Result {
        try ASCIIMap(
            "A\(String(repeating: "-", count: 35))B",
            ways: [
                "AB": ["highway": "secondary", "maxspeed": "80", "maxspeed:conditional": "60 @ (22:00-06:00)"]
            ])
    }

    /// Returns the limits in one kind of message, with the seconds since the start of the drive.
    private static func limits<M: Message>(
        _ type: M.Type, in messages: [OutgoingMessage], from start: NavGeo.Timestamp, _ limit: (M) -> Limit?
    ) -> [(second: Int, limit: Limit)] {
        messages.compactMap { told in
            guard let message = told.message as? M, let limit = limit(message) else { return nil }
            return (Int(told.stamp.seconds(since: start).rounded()), limit)
        }
    }

    /// Returns the limit at the beginning of the horizon's main path.
    private static func limit(_ horizon: NavMessages.Horizon) -> Limit? {
        for span in horizon.paths.first?.spans ?? [] {
            if case .speedLimitMps(let speed)? = span.attribute { return Limit(mps: speed, span.limitSource) }
        }
        return nil
    }

    @Test(
        "all publications change their limit at the same time; a route without refreshes keeps its limits",
        arguments: [true, false])
    func changeOnTheWay(isRefreshed: Bool) throws {
        let map = try Self.road.get()
        let start = NavGeo.Timestamp(nanoseconds: (Self.midnight + 21 * 3_600 + 59 * 60) * 1_000_000_000)
        let keys = [
            "utc_offset_min=0", "refresh.enabled=\(isRefreshed)", "alternatives.enabled=false", "faster.enabled=false",
        ]
        let told = try Self.run(map, from: start, keys + ["destination=\(try map.coordinate("B").text)"]) { second in
            second < 120 ? (try map.position(between: "A", "B", at: (100 + Double(second) * 20) / 3_600), 20) : nil
        }
        let (day, night) = (Limit(80, .signed), Limit(60, .signed))
        let positions = Self.limits(NavMessages.MatchedPosition.self, in: told, from: start) {
            $0.road == nil ? nil : Limit(mps: $0.speedLimitMps, $0.limitSource)
        }
        let progress = Self.limits(NavMessages.RouteProgress.self, in: told, from: start) {
            Limit(mps: $0.speedLimitMps, $0.limitSource)
        }
        for limits in [positions, progress] {
            #expect(limits.count > 100)
            #expect(limits.allSatisfy { $0.limit == ($0.second < 60 ? day : night) })
        }
        let horizons = Self.limits(NavMessages.Horizon.self, in: told, from: start, Self.limit)
        #expect(horizons.allSatisfy { $0.limit == ($0.second < 60 ? day : night) })
        #expect(horizons.contains { $0.second < 60 } && horizons.contains { $0.second == 60 }, "\(horizons)")

        let routes = told.compactMap { $0.message as? NavMessages.Route }.filter { $0.geometry != nil }
        let limits = Self.limits(NavMessages.Route.self, in: told, from: start) { route in
            (route.legs.first?.annotation?.speedLimits.first).map {
                Limit(mps: $0.limitMps.map(Double.init), $0.source)
            }
        }
        #expect(limits.map(\.limit) == (isRefreshed ? [day, night] : [day]))
        guard isRefreshed else { return }
        #expect(limits.last?.second == 60)
        let refreshed = try #require(routes.last)
        #expect(refreshed.reason == .refreshed)
        #expect((refreshed.legs.first?.annotation?.speedsMps.max() ?? 0) < 60 / 3.6 + 0.01)
    }

    @Test("the horizon of a parked vehicle changes with the limit")
    func changeWhileParked() throws {
        let map = try Self.road.get()
        let start = NavGeo.Timestamp(nanoseconds: (Self.midnight + 6 * 3_600 - 30) * 1_000_000_000)
        let told = try Self.run(map, from: start, ["utc_offset_min=0"]) { second in
            guard second < 50 else { return nil }
            let metres = 100 + Double(min(second, 15)) * 20
            return (try map.position(between: "A", "B", at: metres / 3_600), second < 15 ? 20 : 0)
        }
        let horizons = Self.limits(NavMessages.Horizon.self, in: told, from: start, Self.limit)
        #expect(horizons.last?.second == 30 && horizons.last?.limit == Limit(80, .signed), "\(horizons)")
        #expect(horizons.dropLast().allSatisfy { $0.limit == Limit(60, .signed) } && horizons.count > 1)
    }
}
