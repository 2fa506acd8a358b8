import HeapModule
import NavMap

/// A search for the shortest legal path from the point where a provided route cannot continue to the point where it is rejoined.
struct BridgeSearch {
    /// A path back to the route.
    struct Bridge {
        /// The states after the one that was left; the last one is on the rejoined edge.
        var states: [TurnState]
        /// The index of that edge among the targets.
        var target: Int
    }

    private struct Entry: Comparable {
        var cost: UInt64
        var state: TurnState

        static func < (left: Entry, right: Entry) -> Bool { (left.cost, left.state) < (right.cost, right.state) }
    }

    let metric: Metric

    /// The maximum number of settled states, which bounds the work for a route that is largely missing from the map.
    static let maximumSettled = 20_000
    /// The number of the route's next edges to try.
    static let targets = 12

    /// Returns the path with the least sum of its cost and the cost of the targets after it; nil when there is none nearby.
    ///
    /// - Parameter budget: The number of states that may still be settled, reduced by those that were.
    func run(from state: TurnState, to targets: ArraySlice<EdgeIndex>, budget: inout Int) -> Bridge? {
        let turns = metric.turns
        var rest: [UInt64] = Array(repeating: 0, count: targets.count)
        for offset in (0..<max(targets.count - 1, 0)).reversed() {
            let next = targets[targets.startIndex + offset + 1]
            rest[offset] = rest[offset + 1] + (metric.allows(next) ? UInt64(metric.cost(of: next)) : 0)
        }
        var costs: [TurnState: UInt64] = [state: 0]
        var parents: [TurnState: TurnState] = [:]
        var heap = Heap([Entry(cost: 0, state: state)])
        var best: (total: UInt64, state: TurnState, target: Int)?
        var settled = 0
        let limit = min(Self.maximumSettled, budget)
        defer { budget -= min(settled, limit) }
        while let entry = heap.popMin() {
            guard entry.cost == costs[entry.state] else { continue }
            if let best, entry.cost >= best.total { break }
            settled += 1
            guard settled <= limit else { break }
            if entry.state != state,
                let offset = targets.lastIndex(of: turns.edge(of: entry.state)).map({ $0 - targets.startIndex }),
                entry.cost + rest[offset] < best?.total ?? .max
            {
                best = (entry.cost + rest[offset], entry.state, offset)
            }
            for arc in turns.arcs(from: entry.state) {
                let turn = metric.cost(ofArc: arc)
                let next = turns.target(of: arc)
                guard turn != Metric.forbidden else { continue }
                let cost = entry.cost + UInt64(turn) + UInt64(metric.cost(of: turns.edge(of: next)))
                guard cost < costs[next] ?? .max else { continue }
                costs[next] = cost
                parents[next] = entry.state
                heap.insert(Entry(cost: cost, state: next))
            }
        }
        guard let best else { return nil }
        var states = [best.state]
        while let parent = parents[states[states.count - 1]], parent != state { states.append(parent) }
        return Bridge(states: states.reversed(), target: best.target)
    }
}
