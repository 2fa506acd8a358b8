public import NavGeo

/// The projection of a position onto an edge.
public struct EdgeProjection: Sendable, Hashable {
    /// The edge, in one direction of travel.
    public var edge: EdgeIndex
    /// Metres from the edge's start.
    public var offset: Double
    /// Metres from the projected position to the edge.
    public var distance: Double
    public var coordinate: Coordinate
    /// Direction of travel there, radians clockwise from north.
    public var bearing: Double
    /// The segment of the edge's shape, as the index of its first point.
    public var segment: Int
    /// Signed metres from the edge to the projected position: positive to the right of the direction of travel.
    public var sideOffset: Double
}

extension RoadGraph {
    /// Returns the nearest point of each edge within `radius` metres; the two directions of a road count as two edges.
    ///
    /// Results are sorted by distance, then by edge number. Cost grows with the logarithm of the graph size and with
    /// the number of roads within the radius.
    public func edges(near coordinate: Coordinate, radius: Double) -> [EdgeProjection] {
        guard coordinate.isValid, radius >= 0, radius.isFinite else { return [] }
        let frame = LocalFrame(origin: coordinate)
        let reaches = frame.boxes(radius: radius)
        var best: [EdgeIndex: EdgeProjection] = [:]
        for tileIndex in tileBounds.indices where reaches.contains(where: tileBounds[tileIndex].intersects) {
            let tile = tiles[tileIndex]
            let firstEdge = Int(firstEdgeOfTile[tileIndex])
            func visit(_ item: IndexItemRecord) {
                let edge = EdgeIndex(firstEdge + Int(item.edge))
                guard
                    let hit = project(
                        frame, onto: edge, shape: EdgeShape(tile: tile, record: tile.edges[Int(item.edge)]),
                        segments: Int(item.firstSegment)..<(Int(item.firstSegment) + Int(item.segmentCount)),
                        radius: radius),
                    hit.distance < best[edge]?.distance ?? .infinity
                else { return }
                best[edge] = hit
            }
            for reach in reaches where tileBounds[tileIndex].intersects(reach) { tile.visitIndex(in: reach, visit) }
        }
        var result: [EdgeProjection] = []
        result.reserveCapacity(best.count * 2)
        for hit in best.values {
            var hit = hit
            let (tile, local) = locate(hit.edge)
            let shape = EdgeShape(tile: tiles[tile], record: tiles[tile].edges[local])
            hit.offset += lengthBefore(hit.segment, of: shape)
            hit.offset = min(hit.offset, Double(edgeLengths[hit.edge.index]))
            result.append(hit)
            let opposite = tiles[tile].edges[local].opposite
            if opposite != TileLayout.noIndex {
                result.append(
                    mirrored(hit, edge: EdgeIndex(hit.edge.index - local + Int(opposite)), points: shape.count))
            }
        }
        return result.sorted { ($0.distance, $0.edge) < ($1.distance, $1.edge) }
    }

    public func project(_ coordinate: Coordinate, onto edge: EdgeIndex) -> EdgeProjection? {
        let shape = shape(of: edge)
        guard
            var hit = project(
                LocalFrame(origin: coordinate), onto: edge, shape: shape, segments: 0..<(shape.count - 1),
                radius: .infinity)
        else { return nil }
        hit.offset = min(hit.offset + lengthBefore(hit.segment, of: shape), Double(edgeLengths[edge.index]))
        return hit
    }

    /// Returns the point `offset` metres along an edge, clamped to its ends.
    public func position(at offset: Double, of edge: EdgeIndex) -> (
        coordinate: Coordinate, bearing: Double, segment: Int
    ) {
        let shape = shape(of: edge)
        if offset >= Double(edgeLengths[edge.index]) {
            // The stored length is rounded, but the end is exactly the node.
            let end = shape[shape.count - 1].coordinate
            return (end, Geodesy.bearing(from: shape[shape.count - 2].coordinate, to: end), shape.count - 2)
        }
        var travelled = 0.0
        for segment in 0..<(shape.count - 1) {
            let start = shape[segment].coordinate
            let end = shape[segment + 1].coordinate
            let length = Geodesy.distance(start, end)
            if travelled + length >= offset || segment == shape.count - 2 {
                let fraction = length > 0 ? min(max((offset - travelled) / length, 0), 1) : 0
                let point = Polyline.interpolate(start, end, fraction)
                return (point, Geodesy.bearing(from: start, to: end), segment)
            }
            travelled += length
        }
        return (shape[0].coordinate, Double(edgeStartBearings[edge.index]), 0)
    }

    private func project(
        _ frame: LocalFrame, onto edge: EdgeIndex, shape: EdgeShape, segments: Range<Int>, radius: Double
    ) -> EdgeProjection? {
        let origin = LocalPoint(east: 0, north: 0)
        var best: (projection: SegmentProjection, segment: Int, start: LocalPoint, end: LocalPoint)?
        var start = frame.point(shape[segments.lowerBound].coordinate)
        for segment in segments {
            let end = frame.point(shape[segment + 1].coordinate)
            let projection = SegmentProjection(of: origin, start: start, end: end)
            if projection.distance <= radius, projection.distance < best?.projection.distance ?? .infinity {
                best = (projection, segment, start, end)
            }
            start = end
        }
        guard let best else { return nil }
        let along = best.end - best.start
        let first = shape[best.segment].coordinate
        let last = shape[best.segment + 1].coordinate
        let cross = along.east * -best.start.north - along.north * -best.start.east
        return EdgeProjection(
            edge: edge, offset: best.projection.fraction * Geodesy.distance(first, last),
            distance: best.projection.distance, coordinate: frame.coordinate(of: best.projection.point),
            bearing: Geodesy.bearing(from: first, to: last), segment: best.segment,
            sideOffset: along.length > 0 ? -cross / along.length : 0)
    }

    private func lengthBefore(_ segment: Int, of shape: EdgeShape) -> Double {
        var length = 0.0
        for index in 0..<segment { length += Geodesy.distance(shape[index].coordinate, shape[index + 1].coordinate) }
        return length
    }

    private func mirrored(_ hit: EdgeProjection, edge: EdgeIndex, points: Int) -> EdgeProjection {
        EdgeProjection(
            edge: edge, offset: max(Double(edgeLengths[edge.index]) - hit.offset, 0), distance: hit.distance,
            coordinate: hit.coordinate, bearing: Angle.normalised(hit.bearing + .pi), segment: points - 2 - hit.segment,
            sideOffset: -hit.sideOffset)
    }
}

extension LocalFrame {
    /// Returns the boxes that cover all positions within `radius` metres of the origin: two if the circle crosses the
    /// antimeridian.
    fileprivate func boxes(radius: Double) -> [BoxRecord] {
        func box(_ west: Double, _ east: Double) -> BoxRecord {
            let height = radius / metresPerDegreeLatitude
            let low = FixedCoordinate(Coordinate(latitude: origin.latitude - height, longitude: west))
            let high = FixedCoordinate(Coordinate(latitude: origin.latitude + height, longitude: east))
            return BoxRecord(
                south: low.latitudeE7, west: low.longitudeE7, north: high.latitudeE7, east: high.longitudeE7)
        }
        let width = radius / max(metresPerDegreeLongitude, 1)
        let (west, east) = (origin.longitude - width, origin.longitude + width)
        if width >= 180 { return [box(-180, 180)] }
        if west < -180 { return [box(-180, east), box(west + 360, 180)] }
        if east > 180 { return [box(west, 180), box(-180, east - 360)] }
        return [box(west, east)]
    }
}

extension RoadTile {
    /// Calls `body` with every index item whose box meets `reach`.
    func visitIndex(in reach: BoxRecord, _ body: (IndexItemRecord) -> Void) {
        guard !indexLevels.isEmpty else { return }
        var levelStarts: [Int] = []
        var start = 0
        for count in indexLevels {
            levelStarts.append(start)
            start += count
        }
        var stack: [(level: Int, index: Int)] = []
        stack.reserveCapacity(indexLevels.count * TileLayout.indexNodeSize)
        func push(_ level: Int, _ index: Int) {
            if indexBoxes[levelStarts[level] + index].intersects(reach) { stack.append((level, index)) }
        }
        push(indexLevels.count - 1, 0)
        while let (level, index) = stack.popLast() {
            if level == 0 {
                body(indexItems[index])
                continue
            }
            let first = index * TileLayout.indexNodeSize
            let end = min(first + TileLayout.indexNodeSize, indexLevels[level - 1])
            for child in (first..<end).reversed() { push(level - 1, child) }
        }
    }
}
