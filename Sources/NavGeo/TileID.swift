import Glibc

/// A tile of the Web Mercator pyramid (the "slippy map" scheme: x east, y south, from the north-west corner).
public struct TileID: Sendable, Hashable, Comparable {
    /// Zoom level, 0 ... 22.
    public let zoom: UInt8
    /// Column, 0 ..< 2^zoom, from 180° west.
    public let x: UInt32
    /// Row, 0 ..< 2^zoom, from 85.05° north.
    public let y: UInt32

    /// The highest zoom level.
    public static let maximumZoom: UInt8 = 22

    /// Creates a tile; nil when a value is outside the pyramid.
    public init?(zoom: UInt8, x: UInt32, y: UInt32) {
        guard zoom <= TileID.maximumZoom, x < 1 << zoom, y < 1 << zoom else { return nil }
        self.zoom = zoom
        self.x = x
        self.y = y
    }

    /// Creates the tile that contains a position; latitudes beyond the projection's ±85.05° belong to the outermost row.
    public init(containing coordinate: Coordinate, zoom: UInt8) {
        let level = min(zoom, TileID.maximumZoom)
        let count = Double(1 << level)
        let latitude = Angle.radians(min(max(coordinate.latitude, -85.051_128_779_8), 85.051_128_779_8))
        let column = (coordinate.longitude + 180) / 360 * count
        let row = (1 - asinh(tan(latitude)) / Double.pi) / 2 * count
        self.zoom = level
        x = UInt32(min(max(column.isFinite ? column : 0, 0), count - 1))
        y = UInt32(min(max(row.isFinite ? row : 0, 0), count - 1))
    }

    /// The north-west corner.
    public var northWest: Coordinate {
        let count = Double(1 << zoom)
        let latitude = atan(sinh(Double.pi * (1 - 2 * Double(y) / count)))
        return Coordinate(latitude: Angle.degrees(latitude), longitude: Double(x) / count * 360 - 180)
    }

    /// The bounds of the tile.
    public var bounds: BoundingBox {
        let count = Double(1 << zoom)
        let south = atan(sinh(Double.pi * (1 - 2 * Double(y + 1) / count)))
        return BoundingBox(
            south: Angle.degrees(south), west: northWest.longitude,
            north: northWest.latitude, east: Double(x + 1) / count * 360 - 180)
    }

    /// Orders tiles by zoom, then row, then column.
    public static func < (left: TileID, right: TileID) -> Bool {
        (left.zoom, left.y, left.x) < (right.zoom, right.y, right.x)
    }
}

/// A box of latitudes and longitudes in degrees that does not cross the antimeridian.
public struct BoundingBox: Sendable, Hashable, Codable {
    /// Southern edge, degrees.
    public var south: Double
    /// Western edge, degrees.
    public var west: Double
    /// Northern edge, degrees.
    public var north: Double
    /// Eastern edge, degrees.
    public var east: Double

    /// Creates a box from its edges.
    public init(south: Double, west: Double, north: Double, east: Double) {
        self.south = south
        self.west = west
        self.north = north
        self.east = east
    }

    /// Whether a position is in the box or on its edge.
    public func contains(_ coordinate: Coordinate) -> Bool {
        coordinate.latitude >= south && coordinate.latitude <= north && coordinate.longitude >= west
            && coordinate.longitude <= east
    }
}
