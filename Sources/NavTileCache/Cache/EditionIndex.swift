package import NavGeo

package final class EditionIndex: Sendable {
    package let edition: TilesetEdition
    /// Bytes of each tile; nil where the source cannot list them.
    package let sizes: [TileID: Int64]?

    package init(_ edition: TilesetEdition) {
        self.edition = edition
        sizes = edition.tiles.map { tiles in
            Dictionary(tiles.map { ($0.tile, $0.size) }, uniquingKeysWith: { first, _ in first })
        }
    }

    package var key: EditionKey { EditionKey(edition.tileset, edition.version) }

    /// Whether it has a tile, as far as is known without asking.
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

    /// Bytes of some tiles; nil where the source cannot list them.
    package func size(of tiles: [TileID]) -> Int64? {
        sizes.map { sizes in tiles.reduce(0) { $0 + (sizes[$1] ?? 0) } }
    }
}
