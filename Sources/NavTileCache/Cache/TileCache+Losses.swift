import NavGeo
import NavStorage

/// The check that a list of tiles that lacks some takes none of them out of a complete offline region.
///
/// A list may be wrong: of an upload that was cut short, or of another area.
extension TileCache {
    /// The greatest size of a tile whose end is no evidence against a list, bytes.
    ///
    /// A road tile of 8 KiB has a handful of roads, and ends when the last of them does; one such tile must not keep all
    /// others from being updated.
    private static var negligible: Int64 { 8_192 }

    /// Refuses an update by which a region that serves an edition would lose tiles on board within its new area.
    func expectNoLoss(_ definition: StoredRegionDefinition) throws(TileFailure) {
        let id = definition.id
        guard let region = try checked({ () throws(StoreError) in try store.reader.region(id) }), region.servesTiles,
            let area = area(definition)
        else { return }
        for descriptor in definition.descriptors {
            guard let tileset = tileset(descriptor.tileset), tileset.isPending, let newest = tileset.newest,
                let current = tileset.current, region.editions[tileset.name] == current.key.version
            else { continue }
            var found = AreaTiles(limit: settings.greatestRegionCount)
            let ended = try found.tiles(of: area, descriptor, current).filter { !newest.has($0) }
            let lost = try checked { () throws(StoreError) in try kept(ended, tileset) }
            guard let first = lost.first else { continue }
            throw TileFailure(
                .corruptData,
                "edition '\(newest.key.version.prefix(12))' of '\(tileset.name)' lacks \(lost.count) tiles that the "
                    + "region has, the first is \(TileAddress(tileset.name, first)); complete the files of the source, "
                    + "or remove the region and load it again without these tiles")
        }
    }

    /// Returns those of `tiles` that are on board in the edition in use for offline regions, without negligible ones.
    func kept(_ tiles: [TileID], _ tileset: TrackedTileset) throws(StoreError) -> [TileID] {
        guard let current = tileset.current else { return [] }
        var kept: [TileID] = []
        for tile in try onBoard(Set(tiles), tileset) {
            let address = TileAddress(tileset.name, tile)
            guard let record = try store.reader.tile(address, version: current.key.version, now: now) else { continue }
            if record.isPinned, record.parts.reduce(0, { $0 + $1.bytes }) > Self.negligible { kept.append(tile) }
        }
        return kept
    }
}

extension StoredRegion {
    /// Whether it serves its tiles, also while an update is loaded beside them.
    var servesTiles: Bool { state == .complete || staged != nil }
}
