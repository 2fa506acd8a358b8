import NavMap
import NavRouting

/// The slow, obvious router that the fast one is checked against.
///
/// A state is the path driven so far as far as any prohibited path could still need it: the edge with the edges before
/// it. Nothing is shared with the router but the prices of edges and turns.
struct PlainDijkstra {
    let graph: RoadGraph
    let metric: Metric
    /// Edges of history that matter: the longest prohibited path less one.
    private let memory: Int
    private let prohibitedByEnd: [EdgeIndex: [[EdgeIndex]]]

    init(_ metric: Metric) {
        graph = metric.turns.graph
        self.metric = metric
        memory = max((graph.prohibitedPaths.map(\.count).max() ?? 2) - 1, 1)
        prohibitedByEnd = Dictionary(grouping: graph.prohibitedPaths) { $0[$0.count - 1] }
    }

    /// Whether a path of edges is one that the vehicle may drive.
    func isDrivable(_ path: [EdgeIndex]) -> Bool {
        guard path.allSatisfy({ metric.allows($0) }) else { return false }
        for index in path.indices.dropFirst() {
            guard graph.edgeHeads[path[index - 1].index] == graph.edgeTails[path[index].index],
                turnCost(path[index - 1], path[index]) != nil, !isProhibited(Array(path[...index]))
            else { return false }
        }
        return true
    }

    /// The cost of a path, ms, from an offset on its first edge to one on its last.
    func cost(_ path: [EdgeIndex], from start: Double, to end: Double) -> UInt64? {
        guard path.count > 1 else { return UInt64(part(path[0], from: start, to: end)) }
        var cost = UInt64(part(path[0], from: start, to: .infinity))
        for index in path.indices.dropFirst() {
            guard let turn = turnCost(path[index - 1], path[index]) else { return nil }
            cost += UInt64(turn)
            let isLast = index == path.count - 1
            cost += UInt64(part(path[index], from: 0, to: isLast ? end : .infinity))
        }
        return cost
    }

    /// The least cost between two places, ms; nil when they are not connected.
    func leastCost(from origin: (edge: EdgeIndex, offset: Double), to goal: (edge: EdgeIndex, offset: Double))
        -> UInt64?
    {
        guard metric.allows(origin.edge), metric.allows(goal.edge) else { return nil }
        var best: UInt64?
        if origin.edge == goal.edge, goal.offset >= origin.offset {
            best = UInt64(part(origin.edge, from: origin.offset, to: goal.offset))
        }
        let last = UInt64(part(goal.edge, from: 0, to: goal.offset))
        var distances: [[EdgeIndex]: UInt64] = [
            [origin.edge]: UInt64(part(origin.edge, from: origin.offset, to: .infinity))
        ]
        var queue = SortedQueue()
        queue.insert([origin.edge], distances[[origin.edge]] ?? 0)
        while let (history, cost) = queue.removeLeast() {
            guard distances[history] == cost else { continue }
            if let best, cost >= best { break }
            let edge = history[history.count - 1]
            for next in graph.outgoing(graph.edgeHeads[edge.index]) where metric.allows(next) {
                guard let turn = turnCost(edge, next), !isProhibited(history + [next]) else { continue }
                if next == goal.edge { best = min(best ?? .max, cost + UInt64(turn) + last) }
                let total = cost + UInt64(turn) + UInt64(metric.cost(of: next))
                let following = Array((history + [next]).suffix(memory))
                if total < distances[following] ?? .max {
                    distances[following] = total
                    queue.insert(following, total)
                }
            }
        }
        return best
    }

    private func part(_ edge: EdgeIndex, from start: Double, to end: Double) -> UInt32 {
        let length = Double(graph.edgeLengths[edge.index])
        guard length > 0 else { return 0 }
        return UInt32((Double(metric.cost(of: edge)) * min(max((min(end, length) - start) / length, 0), 1)).rounded())
    }

    /// What a turn costs, ms; nil through a barrier, and where it turns round other than at a dead end,
    /// barrier or turning circle.
    private func turnCost(_ first: EdgeIndex, _ second: EdgeIndex) -> UInt32? {
        let node = graph.edgeHeads[first.index]
        let exits = graph.outgoing(node).filter { metric.allows($0) }
        let flags = graph.nodeFlags[node.index]
        let isBack = graph.opposite(first) == second
        if flags.contains(.impassable), !isBack { return nil }
        if isBack, exits.count > 1, flags.isDisjoint(with: [.turningCircle, .impassable]) { return nil }
        let closed: RoadFlags = [.destinationOnly, .privateAccess]
        let enters =
            graph.traits(of: first).flags.isDisjoint(with: closed)
            && !graph.traits(of: second).flags.isDisjoint(with: closed)
        let seconds = metric.turnDuration(from: first, to: second) + (enters ? CostModel.restrictedEntryPenalty : 0)
        return UInt32((seconds * 1_000).rounded())
    }

    private func isProhibited(_ driven: [EdgeIndex]) -> Bool {
        guard let last = driven.last, let paths = prohibitedByEnd[last] else { return false }
        return paths.contains { driven.suffix($0.count).elementsEqual($0) }
    }
}

/// A binary heap of paths by cost.
private struct SortedQueue {
    private var entries: [(path: [EdgeIndex], cost: UInt64)] = []

    mutating func insert(_ path: [EdgeIndex], _ cost: UInt64) {
        entries.append((path, cost))
        var child = entries.count - 1
        while child > 0, entries[(child - 1) / 2].cost > entries[child].cost {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeLeast() -> (path: [EdgeIndex], cost: UInt64)? {
        guard let least = entries.first else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].cost < entries[smallest].cost {
                smallest = child
            }
            if smallest == parent { break }
            entries.swapAt(parent, smallest)
            parent = smallest
        }
        return least
    }
}
