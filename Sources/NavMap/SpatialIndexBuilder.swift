internal import NavGeo

/// A builder of a tile's packed R-tree over segments of road geometry, with one entry per road instead of per direction.
struct SpatialIndexBuilder {
    private let content: TileContent

    init(_ content: TileContent) { self.content = content }

    /// Returns the leaf items in Hilbert order and the boxes of all levels, leaves first.
    func build() -> (items: [IndexItemRecord], boxes: [BoxRecord]) {
        var pieces: [(item: IndexItemRecord, box: BoxRecord, key: UInt64)] = []
        for (index, edge) in content.edges.enumerated() {
            if let opposite = edge.opposite, opposite < index { continue }
            let segments = edge.shape.count - 1
            var first = 0
            while first < segments {
                let count = min(TileLayout.segmentsPerIndexItem, segments - first)
                var box = BoxRecord.empty
                for step in first...(first + count) {
                    let position = edge.reversed ? edge.shape.upperBound - 1 - step : edge.shape.lowerBound + step
                    let point = content.shapePoints[position].position
                    box.extend(point.latitudeE7, point.longitudeE7)
                }
                let key = HilbertCurve.index(
                    of: FixedCoordinate(
                        latitudeE7: box.south / 2 + box.north / 2, longitudeE7: box.west / 2 + box.east / 2))
                pieces.append(
                    (
                        IndexItemRecord(
                            edge: UInt32(index), firstSegment: UInt16(first), segmentCount: UInt16(count)), box, key
                    ))
                first += count
            }
        }
        pieces.sort { ($0.key, $0.item.edge, $0.item.firstSegment) < ($1.key, $1.item.edge, $1.item.firstSegment) }
        var boxes = pieces.map(\.box)
        var start = 0
        for count in TileLayout.indexLevels(pieces.count).dropLast() {
            var child = start
            while child < start + count {
                var box = BoxRecord.empty
                for member in child..<min(child + TileLayout.indexNodeSize, start + count) { box.extend(boxes[member]) }
                boxes.append(box)
                child += TileLayout.indexNodeSize
            }
            start += count
        }
        return (pieces.map(\.item), boxes)
    }
}
