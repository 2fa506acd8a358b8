import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Every alternative keeps its criteria")
struct AlternativesOracleTests {
    /// To repeat one: `RandomMap(seed:size:gridMetres:)` with the number in the failure's message.
    @Test("on random towns, asked of plain Dijkstra", arguments: 1...40 as ClosedRange<UInt64>)
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

    @Test("on Porto", .enabled(if: TestData.has("osm/porto.osm.pbf"), "the shared data is absent"))
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
        var oracle = PathOracle(metric)
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
                Issue.record("\(comment): alternatives without a route")
                continue
            }
            #expect(routes.main.cost == best.cost, comment)
            var shown = [routes.main]
            for alternative in routes.alternatives {
                found.alternatives += 1
                RouteInvariants.check(alternative.route, graph, comment)
                try checkCriteria(alternative, shown, metric, &oracle, comment)
                shown.append(alternative.route)
            }
            #expect(Set(routes.alternatives.map(\.id)).count == routes.alternatives.count, comment)
        }
        return found
    }

    private static func checkCriteria(
        _ alternative: AlternativeRoute, _ shown: [Route], _ metric: Metric, _ oracle: inout PathOracle,
        _ comment: Comment
    ) throws {
        let criteria = AlternativeCriteria()
        let best = Double(shown[0].cost)
        let route = alternative.route
        #expect(Double(route.cost) <= best * criteria.stretch + 1, comment)
        #expect(route.cost >= shown[0].cost && alternative.stretch <= criteria.detourStretch, comment)
        let graph = metric.turns.graph
        let path = try route.edges.map { try #require(graph.edge($0.key), comment) }
        let states = try #require(oracle.states(of: path), "\(comment): an alternative makes a forbidden turn")
        let costs = oracle.costs(of: states, startingAt: route.edges[0].startOffset)
        // Sharing, as what common edges with their turns cost.
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
        // Local optimality: no part up to the limit can be driven faster. The last edge may be a part of one.
        let reach = UInt32(best * criteria.localOptimality)
        var end = 0
        for start in 0..<(states.count - 1) {
            let before = end
            while end + 1 < states.count - 1, costs[end + 1] - costs[start] <= reach { end += 1 }
            // A part of a part that was found shortest is shortest.
            guard end > before, end > start else { continue }
            let least = oracle.leastCost(from: states[start], to: states[end], limit: costs[end] - costs[start])
            #expect(least == costs[end] - costs[start], "\(comment): a detour from edge \(start) to \(end)")
        }
        // Crossings are passed once, but for what the best route does too.
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

/// Dijkstra's search over the states of the turn graph, as it stands in books.
struct PathOracle {
    private let metric: Metric
    private let turns: TurnGraph
    private var costs: [UInt32]
    private var touched: [TurnState] = []

    init(_ metric: Metric) {
        self.metric = metric
        turns = metric.turns
        costs = Array(repeating: .max, count: turns.stateCount)
    }

    /// The states that driving a path of edges leads through; nil when a turn is forbidden.
    func states(of path: [EdgeIndex]) -> [TurnState]? {
        guard let first = path.first else { return nil }
        var states: [TurnState] = [first.rawValue]
        for edge in path.dropFirst() {
            let arc = turns.arcs(from: states[states.count - 1]).first {
                turns.edge(of: turns.target(of: $0)) == edge && metric.cost(ofArc: $0) != Metric.forbidden
            }
            guard let arc else { return nil }
            states.append(turns.target(of: arc))
        }
        return states
    }

    /// The cost at the end of each state's edge, ms, from an offset on the first.
    func costs(of states: [TurnState], startingAt offset: Double) -> [UInt32] {
        let first = turns.edge(of: states[0])
        let length = Double(turns.graph.edgeLengths[first.index])
        let share = length > 0 ? (length - offset) / length : 0
        var result = [UInt32((Double(metric.cost(of: first)) * share).rounded())]
        for (before, state) in zip(states, states.dropFirst()) {
            result.append(result[result.count - 1] + stepCost(before, state))
        }
        return result
    }

    private func stepCost(_ before: TurnState, _ state: TurnState) -> UInt32 {
        let turn = turns.arcs(from: before).filter { turns.target(of: $0) == state }.map { metric.cost(ofArc: $0) }
        return (turn.min() ?? 0) + metric.cost(of: turns.edge(of: state))
    }

    /// The least cost from the end of one state's edge to the end of another's; nil beyond `limit`.
    mutating func leastCost(from start: TurnState, to goal: TurnState, limit: UInt32) -> UInt32? {
        for state in touched { costs[Int(state)] = .max }
        touched = [start]
        costs[Int(start)] = 0
        var queue: [UInt64] = [UInt64(start)]
        while let entry = pop(&queue) {
            let (cost, state) = (UInt32(entry >> 32), TurnState(truncatingIfNeeded: entry))
            guard cost == costs[Int(state)] else { continue }
            if state == goal { return cost }
            if cost > limit { return nil }
            for arc in turns.arcs(from: state) where metric.cost(ofArc: arc) != Metric.forbidden {
                let next = turns.target(of: arc)
                let total = cost + metric.cost(ofArc: arc) + metric.cost(of: turns.edge(of: next))
                guard total < costs[Int(next)] else { continue }
                costs[Int(next)] = total
                touched.append(next)
                push(&queue, UInt64(total) << 32 | UInt64(next))
            }
        }
        return nil
    }

    private func push(_ heap: inout [UInt64], _ entry: UInt64) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0, heap[(child - 1) / 2] > heap[child] {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private func pop(_ heap: inout [UInt64]) -> UInt64? {
        guard let least = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            if heap[parent] <= heap[child] { break }
            heap.swapAt(parent, child)
            parent = child
        }
        return least
    }
}
