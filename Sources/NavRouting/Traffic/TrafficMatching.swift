import Glibc
public import NavGeo
import NavMap

extension Metric {
    /// The same costs with the speeds of an overlay that hold at `now`, where they name loaded roads.
    ///
    /// An edge takes the sum of what its segments take; those of which nothing is known, as long as in free traffic.
    /// Nobody drives faster than the vehicle's greatest speed. An edge with a closed segment may not be used. Where
    /// several speeds cover a segment the one over the fewest segments counts, then the slowest. Free flow is that of
    /// the ``model``, whatever traffic this metric has itself: give the metric without traffic.
    ///
    /// - Parameter now: Speeds that ceased to hold by then are left out; nil leaves none out.
    public convenience init(_ base: Metric, traffic: TrafficOverlay, at now: Timestamp? = nil) {
        let matching = TrafficMatching(base, traffic, now)
        self.init(base, live: matching.live, closed: matching.closed)
    }
}

/// Finds the edges that an overlay's segments lie on.
struct TrafficMatching {
    /// Edges with the seconds that driving them takes, ascending.
    private(set) var live: [(edge: EdgeIndex, duration: Double)] = []
    private(set) var closed: [EdgeIndex] = []

    /// The slowest speed of a segment that is not closed, m/s: keeps times finite.
    static let slowestSpeed = 0.1
    /// The most segments that a speed for more than two neighbouring nodes may cover.
    static let greatestSpan = 2_000

    /// The most segments that are looked at for such speeds: what an overlay can cost does not depend on who made it.
    static let greatestWork = 20_000_000

    /// A segment of an edge with its speed.
    private struct Hit {
        var edge: EdgeIndex
        var segment: Int
        /// Segments that the speed covers.
        var span: Int
        var speed: Double
    }

    init(_ base: Metric, _ traffic: TrafficOverlay, _ now: Timestamp?) {
        guard !traffic.speeds.isEmpty else { return }
        let graph = base.turns.graph
        var table = SegmentTable(traffic.speeds, now)
        var hits: [Hit] = []
        hits.reserveCapacity(traffic.speeds.count)
        live.reserveCapacity(min(traffic.speeds.count, graph.edgeCount))
        for index in 0..<graph.edgeCount {
            let edge = EdgeIndex(index)
            guard base.allows(edge) else { continue }
            let shape = graph.shape(of: edge)
            var from = shape.nodeID(0)
            for segment in 0..<(shape.count - 1) {
                let to = shape.nodeID(segment + 1)
                if table.mayBegin(at: from) {
                    table.forEach(from, to) { speed in
                        if let way = speed.wayID, way != graph.wayID(of: edge) { return false }
                        hits.append(Hit(edge: edge, segment: segment, span: 1, speed: speed.speed))
                        return true
                    }
                }
                from = to
            }
        }
        let wide = table.unmatched(traffic.speeds, now)
        if !wide.isEmpty {
            Self.addWide(wide, table, base, &hits)
            hits.sort {
                ($0.edge, $0.segment, $0.span, $0.speed) < ($1.edge, $1.segment, $1.span, $1.speed)
            }
        }
        settle(hits, base)
    }

    /// Speeds between nodes that are not neighbours: follows the way from where they begin.
    private static func addWide(
        _ wide: [TrafficSpeed], _ table: SegmentTable, _ base: Metric, _ hits: inout [Hit]
    ) {
        let graph = base.turns.graph
        var budget = greatestWork
        for index in 0..<graph.edgeCount {
            let edge = EdgeIndex(index)
            guard base.allows(edge) else { continue }
            let shape = graph.shape(of: edge)
            for segment in 0..<(shape.count - 1) {
                let node = shape.nodeID(segment)
                guard table.mayBegin(at: node) else { continue }
                var next = firstIndex(of: node, wide)
                while next < wide.count, wide[next].fromNodeID == node, budget > 0 {
                    let speed = wide[next]
                    next += 1
                    if let way = speed.wayID, way != graph.wayID(of: edge) { continue }
                    let covered = follow(from: edge, segment, to: speed.toNodeID, base, &budget)
                    for (edge, segment) in covered {
                        hits.append(Hit(edge: edge, segment: segment, span: covered.count, speed: speed.speed))
                    }
                }
            }
        }
    }

    private static func firstIndex(of node: Int64, _ speeds: [TrafficSpeed]) -> Int {
        var (low, high) = (0, speeds.count)
        while low < high {
            let middle = (low + high) / 2
            if speeds[middle].fromNodeID < node { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The segments along one way up to a node; none when the way does not lead there.
    private static func follow(
        from start: EdgeIndex, _ segment: Int, to goal: Int64, _ base: Metric, _ budget: inout Int
    ) -> [(EdgeIndex, Int)] {
        let graph = base.turns.graph
        let way = graph.wayID(of: start)
        var covered: [(EdgeIndex, Int)] = []
        var (edge, segment) = (start, segment)
        while covered.count < greatestSpan {
            let shape = graph.shape(of: edge)
            while segment < shape.count - 1, covered.count < greatestSpan {
                covered.append((edge, segment))
                budget -= 1
                if shape.nodeID(segment + 1) == goal { return covered }
                segment += 1
            }
            let onward = graph.outgoing(graph.edgeHeads[edge.index]).first {
                $0 != graph.edgeOpposites[edge.index] && graph.wayID(of: $0) == way && base.allows($0)
            }
            guard let onward, onward != start else { break }
            (edge, segment) = (onward, 0)
        }
        return []
    }

    /// Adds up each edge's segments. Of several hits on a segment the first counts.
    private mutating func settle(_ hits: [Hit], _ base: Metric) {
        let graph = base.turns.graph
        var index = 0
        while index < hits.count {
            let edge = hits[index].edge
            var end = index
            while end < hits.count, hits[end].edge == edge { end += 1 }
            let length = Double(graph.edgeLengths[edge.index])
            let traits = base.traits(of: edge)
            let free = base.model.duration(length: length, traits: traits, edgeLength: length)
            let fastest = Double(base.model.profile.maximumSpeed)
            let shape = graph.shape(of: edge)
            let first = hits[index]
            if end - index == shape.count - 1, first.speed > 0,
                hits[index..<end].enumerated().allSatisfy({
                    $1.segment == $0 && $1.speed == first.speed
                })
            {
                // One speed all along, as most roads have it: no need to measure the segments.
                live.append((edge, length / max(min(first.speed, fastest), Self.slowestSpeed)))
                index = end
                continue
            }
            let shares = Self.shares(shape)
            var (known, duration, isClosed) = (0.0, 0.0, false)
            var last = -1
            for hit in hits[index..<end] where hit.segment != last {
                last = hit.segment
                if hit.speed == 0 { isClosed = true }
                known += shares[hit.segment]
                duration += shares[hit.segment] * length / max(min(hit.speed, fastest), Self.slowestSpeed)
            }
            if isClosed { closed.append(edge) }
            live.append((edge, duration + max(1 - known, 0) * free))
            index = end
        }
    }

    /// What each segment is of its edge's length; measured on the plane at the edge's latitude, which is right to a
    /// thousandth of a share.
    private static func shares(_ shape: EdgeShape) -> [Double] {
        guard shape.count > 2 else { return [1] }
        let scale = cos(Angle.radians(shape[0].coordinate.latitude))
        var lengths: [Double] = []
        lengths.reserveCapacity(shape.count - 1)
        var previous = shape[0]
        for index in 1..<shape.count {
            let point = shape[index]
            let north = Double(point.latitudeE7) - Double(previous.latitudeE7)
            let east = (Double(point.longitudeE7) - Double(previous.longitudeE7)) * scale
            lengths.append((north * north + east * east).squareRoot())
            previous = point
        }
        let total = lengths.reduce(0, +)
        guard total > 0 else { return lengths.map { _ in 1 / Double(lengths.count) } }
        return lengths.map { $0 / total }
    }
}

/// An overlay's speeds by their two nodes: open addressing, so that a million look-ups cost some milliseconds.
private struct SegmentTable {
    private let speeds: ContiguousArray<TrafficSpeed>
    private let now: Timestamp?
    /// The first of the speeds between two nodes plus 1; 0 for an empty slot.
    private var slots: ContiguousArray<UInt32>
    /// A bit for each hash of a node where a speed begins.
    private var starts: ContiguousArray<UInt64>
    private var matched: ContiguousArray<Bool>
    private let mask: UInt64

    init(_ speeds: ContiguousArray<TrafficSpeed>, _ now: Timestamp?) {
        self.speeds = speeds
        self.now = now
        var capacity = 64
        while capacity < speeds.count * 2 { capacity *= 2 }
        mask = UInt64(capacity - 1)
        slots = ContiguousArray(repeating: 0, count: capacity)
        starts = ContiguousArray(repeating: 0, count: capacity / 8)
        matched = ContiguousArray(repeating: false, count: speeds.count)
        for (index, speed) in speeds.enumerated() {
            let bit = Self.hash(speed.fromNodeID, 0) & (mask << 3 | 7)
            starts[Int(bit >> 6)] |= 1 << (bit & 63)
            if index > 0, speeds[index - 1].fromNodeID == speed.fromNodeID,
                speeds[index - 1].toNodeID == speed.toNodeID
            {
                continue
            }
            var slot = Self.hash(speed.fromNodeID, speed.toNodeID) & mask
            while slots[Int(slot)] != 0 { slot = (slot + 1) & mask }
            slots[Int(slot)] = UInt32(index + 1)
        }
    }

    /// Stafford's mixer ("Better bit mixing", 2011) over both ids.
    @inline(__always)
    private static func hash(_ from: Int64, _ to: Int64) -> UInt64 {
        var value = UInt64(bitPattern: from) &+ UInt64(bitPattern: to) &* 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    /// False when no speed begins at a node; true for nearly no others.
    @inline(__always)
    func mayBegin(at node: Int64) -> Bool {
        let bit = Self.hash(node, 0) & (mask << 3 | 7)
        return starts[Int(bit >> 6)] & 1 << (bit & 63) != 0
    }

    /// Passes the speed that counts between two neighbouring nodes: that of the way before that of any way; the body
    /// says whether it fits.
    @inline(__always)
    mutating func forEach(_ from: Int64, _ to: Int64, _ body: (TrafficSpeed) -> Bool) {
        var slot = Self.hash(from, to) & mask
        while slots[Int(slot)] != 0 {
            let first = Int(slots[Int(slot)]) - 1
            if speeds[first].fromNodeID == from, speeds[first].toNodeID == to {
                var end = first
                while end < speeds.count, speeds[end].fromNodeID == from, speeds[end].toNodeID == to { end += 1 }
                // Speeds without a way sort before those with one.
                for index in (first..<end).reversed() where isInForce(speeds[index]) && body(speeds[index]) {
                    for index in first..<end { matched[index] = true }
                    return
                }
                return
            }
            slot = (slot + 1) & mask
        }
    }

    private func isInForce(_ speed: TrafficSpeed) -> Bool {
        guard let now, let end = speed.validUntil else { return true }
        return end > now
    }

    /// The speeds in force that lie on no segment, by nodes.
    func unmatched(_ speeds: ContiguousArray<TrafficSpeed>, _ now: Timestamp?) -> [TrafficSpeed] {
        speeds.indices.filter { !matched[$0] && isInForce(speeds[$0]) }.map { speeds[$0] }
    }
}
