import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSupport
import Testing

@Suite("The router is exact")
struct ExactnessTests {
    /// Use `RandomMap(seed:)` with the number in the message to reproduce a failure.
    @Test(
        "on random towns the cost equals Dijkstra's and the path is legal",
        arguments: 1...150 as ClosedRange<UInt64>)
    func randomTowns(seed: UInt64) throws {
        let map = try RandomMap(seed: seed)
        try Self.compare(map.graph, pairs: 25, seed: seed, comment: "RandomMap(seed: \(seed))") { map.place(&$0) }
    }

    @Test("on random towns with a truck and avoidances", arguments: 1...20 as ClosedRange<UInt64>)
    func randomTownsWithTruck(seed: UInt64) throws {
        let map = try RandomMap(seed: seed, size: 8)
        let profile = VehicleProfile(kind: .truck, avoid: [.motorways, .unpaved])
        try Self.compare(
            map.graph, profile: profile, pairs: 15, seed: seed, comment: "RandomMap(seed: \(seed), size: 8)"
        ) {
            map.place(&$0)
        }
    }

    @Test("on Helsinki")
    func helsinki() throws {
        let graph = try RealMap.helsinki.get().graph
        try Self.compare(graph, pairs: 300, seed: 7, comment: "Helsinki") { Self.place(on: graph, &$0) }
    }

    @Test("on Andorra", .needs("osm/andorra.osm.pbf"))
    func andorra() throws {
        let graph = try RealMap.andorra.get().graph
        try Self.compare(graph, pairs: 120, seed: 8, comment: "Andorra") { Self.place(on: graph, &$0) }
    }

    @Test(
        "through a stop or a pass-through point the route is optimal", arguments: 1...60 as ClosedRange<UInt64>
    )
    func waypoints(seed: UInt64) throws {
        let map = try RandomMap(seed: seed, size: 5)
        let router = Router(graph: map.graph)
        let oracle = Oracle(OracleRoads(map.graph), CostModel())
        let (first, second) = (Oracle.Tree(), Oracle.Tree())
        var random = SeededRandom(seed: seed &+ 9_000)
        for round in 0..<8 {
            let isStop = round % 2 == 0
            let waypoints = [
                Waypoint(map.place(&random)), Waypoint(map.place(&random), isStop: isStop),
                Waypoint(map.place(&random)),
            ]
            let ends = waypoints.map { Self.nearest($0, router, oracle) }
            oracle.search(first, from: ends[0].map { Oracle.Seed(edge: $0.edge, offset: $0.offset) })
            oracle.search(second, from: oracle.departures(ends[1], first, isStop: isStop))
            let best = ends[2].compactMap { oracle.cost(second, to: $0.edge, at: $0.offset) }.min()
            guard let best else { continue }
            let comment: Comment = "RandomMap(seed: \(seed), size: 5), round \(round)"
            guard
                case .found(let route) = router.route(RouteRequest(waypoints: waypoints), workspace: SearchWorkspace())
            else {
                Issue.record("\(comment): no route, plain Dijkstra \(best)")
                continue
            }
            #expect(route.cost == best, comment)
            #expect(oracle.fault(in: route) == nil, comment)
            #expect(route.legs.count == (isStop ? 2 : 1), comment)
            RouteInvariants.check(route, map.graph, comment)
        }
    }

    /// The least costs from the origin of the last query, cached.
    private final class Plain {
        let oracle: Oracle
        private var tree: (origin: EdgePlace, tree: Oracle.Tree)?

        struct EdgePlace: Equatable {
            var edge: EdgeIndex
            var offset: Double
        }

        init(_ metric: Metric) { oracle = Oracle(OracleRoads(metric.turns.graph), metric.model) }

        func leastCost(from origin: (edge: EdgeIndex, offset: Double), to goal: (edge: EdgeIndex, offset: Double))
            -> UInt64?
        {
            let place = EdgePlace(edge: origin.edge, offset: origin.offset)
            if tree?.origin != place {
                let found = tree?.tree ?? Oracle.Tree()
                oracle.search(found, from: [Oracle.Seed(edge: origin.edge, offset: origin.offset)])
                tree = (place, found)
            }
            return tree.flatMap { oracle.cost($0.tree, to: goal.edge, at: goal.offset) }
        }
    }

    /// Returns a place a few metres beside a random road.
    static func place(on graph: RoadGraph, _ random: inout SeededRandom) -> Coordinate {
        let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
        let offset = random.uniform() * Double(graph.edgeLengths[edge.index])
        return Geodesy.destination(
            from: graph.position(at: offset, of: edge).coordinate, bearing: random.uniform() * 6, distance: 3)
    }

    private static func compare(
        _ graph: RoadGraph, profile: VehicleProfile = VehicleProfile(), pairs: Int, seed: UInt64, comment: Comment,
        place: (inout SeededRandom) -> Coordinate
    ) throws {
        let metric = Metric(TurnGraph(graph), model: CostModel(profile: profile))
        let hierarchy = try #require(ContractionHierarchy(metric.turns), comment)
        try compare(Router(metric), pairs: pairs, seed: seed, comment: comment, place: place)
        try compare(
            Router(HierarchyMetric(hierarchy, metric)), pairs: pairs, seed: seed, comment: "\(comment), hierarchy",
            place: place)
    }

    private static func compare(
        _ router: Router, pairs: Int, seed: UInt64, comment: Comment, place: (inout SeededRandom) -> Coordinate
    ) throws {
        let graph = router.metric.turns.graph
        let plain = Self.Plain(router.metric)
        let workspace = SearchWorkspace()
        var random = SeededRandom(seed: seed &+ 1_000)
        var found = 0
        for _ in 0..<pairs {
            let waypoints = [Waypoint(place(&random)), Waypoint(place(&random))]
            let request = RouteRequest(waypoints: waypoints)
            let outcome = router.route(request, workspace: workspace)
            let ends = waypoints.map { nearest($0, router, plain.oracle) }
            var best: UInt64?
            for origin in ends[0] {
                for goal in ends[1] {
                    let cost = plain.leastCost(from: (origin.edge, origin.offset), to: (goal.edge, goal.offset))
                    if let cost { best = min(best ?? .max, cost) }
                }
            }
            guard let best else {
                // The nearest roads are not connected; the router may have used others.
                #expect(outcome != .offRoad(waypoint: 0), comment)
                continue
            }
            guard case .found(let route) = outcome else {
                Issue.record("\(comment): \(outcome) for \(waypoints), plain Dijkstra \(best)")
                continue
            }
            found += 1
            #expect(route.cost == best, comment)
            let path = try route.edges.map { try #require(graph.edge($0.key), comment) }
            #expect(!path.isEmpty && plain.oracle.fault(in: route) == nil, comment)
            RouteInvariants.check(route, graph, comment)
            #expect(router.route(request, workspace: SearchWorkspace()) == outcome, comment)
        }
        #expect(found > pairs / 8, comment)
    }

    /// Returns the snapped places of a waypoint.
    private static func nearest(_ waypoint: Waypoint, _ router: Router, _ oracle: Oracle) -> [EdgeProjection] {
        let hits = router.metric.turns.graph.edges(near: waypoint.coordinate, radius: 1_000)
        return oracle.places(waypoint, hits.filter { router.metric.allows($0.edge) })
    }
}
