import NavMap
import NavRouting

/// A check of alternatives against ``AlternativeCriteria`` that uses only the routes and plain searches, independent of
/// the code that found them.
final class AlternativeCheck {
    private let metric: Metric
    private let criteria: AlternativeCriteria
    private let dijkstra: PlainDijkstra

    /// A violated criterion.
    enum Fault: String {
        case isNoPath, costs, stretch, sharing, localOptimality
    }

    init(_ metric: Metric, _ criteria: AlternativeCriteria) {
        self.metric = metric
        self.criteria = criteria
        dijkstra = PlainDijkstra(metric)
    }

    /// A route as states of the turn graph, with the accumulated cost at the end of each.
    private struct CostedRoute {
        var states: [TurnState] = []
        var costs: [UInt64] = []
        /// The cost of continuing to the end of the last edge.
        var rest: UInt64 = 0
        /// The cost of each edge on the route, by edge.
        var edges: [EdgeKey: UInt64] = [:]
    }

    /// Returns the criteria violated by the alternatives of one request.
    func faults(_ routes: AlternativeRoutes) -> [Fault] {
        guard let main = layOut(routes.main) else { return [.isNoPath] }
        var faults: [Fault] = main.costs.last == routes.main.cost ? [] : [.costs]
        let best = Double(routes.main.cost)
        var others = [main]
        for alternative in routes.alternatives {
            let route = alternative.route
            guard let laid = layOut(route) else {
                faults.append(.isNoPath)
                continue
            }
            if laid.costs.last != route.cost { faults.append(.costs) }
            if Double(route.cost) > criteria.stretch * best { faults.append(.stretch) }
            if others.contains(where: { Double(shared(laid, with: $0)) > criteria.sharing * best }) {
                faults.append(.sharing)
            }
            if !isLocallyOptimal(laid, UInt64(criteria.localOptimality * best)) { faults.append(.localOptimality) }
            others.append(laid)
        }
        return faults
    }

    private func shared(_ route: CostedRoute, with other: CostedRoute) -> UInt64 {
        route.edges.reduce(0) { $0 + (other.edges[$1.key] == nil ? 0 : $1.value) }
    }

    /// Whether every part that costs up to `reach` is a cheapest path between its ends.
    ///
    /// Parts begin and end at the ends of edges. A part that ends inside the destination's edge is a cheapest path if
    /// and only if it is one together with the rest of that edge.
    private func isLocallyOptimal(_ route: CostedRoute, _ reach: UInt64) -> Bool {
        for first in route.states.indices {
            var last = first
            while last + 1 < route.states.count, route.costs[last + 1] - route.costs[first] <= reach { last += 1 }
            guard last > first else { continue }
            let rest = last == route.states.count - 1 ? route.rest : 0
            let part = route.costs[last] - route.costs[first] + rest
            dijkstra.reach(from: route.states[first], limit: part)
            if dijkstra.cost(to: route.states[last]) < part { return false }
        }
        return true
    }

    private func layOut(_ route: Route) -> CostedRoute? {
        let turns = metric.turns
        var laid = CostedRoute()
        for (number, edge) in route.edges.enumerated() {
            guard let index = turns.graph.edge(edge.key) else { return nil }
            let isEnd = number == 0 || number == route.edges.count - 1
            var cost = UInt64(metric.cost(of: index))
            if isEnd {
                let share = metric.cost(of: index, from: edge.startOffset, to: edge.endOffset)
                laid.rest = cost - min(UInt64(share), cost)
                cost = UInt64(share)
            }
            if number == 0 {
                laid.states.append(index.rawValue)
            } else {
                guard let last = laid.states.last,
                    let arc = turns.arcs(from: last).first(where: {
                        turns.edge(of: turns.target(of: $0)) == index && metric.cost(ofArc: $0) != Metric.forbidden
                    })
                else { return nil }
                cost += UInt64(metric.cost(ofArc: arc))
                laid.states.append(turns.target(of: arc))
            }
            laid.costs.append((laid.costs.last ?? 0) + cost)
            laid.edges[edge.key, default: 0] += cost
        }
        return laid
    }
}
