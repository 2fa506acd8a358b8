import NavGeo

/// A zoom level of a region, and the margin around the area within which its tiles are wanted.
package struct RegionLayer: Sendable, Hashable {
    /// Zoom level, 0 ... 22.
    package var zoom: UInt8
    /// The margin around the area, metres.
    package var margin: Double

    package init(zoom: UInt8, margin: Double = 0) {
        self.zoom = zoom
        self.margin = margin
    }

    /// Road tiles: the local layer (zoom 12) of the area, and the arterial (9) and highway (6) layers 10 km and 50 km
    /// beyond it.
    ///
    /// As with ``CacheProfile/navigation(_:)``, routes through the area remain possible. Only layers whose zoom level
    /// is in `zooms` are included.
    package static func navigation(in zooms: ClosedRange<UInt8> = 0...TileID.maximumZoom) -> [RegionLayer] {
        let still = CacheReach(position: 0, route: 0, destination: 0)
        return CacheProfile.navigation(still).levels.filter { zooms.contains($0.zoom) }
            .map { RegionLayer(zoom: $0.zoom, margin: $0.reach.position) }
    }

    /// Map tiles of a range of zoom levels.
    package static func maps(_ zooms: ClosedRange<UInt8>) -> [RegionLayer] { zooms.map { RegionLayer(zoom: $0) } }
}

extension RegionArea {
    /// Returns the tiles of a zoom level that touch the area or lie within `margin` metres of it, exact except for the
    /// change of scale within a tile.
    ///
    /// It takes time and space in proportion to the boundary, counted in tiles, and to the corners.
    ///
    /// - Parameters:
    ///   - margin: Metres, 0 ... ``greatestReach``.
    ///   - limit: The maximum number of tiles.
    /// - Throws: ``RegionFault/tooManyTiles(zoom:limit:)``, ``RegionFault/tooComplicated(zoom:)``,
    ///   ``RegionFault/badReach(_:)``.
    package func tiles(zoom: UInt8, margin: Double = 0, limit: Int) throws(RegionFault) -> TileRows {
        guard margin >= 0, margin <= Self.greatestReach else { throw .badReach(margin) }
        var tracer = BoundaryTracer(zoom: zoom, margin: margin, limit: 4 * max(limit, 1) + 4 * cornerCount)
        for polygon in polygons {
            let rings = Self.rings(of: polygon)
            for ring in rings {
                for (start, end) in zip(ring, ring.dropFirst()) {
                    guard tracer.trace(start, end) else { throw tracer.fault(limit) }
                }
            }
            guard tracer.fill(rings) else { throw tracer.fault(limit) }
        }
        let rows = TileRows(zoom: tracer.grid.zoom, tracer.spans)
        guard rows.count <= limit else { throw .tooManyTiles(zoom: rows.zoom, limit: limit) }
        return rows
    }

    /// Returns the tiles of some levels, coarse ones first.
    ///
    /// - Parameter limit: The maximum number of tiles of all levels together.
    package func tiles(of layers: [RegionLayer], limit: Int) throws(RegionFault) -> [TileRows] {
        var left = limit
        var all: [TileRows] = []
        for layer in layers.sorted(by: { $0.zoom < $1.zoom }) {
            let rows: TileRows
            do throws(RegionFault) {
                rows = try tiles(zoom: layer.zoom, margin: layer.margin, limit: left)
            } catch {
                if case .tooManyTiles(let zoom, _) = error { throw .tooManyTiles(zoom: zoom, limit: limit) }
                throw error
            }
            left -= rows.count
            all.append(rows)
        }
        return all
    }
}

/// A collector of the tiles along edges and between them, as spans of rows.
private struct BoundaryTracer {
    /// The maximum number of tiles of one piece of an edge; a long edge is split so that its whole bounding box is not
    /// searched.
    private static let longestPiece = 4.0

    let grid: TileGrid
    let margin: Double
    let limit: Int
    var spans: [TileRows.Span] = []
    private var isFull = false
    /// Whether a single edge with its margin has more tiles than are allowed.
    private var isLarge = false
    /// The number of tiles examined so far.
    private var looks = 0

    init(zoom: UInt8, margin: Double, limit: Int) {
        grid = TileGrid(zoom: zoom)
        self.margin = margin
        self.limit = limit
    }

    /// Returns the reason why the search ended early: more tiles than `allowed`, or too long an outline around fewer.
    func fault(_ allowed: Int) -> RegionFault {
        isLarge || TileRows(zoom: grid.zoom, spans).count > allowed
            ? .tooManyTiles(zoom: grid.zoom, limit: allowed) : .tooComplicated(zoom: grid.zoom)
    }

    /// Adds the tiles within the margin of an edge; returns false when there are too many.
    mutating func trace(_ start: TileGrid.Point, _ end: TileGrid.Point) -> Bool {
        let (from, to) = (grid.point(start), grid.point(end))
        let steps = max(abs(to.x - from.x), abs(to.y - from.y))
        guard steps <= Double(limit) else {
            isLarge = true
            return false
        }
        let pieces = max(1, Int((steps / Self.longestPiece).rounded(.up)))
        for piece in 0..<pieces where !isFull {
            trace(piece: between(from, to, piece, pieces), between(from, to, piece + 1, pieces))
        }
        return !isFull
    }

    private func between(_ start: TileGrid.Point, _ end: TileGrid.Point, _ part: Int, _ parts: Int) -> TileGrid.Point {
        let share = Double(part) / Double(parts)
        return TileGrid.Point(x: start.x + share * (end.x - start.x), y: start.y + share * (end.y - start.y))
    }

    private mutating func trace(piece start: TileGrid.Point, _ end: TileGrid.Point) {
        let reach = reach(from: start, to: end)
        let rows = TileGrid.cells(
            from: max(min(start.y, end.y) - reach, 0),
            to: min(max(start.y, end.y) + reach, Double(grid.count) - 0.5))
        let columns = TileGrid.cells(from: min(start.x, end.x) - reach, to: max(start.x, end.x) + reach)
        // Bound the work of a wide margin around many corners.
        let (share, isOver) = rows.count.multipliedReportingOverflow(by: columns.count)
        guard !isOver, looks + share <= 64 * limit else {
            (isFull, isLarge) = (true, isOver || share > 64 * limit)
            return
        }
        looks += share
        for y in rows {
            // The points within reach of a segment form a convex set, so its tiles in a row are contiguous.
            guard let first = columns.first(where: { isNear($0, y, start, end, reach) }),
                let last = columns.last(where: { isNear($0, y, start, end, reach) })
            else { continue }
            add(row: y, first, last)
        }
    }

    private func isNear(_ x: Int, _ y: Int, _ start: TileGrid.Point, _ end: TileGrid.Point, _ reach: Double) -> Bool {
        TileGrid.squaredDistance(x: x, y: y, from: start, to: end) <= reach * reach
    }

    /// Returns the margin in tiles, by the largest scale within it.
    private func reach(from start: TileGrid.Point, to end: TileGrid.Point) -> Double {
        guard margin > 0 else { return 0 }
        let worlds = [start, end].map { point in
            let latitude = TileGrid.coordinate(
                TileGrid.Point(x: point.x / Double(grid.count), y: point.y / Double(grid.count))
            ).latitude
            // A degree of latitude is at least 110.5 km.
            return TileGrid.worlds(perMetreAt: abs(latitude) + margin / 110_500)
        }
        return margin * max(worlds[0], worlds[1]) * Double(grid.count)
    }

    /// Adds the tiles whose centre is inside; together with the boundary tiles, these are all tiles that the area
    /// touches. Returns false when there are too many.
    mutating func fill(_ rings: [[TileGrid.Point]]) -> Bool {
        var crossings: [(row: Int, x: Double)] = []
        for ring in rings {
            for (before, after) in zip(ring, ring.dropFirst()) {
                let (start, end) = (grid.point(before), grid.point(after))
                guard start.y != end.y else { continue }
                let (top, bottom) = (min(start.y, end.y), max(start.y, end.y))
                // Rows whose centre lies in top ..< bottom.
                let first = max(Int((top - 0.5).rounded(.up)), 0)
                let last = min(Int((bottom - 0.5).rounded(.up)) - 1, grid.count - 1)
                guard first <= last else { continue }
                guard crossings.count + last - first < limit else { return false }
                for row in first...last {
                    let share = (Double(row) + 0.5 - start.y) / (end.y - start.y)
                    crossings.append((row, start.x + share * (end.x - start.x)))
                }
            }
        }
        crossings.sort { $0 < $1 }
        var index = 0
        while index + 1 < crossings.count {
            let (west, east) = (crossings[index], crossings[index + 1])
            guard west.row == east.row else {
                index += 1
                continue
            }
            let first = Int((west.x - 0.5).rounded(.up))
            let last = Int((east.x - 0.5).rounded(.down))
            if first <= last { add(row: west.row, first, last) }
            index += 2
        }
        return !isFull
    }

    /// Adds tiles of a row, wrapped around the world to the east and west.
    private mutating func add(row: Int, _ first: Int, _ last: Int) {
        let row = Int32(row)
        if last - first + 1 >= grid.count { return append(row, 0, grid.count - 1) }
        let start = ((first % grid.count) + grid.count) % grid.count
        let end = start + (last - first)
        if end < grid.count { return append(row, start, end) }
        append(row, start, grid.count - 1)
        append(row, 0, end - grid.count)
    }

    private mutating func append(_ row: Int32, _ first: Int, _ last: Int) {
        let span = TileRows.Span(row: row, first: Int32(first), last: Int32(last))
        // Dense corners often lie in the same tile as their predecessor.
        if let before = spans.last, before.row == row, before.first <= span.first, span.last <= before.last { return }
        guard spans.count < limit else {
            isFull = true
            return
        }
        spans.append(span)
    }
}
