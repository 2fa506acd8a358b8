internal import Glibc
package import NavGeo

/// Orders the roads of a network for contraction: small cuts that divide the network evenly come last.
///
/// The network is cut in two along few roads, each half again, down to single nodes; the roads of a cut follow those of
/// both halves. What is contracted later are turns between directed roads, and there the roads of a cut separate the
/// halves, as Buchhold, Wagner, Zeitz and Zündorf use it ("Customizable Contraction Hierarchies with Turn Costs", 2020).
package enum NestedDissection {
    /// A road between two nodes, whichever way it may be driven.
    package struct Road {
        package var first: UInt32
        package var second: UInt32

        package init(first: UInt32, second: UInt32) {
            self.first = first
            self.second = second
        }
    }

    /// Share of the nodes at either end of a direction that a cut must leave on different sides.
    private static let terminalShare = 4
    /// Parts of at least this many nodes are worth a thread of their own.
    private static let parallelSize = 4096

    /// The place of each road in the order, 0 ..< the number of roads.
    ///
    /// Depends on the input alone, not on `jobs`. Takes a second for 100,000 roads.
    package static func ranks(
        positions: ContiguousArray<FixedCoordinate>, roads: ContiguousArray<Road>, jobs: Int
    ) -> ContiguousArray<UInt32> {
        let dissection = Dissection(positions: positions, roads: roads)
        var parts = [Part(nodes: 0..<positions.count, roads: 0..<roads.count)]
        // The first cuts are made one after the other, each with several threads.
        while jobs > 1, parts.count < 8 * jobs,
            let largest = parts.indices.max(by: { parts[$0].nodes.count < parts[$1].nodes.count }),
            parts[largest].nodes.count > parallelSize
        {
            let part = parts.remove(at: largest)
            parts += dissection.divide(part, jobs: jobs)
        }
        let rest = parts
        _ = Parallel.map(rest.count, jobs: jobs) { index -> Bool in
            var stack = [rest[index]]
            while let part = stack.popLast() { stack += dissection.divide(part, jobs: 1) }
            return true
        }
        return dissection.ranks
    }

    /// Nodes and roads that lie together: ranges of the dissection's arrays.
    fileprivate struct Part: Sendable {
        var nodes: Range<Int>
        var roads: Range<Int>
    }

    /// The arrays that parts are ranges of. Threads work on different parts, hence on different ranges.
    fileprivate final class Dissection: @unchecked Sendable {
        private let roads: ContiguousArray<Road>
        /// The roads in the order that grows: a finished part's roads have their final place.
        private let order: UnsafeMutableBufferPointer<UInt32>
        /// The nodes of each part from west to east, south to north, and along both diagonals.
        private let sweeps: [UnsafeMutableBufferPointer<UInt32>]
        /// The number of each node in its part, written before it is read.
        private let localNumbers: UnsafeMutableBufferPointer<UInt32>

        init(positions: ContiguousArray<FixedCoordinate>, roads: ContiguousArray<Road>) {
            self.roads = roads
            order = .allocate(capacity: roads.count)
            _ = order.initialize(from: (0..<roads.count).lazy.map(UInt32.init))
            localNumbers = .allocate(capacity: positions.count)
            localNumbers.initialize(repeating: 0)
            // A degree of longitude shrinks with the latitude; the middle of the data stands for all of it.
            let middle = positions.isEmpty ? 0 : positions.reduce(0.0) { $0 + $1.coordinate.latitude } / Double(positions.count)
            let shrink = Int64((cos(middle * .pi / 180) * 1_024).rounded())
            func keys(_ east: Int64, _ north: Int64) -> [Int64] {
                positions.map { east * Int64($0.longitudeE7) * shrink / 1_024 + north * Int64($0.latitudeE7) }
            }
            let directions: [(east: Int64, north: Int64)] = [(1, 0), (0, 1), (1, 1), (1, -1)]
            sweeps = directions.map { direction in
                let keys = keys(direction.east, direction.north)
                let sorted = (0..<UInt32(positions.count)).sorted {
                    (keys[Int($0)], $0) < (keys[Int($1)], $1)
                }
                let buffer = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: positions.count)
                _ = buffer.initialize(from: sorted)
                return buffer
            }
        }

        deinit {
            order.deallocate()
            localNumbers.deallocate()
            for sweep in sweeps { sweep.deallocate() }
        }

        var ranks: ContiguousArray<UInt32> {
            var ranks = ContiguousArray<UInt32>(repeating: 0, count: roads.count)
            for (rank, road) in order.enumerated() { ranks[Int(road)] = UInt32(rank) }
            return ranks
        }

        /// Cuts a part in two, gives the cut's roads the last places, and returns the halves that are left to cut.
        func divide(_ part: Part, jobs: Int) -> [Part] {
            guard part.nodes.count > 1, !part.roads.isEmpty else { return [] }
            let network = network(of: part)
            guard let cut = smallestCut(network, part, jobs: jobs) else { return [] }
            // The nodes of either half stay in the order of each sweep.
            let nodes = sweeps.map { stablePartition($0, part.nodes) { cut.isFirst[Int(localNumbers[Int($0)])] } }
            let side = { (node: UInt32) in cut.isFirst[Int(self.localNumbers[Int(node)])] }
            let inner = stablePartition(order, part.roads) { [roads] in
                side(roads[Int($0)].first) == side(roads[Int($0)].second)
            }
            let first = stablePartition(order, part.roads.lowerBound..<inner) { [roads] in side(roads[Int($0)].first) }
            return [
                Part(nodes: part.nodes.lowerBound..<nodes[0], roads: part.roads.lowerBound..<first),
                Part(nodes: nodes[0]..<part.nodes.upperBound, roads: first..<inner),
            ]
        }

        private func smallestCut(_ network: UnitFlow.Network, _ part: Part, jobs: Int) -> UnitFlow.Cut? {
            let terminals = max(1, part.nodes.count / NestedDissection.terminalShare)
            var cuts: [UnitFlow.Cut?] = []
            if jobs > 1 {
                cuts = Parallel.map(sweeps.count, jobs: jobs) { index in
                    var flow = UnitFlow(network)
                    return flow.cut(
                        order(index, numbered: part), terminals: terminals, limit: part.roads.count)
                }
            } else {
                var flow = UnitFlow(network)
                var limit = part.roads.count
                for index in sweeps.indices {
                    let cut = flow.cut(order(index, numbered: part), terminals: terminals, limit: limit)
                    if let cut { limit = min(limit, cut.size) }
                    cuts.append(cut)
                }
            }
            var best: UnitFlow.Cut?
            for case let cut? in cuts {
                if let known = best, (known.size, -known.smallerSide) <= (cut.size, -cut.smallerSide) { continue }
                best = cut
            }
            return best
        }

        /// A sweep's nodes by their local numbers.
        private func order(_ sweep: Int, numbered part: Part) -> ContiguousArray<UInt32> {
            ContiguousArray(sweeps[sweep][part.nodes].lazy.map { [localNumbers] in localNumbers[Int($0)] })
        }

        private func network(of part: Part) -> UnitFlow.Network {
            for (number, node) in sweeps[0][part.nodes].enumerated() { localNumbers[Int(node)] = UInt32(number) }
            var network = UnitFlow.Network()
            network.nodeCount = part.nodes.count
            network.roadCount = part.roads.count
            network.offsets = ContiguousArray(repeating: 0, count: part.nodes.count + 1)
            for road in order[part.roads] {
                network.offsets[Int(localNumbers[Int(roads[Int(road)].first)]) + 1] += 1
                network.offsets[Int(localNumbers[Int(roads[Int(road)].second)]) + 1] += 1
            }
            for node in 0..<part.nodes.count { network.offsets[node + 1] += network.offsets[node] }
            network.targets = ContiguousArray(repeating: 0, count: part.roads.count * 2)
            network.halves = network.targets
            var next = network.offsets
            for (index, road) in order[part.roads].enumerated() {
                let first = localNumbers[Int(roads[Int(road)].first)]
                let second = localNumbers[Int(roads[Int(road)].second)]
                for (tail, head, direction) in [(first, second, UInt32(0)), (second, first, 1)] {
                    let slot = Int(next[Int(tail)])
                    next[Int(tail)] += 1
                    network.targets[slot] = head
                    network.halves[slot] = UInt32(index) << 1 | direction
                }
            }
            return network
        }

        /// Moves the elements of a range that satisfy the predicate before the others, both in their order; returns
        /// where the others begin.
        private func stablePartition(
            _ buffer: UnsafeMutableBufferPointer<UInt32>, _ range: Range<Int>, _ belongsFirst: (UInt32) -> Bool
        ) -> Int {
            var rest: ContiguousArray<UInt32> = []
            var end = range.lowerBound
            for index in range {
                let element = buffer[index]
                if belongsFirst(element) {
                    buffer[end] = element
                    end += 1
                } else {
                    rest.append(element)
                }
            }
            for (index, element) in rest.enumerated() { buffer[end + index] = element }
            return end
        }
    }
}
