package import NavGeo

/// The number of a tile in the index: edition in 14 bits, zoom in 5, row and column in 22 each, so that it is the row's
/// own key and a lookup is one descent of one tree.
package enum TileNumber {
    /// Editions that a store can hold at once.
    package static let greatestEdition: Int64 = (1 << 14) - 1

    /// The tile's part of its number.
    package static func key(_ tile: TileID) -> Int64 {
        Int64(tile.zoom) << 44 | Int64(tile.y) << 22 | Int64(tile.x)
    }

    package static func of(_ tile: TileID, edition: Int64) -> Int64 { edition << 49 | key(tile) }

    package static func edition(_ number: Int64) -> Int64 { number >> 49 }

    /// The tile of a number; nil when it is none.
    package static func tile(_ number: Int64) -> TileID? {
        TileID(
            zoom: UInt8(number >> 44 & 31), x: UInt32(number & 0x3f_ffff), y: UInt32(number >> 22 & 0x3f_ffff))
    }

    /// The numbers of all tiles of an edition.
    package static func range(ofEdition edition: Int64) -> ClosedRange<Int64> {
        let first = edition << 49
        return first...(first | ((1 << 49) - 1))
    }
}
