import Glibc
import NavGeo
import NavMap
import Synchronization

/// The pieces of road between two neighbouring OSM nodes, by these nodes: what joins speeds with edges without a look at
/// the tiles.
///
/// Made once for a graph, in some ten milliseconds for a city; about 35 bytes for each piece.
final class RoadSegments: Sendable {
    /// Where each edge's segments begin, in travel order; their numbers count through all edges.
    let offsets: FlatArray<UInt32>
    /// What each segment is of its edge's length, 0 ... 1.
    let shares: FlatArray<Float>
    /// OSM way of each edge.
    let ways: FlatArray<Int64>
    /// Seconds for signals and booths on each edge.
    let stops: FlatArray<Float>

    /// OSM nodes where segments begin, ascending, and where the slots of each begin.
    let nodes: FlatArray<Int64>
    let slotOffsets: FlatArray<UInt32>
    /// For each slot the OSM node where its segment ends, ascending within a node, the segment and its edge.
    let slotTargets: FlatArray<Int64>
    let slotSegments: FlatArray<UInt32>
    let slotEdges: FlatArray<UInt32>

    /// The segments of all edges.
    var count: Int { slotTargets.count }

    init(_ graph: RoadGraph) {
        let edgeCount = graph.edgeCount
        offsets = FlatArray(repeating: 0, count: edgeCount + 1)
        ways = FlatArray(repeating: 0, count: edgeCount)
        stops = FlatArray(repeating: 0, count: edgeCount)
        var shares: ContiguousArray<Float> = []
        shares.reserveCapacity(edgeCount * 3)
        var edges: ContiguousArray<UInt32> = []
        edges.reserveCapacity(edgeCount * 3)
        var targets: ContiguousArray<Int64> = []
        targets.reserveCapacity(edgeCount * 3)
        var numbers: ContiguousArray<UInt64> = []
        numbers.reserveCapacity(edgeCount * 3)
        for index in 0..<edgeCount {
            let edge = EdgeIndex(index)
            let shape = graph.shape(of: edge)
            ways[index] = graph.wayID(of: edge)
            stops[index] = Float(Metric.stopDuration(graph, edge))
            Self.appendShares(shape, &shares)
            var from = shape.nodeID(0)
            for point in 1..<shape.count {
                let to = shape.nodeID(point)
                numbers.append(TrafficOrder.value(from))
                targets.append(to)
                edges.append(UInt32(index))
                from = to
            }
            offsets[index + 1] = UInt32(targets.count)
        }
        self.shares = FlatArray(shares)
        var order = TrafficOrder.order(numbers)

        let count = order.count
        slotTargets = FlatArray(repeating: 0, count: count)
        slotSegments = FlatArray(repeating: 0, count: count)
        slotEdges = FlatArray(repeating: 0, count: count)
        var nodes: ContiguousArray<Int64> = []
        var slotOffsets: ContiguousArray<UInt32> = []
        var start = 0
        while start < count {
            let node = numbers[Int(order[start])]
            var end = start + 1
            while end < count, numbers[Int(order[end])] == node { end += 1 }
            nodes.append(Int64(bitPattern: node ^ 1 << 63))
            slotOffsets.append(UInt32(start))
            if end - start > 1 {
                order[start..<end].sort { left, right in
                    let (a, b) = (targets[Int(left)], targets[Int(right)])
                    return a < b || a == b && left < right
                }
            }
            start = end
        }
        slotOffsets.append(UInt32(count))
        for slot in 0..<count {
            let segment = order[slot]
            slotTargets[slot] = targets[Int(segment)]
            slotSegments[slot] = segment
            slotEdges[slot] = edges[Int(segment)]
        }
        self.nodes = FlatArray(nodes)
        self.slotOffsets = FlatArray(slotOffsets)
    }

    /// Measured on the plane at the edge's latitude, which is right to a thousandth of a share.
    private static func appendShares(_ shape: EdgeShape, _ shares: inout ContiguousArray<Float>) {
        guard shape.count > 2 else { return shares.append(1) }
        let first = shares.count
        let scale = cos(Angle.radians(shape[0].coordinate.latitude))
        var previous = shape[0]
        var total = 0.0
        for index in 1..<shape.count {
            let point = shape[index]
            let north = Double(point.latitudeE7) - Double(previous.latitudeE7)
            let east = (Double(point.longitudeE7) - Double(previous.longitudeE7)) * scale
            let length = (north * north + east * east).squareRoot()
            total += length
            shares.append(Float(length))
            previous = point
        }
        for index in first..<shares.count {
            shares[index] = total > 0 ? Float(Double(shares[index]) / total) : 1 / Float(shape.count - 1)
        }
    }

    /// The first node that is not below an id.
    func firstNode(from id: Int64) -> Int {
        var (low, high) = (0, nodes.count)
        while low < high {
            let middle = (low + high) / 2
            if nodes[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Segments that are made when they are first asked for; whoever asks meanwhile waits.
final class LazySegments: Sendable {
    private let made = Mutex<RoadSegments?>(nil)

    func callAsFunction(_ graph: RoadGraph) -> RoadSegments {
        made.withLock { made in
            if let made { return made }
            let segments = RoadSegments(graph)
            made = segments
            return segments
        }
    }
}
