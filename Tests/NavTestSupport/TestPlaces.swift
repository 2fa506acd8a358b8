package import NavGeo
import NavMap

/// Places with specific positions relative to tiles.
package enum TestPlaces {
    /// A place far from any tile's border.
    package static let insideTiles: Coordinate = centre(TileID(zoom: 12, x: 2331, y: 1180))

    /// The corner of four tiles of the local layer, inside one tile of each other layer.
    package static let localTileCorner: Coordinate = corner(TileID(zoom: 12, x: 2331, y: 1180))

    /// The corner of four tiles of every layer.
    package static let everyTileCorner: Coordinate = corner(TileID(zoom: 12, x: 36 << 6, y: 18 << 6))

    private static func corner(_ tile: TileID?) -> Coordinate {
        tile?.northWest ?? Coordinate(latitude: 0, longitude: 0)
    }

    private static func centre(_ tile: TileID?) -> Coordinate {
        guard let bounds = tile?.bounds else { return Coordinate(latitude: 0, longitude: 0) }
        return Coordinate(latitude: (bounds.south + bounds.north) / 2, longitude: (bounds.west + bounds.east) / 2)
    }
}
