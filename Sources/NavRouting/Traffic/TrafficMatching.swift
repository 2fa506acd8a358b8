public import NavGeo
import NavMap

extension Metric {
    /// Creates the same costs with the speeds of an overlay that hold at `now`, where they refer to loaded roads.
    ///
    /// An edge takes the sum of its segments' times; segments without a speed count as free flow. No speed exceeds the
    /// vehicle's maximum. An edge with a closed segment may not be used. Where several speeds cover a segment, the one
    /// over the fewest segments counts, then the slowest.
    ///
    /// Free flow is that of the ``model``, regardless of this metric's own traffic: pass the metric without traffic.
    ///
    /// - Parameters:
    ///   - now: The current time: expired speeds are ignored; nil to use all speeds.
    ///   - forEach: The executor of the parts; the calling thread by default.
    public convenience init(
        _ base: Metric, traffic: TrafficOverlay, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) {
        guard !traffic.speeds.isEmpty else {
            self.init(base, live: nil, closed: [])
            return
        }
        let matching = TrafficMatching(base, traffic, now, forEach)
        let (live, closed) = matching.settle(forEach)
        self.init(base, live: live, closed: closed, stamp: traffic.stamp)
    }
}

extension TurnGraph {
    /// Builds the segment index in advance, so that the first traffic does not wait for it: tens of milliseconds for a city.
    public func prepareForTraffic() { _ = segments(graph) }
}

struct LiveEdges {
    /// The cost of every edge, ms.
    var costs: ContiguousArray<UInt32>
    /// Seconds to drive every edge in traffic; ``unknown`` where nothing is known.
    var seconds: ContiguousArray<Float>

    static let unknown: Float = -1
}

/// The matching of an overlay's speeds to segments: a merge of two lists sorted by nodes.
struct TrafficMatching {
    private let base: Metric
    private let segments: RoadSegments
    /// The speed on each segment, m/s; ``LiveEdges/unknown`` where none is known.
    private let speeds: FlatArray<Float>

    /// The lower bound of the speed on an open segment, m/s, which keeps times finite.
    static let slowestSpeed = 0.1

    /// Returns a speed as it is stored; only a closed segment has 0.
    private static func stored(_ speed: Double) -> Float { Float(speed > 0 ? max(speed, slowestSpeed) : speed) }

    /// The maximum number of segments that a speed between distant nodes may cover.
    static let greatestSpan = 2_000
    /// The maximum number of segments examined for such speeds, which bounds the work for any overlay.
    static let greatestWork = 20_000_000
    /// The number of parts into which the work is divided.
    private static let parts = 32

    init(_ base: Metric, _ traffic: TrafficOverlay, _ now: Timestamp?, _ forEach: HierarchyMetric.ForEach) {
        self.base = base
        let segments = base.turns.segments(base.turns.graph)
        let speeds = FlatArray<Float>(repeating: LiveEdges.unknown, count: segments.count)
        self.segments = segments
        self.speeds = speeds
        // Speeds that begin on a road and do not end at its next node.
        let isWide = FlatArray<Bool>(repeating: false, count: traffic.speeds.count)
        let nodeCount = segments.nodes.count
        forEach(Self.parts) { part in
            let nodes = nodeCount * part / Self.parts..<nodeCount * (part + 1) / Self.parts
            traffic.speeds.withUnsafeBufferPointer { Self.join($0, now, segments, nodes, speeds, isWide) }
        }
        let wide = traffic.speeds.indices.filter { isWide[$0] }
        if !wide.isEmpty { addWide(wide.lazy.map { traffic.speeds[$0] }) }
    }

    // MARK: Speeds between neighbours

    /// Stores the speeds that begin at some of the nodes; parts write to disjoint places.
    private static func join(
        _ given: UnsafeBufferPointer<TrafficSpeed>, _ now: Timestamp?, _ segments: RoadSegments, _ nodes: Range<Int>,
        _ speeds: FlatArray<Float>, _ isWide: FlatArray<Bool>
    ) {
        guard !nodes.isEmpty else { return }
        let ids = segments.nodes.base
        var node = nodes.lowerBound
        var next = place(ids[node], in: given, from: 0)
        while next < given.count {
            let from = given[next].fromNodeID
            if ids[node] < from {
                // Galloping search: a few speeds on many roads cost little.
                var leap = 1
                while node + leap < nodes.upperBound, ids[node + leap] < from { leap *= 2 }
                var (low, high) = (node + leap / 2 + 1, min(node + leap, nodes.upperBound))
                while low < high {
                    let middle = (low + high) / 2
                    if ids[middle] < from { low = middle + 1 } else { high = middle }
                }
                node = low
                guard node < nodes.upperBound else { return }
            }
            if ids[node] > from {
                next = place(ids[node], in: given, from: next)
                continue
            }
            var slot = Int(segments.slotOffsets[node])
            let end = Int(segments.slotOffsets[node + 1])
            while next < given.count, given[next].fromNodeID == from {
                let to = given[next].toNodeID
                var last = next + 1
                while last < given.count, given[last].toNodeID == to, given[last].fromNodeID == from { last += 1 }
                while slot < end, segments.slotTargets[slot] < to { slot += 1 }
                var isMatched = false
                while slot < end, segments.slotTargets[slot] == to {
                    let way = segments.ways[Int(segments.slotEdges[slot])]
                    if let speed = choose(given, next..<last, way: way, now) {
                        speeds[Int(segments.slotSegments[slot])] = Self.stored(speed)
                        isMatched = true
                    }
                    slot += 1
                }
                if !isMatched {
                    for index in next..<last where given[index].holds(at: now) { isWide[index] = true }
                }
                next = last
            }
        }
    }

    /// Returns the first speed, from a given index on, whose node is not below an id.
    private static func place(_ id: Int64, in given: UnsafeBufferPointer<TrafficSpeed>, from start: Int) -> Int {
        var leap = 1
        while start + leap < given.count, given[start + leap].fromNodeID < id { leap *= 2 }
        var (low, high) = (start + leap / 2, min(start + leap, given.count))
        while low < high {
            let middle = (low + high) / 2
            if given[middle].fromNodeID < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the speed between two nodes that applies to a way: one for that way takes precedence over one for any way.
    @inline(__always)
    private static func choose(
        _ given: UnsafeBufferPointer<TrafficSpeed>, _ range: Range<Int>, way: Int64, _ now: Timestamp?
    ) -> Double? {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if given[middle].way < way { low = middle + 1 } else { high = middle }
        }
        if low < range.upperBound, given[low].way == way, given[low].holds(at: now) { return given[low].speed }
        let first = given[range.lowerBound]
        return first.way == TrafficSpeed.anyWay && first.holds(at: now) ? first.speed : nil
    }

    // MARK: Speeds between distant nodes

    /// A segment that such a speed covers.
    private struct Hit {
        var segment: UInt32
        /// The number of segments that the speed covers.
        var span: Int
        var speed: Double
    }

    /// Follows the road from where each speed begins; speeds between neighbouring nodes take precedence.
    private func addWide(_ wide: some Sequence<TrafficSpeed>) {
        var budget = Self.greatestWork
        var hits: [Hit] = []
        for speed in wide where budget > 0 {
            let node = segments.firstNode(from: speed.fromNodeID)
            guard node < segments.nodes.count, segments.nodes[node] == speed.fromNodeID else { continue }
            for slot in Int(segments.slotOffsets[node])..<Int(segments.slotOffsets[node + 1]) where budget > 0 {
                budget -= 1
                let edge = segments.slotEdges[slot]
                guard base.allows(EdgeIndex(rawValue: edge)),
                    speed.wayID == nil || speed.wayID == segments.ways[Int(edge)]
                else { continue }
                let covered = follow(edge, segments.slotSegments[slot], to: speed.toNodeID, &budget)
                for segment in covered {
                    hits.append(Hit(segment: segment, span: covered.count, speed: speed.speed))
                }
            }
        }
        hits.sort { ($0.segment, $0.span, $0.speed) < ($1.segment, $1.span, $1.speed) }
        for hit in hits where speeds[Int(hit.segment)] == LiveEdges.unknown {
            speeds[Int(hit.segment)] = Self.stored(hit.speed)
        }
    }

    /// Returns the segments along one way up to a node; none when the way does not lead there.
    private func follow(_ start: UInt32, _ segment: UInt32, to goal: Int64, _ budget: inout Int) -> [UInt32] {
        let graph = base.turns.graph
        let way = segments.ways[Int(start)]
        var covered: [UInt32] = []
        var (edge, segment) = (EdgeIndex(rawValue: start), segment)
        while covered.count < Self.greatestSpan {
            let shape = graph.shape(of: edge)
            let first = segments.offsets[edge.index]
            while segment < segments.offsets[edge.index + 1], covered.count < Self.greatestSpan {
                covered.append(segment)
                budget -= 1
                if shape.nodeID(Int(segment - first) + 1) == goal { return covered }
                segment += 1
            }
            let onward = graph.outgoing(graph.edgeHeads[edge.index]).first {
                $0 != graph.edgeOpposites[edge.index] && segments.ways[$0.index] == way && base.allows($0)
            }
            guard let onward, onward.rawValue != start else { break }
            (edge, segment) = (onward, segments.offsets[onward.index])
        }
        return []
    }

    // MARK: Edges

    /// Sums up each edge's segments; returns the times of edges and the closed edges, ascending.
    ///
    /// The closed edges include those that the vehicle may not drive, with unchanged costs: they may be open at another time, or to another
    /// vehicle.
    func settle(_ forEach: HierarchyMetric.ForEach) -> (LiveEdges, closed: [EdgeIndex]) {
        let count = base.turns.graph.edgeCount
        let costs = FlatArray(base.edgeCosts)
        let seconds = FlatArray<Float>(repeating: LiveEdges.unknown, count: count)
        let isClosed = FlatArray<Bool>(repeating: false, count: count)
        forEach(Self.parts) { part in
            settle(count * part / Self.parts..<count * (part + 1) / Self.parts, costs, seconds, isClosed)
        }
        let live = LiveEdges(
            costs: ContiguousArray(UnsafeBufferPointer(start: costs.base, count: count)),
            seconds: ContiguousArray(UnsafeBufferPointer(start: seconds.base, count: count)))
        return (live, (0..<count).filter { isClosed[$0] }.map { EdgeIndex($0) })
    }

    private func settle(
        _ edges: Range<Int>, _ costs: FlatArray<UInt32>, _ seconds: FlatArray<Float>, _ isClosed: FlatArray<Bool>
    ) {
        let graph = base.turns.graph
        let fastest = Double(base.model.profile.maximumSpeed)
        for index in edges {
            // Seconds per metre of edge, extrapolated from the known segments.
            var (known, pace, isKnown) = (0.0, 0.0, false)
            for segment in Int(segments.offsets[index])..<Int(segments.offsets[index + 1]) {
                let speed = speeds[segment]
                if speed < 0 { continue }
                isKnown = true
                if speed == 0 { isClosed[index] = true }
                let share = Double(segments.shares[segment])
                known += share
                pace += share / max(min(Double(speed), fastest), Self.slowestSpeed)
            }
            guard isKnown else { continue }
            let edge = EdgeIndex(index)
            let length = Double(graph.edgeLengths[index])
            var duration = pace * length
            // A share this close to 1 differs from it by rounding only.
            if known < 0.999_99 {
                let free = base.model.duration(length: length, traits: base.traits(of: edge), edgeLength: length)
                duration += (1 - known) * free
            } else {
                duration /= known
            }
            seconds[index] = Float(duration)
            guard costs[index] != Metric.forbidden else { continue }
            let factor = base.model.avoidanceFactor(base.traits(of: edge))
            costs[index] = milliseconds((duration + Double(segments.stops[index])) * factor)
        }
    }
}
