package import NavGeo

/// The tiles of one zoom level, row by row; the space taken is in proportion to the boundary of the area.
package struct TileRows: Sendable, Hashable {
    /// Adjacent tiles in a row.
    struct Span: Sendable, Hashable, Comparable {
        var row: Int32
        var first: Int32
        var last: Int32

        static func < (left: Span, right: Span) -> Bool { (left.row, left.first) < (right.row, right.first) }
    }

    package let zoom: UInt8
    /// Sorted by row and column; spans do not touch.
    private let spans: [Span]
    package let count: Int

    /// The union of spans in any order, all within the grid of the zoom level.
    init(zoom: UInt8, _ spans: [Span]) {
        var merged: [Span] = []
        for span in spans.sorted() {
            if let last = merged.last, last.row == span.row, Int(span.first) <= Int(last.last) + 1 {
                merged[merged.count - 1].last = max(last.last, span.last)
            } else {
                merged.append(span)
            }
        }
        self.zoom = zoom
        self.spans = merged
        count = merged.reduce(0) { $0 + Int($1.last - $1.first) + 1 }
    }

    /// Passes each tile once, in order of row and column.
    package func forEach(_ body: (TileID) -> Void) {
        for span in spans {
            for column in span.first...span.last {
                if let tile = TileID(zoom: zoom, x: UInt32(column), y: UInt32(span.row)) { body(tile) }
            }
        }
    }

    package var tiles: [TileID] {
        var tiles: [TileID] = []
        tiles.reserveCapacity(count)
        forEach { tiles.append($0) }
        return tiles
    }

    package func contains(_ tile: TileID) -> Bool {
        guard tile.zoom == zoom else { return false }
        let (row, column) = (Int32(tile.y), Int32(tile.x))
        var (low, high) = (0, spans.count)
        while low < high {
            let middle = (low + high) / 2
            if (spans[middle].row, spans[middle].last) < (row, column) { low = middle + 1 } else { high = middle }
        }
        return low < spans.count && spans[low].row == row && spans[low].first <= column
    }
}
