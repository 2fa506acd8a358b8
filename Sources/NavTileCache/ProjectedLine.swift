package import NavGeo

/// A line in the projection of the tiles, computed once for all zoom levels.
package struct ProjectedLine: Sendable, Hashable {
    struct Vertex: Sendable, Hashable {
        /// The position, with the whole world as one unit; x is outside 0 ..< 1 past the antimeridian.
        var place: TileGrid.Point
        /// The length of a metre here, in worlds.
        var scale: Double
        /// Metres along the line.
        var offset: Double
    }

    let vertices: [Vertex]

    /// The length of the line, metres.
    package var length: Double { vertices.last?.offset ?? 0 }

    /// A line without its invalid points; segments take the short way over the antimeridian.
    package init(_ line: Polyline) {
        var vertices: [Vertex] = []
        vertices.reserveCapacity(line.coordinates.count)
        for (coordinate, offset) in zip(line.coordinates, line.cumulativeLengths)
        where coordinate.isValid && offset.isFinite {
            var place = TileGrid.world(coordinate)
            if let last = vertices.last { place = place.unwrapped(after: last.place) }
            vertices.append(
                Vertex(place: place, scale: TileGrid.worlds(perMetreAt: coordinate.latitude), offset: offset))
        }
        self.vertices = vertices
    }
}

extension TileGrid.Point {
    /// Returns the same position, shifted by whole worlds to be nearest to another one.
    func unwrapped(after last: TileGrid.Point) -> TileGrid.Point {
        TileGrid.Point(x: x - (x - last.x).rounded(), y: y)
    }
}
