import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSupport
import Testing

@Suite("Every alternative meets its criteria")
struct AlternativesOracleTests {
    /// Use `RandomMap(seed:size:gridMetres:)` with the number in the message to reproduce a failure.
    @Test("on random towns, checked with plain Dijkstra", arguments: 1...40 as ClosedRange<UInt64>)
    func randomTowns(seed: UInt64) throws {
        let map = try RandomMap(seed: seed, size: 9, gridMetres: 250)
        let found = try Self.check(map.graph, pairs: 20, seed: seed, "RandomMap(seed: \(seed), size: 9, 250)") {
            map.place(&$0)
        }
        #expect(found.alternatives > 0, "RandomMap(seed: \(seed), size: 9, 250)")
    }

    @Test("on Helsinki")
    func helsinki() throws {
        let graph = try RealMap.helsinki.get().graph
        let found = try Self.check(graph, pairs: 150, seed: 11, "Helsinki") { ExactnessTests.place(on: graph, &$0) }
        #expect(2 * found.alternatives > found.routes)
    }

    @Test("on Porto", .needs("osm/porto.osm.pbf"))
    func porto() throws {
        let graph = try RealMap.porto.get().graph
        let found = try Self.check(graph, pairs: 40, seed: 12, farApart: 5_000...30_000, "Porto") {
            ExactnessTests.place(on: graph, &$0)
        }
        #expect(Double(found.alternatives) >= 1.3 * Double(found.routes))
    }

    private static func check(
        _ graph: RoadGraph, pairs: Int, seed: UInt64, farApart: ClosedRange<Double> = 500...1e7, _ comment: Comment,
        place: (inout SeededRandom) -> Coordinate
    ) throws -> (routes: Int, alternatives: Int) {
        let metric = Metric(TurnGraph(graph), model: CostModel())
        let router = Router(HierarchyMetric(try #require(ContractionHierarchy(metric.turns), comment), metric))
        let plain = Router(metric)
        let workspace = SearchWorkspace()
        let oracle = Oracle(OracleRoads(graph), metric.model)
        let tree = Oracle.Tree()
        var random = SeededRandom(seed: seed &+ 2_000)
        var found = (routes: 0, alternatives: 0)
        var rounds = 0
        while rounds < pairs {
            let ends = [place(&random), place(&random)]
            guard farApart.contains(Geodesy.distance(ends[0], ends[1])) else { continue }
            rounds += 1
            let request = RouteRequest(waypoints: ends.map { Waypoint($0) })
            let outcome = router.alternatives(request, workspace: workspace)
            #expect(router.alternatives(request, workspace: SearchWorkspace()) == outcome, comment)
            guard case .found(let routes) = outcome else { continue }
            found.routes += 1
            guard case .found(let best) = plain.route(request, workspace: workspace) else {
                Issue.record("\(comment): alternatives were found without a route")
                continue
            }
            #expect(routes.main.cost == best.cost, comment)
            #expect(oracle.fault(in: routes.main) == nil, comment)
            var shown = [routes.main]
            for alternative in routes.alternatives {
                found.alternatives += 1
                RouteInvariants.check(alternative.route, graph, comment)
                #expect(oracle.fault(in: alternative.route) == nil, comment)
                try checkCriteria(alternative, shown, oracle, tree, comment)
                shown.append(alternative.route)
            }
            #expect(Set(routes.alternatives.map(\.id)).count == routes.alternatives.count, comment)
        }
        return found
    }

    private static func checkCriteria(
        _ alternative: AlternativeRoute, _ shown: [Route], _ oracle: Oracle, _ tree: Oracle.Tree,
        _ comment: Comment
    ) throws {
        let criteria = AlternativeCriteria()
        let best = Double(shown[0].cost)
        let route = alternative.route
        #expect(Double(route.cost) <= best * criteria.stretch + 1, comment)
        #expect(route.cost >= shown[0].cost && alternative.stretch <= criteria.detourStretch, comment)
        let graph = oracle.graph
        let path = try route.edges.map { try #require(graph.edge($0.key), comment) }
        let states = try #require(oracle.states(of: path), "\(comment): an alternative includes a forbidden turn")
        let costs = oracle.costs(of: path, startingAt: route.edges[0].startOffset)
        // Sharing: the cost of common edges, with their turns.
        for other in shown {
            let keys = Set(other.edges.map(\.key))
            var shared = 0.0
            var own = 0.0
            for (index, piece) in route.edges.enumerated() {
                if keys.contains(piece.key) {
                    let whole = Double(costs[index]) - (index > 0 ? Double(costs[index - 1]) : 0)
                    shared +=
                        index == path.count - 1 ? whole * piece.length / max(length(path[index], graph), 1) : whole
                } else {
                    own += piece.length
                }
            }
            #expect(shared <= best * criteria.sharing + 1_000, comment)
            #expect(own >= criteria.detour * 0.99, comment)
        }
        // Local optimality: no part within the limit has a faster connection. The last edge may be driven in part.
        let reach = UInt64(best * criteria.localOptimality)
        var end = 0
        for start in 0..<(states.count - 1) {
            let before = end
            while end + 1 < states.count - 1, costs[end + 1] - costs[start] <= reach { end += 1 }
            // Each part of a shortest path is a shortest path.
            guard end > before, end > start else { continue }
            let edge = path[start]
            let seed = Oracle.Seed(edge: edge, offset: length(edge, graph), state: states[start])
            oracle.search(tree, from: [seed], until: states[end], limit: costs[end] - costs[start])
            let least = oracle.cost(tree, states[end])
            #expect(least == costs[end] - costs[start], "\(comment): a detour from edge \(start) to \(end)")
        }
        // Junctions are passed once, unless the best route also passes them twice.
        let common = Set(shown[0].edges.map(\.key))
        var heads: [NodeIndex: Bool] = [:]
        for (index, edge) in path.dropLast().enumerated() {
            let isCommon = common.contains(route.edges[index].key)
            if let other = heads[graph.edgeHeads[edge.index]] { #expect(isCommon && other, comment) }
            heads[graph.edgeHeads[edge.index]] = isCommon
            if index > 0 { #expect(graph.opposite(edge) != path[index - 1] || isCommon, comment) }
        }
    }

    private static func length(_ edge: EdgeIndex, _ graph: RoadGraph) -> Double {
        Double(graph.edgeLengths[edge.index])
    }
}
