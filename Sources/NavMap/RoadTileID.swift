public import NavGeo

/// The id of a road tile: its layer and its position in the tile pyramid at the layer's zoom level.
public struct RoadTileID: Sendable, Hashable, Comparable {
    /// The packed form: layer in bits 24–25, column in 12–23, row in 0–11.
    public let rawValue: UInt32

    /// Creates the id of the tile of `layer` that contains a position.
    public init(layer: RoadLayer, containing coordinate: Coordinate) {
        let tile = TileID(containing: coordinate, zoom: layer.zoom)
        rawValue = UInt32(layer.rawValue) << 24 | tile.x << 12 | tile.y
    }

    /// Creates an id from its packed form; nil when it is out of range.
    public init?(rawValue: UInt32) {
        guard let layer = RoadLayer(rawValue: UInt8(truncatingIfNeeded: rawValue >> 24)), rawValue >> 26 == 0,
            TileID(zoom: layer.zoom, x: rawValue >> 12 & 0xfff, y: rawValue & 0xfff) != nil
        else { return nil }
        self.rawValue = rawValue
    }

    public var layer: RoadLayer { RoadLayer(rawValue: UInt8(truncatingIfNeeded: rawValue >> 24)) ?? .local }

    public var tile: TileID {
        TileID(zoom: layer.zoom, x: rawValue >> 12 & 0xfff, y: rawValue & 0xfff)
            ?? TileID(containing: Coordinate(latitude: 0, longitude: 0), zoom: layer.zoom)
    }

    /// The file of the tile below a tileset's directory, such as `12/2331/1185.road`.
    public var path: String { "\(tile.zoom)/\(tile.x)/\(tile.y).road" }

    /// The file of the tile's edge ranks, beside the tile's own.
    public var ranksPath: String { "\(tile.zoom)/\(tile.x)/\(tile.y).rank" }

    /// Orders by layer, column and row.
    public static func < (left: RoadTileID, right: RoadTileID) -> Bool { left.rawValue < right.rawValue }
}

extension RoadTileID {
    /// Creates the id of the road tile at a position of the pyramid; nil when no layer has that zoom level.
    package init?(_ tile: TileID) {
        guard let layer = RoadLayer.allCases.first(where: { $0.zoom == tile.zoom }), tile.x < 1 << 12, tile.y < 1 << 12
        else { return nil }
        self.init(rawValue: UInt32(layer.rawValue) << 24 | tile.x << 12 | tile.y)
    }
}

extension RoadTileID: CustomStringConvertible {
    /// Zoom, column and row.
    public var description: String { "\(tile.zoom)/\(tile.x)/\(tile.y)" }
}

/// The key of an edge: its tile and its index there; stable as long as the tile's content is.
public struct EdgeKey: RawRepresentable, Sendable, Hashable {
    /// Tile in the upper 32 bits, index in the lower.
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(tile: RoadTileID, index: Int) {
        rawValue = UInt64(tile.rawValue) << 32 | UInt64(UInt32(truncatingIfNeeded: index))
    }

    public var tile: RoadTileID? { RoadTileID(rawValue: UInt32(rawValue >> 32)) }
    public var index: Int { Int(rawValue & 0xffff_ffff) }
}
