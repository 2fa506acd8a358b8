import Glibc
import NavGeo
import NavMap
import Synchronization

/// An index of road segments by the two consecutive OSM nodes at their ends, which matches speeds to edges without
/// reading the tiles.
///
/// Built once per graph, in tens of milliseconds for a city; takes about 35 bytes per segment.
final class RoadSegments: Sendable {
    /// The number of each edge's first segment, in travel order; segments are numbered across all edges.
    let offsets: FlatArray<UInt32>
    /// The share of each segment in its edge's length, 0 ... 1.
    let shares: FlatArray<Float>
    let ways: FlatArray<Int64>
    /// Seconds for signals and booths on each edge.
    let stops: FlatArray<Float>

    /// OSM nodes at which segments begin, ascending, and the first slot of each.
    let nodes: FlatArray<Int64>
    let slotOffsets: FlatArray<UInt32>
    /// For each slot the OSM node at which its segment ends, ascending within a node, the segment and its edge.
    let slotTargets: FlatArray<Int64>
    let slotSegments: FlatArray<UInt32>
    let slotEdges: FlatArray<UInt32>

    var count: Int { slotTargets.count }

    init(_ graph: RoadGraph) {
        let edgeCount = graph.edgeCount
        let count = graph.tiles.reduce(0) { sum, tile in tile.edges.reduce(sum) { $0 + Int($1.shapeCount) - 1 } }
        offsets = FlatArray(uninitialized: edgeCount + 1)
        shares = FlatArray(uninitialized: count)
        ways = FlatArray(uninitialized: edgeCount)
        stops = FlatArray(uninitialized: edgeCount)
        slotTargets = FlatArray(uninitialized: count)
        slotSegments = FlatArray(uninitialized: count)
        slotEdges = FlatArray(uninitialized: count)
        // Indexed by segment.
        let origins = FlatArray<UInt64>(uninitialized: count)
        let targets = FlatArray<Int64>(uninitialized: count)
        let edges = FlatArray<UInt32>(uninitialized: count)
        var (edge, segment) = (0, 0)
        offsets[0] = 0
        for tile in graph.tiles {
            for record in tile.edges {
                ways[edge] = record.wayID
                stops[edge] = Float(Metric.stopDuration(graph, EdgeIndex(edge)))
                Self.putShares(tile, record, shares.base + segment)
                let (first, last) = (Int(record.shapeStart), Int(record.shapeStart) + Int(record.shapeCount) - 1)
                let step = record.isReversed ? -1 : 1
                var point = record.isReversed ? last : first
                var from = tile.shapeNodeIDs[point]
                for _ in first..<last {
                    point += step
                    let to = tile.shapeNodeIDs[point]
                    origins[segment] = TrafficOrder.value(from)
                    targets[segment] = to
                    edges[segment] = UInt32(truncatingIfNeeded: edge)
                    from = to
                    segment += 1
                }
                edge += 1
                offsets[edge] = UInt32(segment)
            }
        }

        let order = NumberOrder.places(of: origins)
        // At most one per segment; untouched pages take no memory.
        let nodes = FlatArray<Int64>(uninitialized: count)
        let slotOffsets = FlatArray<UInt32>(uninitialized: count + 1)
        var nodeCount = 0
        var start = 0
        while start < count {
            let origin = origins[Int(order[start])]
            var end = start + 1
            while end < count, origins[Int(order[end])] == origin { end += 1 }
            nodes[nodeCount] = Int64(bitPattern: origin ^ 1 << 63)
            slotOffsets[nodeCount] = UInt32(truncatingIfNeeded: start)
            nodeCount += 1
            Self.sort(order.base, start..<end, by: targets.base)
            for slot in start..<end {
                let segment = order[slot]
                slotTargets[slot] = targets[Int(segment)]
                slotSegments[slot] = segment
                slotEdges[slot] = edges[Int(segment)]
            }
            start = end
        }
        slotOffsets[nodeCount] = UInt32(count)
        self.nodes = FlatArray(nodes, prefix: nodeCount)
        self.slotOffsets = FlatArray(slotOffsets, prefix: nodeCount + 1)
    }

    /// Sorts a node's segments by their targets, with ties in their given order; there are usually few.
    @inline(__always)
    private static func sort(
        _ segments: UnsafeMutablePointer<UInt32>, _ range: Range<Int>, by targets: UnsafeMutablePointer<Int64>
    ) {
        guard range.count <= 24 else { return sortMany(segments, range, by: targets) }
        for index in range.dropFirst() {
            let segment = segments[index]
            let target = targets[Int(segment)]
            var hole = index
            while hole > range.lowerBound, targets[Int(segments[hole - 1])] > target {
                segments[hole] = segments[hole - 1]
                hole -= 1
            }
            segments[hole] = segment
        }
    }

    private static func sortMany(
        _ segments: UnsafeMutablePointer<UInt32>, _ range: Range<Int>, by targets: UnsafeMutablePointer<Int64>
    ) {
        var many = UnsafeMutableBufferPointer(start: segments + range.lowerBound, count: range.count)
        many.sort { left, right in
            let (a, b) = (targets[Int(left)], targets[Int(right)])
            return a < b || a == b && left < right
        }
    }

    /// Writes the shares of an edge's segments, measured on the plane at the edge's latitude: accurate to a thousandth
    /// of a share.
    @inline(__always)
    private static func putShares(
        _ tile: RoadTile, _ record: EdgeRecord, _ shares: UnsafeMutablePointer<Float>
    ) {
        let count = Int(record.shapeCount) - 1
        guard count > 1 else {
            shares[0] = 1
            return
        }
        let (first, step) =
            record.isReversed ? (Int(record.shapeStart) + count, -1) : (Int(record.shapeStart), 1)
        var previous = tile.shapeCoordinates[first]
        let origin = FixedCoordinate(latitudeE7: previous.latitudeE7, longitudeE7: previous.longitudeE7)
        let scale = cos(Angle.radians(origin.coordinate.latitude))
        var total = 0.0
        for index in 0..<count {
            let point = tile.shapeCoordinates[first + (index + 1) * step]
            let north = Double(point.latitudeE7) - Double(previous.latitudeE7)
            var east = Double(point.longitudeE7) - Double(previous.longitudeE7)
            if east > 1.8e9 { east -= 3.6e9 } else if east < -1.8e9 { east += 3.6e9 }
            east *= scale
            let length = (north * north + east * east).squareRoot()
            total += length
            shares[index] = Float(length)
            previous = point
        }
        for index in 0..<count { shares[index] = total > 0 ? Float(Double(shares[index]) / total) : 1 / Float(count) }
    }

    func firstNode(from id: Int64) -> Int {
        var (low, high) = (0, nodes.count)
        while low < high {
            let middle = (low + high) / 2
            if nodes[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Segments that are computed on first use; concurrent callers wait.
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
