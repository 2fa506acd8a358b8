/// The start order of nodes by their `after`; unknown names are ignored here, as the file's reader rejects them.
struct StartOrder: Sendable {
    /// For each node, the nodes that must be ready before it starts.
    let predecessors: [[Int]]
    /// For each node, the nodes that start after it, and are stopped before it.
    let successors: [[Int]]
    /// Every node once: predecessors first, otherwise as listed; nodes in or after a cycle come last.
    let sequence: [Int]
    /// The nodes that can never start, because they are in or after a cycle.
    let unreachable: [Int]
    /// The nodes of one cycle, each before the one that comes after it; empty without a cycle.
    let cycle: [Int]

    init(_ nodes: [LaunchNode]) {
        let indices = Dictionary(nodes.indices.map { (nodes[$0].name, $0) }) { first, _ in first }
        let predecessors = nodes.map { node in
            node.after.compactMap { indices[$0] }.reduce(into: [Int]()) { unique, index in
                if !unique.contains(index) { unique.append(index) }
            }
        }
        var successors = [[Int]](repeating: [], count: nodes.count)
        for (node, others) in predecessors.enumerated() {
            for other in others { successors[other].append(node) }
        }
        var sequence: [Int] = []
        var isPlaced = [Bool](repeating: false, count: nodes.count)
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for node in nodes.indices where !isPlaced[node] && predecessors[node].allSatisfy({ isPlaced[$0] }) {
                isPlaced[node] = true
                sequence.append(node)
                hasChanged = true
            }
        }
        let left = nodes.indices.filter { !isPlaced[$0] }
        self.predecessors = predecessors
        self.successors = successors
        self.sequence = sequence + left
        unreachable = left
        // Each remaining node has a remaining predecessor, so following the predecessors eventually reaches a cycle.
        var path: [Int] = []
        var node = left.first
        while let next = node, !path.contains(next) {
            path.append(next)
            node = predecessors[next].first { !isPlaced[$0] }
        }
        let round = node.map { stop in path.drop { $0 != stop } } ?? []
        cycle = round.prefix(1) + round.dropFirst().reversed()
    }

    /// Returns, for each node, the number of rows of nodes to stop before it, counting only nodes that are live.
    func rows(_ isLive: (Int) -> Bool) -> [Int] {
        var rows = [Int](repeating: 0, count: successors.count)
        for node in sequence.reversed() {
            rows[node] = successors[node].reduce(0) { max($0, rows[$1] + (isLive($1) ? 1 : 0)) }
        }
        return rows
    }
}
