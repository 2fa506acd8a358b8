package import NavGeo
package import NavTileCache
package import NavTileStore

/// Which tiles an edition has.
final class EditionIndex: Sendable {
    /// The edition.
    let edition: TilesetEdition
    /// Bytes of each tile; nil where the source cannot list them.
    let sizes: [TileID: Int64]?

    init(_ edition: TilesetEdition) {
        self.edition = edition
        sizes = edition.tiles.map { tiles in
            Dictionary(tiles.map { ($0.tile, $0.size) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Its names.
    var key: EditionKey { EditionKey(edition.tileset, edition.version) }

    /// Whether it has a tile, as far as is known without asking.
    func has(_ tile: TileID) -> Bool {
        if let sizes { return sizes[tile] != nil }
        guard edition.zooms.contains(tile.zoom) else { return false }
        guard let bounds = edition.bounds else { return true }
        let box = tile.bounds
        return box.south <= bounds.north && box.north >= bounds.south && box.west <= bounds.east
            && box.east >= bounds.west
    }

    /// Those of some levels that it has.
    func levels(of layers: [RegionLayer]) -> [RegionLayer] { layers.filter { edition.zooms.contains($0.zoom) } }

    /// Those of some tiles that it has, by tile.
    func tiles(of rows: [TileRows]) -> [TileID] {
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
    func size(of tiles: [TileID]) -> Int64? {
        sizes.map { sizes in tiles.reduce(0) { $0 + (sizes[$1] ?? 0) } }
    }
}

/// A tileset as everybody may see it.
struct TilesetView: Sendable {
    /// How it is configured.
    var keys: TilesetKeys
    /// The edition in use, nil before the source or the store has told one.
    var current: EditionIndex?
    /// The newest edition that is known: the one in use, or the one that will be.
    var newest: EditionIndex?
    /// Whether its source has not said yet what it has, nor failed to.
    var isUnknown = true
    /// Why its source did not say what it has when it was asked last.
    var problem: String?
    /// The media type of its tiles, where that is known of all.
    var mediaType: String? { current?.edition.mediaType }
}
