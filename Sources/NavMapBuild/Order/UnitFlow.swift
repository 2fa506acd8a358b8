internal import NavMap

/// A maximum-flow solver that cuts a part of the road network in two along the fewest roads.
///
/// Every road carries at most one unit in either direction. The maximum flow between the outermost nodes of both sides
/// (Dinic's algorithm, 1970) leaves a cut with the same number of roads. Choosing the sides along a direction of the map is
/// inertial flow (Schild and Sommer, 2015).
final class UnitFlow {
    /// The roads of one part, by local node numbers; reused for each part.
    final class Network {
        var nodeCount = 0
        var roadCount = 0
        let offsets: FlatArray<UInt32>
        let targets: FlatArray<UInt32>
        /// Twice the road of each half, with the lowest bit set when the half leaves the road's second end.
        let halves: FlatArray<UInt32>

        init(nodeCapacity: Int, roadCapacity: Int) {
            offsets = FlatArray(repeating: 0, count: nodeCapacity + 1)
            targets = FlatArray(repeating: 0, count: roadCapacity * 2)
            halves = FlatArray(repeating: 0, count: roadCapacity * 2)
        }
    }

    /// A division of the nodes in two.
    struct Cut {
        var size: Int
        var smallerSide: Int
        /// For each node, whether it lies on the side of the sources.
        var isFirst: FlatArray<Bool>
    }

    private static let unseen = Int32.max
    private static let spent: Int32 = -1

    private let network: Network
    private let flows: FlatArray<Int8>
    private let levels: FlatArray<Int32>
    private let next: FlatArray<UInt32>
    private let queue: FlatArray<UInt32>
    private let isSink: FlatArray<Bool>
    /// The path from a source: each half with its start node.
    private let path: FlatArray<SIMD2<UInt32>>

    init(_ network: Network) {
        self.network = network
        let nodes = network.offsets.count - 1
        flows = FlatArray(repeating: 0, count: network.targets.count / 2)
        levels = FlatArray(repeating: 0, count: nodes)
        next = FlatArray(repeating: 0, count: nodes)
        queue = FlatArray(repeating: 0, count: nodes)
        isSink = FlatArray(repeating: false, count: nodes)
        path = FlatArray(repeating: SIMD2(), count: nodes)
    }

    /// Returns the smallest cut between the first and the last `terminals` nodes of an order.
    ///
    /// Of the two cuts that the flow yields, it returns the more even one. Nil when the cut has more than `limit` roads.
    func cut(_ order: UnsafeMutableBufferPointer<UInt32>, terminals: Int, limit: Int) -> Cut? {
        let count = network.nodeCount
        let sources = UnsafeMutableBufferPointer(rebasing: order.prefix(terminals))
        let sinks = UnsafeMutableBufferPointer(rebasing: order.suffix(terminals))
        flows.base.update(repeating: 0, count: network.roadCount)
        isSink.base.update(repeating: false, count: count)
        for node in sinks { isSink[Int(node)] = true }
        var flow = 0
        while let depth = layer(from: sources) {
            for source in sources {
                flow += augment(from: source, depth: depth, limit: limit - flow)
                if flow > limit { return nil }
            }
        }
        // The last layering has visited every node still reachable from the sources.
        let isFirst = FlatArray(repeating: false, count: count)
        var reached = 0
        for node in 0..<count where levels[node] != Self.unseen {
            isFirst[node] = true
            reached += 1
        }
        let reaching = markReaching(sinks)
        let (evenness, other) = (min(reached, count - reached), min(reaching, count - reaching))
        if other > evenness {
            for node in 0..<count { isFirst[node] = levels[node] == Self.unseen }
        }
        return Cut(size: flow, smallerSide: max(evenness, other), isFirst: isFirst)
    }

    @inline(__always)
    private static func residual(_ half: UInt32, _ flows: UnsafeMutablePointer<Int8>) -> Bool {
        half & 1 == 0 ? flows[Int(half >> 1)] < 1 : flows[Int(half >> 1)] > -1
    }

    /// Sets breadth-first levels from the sources and returns that of the nearest sink; nil when no sink is reachable.
    private func layer(from sources: UnsafeMutableBufferPointer<UInt32>) -> Int32? {
        let (levels, next, queue, flows) = (levels.base, next.base, queue.base, flows.base)
        let (offsets, targets, halves) = (network.offsets.base, network.targets.base, network.halves.base)
        let isSink = isSink.base
        levels.update(repeating: Self.unseen, count: network.nodeCount)
        var end = 0
        for node in sources {
            levels[Int(node)] = 0
            next[Int(node)] = offsets[Int(node)]
            queue[end] = node
            end += 1
        }
        var depth = Self.unseen
        var position = 0
        while position < end {
            let node = Int(queue[position])
            position += 1
            let level = levels[node] + 1
            if level > depth { break }
            for slot in Int(offsets[node])..<Int(offsets[node + 1]) {
                let target = Int(targets[slot])
                guard levels[target] == Self.unseen, Self.residual(halves[slot], flows) else { continue }
                levels[target] = level
                next[target] = offsets[target]
                if isSink[target] {
                    depth = level
                } else {
                    queue[end] = UInt32(target)
                    end += 1
                }
            }
        }
        return depth == Self.unseen ? nil : depth
    }

    /// Augments the flow from a source along the levels as far as possible; stops beyond `limit`.
    private func augment(from source: UInt32, depth: Int32, limit: Int) -> Int {
        let (levels, next, path, flows) = (levels.base, next.base, path.base, flows.base)
        let (offsets, targets, halves) = (network.offsets.base, network.targets.base, network.halves.base)
        let isSink = isSink.base
        var flow = 0
        var node = Int(source)
        var length = 0
        while true {
            if isSink[node], levels[node] == depth {
                for step in 0..<length {
                    let half = halves[Int(path[step].x)]
                    flows[Int(half >> 1)] &+= half & 1 == 0 ? 1 : -1
                }
                flow += 1
                if flow > limit { return flow }
                length = 0
                node = Int(source)
                continue
            }
            var advanced = false
            while next[node] < offsets[node + 1] {
                let slot = Int(next[node])
                let target = Int(targets[slot])
                if levels[target] == levels[node] + 1, Self.residual(halves[slot], flows) {
                    path[length] = SIMD2(UInt32(slot), UInt32(node))
                    length += 1
                    node = target
                    advanced = true
                    break
                }
                next[node] += 1
            }
            if advanced { continue }
            guard length > 0 else { return flow }
            levels[node] = Self.spent
            length -= 1
            node = Int(path[length].y)
            next[node] += 1
        }
    }

    /// Marks every node from which a sink is still reachable with a level, and returns their number.
    private func markReaching(_ sinks: UnsafeMutableBufferPointer<UInt32>) -> Int {
        levels.base.update(repeating: Self.unseen, count: network.nodeCount)
        var end = 0
        for node in sinks {
            levels[Int(node)] = 0
            queue[end] = node
            end += 1
        }
        var position = 0
        while position < end {
            let node = Int(queue[position])
            position += 1
            for slot in Int(network.offsets[node])..<Int(network.offsets[node + 1]) {
                let target = network.targets[slot]
                // The search runs against the flow, so check the residual capacity of the road's other half.
                guard levels[Int(target)] == Self.unseen, Self.residual(network.halves[slot] ^ 1, flows.base)
                else { continue }
                levels[Int(target)] = 0
                queue[end] = target
                end += 1
            }
        }
        return end
    }
}
