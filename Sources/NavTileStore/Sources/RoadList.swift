import Foundation
import NavDigest
package import NavGeo
import NavMap
package import NavTileCache

/// The list of a road tileset, checked so that no entry refers outside the tileset's folder.
package struct RoadList: Sendable {
    package let edition: TilesetEdition
    private let tiles: [TileID: ListedTile]

    /// Parses a `tileset.json`.
    ///
    /// - Parameter place: its origin, for messages.
    package init(
        _ document: [UInt8], tileset name: String, place: String, limits: TransferLimits
    ) throws(TileSourceError) {
        let tileset: Tileset
        do {
            tileset = try JSONDecoder().decode(Tileset.self, from: Data(document))
        } catch {
            throw TileSourceError(.malformed, "'\(place)' is not a valid list of road tiles: \(Tileset.explain(error))")
        }
        guard tileset.formatVersion == Tileset.formatVersion else {
            throw TileSourceError(
                .malformed,
                "the road tiles of '\(place)' have format version \(tileset.formatVersion), but this program reads "
                    + "\(Tileset.formatVersion); rebuild them, or update the program")
        }
        guard Self.isVersion(tileset.mapVersion) else {
            throw TileSourceError(
                .malformed, "'\(place)' has a map version that is not 1 to 64 letters, digits, '-', '_' or '.'")
        }
        let bounds = tileset.bounds
        guard [bounds.south, bounds.west, bounds.north, bounds.east].allSatisfy(\.isFinite) else {
            throw TileSourceError(.malformed, "'\(place)' has invalid bounds")
        }
        var tiles: [TileID: ListedTile] = [:]
        tiles.reserveCapacity(tileset.tiles.count)
        for entry in tileset.tiles {
            guard entry.tile != nil, let listed = ListedTile(entry),
                listed.parts.allSatisfy({ (1...limits.tileBytes).contains($0.size) })
            else {
                throw TileSourceError(
                    .malformed,
                    "'\(place)' lists tile \(entry.id) with invalid files, sizes or hashes; the whole list is rejected"
                )
            }
            guard tiles.updateValue(listed, forKey: listed.tile) == nil else {
                throw TileSourceError(.malformed, "'\(place)' lists tile \(listed.tile) twice")
            }
        }
        self.tiles = tiles
        let zooms = tiles.keys.map(\.zoom)
        edition = TilesetEdition(
            tileset: name, domain: .navigation, version: tileset.mapVersion,
            zooms: (zooms.min() ?? 0)...(zooms.max() ?? 0), bounds: bounds,
            tiles: tiles.values.sorted { $0.tile < $1.tile }, document: document, attribution: tileset.attribution)
    }

    /// Returns the list's entry for a tile; nil when it has none.
    package func tile(_ tile: TileID) -> ListedTile? { tiles[tile] }

    /// Whether a version is valid as a folder name.
    private static func isVersion(_ text: String) -> Bool {
        let isLetter = { (byte: UInt8) in
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        guard (1...64).contains(text.utf8.count), let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || [0x2d, 0x2e, 0x5f].contains($0) }
    }
}

extension ListedTile {
    /// A road tile as listed in a `tileset.json`; nil when its id or a hash is malformed.
    init?(_ entry: Tileset.Entry) {
        guard let id = RoadTileID(rawValue: entry.id), let hash = ContentHash(hexadecimal: entry.sha256),
            let ranksHash = ContentHash(hexadecimal: entry.ranks.sha256)
        else { return nil }
        self.init(
            id.tile,
            parts: [
                ListedPart(.body, size: Int64(clamping: entry.bytes), hash: hash),
                ListedPart(.ranks, size: Int64(clamping: entry.ranks.bytes), hash: ranksHash),
            ])
    }
}
