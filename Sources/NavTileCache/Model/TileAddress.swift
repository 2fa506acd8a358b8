package import NavGeo

package enum TileDomain: String, Sendable, Codable, CaseIterable {
    /// Road tiles: routing, matching and guidance.
    case navigation
    /// Tiles that a map renders.
    case maps
}

package struct TileAddress: Sendable, Hashable, Comparable {
    /// The tileset's name, see ``TilesetName``.
    package var tileset: String
    package var tile: TileID

    package init(_ tileset: String, _ tile: TileID) {
        self.tileset = tileset
        self.tile = tile
    }

    /// Orders by tileset, zoom, row and column.
    package static func < (left: TileAddress, right: TileAddress) -> Bool {
        (left.tileset, left.tile) < (right.tileset, right.tile)
    }
}

extension TileAddress: CustomStringConvertible {
    package var description: String { "\(tileset)/\(tile.zoom)/\(tile.x)/\(tile.y)" }
}

/// The rule for tileset names, which become folder names and parts of URLs.
package enum TilesetName {
    /// Whether a text is 1 to 64 of a–z, 0–9, `-` and `_`, the first of them a letter or a digit.
    package static func isValid(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard (1...64).contains(bytes.count), bytes[0] != UInt8(ascii: "-"), bytes[0] != UInt8(ascii: "_") else {
            return false
        }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }
}
