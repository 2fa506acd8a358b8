import Glibc
package import NavGeo

/// The tiles of one zoom level that an area touches.
///
/// Each function passes every tile at least once and may repeat one; the result depends only on its arguments.
/// Distances are exact except for the change of scale within a tile.
package enum TileCover {
    /// The maximum number of tiles of one piece of a line; a long segment is split so that its whole bounding box is
    /// not searched.
    static let longestPiece = 4.0

    /// Passes the tiles within `radius` metres of a position, each with its distance, metres.
    package static func disc(
        around centre: Coordinate, radius: Double, zoom: UInt8, _ body: (TileID, Double) -> Void
    ) {
        guard centre.isValid, radius >= 0, radius.isFinite else { return }
        let grid = TileGrid(zoom: zoom)
        let scale = grid.tiles(perMetreAt: centre.latitude)
        let point = grid.point(centre)
        visit(grid, point, point, reach: radius * scale) { tile, distance in body(tile, distance / scale) }
    }

    /// Passes the tiles within `buffer` metres of a line, each with the distance along the line at which the vehicle
    /// first comes within `buffer` metres, metres.
    ///
    /// - Parameters:
    ///   - range: The part of the line that counts, metres along it.
    ///   - goesOn: Called before each piece of the line, at most ``longestPiece`` tiles long, with its place along the
    ///     line; false ends the corridor there.
    package static func corridor(
        along line: ProjectedLine, in range: ClosedRange<Double> = 0 ... .infinity, buffer: Double, zoom: UInt8,
        while goesOn: (Double) -> Bool = { _ in true }, _ body: (TileID, Double) -> Void
    ) {
        guard buffer >= 0, buffer.isFinite else { return }
        let grid = TileGrid(zoom: zoom)
        var covered = CoveredBlock()
        let vertices = line.vertices
        for index in vertices.indices {
            // A line of one point is a disc.
            let (first, last) = (vertices[max(index - 1, 0)], vertices[index])
            guard index > 0 || vertices.count == 1, last.offset >= range.lowerBound, first.offset <= range.upperBound
            else { continue }
            let (start, end) = (grid.point(first.place), grid.point(last.place))
            // The larger scale of both ends errs on the side of one tile too many.
            let reach = buffer * max(first.scale, last.scale) * Double(grid.count)
            if covered.contains(start, end, reach) { continue }
            let pieces = max(1, Int((max(abs(end.x - start.x), abs(end.y - start.y)) / longestPiece).rounded(.up)))
            for piece in 0..<pieces {
                let (low, high) = (Double(piece) / Double(pieces), Double(piece + 1) / Double(pieces))
                let (from, to) = (between(start, end, low), between(start, end, high))
                let offset = first.offset + low * (last.offset - first.offset)
                let need = max(offset, range.lowerBound)
                guard goesOn(need) else { return }
                visit(grid, from, to, reach: reach) { tile, _ in body(tile, need) }
                covered.set(from, to, reach, isWhole: isWhole(from, to, reach))
            }
        }
    }

    // MARK: Parts

    /// Passes the tiles within `reach` tiles of a segment, each with its distance, tiles.
    private static func visit(
        _ grid: TileGrid, _ start: TileGrid.Point, _ end: TileGrid.Point, reach: Double,
        _ body: (TileID, Double) -> Void
    ) {
        let limit = reach * reach
        let columns = TileGrid.cells(from: min(start.x, end.x) - reach, to: max(start.x, end.x) + reach)
        let rows = TileGrid.cells(
            from: max(min(start.y, end.y) - reach, 0), to: min(max(start.y, end.y) + reach, Double(grid.count) - 0.5))
        for y in rows {
            // Wrap around the world, but pass each column only once.
            for x in columns.prefix(grid.count) {
                let squared = TileGrid.squaredDistance(x: x, y: y, from: start, to: end)
                guard squared <= limit, let tile = grid.tile(x: x, y: y) else { continue }
                body(tile, squared.squareRoot())
            }
        }
    }

    /// Whether the box around a segment lies within reach, so that all of its tiles have been passed.
    private static func isWhole(_ start: TileGrid.Point, _ end: TileGrid.Point, _ reach: Double) -> Bool {
        let columns = TileGrid.cells(from: min(start.x, end.x) - reach, to: max(start.x, end.x) + reach)
        let rows = TileGrid.cells(from: min(start.y, end.y) - reach, to: max(start.y, end.y) + reach)
        guard columns.count * rows.count <= 16 else { return false }
        return rows.allSatisfy { y in
            columns.allSatisfy { TileGrid.squaredDistance(x: $0, y: y, from: start, to: end) <= reach * reach }
        }
    }

    private static func between(_ start: TileGrid.Point, _ end: TileGrid.Point, _ share: Double) -> TileGrid.Point {
        TileGrid.Point(x: start.x + share * (end.x - start.x), y: start.y + share * (end.y - start.y))
    }
}

/// The block of tiles that the last segment covered entirely; most segments of a road are short and add no further
/// tiles.
private struct CoveredBlock {
    private var columns = 0...0
    private var rows = 0...0
    private var isKnown = false

    func contains(_ start: TileGrid.Point, _ end: TileGrid.Point, _ reach: Double) -> Bool {
        guard isKnown else { return false }
        let (columns, rows) = Self.block(start, end, reach)
        return self.columns.lowerBound <= columns.lowerBound && columns.upperBound <= self.columns.upperBound
            && self.rows.lowerBound <= rows.lowerBound && rows.upperBound <= self.rows.upperBound
    }

    mutating func set(_ start: TileGrid.Point, _ end: TileGrid.Point, _ reach: Double, isWhole: Bool) {
        (columns, rows) = Self.block(start, end, reach)
        isKnown = isWhole
    }

    private static func block(
        _ start: TileGrid.Point, _ end: TileGrid.Point, _ reach: Double
    ) -> (ClosedRange<Int>, ClosedRange<Int>) {
        (
            TileGrid.cells(from: min(start.x, end.x) - reach, to: max(start.x, end.x) + reach),
            TileGrid.cells(from: min(start.y, end.y) - reach, to: max(start.y, end.y) + reach)
        )
    }
}
