import Glibc
package import NavGeo

/// The area of an offline region: the union of polygons with holes.
///
/// Edges are straight on the Mercator map and take the shorter way around the world. A ring may cross the antimeridian;
/// its longitudes then jump from one side to the other. A point is inside a polygon when it lies in an odd number of
/// its rings, whatever their direction.
package struct RegionArea: Sendable, Hashable {
    /// The maximum number of corners of all rings together. 100,000: the coast of a country, some 600 kB on the wire.
    package static let greatestCornerCount = 100_000
    /// The largest radius, and the largest distance to each side of a line, metres.
    package static let greatestReach = 500_000.0
    /// The latitude limit of the projection, degrees.
    static let lastLatitude = 85.05

    /// Each polygon's outer ring and its holes, without the closing corner.
    package let polygons: [[[Coordinate]]]

    /// An area of polygons; a ring may repeat its first corner at the end or be left open.
    package init(polygons: [[[Coordinate]]]) throws(RegionFault) {
        guard !polygons.isEmpty else { throw .empty }
        var count = 0
        var checked: [[[Coordinate]]] = []
        for (number, rings) in polygons.enumerated() {
            guard !rings.isEmpty else { throw .degenerateRing(polygon: number, ring: 0) }
            var open: [[Coordinate]] = []
            for (place, ring) in rings.enumerated() {
                count += ring.count
                guard count <= Self.greatestCornerCount else { throw .tooManyCorners(Self.greatestCornerCount) }
                open.append(try Self.check(ring, polygon: number, ring: place))
            }
            checked.append(open)
        }
        self.polygons = checked
    }

    /// Returns the area within `radius` metres of a position: a polygon of 64 corners around the circle.
    package static func circle(around centre: Coordinate, radius: Double) throws(RegionFault) -> RegionArea {
        guard radius > 0, radius <= greatestReach else { throw .badReach(radius) }
        guard centre.isValid else { throw .badCorner(polygon: 0, ring: 0, corner: 0) }
        let corners = 64
        let distance = radius / cos(.pi / Double(corners))
        let ring = (0..<corners).map { corner in
            Geodesy.destination(
                from: centre, bearing: 2 * .pi * Double(corner) / Double(corners), distance: distance)
        }
        return try RegionArea(polygons: [[ring]])
    }

    /// Returns the area within `buffer` metres of a line: a polygon of eight corners around each of its segments.
    ///
    /// The line is first simplified with a tolerance of a tenth of the distance.
    package static func corridor(along line: [Coordinate], buffer: Double) throws(RegionFault) -> RegionArea {
        guard buffer > 0, buffer <= greatestReach else { throw .badReach(buffer) }
        for (number, corner) in line.enumerated() where !Self.isInside(corner) {
            throw .badCorner(polygon: 0, ring: 0, corner: number)
        }
        guard let first = line.first else { throw .empty }
        guard line.count > 1 else { return try circle(around: first, radius: buffer) }
        let tolerance = buffer / 10
        let kept = LineSimplifier.simplified(ProjectedLine(Polyline(line)).vertices, tolerance: tolerance)
        var polygons: [[[Coordinate]]] = []
        for (start, end) in zip(kept, kept.dropFirst()) {
            // The larger scale of both ends makes the area slightly too large rather than too small.
            let reach = (buffer + tolerance) * max(start.scale, end.scale)
            polygons.append([Self.capsule(start.place, end.place, reach)])
        }
        if polygons.isEmpty { return try circle(around: first, radius: buffer) }
        return try RegionArea(polygons: polygons)
    }

    package var cornerCount: Int { polygons.joined().reduce(0) { $0 + $1.count } }

    // MARK: Parts

    private static func isInside(_ corner: Coordinate) -> Bool {
        corner.isValid && abs(corner.latitude) <= lastLatitude
    }

    private static func check(
        _ ring: [Coordinate], polygon: Int, ring number: Int
    ) throws(RegionFault) -> [Coordinate] {
        var corners = ring
        if corners.count > 1, corners.first == corners.last { corners.removeLast() }
        for (place, corner) in corners.enumerated() where !isInside(corner) {
            throw .badCorner(polygon: polygon, ring: number, corner: place)
        }
        guard corners.count >= 3, Set(corners.prefix(1_000)).count >= 3 || Set(corners).count >= 3 else {
            throw .degenerateRing(polygon: polygon, ring: number)
        }
        for place in corners.indices {
            let before = corners[place == 0 ? corners.count - 1 : place - 1]
            guard abs(corners[place].longitude - before.longitude) < 360 else {
                throw .edgeWithoutWidth(polygon: polygon, ring: number, corner: place)
            }
        }
        let places = unwrapped(corners)
        guard abs(places[places.count - 1].x - places[0].x) < 1e-9 else {
            throw .aroundPole(polygon: polygon, ring: number)
        }
        return corners
    }

    /// Returns a ring in worlds, closed, and continuous across the antimeridian.
    private static func unwrapped(_ ring: [Coordinate]) -> [TileGrid.Point] {
        var places: [TileGrid.Point] = []
        places.reserveCapacity(ring.count + 1)
        for coordinate in ring + ring.prefix(1) {
            let place = TileGrid.world(coordinate)
            places.append(places.last.map { place.unwrapped(after: $0) } ?? place)
        }
        return places
    }

    /// Returns the closed rings of a polygon in worlds, with holes on the same side of the antimeridian as the outer
    /// ring.
    static func rings(of polygon: [[Coordinate]]) -> [[TileGrid.Point]] {
        var rings = polygon.map(unwrapped)
        guard let west = rings.first?.map(\.x).min() else { return [] }
        for index in rings.indices.dropFirst() {
            guard let own = rings[index].map(\.x).min() else { continue }
            let shift = (west - own - 1e-9).rounded(.up)
            if shift != 0 { rings[index] = rings[index].map { TileGrid.Point(x: $0.x + shift, y: $0.y) } }
        }
        return rings
    }

    /// Returns eight corners around all points within `reach` worlds of a segment.
    private static func capsule(_ start: TileGrid.Point, _ end: TileGrid.Point, _ reach: Double) -> [Coordinate] {
        let course = atan2(end.y - start.y, end.x - start.x)
        let radius = reach / cos(.pi / 8)
        return [-3.0, -1, 1, 3, 5, 7, 9, 11].enumerated().map { number, eighth in
            let angle = course + eighth * .pi / 8
            let middle = number < 4 ? end : start
            return TileGrid.coordinate(
                TileGrid.Point(x: middle.x + radius * cos(angle), y: middle.y + radius * sin(angle)))
        }
    }
}

extension TileGrid {
    /// Returns the coordinate of a position in worlds, wrapped at the antimeridian and clamped to the projection.
    static func coordinate(_ world: Point) -> Coordinate {
        let latitude = Angle.degrees(atan(sinh(.pi * (1 - 2 * world.y))))
        let longitude = (world.x - world.x.rounded(.down)) * 360 - 180
        return Coordinate(latitude: min(max(latitude, -85.05), 85.05), longitude: longitude)
    }
}
