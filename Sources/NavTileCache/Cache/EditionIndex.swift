package import NavGeo

package final class EditionIndex: Sendable {
    /// The largest size counted for a tile, bytes; a sum of larger sizes, which sparse files can have, would overflow.
    package static let greatestSize: Int64 = 1 << 40

    package let edition: TilesetEdition
    /// The size of each tile, bytes; nil where the source cannot list its tiles.
    package let sizes: [TileID: Int64]?

    package init(_ edition: TilesetEdition) {
        self.edition = edition
        sizes = edition.tiles.map { tiles in
            Dictionary(
                tiles.map { ($0.tile, min($0.size, Self.greatestSize)) }, uniquingKeysWith: { first, _ in first })
        }
    }

    package var key: EditionKey { EditionKey(edition.tileset, edition.version) }

    /// Whether the edition has a tile, as far as is known without a request to its source.
    package func has(_ tile: TileID) -> Bool {
        if let sizes { return sizes[tile] != nil }
        guard edition.zooms.contains(tile.zoom) else { return false }
        guard let bounds = edition.bounds else { return true }
        let box = tile.bounds
        return box.south <= bounds.north && box.north >= bounds.south && box.west <= bounds.east
            && box.east >= bounds.west
    }

    package func levels(of layers: [RegionLayer]) -> [RegionLayer] { layers.filter { edition.zooms.contains($0.zoom) } }

    package func tiles(of rows: [TileRows]) -> [TileID] {
        var tiles: [TileID] = []
        for level in rows {
            if let sizes, sizes.count < level.count {
                tiles += sizes.keys.filter(level.contains).sorted()
            } else {
                level.forEach { if has($0) { tiles.append($0) } }
            }
        }
        return tiles
    }

    /// The total size of `tiles`, bytes; nil where the source cannot list its tiles.
    package func size(of tiles: [TileID]) -> Int64? {
        sizes.map { sizes in tiles.reduce(0) { $0 + (sizes[$1] ?? 0) } }
    }
}
