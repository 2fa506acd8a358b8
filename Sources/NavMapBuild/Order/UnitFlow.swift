/// Cuts a part of the road network in two along as few roads as possible.
///
/// Every road carries at most one unit in either direction; the maximum flow between the outermost nodes of both sides
/// (Dinic's algorithm, 1970) leaves a cut of as many roads. Taking the sides along a direction of the map is inertial
/// flow (Schild and Sommer, 2015).
struct UnitFlow {
    /// The roads of one part, by local node numbers.
    struct Network {
        var nodeCount = 0
        var offsets: ContiguousArray<UInt32> = []
        var targets: ContiguousArray<UInt32> = []
        /// The road of each half, doubled, with its lowest bit set when the half leaves the road's second end.
        var halves: ContiguousArray<UInt32> = []
        var roadCount = 0
    }

    /// A division of the nodes in two.
    struct Cut {
        var size: Int
        /// How many nodes lie on the smaller side.
        var smallerSide: Int
        /// For each node whether it lies on the side of the sources.
        var isFirst: ContiguousArray<Bool>
    }

    private static let unseen = Int32.max

    private let network: Network
    private var flows: ContiguousArray<Int8>
    private var levels: ContiguousArray<Int32>
    private var next: ContiguousArray<UInt32>
    private var queue: ContiguousArray<UInt32> = []
    private var isSink: ContiguousArray<Bool>
    /// The way from a source: each half with the node it starts at.
    private var path: ContiguousArray<(slot: UInt32, node: UInt32)> = []

    init(_ network: Network) {
        self.network = network
        flows = ContiguousArray(repeating: 0, count: network.roadCount)
        levels = ContiguousArray(repeating: Self.unseen, count: network.nodeCount)
        next = ContiguousArray(repeating: 0, count: network.nodeCount)
        isSink = ContiguousArray(repeating: false, count: network.nodeCount)
    }

    /// The smallest cut between the first and the last `terminals` nodes of an order, the more even of the two that
    /// the flow shows; nil when it takes more than `limit` roads.
    mutating func cut(_ order: ContiguousArray<UInt32>, terminals: Int, limit: Int) -> Cut? {
        let sources = order.prefix(terminals)
        let sinks = order.suffix(terminals)
        for index in flows.indices { flows[index] = 0 }
        for index in isSink.indices { isSink[index] = false }
        for node in sinks { isSink[Int(node)] = true }
        var flow = 0
        while let depth = layer(from: sources) {
            for source in sources {
                flow += augment(from: source, depth: depth, limit: limit - flow)
                if flow > limit { return nil }
            }
        }
        // The last layering has seen all that the sources still reach.
        var isFirst = ContiguousArray(levels.map { $0 != Self.unseen })
        let reached = isFirst.count { $0 }
        let reaching = markReaching(sinks)
        let (evenness, other) = (min(reached, isFirst.count - reached), min(reaching, isFirst.count - reaching))
        if other > evenness {
            for node in isFirst.indices { isFirst[node] = levels[node] == Self.unseen }
        }
        return Cut(size: flow, smallerSide: max(evenness, other), isFirst: isFirst)
    }

    @inline(__always)
    private func residual(_ half: UInt32) -> Bool { half & 1 == 0 ? flows[Int(half >> 1)] < 1 : flows[Int(half >> 1)] > -1 }

    /// Breadth-first levels from the sources up to that of the nearest sink, which is returned; nil when none is left.
    private mutating func layer(from sources: ArraySlice<UInt32>) -> Int32? {
        for index in levels.indices { levels[index] = Self.unseen }
        queue.removeAll(keepingCapacity: true)
        for node in sources {
            levels[Int(node)] = 0
            next[Int(node)] = network.offsets[Int(node)]
            queue.append(node)
        }
        var depth: Int32?
        var position = 0
        while position < queue.count {
            let node = Int(queue[position])
            position += 1
            let level = levels[node] + 1
            if let depth, level > depth { break }
            for slot in Int(network.offsets[node])..<Int(network.offsets[node + 1]) {
                let target = network.targets[slot]
                guard levels[Int(target)] == Self.unseen, residual(network.halves[slot]) else { continue }
                levels[Int(target)] = level
                next[Int(target)] = network.offsets[Int(target)]
                if isSink[Int(target)] { depth = level } else { queue.append(target) }
            }
        }
        return depth
    }

    /// Sends what can be sent from a source along the levels; stops beyond `limit`.
    private mutating func augment(from source: UInt32, depth: Int32, limit: Int) -> Int {
        var flow = 0
        var node = Int(source)
        path.removeAll(keepingCapacity: true)
        while true {
            if isSink[node], levels[node] == depth {
                for step in path {
                    let half = network.halves[Int(step.slot)]
                    flows[Int(half >> 1)] += half & 1 == 0 ? 1 : -1
                }
                flow += 1
                if flow > limit { return flow }
                path.removeAll(keepingCapacity: true)
                node = Int(source)
                continue
            }
            var advanced = false
            while next[node] < network.offsets[node + 1] {
                let slot = Int(next[node])
                let target = Int(network.targets[slot])
                if levels[target] == levels[node] + 1, residual(network.halves[slot]) {
                    path.append((UInt32(slot), UInt32(node)))
                    node = target
                    advanced = true
                    break
                }
                next[node] += 1
            }
            if advanced { continue }
            guard let step = path.popLast() else { return flow }
            levels[node] = -1
            node = Int(step.node)
            next[node] += 1
        }
    }

    /// Gives a level to every node from which a sink can still be reached, and returns their number.
    private mutating func markReaching(_ sinks: ArraySlice<UInt32>) -> Int {
        for index in levels.indices { levels[index] = Self.unseen }
        queue.removeAll(keepingCapacity: true)
        for node in sinks {
            levels[Int(node)] = 0
            queue.append(node)
        }
        var position = 0
        while position < queue.count {
            let node = Int(queue[position])
            position += 1
            for slot in Int(network.offsets[node])..<Int(network.offsets[node + 1]) {
                let target = network.targets[slot]
                // The flow must be able to come from the target: the other half of the road.
                guard levels[Int(target)] == Self.unseen, residual(network.halves[slot] ^ 1) else { continue }
                levels[Int(target)] = 0
                queue.append(target)
            }
        }
        return queue.count
    }
}
