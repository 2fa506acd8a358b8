import NavMap

/// The driver's chosen route as additional search ends: one at the end of each of its edges, with the discounted cost of the rest.
///
/// The discount applies only after the route is joined, so a single search suffices and the costs stay unchanged.
struct ChosenRoute {
    /// A place where the route can be joined, with the edges after it.
    struct Joining {
        var place: EdgePosition
        var onward: ArraySlice<EdgeIndex>
        var destination: EdgePosition
    }

    private(set) var joinings: [Joining] = []

    /// Finds the joining places of a chosen route to a destination; none when the route does not lead there.
    init(_ options: RouteOptions, to destination: EdgePosition, _ metric: Metric) {
        let graph = metric.turns.graph
        let keys = options.chosenRoute
        let goal = graph.key(of: destination.edge)
        guard let last = keys.lastIndex(of: goal), last > 0, metric.allows(destination.edge) else { return }
        var edges: [EdgeIndex] = []
        for key in keys[...last].reversed() {
            guard let edge = graph.edge(key) else { break }
            edges.append(edge)
        }
        edges.reverse()
        edges = Array(edges[Self.drivableStart(edges, metric)...])
        guard edges.count > 1 else { return }
        var remaining = UInt64(metric.cost(of: destination.edge, from: 0, to: destination.offset))
        for index in stride(from: edges.count - 2, through: 0, by: -1) {
            guard let turn = Self.turn(edges[index].rawValue, edges[index + 1], metric) else { break }
            remaining += UInt64(turn.cost)
            let counted = UInt64((Double(remaining) * options.chosenRouteFactor).rounded())
            guard counted + UInt64(destination.penalty) < UInt64(HierarchyMetric.unreachable) else { break }
            if let state = destination.state, Self.end(of: edges[index...], metric) != state {
                remaining += UInt64(metric.cost(of: edges[index]))
                continue
            }
            let place = EdgePosition(
                edge: edges[index], offset: Double(graph.edgeLengths[edges[index].index]),
                penalty: UInt32(counted) + destination.penalty, state: edges[index].rawValue)
            joinings.append(Joining(place: place, onward: edges[(index + 1)...], destination: destination))
            remaining += UInt64(metric.cost(of: edges[index]))
        }
    }

    /// Returns the index of the first edge from which all later ones can be driven.
    private static func drivableStart(_ edges: [EdgeIndex], _ metric: Metric) -> Int {
        guard var state = edges.first?.rawValue else { return 0 }
        var start = metric.allows(edges[0]) ? 0 : 1
        for index in edges.indices.dropFirst() {
            if metric.allows(edges[index]), let turn = turn(state, edges[index], metric) {
                state = turn.state
            } else {
                state = edges[index].rawValue
                start = metric.allows(edges[index]) ? index : index + 1
            }
        }
        return min(start, edges.count)
    }

    /// Returns the state in which the last of some edges is reached; nil when they cannot all be driven.
    private static func end(of edges: ArraySlice<EdgeIndex>, _ metric: Metric) -> TurnState? {
        guard let first = edges.first else { return nil }
        var state = first.rawValue
        for edge in edges.dropFirst() {
            guard let turn = turn(state, edge, metric) else { return nil }
            state = turn.state
        }
        return state
    }

    private static func turn(
        _ state: TurnState, _ next: EdgeIndex, _ metric: Metric
    ) -> (state: TurnState, cost: UInt32)? {
        let turns = metric.turns
        var best: (TurnState, UInt32)?
        for arc in turns.arcs(from: state) where turns.edge(of: turns.target(of: arc)) == next {
            let cost = metric.cost(ofArc: arc)
            if cost != Metric.forbidden, cost < best?.1 ?? .max { best = (turns.target(of: arc), cost) }
        }
        return best
    }
}
