internal import Glibc
package import NavGeo
internal import NavMap

/// A nested dissection that orders the roads of a network for contraction: the roads of small, balanced cuts come last.
///
/// The network is cut in two along few roads, and each half again, down to single nodes; the roads of a cut follow those of both halves.
/// Contraction later works on turns between directed roads, and there too the roads of a cut separate the halves, as in Buchhold, Wagner,
/// Zeitz and Zündorf ("Customizable Contraction Hierarchies with Turn Costs", 2020).
package enum NestedDissection {
    /// A road between two nodes, in any direction.
    package struct Road: BitwiseCopyable, Sendable {
        package var first: UInt32
        package var second: UInt32
    }

    /// The reciprocal of the share of nodes at each end of a sweep that are terminals of the flow.
    private static let terminalShare = 4
    /// The number of nodes above which several threads cut a part; progress is reported per smaller part.
    private static let parallelSize = 4096

    /// Returns the rank of each road in the order, 0 ..< the number of roads.
    ///
    /// Depends on the input alone, not on `jobs`. Takes a second for 100,000 roads.
    ///
    /// - Parameter placed: Receives the number of newly ranked roads, from the working threads; some roads are not reported.
    package static func ranks(
        positions: ContiguousArray<FixedCoordinate>, roads: ContiguousArray<Road>, jobs: Int,
        placed: @Sendable (Int) -> Void
    ) -> ContiguousArray<UInt32> {
        let dissection = Dissection(positions: positions, roads: roads)
        var parts = [Part(nodes: 0..<positions.count, roads: 0..<roads.count)]
        // The first cuts are made one after another, each with several threads.
        if jobs > 1 {
            let scratch = (0..<sweepCount).map { _ in Scratch(nodes: positions.count, roads: roads.count) }
            while parts.count < 8 * jobs,
                let largest = parts.indices.max(by: { parts[$0].nodes.count < parts[$1].nodes.count }),
                parts[largest].nodes.count > parallelSize
            {
                let part = parts.remove(at: largest)
                parts += dissection.divide(part, scratch, jobs: jobs)
            }
        }
        let rest = parts
        _ = Parallel.map(rest.count, jobs: jobs) { index -> Bool in
            let scratch = [Scratch(nodes: rest[index].nodes.count, roads: rest[index].roads.count)]
            var large = [rest[index]]
            while let part = large.popLast() {
                if part.nodes.count > parallelSize {
                    large += dissection.divide(part, scratch, jobs: 1)
                    continue
                }
                var small = [part]
                while let part = small.popLast() { small += dissection.divide(part, scratch, jobs: 1) }
                placed(part.roads.count)
            }
            return true
        }
        return dissection.ranks
    }

    /// The directions of the map along which cuts are tried.
    private static let sweepCount = 4

    fileprivate final class Scratch: @unchecked Sendable {
        let network: UnitFlow.Network
        let flow: UnitFlow
        let order: FlatArray<UInt32>
        let rest: FlatArray<UInt32>

        init(nodes: Int, roads: Int) {
            network = UnitFlow.Network(nodeCapacity: nodes, roadCapacity: roads)
            flow = UnitFlow(network)
            order = FlatArray(repeating: 0, count: nodes)
            rest = FlatArray(repeating: 0, count: max(nodes, roads))
        }
    }

    /// A part of the network, as contiguous ranges of the dissection's arrays.
    fileprivate struct Part: Sendable {
        var nodes: Range<Int>
        var roads: Range<Int>
    }

    /// The arrays that parts are ranges of; threads work on different parts and therefore on disjoint ranges.
    fileprivate final class Dissection: @unchecked Sendable {
        private let roads: FlatArray<Road>
        /// The roads in the order so far; the roads of a finished part have their final ranks.
        private let order: UnsafeMutableBufferPointer<UInt32>
        /// The nodes of each part from west to east, south to north, and along both diagonals.
        private let sweeps: [UnsafeMutableBufferPointer<UInt32>]
        /// The number of each node in its part, written before it is read.
        private let localNumbers: UnsafeMutableBufferPointer<UInt32>

        init(positions: ContiguousArray<FixedCoordinate>, roads: ContiguousArray<Road>) {
            self.roads = FlatArray(roads)
            order = .allocate(capacity: roads.count)
            _ = order.initialize(from: (0..<roads.count).lazy.map(UInt32.init))
            localNumbers = .allocate(capacity: positions.count)
            localNumbers.initialize(repeating: 0)
            // The length of a degree of longitude depends on the latitude; the mean latitude is used for all data.
            let middle =
                positions.isEmpty ? 0 : positions.reduce(0.0) { $0 + $1.coordinate.latitude } / Double(positions.count)
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

        /// Cuts a part in two, moves the cut's roads to the end, and returns the halves that remain to be cut.
        func divide(_ part: Part, _ scratch: [Scratch], jobs: Int) -> [Part] {
            guard part.nodes.count > 1, !part.roads.isEmpty, let cut = smallestCut(part, scratch, jobs: jobs)
            else { return [] }
            let isFirst = cut.isFirst.base
            let (numbers, roads, rest) = (localNumbers, roads, scratch[0].rest.base)
            // Within each half the nodes keep the order of each sweep.
            var middle = part.nodes.lowerBound
            for sweep in sweeps {
                middle = stablePartition(sweep, part.nodes, rest) { isFirst[Int(numbers[Int($0)])] }
            }
            let inner = stablePartition(order, part.roads, rest) {
                isFirst[Int(numbers[Int(roads[Int($0)].first)])] == isFirst[Int(numbers[Int(roads[Int($0)].second)])]
            }
            let first = stablePartition(order, part.roads.lowerBound..<inner, rest) {
                isFirst[Int(numbers[Int(roads[Int($0)].first)])]
            }
            return [
                Part(nodes: part.nodes.lowerBound..<middle, roads: part.roads.lowerBound..<first),
                Part(nodes: middle..<part.nodes.upperBound, roads: first..<inner),
            ]
        }

        private func smallestCut(_ part: Part, _ scratch: [Scratch], jobs: Int) -> UnitFlow.Cut? {
            let terminals = max(1, part.nodes.count / NestedDissection.terminalShare)
            for (number, node) in sweeps[0][part.nodes].enumerated() { localNumbers[Int(node)] = UInt32(number) }
            var cuts: [UnitFlow.Cut?] = []
            if jobs > 1 {
                cuts = Parallel.map(sweeps.count, jobs: jobs) { index in
                    fill(scratch[index].network, part)
                    return scratch[index].flow.cut(
                        number(index, part, scratch[index]), terminals: terminals, limit: part.roads.count)
                }
            } else {
                fill(scratch[0].network, part)
                var limit = part.roads.count
                for index in sweeps.indices {
                    let cut = scratch[0].flow.cut(number(index, part, scratch[0]), terminals: terminals, limit: limit)
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

        /// Returns the local numbers of a sweep's nodes.
        private func number(_ sweep: Int, _ part: Part, _ scratch: Scratch) -> UnsafeMutableBufferPointer<UInt32> {
            for (index, node) in sweeps[sweep][part.nodes].enumerated() {
                scratch.order[index] = localNumbers[Int(node)]
            }
            return UnsafeMutableBufferPointer(start: scratch.order.base, count: part.nodes.count)
        }

        /// Fills the network of a part whose nodes are numbered.
        private func fill(_ network: UnitFlow.Network, _ part: Part) {
            let offsets = network.offsets.base
            network.nodeCount = part.nodes.count
            network.roadCount = part.roads.count
            offsets.update(repeating: 0, count: part.nodes.count + 1)
            for road in order[part.roads] {
                offsets[Int(localNumbers[Int(roads[Int(road)].first)])] += 1
                offsets[Int(localNumbers[Int(roads[Int(road)].second)])] += 1
            }
            // Each node's offset starts at the end of its halves, and moves to their beginning as they are filled in.
            var sum: UInt32 = 0
            for node in 0..<part.nodes.count {
                sum += offsets[node]
                offsets[node] = sum
            }
            offsets[part.nodes.count] = sum
            for (index, road) in order[part.roads].enumerated() {
                let first = localNumbers[Int(roads[Int(road)].first)]
                let second = localNumbers[Int(roads[Int(road)].second)]
                add(network, from: first, to: second, half: UInt32(index) << 1)
                add(network, from: second, to: first, half: UInt32(index) << 1 | 1)
            }
        }

        @inline(__always)
        private func add(_ network: UnitFlow.Network, from tail: UInt32, to head: UInt32, half: UInt32) {
            network.offsets[Int(tail)] -= 1
            let slot = Int(network.offsets[Int(tail)])
            network.targets[slot] = head
            network.halves[slot] = half
        }

        /// Moves the elements of a range that satisfy the predicate before the others, keeping both orders; returns the start
        /// of the others.
        @inline(__always)
        private func stablePartition(
            _ buffer: UnsafeMutableBufferPointer<UInt32>, _ range: Range<Int>, _ rest: UnsafeMutablePointer<UInt32>,
            _ belongsFirst: (UInt32) -> Bool
        ) -> Int {
            var end = range.lowerBound
            var others = 0
            for index in range {
                let element = buffer[index]
                if belongsFirst(element) {
                    buffer[end] = element
                    end += 1
                } else {
                    rest[others] = element
                    others += 1
                }
            }
            for index in 0..<others { buffer[end + index] = rest[index] }
            return end
        }
    }
}
