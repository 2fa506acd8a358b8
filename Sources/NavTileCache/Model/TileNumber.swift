package import NavGeo

/// The number of a tile in the index. It is the primary key of the row, so that a lookup descends a single tree.
///
/// It has 14 bits for the edition, 5 for the zoom, and 22 each for row and column.
package enum TileNumber {
    /// The greatest number of an edition, which limits the editions that a store can hold at once.
    package static let greatestEdition: Int64 = (1 << 14) - 1

    /// Returns the tile's part of its number.
    package static func key(_ tile: TileID) -> Int64 {
        Int64(tile.zoom) << 44 | Int64(tile.y) << 22 | Int64(tile.x)
    }

    package static func of(_ tile: TileID, edition: Int64) -> Int64 { edition << 49 | key(tile) }

    package static func edition(_ number: Int64) -> Int64 { number >> 49 }

    /// Returns the tile of a number; nil when the number is invalid.
    package static func tile(_ number: Int64) -> TileID? {
        TileID(
            zoom: UInt8(number >> 44 & 31), x: UInt32(number & 0x3f_ffff), y: UInt32(number >> 22 & 0x3f_ffff))
    }

    /// Returns the numbers of all tiles of an edition.
    package static func range(ofEdition edition: Int64) -> ClosedRange<Int64> {
        let first = edition << 49
        return first...(first | ((1 << 49) - 1))
    }
}
