package import NavGeo

/// A search for the roads near successive positions, without memory allocation once its caches are filled.
///
/// Results equal those of ``RoadGraph/edges(near:radius:)`` for one direction of each road, in a local plane around the position.
///
/// Cost grows with the number of roads within the radius, not with the map, because the tiles near the last position
/// are cached.
package struct RoadFinder: Sendable {
    /// The nearest point of a road, in the direction with the lower edge number.
    package struct Hit: Sendable {
        package var edge: EdgeIndex
        /// The opposite edge, or ``RoadGraph/noEdge``.
        package var opposite: EdgeIndex
        /// Metres from the edge's start.
        package var offset: Double
        /// Length of the edge, metres.
        package var length: Double
        /// Metres from the position.
        package var distance: Double
        /// The nearest point, relative to the position.
        package var point: LocalPoint
        /// The vector of the segment that the point lies on, in the edge's direction.
        package var along: LocalPoint
        /// The segment, as the index of its first point.
        package var segment: Int
        package var segmentCount: Int
    }

    /// The parts of a tile that lookups read.
    private struct TileView: @unchecked Sendable {
        // The pointers lead into a tile that the graph keeps alive.
        let bounds: BoxRecord
        let firstEdge: Int
        let edges: UnsafePointer<EdgeRecord>
        let shape: UnsafePointer<CoordinateRecord>
        let items: UnsafePointer<IndexItemRecord>
        let boxes: UnsafePointer<BoxRecord>
        /// The position of the tile's index levels in ``RoadFinder/levels``, leaves first.
        let firstLevel: Int
        let levelCount: Int
    }

    /// A segment of a road's geometry.
    private struct Piece {
        var box: BoxRecord
        var tile: Int32
        var item: Int32
    }

    /// An R-tree node that is still to be visited.
    private struct Visit {
        var level: Int
        var index: Int
    }

    /// The graph, retained for the tile views.
    private let graph: RoadGraph
    private let tiles: ContiguousArray<TileView>
    /// The number of boxes and the first box of each level of each tile's index.
    private let levels: ContiguousArray<(count: Int, start: Int)>
    /// The tiles that meet `tileRegion`.
    private var nearTiles: ContiguousArray<Int> = []
    private var tileRegion = BoxRecord.empty
    /// The road segments that meet `pieceRegion`.
    ///
    /// Most searches read only these, because a vehicle moves little between searches.
    private var nearPieces: ContiguousArray<Piece> = []
    private var pieceRegion = BoxRecord.empty
    private var stack: ContiguousArray<Visit> = []
    /// The results of the last search, by ascending distance; equal distances by edge number.
    package private(set) var hits: ContiguousArray<Hit> = []

    /// The margin around a search within which tiles are cached, 1e-7 degrees: about 5 km.
    private static let tileMargin: Int64 = 500_000
    /// The margin around a search within which segments are cached, 1e-7 degrees: about 100 m, some ten seconds of driving.
    private static let pieceMargin: Int64 = 10_000

    /// Creates a finder on a graph, in time proportional to its number of tiles.
    package init(_ graph: RoadGraph) {
        self.graph = graph
        var views: ContiguousArray<TileView> = []
        var levels: ContiguousArray<(count: Int, start: Int)> = []
        for (index, tile) in graph.tiles.enumerated() {
            guard let edges = tile.edges.baseAddress, let shape = tile.shapeCoordinates.baseAddress,
                let items = tile.indexItems.baseAddress, let boxes = tile.indexBoxes.baseAddress,
                !tile.indexLevels.isEmpty
            else { continue }
            views.append(
                TileView(
                    bounds: tile.bounds, firstEdge: Int(graph.firstEdgeOfTile[index]), edges: edges, shape: shape,
                    items: items, boxes: boxes, firstLevel: levels.count, levelCount: tile.indexLevels.count))
            var start = 0
            for count in tile.indexLevels {
                levels.append((count, start))
                start += count
            }
        }
        tiles = views
        self.levels = levels
    }

    /// Fills ``hits`` with the nearest point of each road within `radius` metres of the frame's origin, which must be a valid position.
    package mutating func find(_ frame: LocalFrame, radius: Double) {
        hits.removeAll(keepingCapacity: true)
        let origin = FixedCoordinate(frame.origin)
        let height = Int64(radius / frame.metresPerDegreeLatitude * 1e7) + 1
        let width = Int64(min(radius / max(frame.metresPerDegreeLongitude, 1) * 1e7, 1.8e9)) + 1
        let south = Int32(clamping: Int64(origin.latitudeE7) - height)
        let north = Int32(clamping: Int64(origin.latitudeE7) + height)
        let (west, east) = (Int64(origin.longitudeE7) - width, Int64(origin.longitudeE7) + width)
        let full: Int64 = 3_600_000_000
        let half = full / 2
        let query = Query(frame, radius: radius)
        if west < -half || east > half {
            // The search crosses the antimeridian: one box on each side.
            visit(box(south, north, max(west, -half), min(east, half)), query)
            if west < -half { visit(box(south, north, west + full, half), query) }
            if east > half { visit(box(south, north, -half, east - full), query) }
        } else {
            visit(box(south, north, west, east), query)
        }
        sort()
    }

    private func box(_ south: Int32, _ north: Int32, _ west: Int64, _ east: Int64) -> BoxRecord {
        BoxRecord(south: south, west: Int32(clamping: west), north: north, east: Int32(clamping: east))
    }

    private mutating func visit(_ reach: BoxRecord, _ query: Query) {
        if !pieceRegion.contains(reach) { rememberPieces(around: reach) }
        for index in 0..<nearPieces.count where nearPieces[index].box.intersects(reach) {
            let tile = tiles[Int(nearPieces[index].tile)]
            project(tile, tile.items[Int(nearPieces[index].item)], query)
        }
    }

    private mutating func rememberPieces(around reach: BoxRecord) {
        pieceRegion = reach.widened(by: RoadFinder.pieceMargin)
        if !tileRegion.contains(pieceRegion) {
            tileRegion = pieceRegion.widened(by: RoadFinder.tileMargin)
            nearTiles.removeAll(keepingCapacity: true)
            for index in tiles.indices where tiles[index].bounds.intersects(tileRegion) { nearTiles.append(index) }
        }
        nearPieces.removeAll(keepingCapacity: true)
        for tile in nearTiles where tiles[tile].bounds.intersects(pieceRegion) { rememberPieces(of: tile) }
    }

    private mutating func rememberPieces(of index: Int) {
        let tile = tiles[index]
        func box(_ level: Int, _ node: Int) -> BoxRecord { tile.boxes[levels[tile.firstLevel + level].start + node] }
        stack.append(Visit(level: tile.levelCount, index: 0))
        while let node = stack.popLast() {
            let level = node.level - 1
            let first = node.index * TileLayout.indexNodeSize
            let end = min(first + TileLayout.indexNodeSize, levels[tile.firstLevel + level].count)
            guard level > 0 else {
                // In the order in which the stack yields nodes.
                for leaf in stride(from: end - 1, through: first, by: -1) {
                    let box = box(0, leaf)
                    guard box.intersects(pieceRegion) else { continue }
                    nearPieces.append(Piece(box: box, tile: Int32(index), item: Int32(leaf)))
                }
                continue
            }
            for child in first..<end where box(level, child).intersects(pieceRegion) {
                stack.append(Visit(level: level, index: child))
            }
        }
    }

    private mutating func project(_ tile: TileView, _ item: IndexItemRecord, _ query: Query) {
        let local = Int(item.edge)
        let edge = EdgeIndex(tile.firstEdge + local)
        let opposite = graph.edgeOpposites[edge.index]
        // A tile's index has one direction of each road, but a road between two tiles is in the indexes of both.
        guard edge < opposite else { return }
        let record = tile.edges[local]
        let last = Int(record.shapeStart) + Int(record.shapeCount) - 1
        let isReversed = record.flags & EdgeRecord.reversedShape != 0
        func point(_ index: Int) -> LocalPoint {
            query.point(tile.shape[isReversed ? last - index : Int(record.shapeStart) + index])
        }
        let first = Int(item.firstSegment)
        var best: (segment: Int, fraction: Double, point: LocalPoint, along: LocalPoint)?
        var squared = query.radius * query.radius
        var start = point(first)
        for segment in first..<(first + Int(item.segmentCount)) {
            let end = point(segment + 1)
            let along = end - start
            let length = along.east * along.east + along.north * along.north
            let raw = length > 0 ? -(start.east * along.east + start.north * along.north) / length : 0
            let fraction = min(max(raw, 0), 1)
            let nearest = LocalPoint(
                east: start.east + along.east * fraction, north: start.north + along.north * fraction)
            let distance = nearest.east * nearest.east + nearest.north * nearest.north
            if best == nil ? distance <= squared : distance < squared {
                squared = distance
                best = (segment, fraction, nearest, along)
            }
            start = end
        }
        guard let best else { return }
        let distance = squared.squareRoot()
        var place = hits.count
        for index in hits.indices where hits[index].edge == edge {
            guard distance < hits[index].distance else { return }
            place = index
        }
        var before = best.along.length * best.fraction
        var previous = point(0)
        for segment in 0..<best.segment {
            let next = point(segment + 1)
            before += (next - previous).length
            previous = next
        }
        let length = Double(record.length)
        let hit = Hit(
            edge: edge, opposite: opposite,
            offset: min(before, length), length: length, distance: distance, point: best.point, along: best.along,
            segment: best.segment, segmentCount: Int(record.shapeCount) - 1)
        if place == hits.count { hits.append(hit) } else { hits[place] = hit }
    }

    /// Sorts the hits by insertion, as there are few.
    private mutating func sort() {
        hits.withUnsafeMutableBufferPointer { hits in
            for index in 0..<hits.count {
                let hit = hits[index]
                var hole = index
                while hole > 0 {
                    let other = hits[hole - 1]
                    guard hit.distance < other.distance || hit.distance == other.distance && hit.edge < other.edge
                    else { break }
                    hits[hole] = other
                    hole -= 1
                }
                hits[hole] = hit
            }
        }
    }

    /// The centre of a search, and the scale from stored coordinates to metres.
    private struct Query {
        let radius: Double
        private let latitudeE7: Double
        private let longitudeE7: Double
        private let metresPerUnitNorth: Double
        private let metresPerUnitEast: Double

        init(_ frame: LocalFrame, radius: Double) {
            self.radius = radius
            latitudeE7 = frame.origin.latitude * 1e7
            longitudeE7 = frame.origin.longitude * 1e7
            metresPerUnitNorth = frame.metresPerDegreeLatitude * 1e-7
            metresPerUnitEast = frame.metresPerDegreeLongitude * 1e-7
        }

        @inline(__always)
        func point(_ record: CoordinateRecord) -> LocalPoint {
            var east = Double(record.longitudeE7) - longitudeE7
            if east > 1.8e9 { east -= 3.6e9 } else if east < -1.8e9 { east += 3.6e9 }
            return LocalPoint(
                east: east * metresPerUnitEast, north: (Double(record.latitudeE7) - latitudeE7) * metresPerUnitNorth)
        }
    }
}

extension BoxRecord {
    fileprivate func contains(_ other: BoxRecord) -> Bool {
        south <= other.south && west <= other.west && north >= other.north && east >= other.east
    }

    fileprivate func widened(by margin: Int64) -> BoxRecord {
        BoxRecord(
            south: Int32(clamping: Int64(south) - margin), west: Int32(clamping: Int64(west) - margin),
            north: Int32(clamping: Int64(north) + margin), east: Int32(clamping: Int64(east) + margin))
    }
}
