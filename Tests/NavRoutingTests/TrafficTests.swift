import Dispatch
import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport
import Synchronization
import Testing

private let road = ["highway": "residential"]

@Suite("Live traffic")
struct TrafficTests {
    static func ring() throws -> ASCIIMap {
        try ASCIIMap(
            """
            A---B---C
            |       |
            D-------E
            """, ways: ["ABC": ["highway": "primary"], "AD": road, "CE": road, "DE": road])
    }

    static func speed(_ way: String, _ from: Character, _ to: Character, _ speed: Double, until: Timestamp? = nil)
        -> TrafficSpeed
    {
        TrafficSpeed(
            fromNodeID: ASCIIMap.nodeID(from), toNodeID: ASCIIMap.nodeID(to), speed: speed, validUntil: until)
    }

    static func overlay(_ speeds: TrafficSpeed...) -> TrafficOverlay {
        var overlay = TrafficOverlay()
        _ = overlay.apply(speeds)
        return overlay
    }

    static func route(_ map: ASCIIMap, _ router: Router, _ places: String) throws -> Route? {
        let waypoints = try places.map { Waypoint(try map.coordinate($0)) }
        guard case .found(let route) = router.route(RouteRequest(waypoints: waypoints), workspace: SearchWorkspace())
        else { return nil }
        return route
    }

    @Test("a jam on part of a road is avoided in its direction only")
    func jam() throws {
        let map = try Self.ring()
        let free = Router(graph: map.graph)
        #expect(free.isHierarchical)
        let live = free.live(Self.overlay(Self.speed("ABC", "B", "C", 0.5)))
        #expect(map.letters(of: try #require(try Self.route(map, free, "AC"))) == "ABC")
        #expect(map.letters(of: try #require(try Self.route(map, live, "AC"))) == "ADEC")
        #expect(map.letters(of: try #require(try Self.route(map, live, "CA"))) == "CBA")
    }

    @Test(
        "an edge's duration is the sum of its segments, and the route reports it, also across the antimeridian",
        arguments: [
            ASCIIMap.Placement.insideTiles, .northWest(Coordinate(latitude: -17, longitude: 179.999)),
        ])
    func sum(placement: ASCIIMap.Placement) throws {
        let map = try ASCIIMap("A---B---C", placement: placement, ways: ["ABC": road])
        let free = Router(graph: map.graph)
        let live = free.live(Self.overlay(Self.speed("ABC", "B", "C", 2)))
        let before = try #require(try Self.route(map, free, "AC"))
        let after = try #require(try Self.route(map, live, "AC"))
        #expect(abs(after.duration - (before.duration / 2 + 400 / 2)) < 0.5)
        #expect(after.length == before.length)
        let edge = try #require(map.graph.edge(after.edges[0].key))
        let delay =
            live.metric.duration(of: edge, from: 0, to: 800) - live.metric.freeFlowDuration(of: edge, from: 0, to: 800)
        #expect(abs(delay - (after.duration - before.duration)) < 0.1)
    }

    @Test("a closed road is not used, and a U-turn before it is permitted")
    func closed() throws {
        let map = try Self.ring()
        let live = Router(graph: map.graph).live(Self.overlay(Self.speed("ABC", "A", "B", 0)))
        #expect(map.letters(of: try #require(try Self.route(map, live, "AC"))) == "ADEC")
        let line = try ASCIIMap("A---B---C", ways: ["AB": road, "BC": road])
        let shut = Router(graph: line.graph).live(
            Self.overlay(Self.speed("BC", "B", "C", 0), Self.speed("BC", "C", "B", 0)))
        // The nearest open road to C is the end of AB.
        #expect(line.letters(of: try #require(try Self.route(line, shut, "AC"))) == "AB")
        let start = Waypoint(try line.position(between: "A", "B", at: 0.8), bearing: .pi / 2)
        let goal = Waypoint(try line.position(between: "A", "B", at: 0.2), bearing: 3 * .pi / 2)
        guard
            case .found(let route) = shut.route(RouteRequest(waypoints: [start, goal]), workspace: SearchWorkspace())
        else {
            Issue.record("no route with a U-turn before the closed road")
            return
        }
        #expect(line.letters(of: route) == "ABA")
    }

    @Test("speeds between distant nodes apply to all between them; closer pairs take precedence")
    func wide() throws {
        let map = try ASCIIMap("A---B---C---D\n    |\n    E", ways: ["ABCD": road, "BE": road])
        let edges = try #require(try Self.route(map, Router(graph: map.graph), "AD")).edges
        let live = Router(graph: map.graph).live(
            Self.overlay(Self.speed("", "A", "D", 4), Self.speed("", "C", "D", 2)))
        let route = try #require(try Self.route(map, live, "AD"))
        let driving = route.edges.reduce(0) { $0 + $1.duration }
        #expect(edges.count == 2 && abs(driving - (800 / 4 + 400 / 2)) < 0.5)
        let back = try #require(try Self.route(map, live, "DA"))
        #expect(back.duration < 200)
    }

    @Test("a speed with a way applies to that way and precedes one without a way")
    func ways() throws {
        let map = try ASCIIMap("A---B---C", ways: ["AB": road, "BC": road])
        let (a, b) = (ASCIIMap.nodeID("A"), ASCIIMap.nodeID("B"))
        let router = Router(graph: map.graph)
        let free = try #require(try Self.route(map, router, "AB")).duration
        let other = router.live(Self.overlay(TrafficSpeed(wayID: 77, fromNodeID: a, toNodeID: b, speed: 1)))
        #expect(try Self.route(map, other, "AB")?.duration == free)
        let both = router.live(
            Self.overlay(
                TrafficSpeed(wayID: 1_000, fromNodeID: a, toNodeID: b, speed: 2),
                TrafficSpeed(fromNodeID: a, toNodeID: b, speed: 4)))
        #expect(abs(try #require(try Self.route(map, both, "AB")).duration - 200) < 0.5)
    }

    @Test("speeds expire and are replaced, and invalid ones are rejected")
    func upkeep() throws {
        let map = try Self.ring()
        let noon = Timestamp(nanoseconds: 1_000_000)
        let later = Timestamp(nanoseconds: 2_000_000)
        var overlay = Self.overlay(Self.speed("", "B", "C", 0, until: later))
        let router = Router(graph: map.graph)
        #expect(map.letters(of: try #require(try Self.route(map, router.live(overlay, at: noon), "AC"))) == "ADEC")
        #expect(map.letters(of: try #require(try Self.route(map, router.live(overlay, at: later), "AC"))) == "ABC")
        #expect(overlay.nextExpiry == later)
        #expect(!overlay.dropExpired(at: noon) && overlay.dropExpired(at: later) && overlay.speeds.isEmpty)
        let odd = [.nan, -.infinity, -1, 101].map { Self.speed("", "B", "C", $0) } + [Self.speed("", "B", "B", 1)]
        #expect(overlay.apply(odd) == 5 && overlay.speeds.isEmpty)
        #expect(overlay.apply([Self.speed("", "B", "C", 3), Self.speed("", "A", "B", 3)]) == 0)
        #expect(overlay.apply([Self.speed("", "B", "C", 5), Self.speed("", "B", "C", 7)]) == 0)
        #expect(overlay.speeds.map(\.speed) == [3, 7])
        #expect(overlay.apply([Self.speed("", "C", "B", 5)], replacingAll: true) == 0)
        #expect(overlay.speeds.count == 1)
    }

    @Test("speeds in any order, merged or at once, give the same overlay and the same costs on any number of threads")
    func order() throws {
        let map = try RealMap.helsinki.get()
        let graph = map.graph
        var random = SeededRandom(seed: 5)
        func next(_ bound: Int) -> Int { random.below(bound) }
        var speeds: [TrafficSpeed] = []
        for index in 0..<graph.edgeCount {
            let edge = EdgeIndex(index)
            let shape = graph.shape(of: edge)
            for point in 1..<shape.count where next(3) > 0 {
                speeds.append(
                    TrafficSpeed(
                        wayID: next(2) == 0 ? graph.wayID(of: edge) : nil, fromNodeID: shape.nodeID(point - 1),
                        toNodeID: shape.nodeID(point), speed: next(50) == 0 ? 0 : Double(next(30)) / 2 + 1))
            }
        }
        // Many speeds at one node, some of nodes that are not on the map.
        for index in 0..<200 {
            speeds.append(TrafficSpeed(fromNodeID: .min, toNodeID: Int64(next(40)), speed: Double(index % 90) + 1))
        }
        var expected: [TrafficSpeed] = []
        var places: [TrafficSpeed: Int] = [:]
        for speed in speeds {
            var key = speed
            key.speed = 1
            if let known = places[key] {
                expected[known] = speed
            } else {
                places[key] = expected.count
                expected.append(speed)
            }
        }
        expected.sort { left, right in
            (left.fromNodeID, left.toNodeID, left.wayID ?? .min) < (
                right.fromNodeID, right.toNodeID, right.wayID ?? .min
            )
        }
        var whole = TrafficOverlay()
        #expect(whole.apply(speeds) == 0)
        #expect(Array(whole.speeds) == expected)
        var merged = TrafficOverlay()
        for part in 0..<7 {
            _ = merged.apply(speeds[speeds.count * part / 7..<speeds.count * (part + 1) / 7])
        }
        #expect(merged == whole)

        let free = Metric(TurnGraph(graph), model: CostModel())
        let live = Metric(free, traffic: whole)
        let parallel = Metric(free, traffic: whole) { count, body in
            DispatchQueue.concurrentPerform(iterations: count, execute: body)
        }
        for index in 0..<graph.edgeCount {
            let edge = EdgeIndex(index)
            #expect(live.cost(of: edge) == parallel.cost(of: edge))
            #expect(live.liveDuration(of: edge) == parallel.liveDuration(of: edge))
            let expected = Self.plainDuration(edge, graph, whole.speeds, free)
            let known = live.liveDuration(of: edge)
            switch expected {
            case .closed: #expect(!live.allows(edge))
            case .unknown: #expect(known == nil)
            case .seconds(let seconds):
                #expect(live.allows(edge) == free.allows(edge))
                #expect(abs((known ?? -1) - seconds) < max(seconds, 1) * 2e-3)
            }
        }
    }

    private enum PlainDuration { case closed, unknown, seconds(Double) }

    /// Returns the duration of an edge, segment by segment, from all speeds.
    private static func plainDuration(
        _ edge: EdgeIndex, _ graph: RoadGraph, _ speeds: ContiguousArray<TrafficSpeed>, _ free: Metric
    ) -> PlainDuration {
        let shape = graph.shape(of: edge)
        let length = Double(graph.edgeLengths[edge.index])
        let lengths = (1..<shape.count).map {
            Geodesy.distance(shape[$0 - 1].coordinate, shape[$0].coordinate)
        }
        let total = lengths.reduce(0, +)
        let usual = free.duration(of: edge, from: 0, to: length) - Metric.stopDuration(graph, edge)
        var (seconds, isKnown) = (0.0, false)
        for point in 1..<shape.count {
            let (from, to) = (shape.nodeID(point - 1), shape.nodeID(point))
            var low = speeds.startIndex
            var high = speeds.endIndex
            while low < high {
                let middle = (low + high) / 2
                if speeds[middle].fromNodeID < from { low = middle + 1 } else { high = middle }
            }
            let here = speeds[low...].prefix { $0.fromNodeID == from }.filter { $0.toNodeID == to }
            let chosen = here.first { $0.wayID == graph.wayID(of: edge) } ?? here.first { $0.wayID == nil }
            let share = total > 0 ? lengths[point - 1] / total : 1
            guard let chosen else {
                seconds += usual * share
                continue
            }
            if chosen.speed == 0 { return .closed }
            isKnown = true
            seconds += share * length / min(chosen.speed, Double(free.model.profile.maximumSpeed))
        }
        return isKnown ? .seconds(seconds) : .unknown
    }

    @Test("new traffic replaces the previous traffic completely")
    func successive() throws {
        let map = try Self.ring()
        let router = Router(graph: map.graph)
        let jam = router.live(Self.overlay(Self.speed("", "B", "C", 0)))
        #expect(map.letters(of: try #require(try Self.route(map, jam.live(TrafficOverlay()), "AC"))) == "ABC")
        // A router for another vehicle uses the same traffic.
        let truck = CostModel(profile: VehicleProfile(kind: .truck))
        #expect(map.letters(of: try #require(try Self.route(map, router.serving(truck), "AC"))) == "ABC")
        #expect(map.letters(of: try #require(try Self.route(map, jam.serving(truck), "AC"))) == "ADEC")
    }

    @Test("threads customise to the same costs while searches use the old ones")
    func threads() throws {
        let map = try RealMap.helsinki.get()
        let first = Router(graph: map.graph)
        let requests = (0..<40).map { index in
            let nodes = map.graph.nodePositions
            return RouteRequest(waypoints: [
                Waypoint(nodes[index * 37 % nodes.count].coordinate),
                Waypoint(nodes[index * 91 % nodes.count].coordinate),
            ])
        }
        @Sendable func answers(_ router: Router) -> [RouteOutcome] {
            let workspace = SearchWorkspace()
            return requests.map { router.route($0, workspace: workspace) }
        }
        let expected = answers(first)
        let overlays = (1...4).map { number in
            var overlay = TrafficOverlay()
            _ = overlay.apply(
                (0..<map.graph.edgeCount).filter { $0 % (number + 2) == 0 }.map { index in
                    let shape = map.graph.shape(of: EdgeIndex(index))
                    return TrafficSpeed(
                        fromNodeID: shape.nodeID(0), toNodeID: shape.nodeID(1), speed: Double(index % 7) + 1)
                })
            return overlay
        }
        let current = Mutex(first)
        let mistakes = Mutex(0)
        // One thread applies traffic; the other searches with the new and the old metric.
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            if thread == 0 {
                for overlay in overlays {
                    let next = first.live(overlay) { count, body in
                        DispatchQueue.concurrentPerform(iterations: count, execute: body)
                    }
                    current.withLock { $0 = next }
                }
            } else {
                for _ in 0..<4 {
                    _ = answers(current.withLock { $0 })
                    if answers(first) != expected { mistakes.withLock { $0 += 1 } }
                }
            }
        }
        #expect(mistakes.withLock { $0 } == 0)
        #expect(answers(current.withLock { $0 }) == answers(first.live(overlays[3])))
        #expect(
            answers(first.live(overlays[3])).map(\.cost) == answers(Router(first.live(overlays[3]).metric)).map(\.cost))
    }
}

extension RouteOutcome {
    /// The cost of a found route.
    var cost: UInt64? {
        if case .found(let route) = self { route.cost } else { nil }
    }
}
