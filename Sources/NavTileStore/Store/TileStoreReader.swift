internal import GRDB
import NavDigest
package import NavGeo
package import NavStorage
package import NavTileCache

/// A reader of a tile store, in the process that owns it or in any other, while the owner writes.
///
/// All members may be called from any thread; a call blocks for the duration of a query.
package final class TileStoreReader: Sendable {
    package var folder: String { access.folder.path }

    package var freeBytes: Int64? { Files.freeBytes(folder) }

    let access: IndexAccess

    /// Opens a store for reading only.
    ///
    /// - Throws: ``StoreError`` `missing` when there is no store, `newerSchema`, `corruptIndex`, `readOnly` when the
    ///   index cannot be shared because its folder is not writable and no owner has run.
    package init(folder: String) throws(StoreError) {
        let folder = StoreFolder(folder)
        guard Files.status(folder.index)?.isFile == true else {
            throw StoreError(
                .missing, "no tile store at '\(folder.path)' (\(folder.index) is missing); start the tile cache once")
        }
        access = try IndexAccess(folder, isOwner: false, readerCount: 2)
    }

    init(access: IndexAccess) { self.access = access }

    // MARK: Tiles

    /// Looks up a tile; nil when it is not on board.
    ///
    /// - Parameters:
    ///   - version: The edition; nil for the one in use.
    ///   - now: For ``TileRecord/isExpired``, UTC.
    package func tile(
        _ address: TileAddress, version: String? = nil, now: Timestamp
    ) throws(StoreError) -> TileRecord? {
        let key = TileNumber.key(address.tile)
        return try access.read { index in
            let rows =
                if let version {
                    try Row.fetchCursor(
                        try index.cachedStatement(sql: TileRow.byVersion), arguments: [address.tileset, key, version])
                } else {
                    try Row.fetchCursor(
                        try index.cachedStatement(sql: TileRow.byUse), arguments: [address.tileset, key])
                }
            guard let row = try rows.next() else { return nil }
            return try TileRow.record(row, address, now, access, index)
        }
    }

    package func absent(
        _ tiles: [TileID], in edition: EditionKey, expiredAt now: Timestamp? = nil
    ) throws(StoreError) -> [TileID] {
        try access.snapshot { index in
            guard let number = try EditionRow.number(edition, index) else { return tiles }
            let find = try index.cachedStatement(
                sql: """
                    SELECT 1 FROM tiles WHERE id = ?
                    AND (expires IS NULL OR (expires > ? AND ifnull(fetched, 0) <= ?))
                    """)
            let (expired, latest) = (now?.nanoseconds ?? .min, WallClock.latestFetch(now))
            return try tiles.filter { tile in
                let number = TileNumber.of(tile, edition: number)
                return try Int64.fetchOne(find, arguments: [number, expired, latest]) == nil
            }
        }
    }

    package func storedBytes() throws(StoreError) -> Int64 {
        try access.snapshot { try Int64.fetchOne($0, sql: "SELECT object_bytes FROM totals") ?? 0 }
    }

    /// Returns the part of the store that cannot make room for a region: the pinned tiles of other regions, and of its
    /// current definition during an update.
    ///
    /// - Returns: The bytes of those tiles, and which of `tiles` are not among them.
    package func held(
        besideRegion id: String, _ tiles: [TileAddress], editions: [String: String]
    ) throws(StoreError) -> (bytes: Int64, others: [TileAddress]) {
        try access.snapshot { index in
            let own = try RegionRow.ownPins(id, index)
            let held = "SELECT tile FROM pins WHERE \(RegionRow.pinsOfOthers)"
            let bytes = try Int64.fetchOne(
                index,
                sql: """
                    SELECT sum(bytes) FROM objects WHERE hash IN (SELECT body FROM tiles WHERE id IN (\(held))
                      UNION SELECT ranks FROM tiles WHERE id IN (\(held)))
                    """, arguments: own)
            var numbers: [String: Int64] = [:]
            for (tileset, version) in editions {
                numbers[tileset] = try EditionRow.number(EditionKey(tileset, version), index)
            }
            let find = try index.cachedStatement(
                sql: "SELECT 1 FROM tiles WHERE id = ?3 AND pins > 0 AND EXISTS (\(held) AND tile = ?3)")
            let others = try tiles.filter { address in
                guard let edition = numbers[address.tileset] else { return true }
                let number = TileNumber.of(address.tile, edition: edition)
                return try Int64.fetchOne(find, arguments: own + [number]) == nil
            }
            return (bytes ?? 0, others)
        }
    }

    /// Returns the bytes of a tile's file after verifying their hash.
    ///
    /// - Throws: ``StoreError`` `missing` when the file was evicted or replaced since the lookup: repeat the lookup;
    ///   `exhausted` when the machine lacks resources to verify it; `corruptObject` when its bytes differ from what was
    ///   stored. The owner's ``TileStore/data(of:part:)`` also removes such a file from the store.
    package func data(of tile: TileRecord, part: TilePart = .body) throws(StoreError) -> [UInt8] {
        guard let part = tile.parts.first(where: { $0.part == part }) else {
            throw StoreError(.invalid, "tile \(tile.address) has no part '\(part)'; request its body")
        }
        let bytes = try Files.read(part.path)
        guard Int64(bytes.count) == part.bytes, try ContentHash.checked(bytes) == part.hash else {
            throw StoreError(
                .corruptObject, "the file '\(part.path)' of tile \(tile.address) is damaged; fetch it again")
        }
        return bytes
    }

    // MARK: Editions

    package func editions() throws(StoreError) -> [EditionRecord] {
        try access.snapshot { index in try EditionRow.all(index, access.folder) }
    }

    package func edition(_ key: EditionKey) throws(StoreError) -> TilesetEdition? {
        try access.snapshot { index in try EditionRow.edition(key, index) }
    }

    // MARK: Totals

    /// Returns the totals; looks up each expired tile, but not every tile.
    package func statistics(now: Timestamp) throws(StoreError) -> StoreStatistics {
        try access.snapshot { index in
            var expired: [Int64: Int64] = [:]
            let counts = try Row.fetchCursor(
                index, sql: "SELECT id >> 49, count(*) FROM tiles WHERE expires <= ? GROUP BY 1",
                arguments: [now.nanoseconds])
            while let row = try counts.next() { expired[row.integer(0)] = row.integer(1) }
            var tilesets: [TilesetStatistics] = []
            let rows = try Row.fetchCursor(
                index,
                sql: """
                    SELECT s.name, e.tile_count, e.tile_bytes, e.pinned_count, e.id
                    FROM tilesets s JOIN editions e ON e.tileset = s.id ORDER BY s.name, e.version
                    """)
            while let row = try rows.next() {
                let name = row.text(0)
                if tilesets.last?.tileset != name {
                    tilesets.append(
                        TilesetStatistics(tileset: name, tileCount: 0, bytes: 0, pinnedCount: 0, expiredCount: 0))
                }
                let last = tilesets.count - 1
                tilesets[last].tileCount += row.integer(1)
                tilesets[last].bytes += row.integer(2)
                tilesets[last].pinnedCount += row.integer(3)
                tilesets[last].expiredCount += expired[row.integer(4)] ?? 0
            }
            let totals = try Row.fetchOne(index, sql: "SELECT object_bytes, corrupt_count FROM totals")
            return StoreStatistics(
                tilesets: tilesets, objectBytes: totals?.integer(0) ?? 0, corruptCount: totals?.integer(1) ?? 0)
        }
    }
}
