import NavMap
import NavRouting

/// Dijkstra's algorithm on the turn graph with a plain binary heap, as oracle and baseline of the hierarchy. It shares
/// no code with the searches.
final class PlainDijkstra {
    private let metric: Metric
    private var distances: ContiguousArray<UInt64>
    private var touched: ContiguousArray<TurnState> = []
    private var heap: ContiguousArray<(cost: UInt64, state: TurnState)> = []

    /// The cost of an unreached state.
    static let unreached = UInt64.max

    init(_ metric: Metric) {
        self.metric = metric
        distances = ContiguousArray(repeating: Self.unreached, count: metric.turns.stateCount)
    }

    /// Returns the cost of the cheapest path from a state with its start cost to a state with its end cost; nil if
    /// there is none.
    func cost(from origins: [HierarchySeed], to destinations: [HierarchySeed]) -> UInt64? {
        var ends: [TurnState: UInt64] = [:]
        for seed in destinations { ends[seed.state] = min(ends[seed.state] ?? .max, UInt64(seed.cost)) }
        var best = Self.unreached
        run(from: origins.map { ($0.state, UInt64($0.cost)) }) { state, cost in
            if let end = ends[state] { best = min(best, cost + end) }
            return cost < best
        }
        return best == Self.unreached ? nil : best
    }

    /// Computes the costs from one state to all states within `limit`, for ``cost(to:)``.
    func reach(from state: TurnState, limit: UInt64) { run(from: [(state, 0)]) { _, cost in cost <= limit } }

    /// Returns a cost found by the last search; ``unreached`` if the state was not reached.
    func cost(to state: TurnState) -> UInt64 { distances[Int(state)] }

    /// Settles states in the order of their costs until `goesOn` returns false.
    private func run(from seeds: [(TurnState, UInt64)], _ goesOn: (TurnState, UInt64) -> Bool) {
        for state in touched { distances[Int(state)] = Self.unreached }
        touched.removeAll(keepingCapacity: true)
        heap.removeAll(keepingCapacity: true)
        for (state, cost) in seeds where cost < UInt64(Int32.max) { improve(state, cost) }
        let turns = metric.turns
        while let (cost, state) = pop() {
            guard cost == distances[Int(state)] else { continue }
            guard goesOn(state, cost) else { return }
            for arc in turns.arcs(from: state) where metric.cost(ofArc: arc) != Metric.forbidden {
                let target = turns.target(of: arc)
                let edge = metric.cost(of: turns.edge(of: target))
                guard edge != Metric.forbidden else { continue }
                improve(target, cost + UInt64(metric.cost(ofArc: arc)) + UInt64(edge))
            }
        }
    }

    private func improve(_ state: TurnState, _ cost: UInt64) {
        let known = distances[Int(state)]
        guard cost < known else { return }
        if known == Self.unreached { touched.append(state) }
        distances[Int(state)] = cost
        heap.append((cost, state))
        var child = heap.count - 1
        while child > 0, heap[(child - 1) / 2].cost > heap[child].cost {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private func pop() -> (cost: UInt64, state: TurnState)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].cost < heap[least].cost { least = child }
            if least == parent { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
