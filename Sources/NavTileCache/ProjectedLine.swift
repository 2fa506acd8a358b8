package import NavGeo

/// A line in the projection of the tiles, made once for all zoom levels.
package struct ProjectedLine: Sendable, Hashable {
    struct Vertex: Sendable, Hashable {
        /// The place where the whole world is one tile; x beyond it past the antimeridian.
        var place: TileGrid.Point
        /// The width of a metre here, in worlds.
        var scale: Double
        /// Metres along the line.
        var offset: Double
    }

    let vertices: [Vertex]

    /// Metres along the line at its end.
    package var length: Double { vertices.last?.offset ?? 0 }

    /// A line; points that are no positions are left out. Lines go the short way over the antimeridian.
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
    /// The same place of the world, which is one tile here, as near as can be to another one.
    func unwrapped(after last: TileGrid.Point) -> TileGrid.Point {
        TileGrid.Point(x: x - (x - last.x).rounded(), y: y)
    }
}
