internal import GRDB
package import NavGeo
package import NavStorage
package import NavTileCache

extension TileStore {
    /// Creates a region, or begins its update, and pins its tiles whether or not they are on board yet.
    ///
    /// An update is staged: until ``completeRegions(_:using:now:)`` the region keeps its former definition and tiles.
    /// Another call replaces the staged update. The state becomes `loading`.
    ///
    /// - Parameters:
    ///   - tiles: All tiles that it needs.
    ///   - editions: The edition of each tileset among them, by name of the tileset; it must be on board.
    @discardableResult
    package func putRegion(
        _ definition: StoredRegionDefinition, tiles: [TileAddress], editions: [String: String], now: Timestamp
    ) throws(StoreError) -> StoredRegion {
        guard (1...256).contains(definition.id.utf8.count), !definition.id.utf8.contains(0) else {
            throw StoreError(.invalid, "a region id has \(definition.id.utf8.count) bytes; use 1 to 256")
        }
        return try changeRegions { index in
            let numbers = try Self.numbers(tiles, editions, index)
            let (number, isStaged) = try Self.put(definition, editions, now, index)
            try Self.pin(numbers, to: number, isStaged: isStaged, index)
            guard let region = try RegionRow.one(definition.id, index) else { throw RegionRow.unknown(definition.id) }
            return region
        }
    }

    /// Inserts or prepares the row of a region; returns its number, and whether its new tiles are staged.
    private static func put(
        _ definition: StoredRegionDefinition, _ editions: [String: String], _ now: Timestamp, _ index: Database
    ) throws -> (number: Int64, isStaged: Bool) {
        let what = try RegionRow.encode(definition)
        let which = try RegionRow.encode(editions)
        if let region = try RegionRow.number(definition.id, index) {
            // The former definition of a region that was never complete is not kept.
            let keeps = region.wasComplete
            try index.execute(
                sql: """
                    UPDATE regions SET \(keeps ? "staged_definition = ?, staged_editions" : "definition = ?, editions") = ?,
                      state = ?, failure = NULL, updated = ?, needs_planning = 0 WHERE id = ?
                    """,
                arguments: [what, which, StoredRegionState.loading.rawValue, now.nanoseconds, region.number])
            return (region.number, keeps)
        }
        try index.execute(
            sql: """
                INSERT INTO regions(name, definition, editions, state, progress, created, updated, needs_planning,
                  was_complete)
                VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)
                """,
            arguments: [
                definition.id, what, which, StoredRegionState.loading.rawValue,
                try RegionRow.encode(StoredRegionProgress()), now.nanoseconds, now.nanoseconds,
            ])
        return (index.lastInsertedRowID, false)
    }

    static func numbers(
        _ tiles: [TileAddress], _ editions: [String: String], _ index: Database
    ) throws -> [Int64] {
        var known: [String: Int64] = [:]
        for (tileset, version) in editions {
            let key = EditionKey(tileset, version)
            guard let number = try EditionRow.number(key, index) else { throw EditionRow.unknown(key) }
            known[tileset] = number
        }
        return try tiles.map { address in
            guard let edition = known[address.tileset] else {
                throw StoreError(
                    .invalid, "no edition of '\(address.tileset)' was given for tile \(address) of a region")
            }
            return TileNumber.of(address.tile, edition: edition)
        }
    }

    /// Pins exactly the tiles of `numbers` to a region's current or staged set.
    private static func pin(
        _ numbers: [Int64], to region: Int64, isStaged: Bool, _ index: Database
    ) throws {
        let known = Set(
            try Int64.fetchAll(
                index, sql: "SELECT tile FROM pins WHERE region = ? AND staged = ?", arguments: [region, isStaged]))
        let asked = Set(numbers)
        let remove = try index.cachedStatement(sql: "DELETE FROM pins WHERE region = ? AND staged = ? AND tile = ?")
        for tile in known.subtracting(asked).sorted() { try remove.execute(arguments: [region, isStaged, tile]) }
        let add = try index.cachedStatement(sql: "INSERT INTO pins VALUES (?, ?, ?)")
        for tile in asked.subtracting(known).sorted() { try add.execute(arguments: [region, isStaged, tile]) }
    }

    private static func isWhole(_ number: Int64, isStaged: Bool, _ index: Database) throws -> Bool {
        try RegionRow.missing(number, isStaged: isStaged, expiredAt: nil, limit: 1, index).isEmpty
    }

    package func dropTiles(_ tiles: [RegionTile], fromRegion id: String) throws(StoreError) {
        try write { writer throws(StoreError) in
            // The list beside the index contains no tiles, so it need not change.
            try change(&writer) { index in
                guard let region = try RegionRow.number(id, index) else { throw RegionRow.unknown(id) }
                let remove = try index.cachedStatement(
                    sql: "DELETE FROM pins WHERE region = ? AND staged = ? AND tile = ?")
                for tile in tiles {
                    let key = EditionKey(tile.address.tileset, tile.edition)
                    guard let edition = try EditionRow.number(key, index) else { throw EditionRow.unknown(key) }
                    try remove.execute(
                        arguments: [
                            region.number, region.isStaged, TileNumber.of(tile.address.tile, edition: edition),
                        ])
                }
            }
        }
    }

    /// Sets the state, progress and failure of an incomplete region; also works on a full disk.
    ///
    /// Only ``completeRegions(_:using:now:)`` makes a region complete.
    ///
    /// - Throws: ``StoreError`` `missing` when the id is unknown, `invalid` for the state `complete`.
    package func setRegion(
        _ id: String, state: StoredRegionState, progress: StoredRegionProgress, failure: StoredRegionFailure? = nil,
        now: Timestamp
    ) throws(StoreError) {
        guard state != .complete else {
            throw StoreError(.invalid, "only completeRegions, which checks tiles, can complete region '\(id)'")
        }
        try write { writer throws(StoreError) in
            try clear(&writer) { index in
                try index.execute(
                    sql: "UPDATE regions SET state = ?, progress = ?, failure = ?, updated = ? WHERE name = ?",
                    arguments: [
                        state.rawValue, try RegionRow.encode(progress), try RegionRow.encode(failure),
                        now.nanoseconds, id,
                    ])
                guard index.changesCount > 0 else { throw RegionRow.unknown(id) }
            }
        }
    }

    /// Completes regions and takes editions into use, in one transaction.
    ///
    /// Staged definitions replace the former ones, whose tiles may then be evicted.
    ///
    /// - Throws: ``StoreError`` `inUse` when one of them lacks a tile, `missing` when an id is unknown; then nothing
    ///   has changed.
    package func completeRegions(
        _ regions: [String: StoredRegionProgress], using editions: [EditionKey] = [], now: Timestamp
    ) throws(StoreError) {
        try changeRegions(using: editions) { index in
            for (id, progress) in regions.sorted(by: { $0.key < $1.key }) {
                guard let region = try RegionRow.number(id, index) else { throw RegionRow.unknown(id) }
                guard try Self.isWhole(region.number, isStaged: region.isStaged, index) else {
                    throw StoreError(
                        .inUse, "region '\(id)' still lacks tiles; load them, or drop those that no source has")
                }
                if region.isStaged { try Self.takeStaged(region.number, index) }
                try index.execute(
                    sql: """
                        UPDATE regions SET state = ?, progress = ?, failure = NULL, updated = ?, was_complete = 1
                        WHERE id = ?
                        """,
                    arguments: [
                        StoredRegionState.complete.rawValue, try RegionRow.encode(progress), now.nanoseconds,
                        region.number,
                    ])
            }
            for edition in editions { try EditionRow.use(edition, now, index) }
        }
    }

    private static func takeStaged(_ region: Int64, _ index: Database) throws {
        try index.execute(sql: "DELETE FROM pins WHERE region = ? AND staged = 0", arguments: [region])
        try index.execute(sql: "UPDATE pins SET staged = 0 WHERE region = ?", arguments: [region])
        try index.execute(
            sql: """
                UPDATE regions SET definition = staged_definition, editions = staged_editions,
                  staged_definition = NULL, staged_editions = NULL WHERE id = ?
                """, arguments: [region])
    }

    package func discardStaged(ofRegion id: String, now: Timestamp) throws(StoreError) {
        try changeRegions(isClearing: true) { index in
            guard let region = try RegionRow.number(id, index) else { throw RegionRow.unknown(id) }
            guard region.isStaged else { return }
            try index.execute(sql: "DELETE FROM pins WHERE region = ? AND staged = 1", arguments: [region.number])
            let isWhole = try Self.isWhole(region.number, isStaged: false, index)
            try index.execute(
                sql: """
                    UPDATE regions SET staged_definition = NULL, staged_editions = NULL, state = ?, failure = NULL,
                      updated = ? WHERE id = ?
                    """,
                arguments: [
                    (isWhole ? StoredRegionState.complete : .incomplete).rawValue, now.nanoseconds, region.number,
                ])
        }
    }

    package func describeRegion(
        _ id: String, name: String? = nil, metadata: [String: String]? = nil, now: Timestamp
    ) throws(StoreError) {
        try changeRegions { index in
            guard let region = try RegionRow.one(id, index) else { throw RegionRow.unknown(id) }
            func described(_ definition: StoredRegionDefinition) -> StoredRegionDefinition {
                var definition = definition
                definition.name = name ?? definition.name
                definition.metadata = metadata ?? definition.metadata
                return definition
            }
            try index.execute(
                sql: "UPDATE regions SET definition = ?, staged_definition = ?, updated = ? WHERE name = ?",
                arguments: [
                    try RegionRow.encode(described(region.definition)),
                    try RegionRow.encode(region.staged.map { described($0.definition) }), now.nanoseconds, id,
                ])
        }
    }

    @discardableResult
    package func removeRegion(_ id: String) throws(StoreError) -> Bool {
        try changeRegions(isClearing: true) { index in
            guard let region = try RegionRow.number(id, index) else { return false }
            try index.execute(sql: "DELETE FROM pins WHERE region = ?", arguments: [region.number])
            try index.execute(sql: "DELETE FROM regions WHERE id = ?", arguments: [region.number])
            return true
        }
    }

    /// Changes regions in one transaction, and then rewrites the list beside the index.
    ///
    /// - Parameter isClearing: Whether the change frees tiles and therefore must work on a full disk.
    private func changeRegions<Value>(
        using editions: [EditionKey] = [], isClearing: Bool = false, _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        try write { writer throws(StoreError) in
            let value = isClearing ? try clear(&writer, body) : try change(&writer, body)
            try pointCurrent(editions.map(\.tileset), &writer)
            let regions = try access.snapshot { try RegionRow.all($0) }
            // The index has the change; if the list cannot be written now, it is written after the next change.
            try? RegionList(regions).write(folder, writer.name("regions", folder))
            return value
        }
    }
}

extension TileStoreReader {
    package func regions() throws(StoreError) -> [StoredRegion] { try access.snapshot { try RegionRow.all($0) } }

    package func regionIDs() throws(StoreError) -> [String] {
        try access.snapshot { try String.fetchAll($0, sql: "SELECT name FROM regions ORDER BY name") }
    }

    package func region(_ id: String) throws(StoreError) -> StoredRegion? {
        try access.snapshot { try RegionRow.one(id, $0) }
    }

    /// Returns the tiles that a region needs and that are missing or had expired, by edition and tile; of the staged
    /// tiles during an update.
    ///
    /// - Parameters:
    ///   - moment: The time by which tiles have expired; nil to ignore expiry.
    ///   - now: The current time; tiles with a later fetch time were stored under a wrong clock and count as expired.
    ///     Nil: `moment`.
    ///   - last: The tile after which to continue, so that a large region is searched window by window without
    ///     repetition.
    ///   - limit: The maximum number of tiles.
    package func missingTiles(
        ofRegion id: String, expiredAt moment: Timestamp? = nil, now: Timestamp? = nil, after last: RegionTile? = nil,
        limit: Int = .max
    ) throws(StoreError) -> [RegionTile] {
        try access.snapshot { index in
            guard let region = try RegionRow.number(id, index) else { throw RegionRow.unknown(id) }
            let place = try last.flatMap { last in
                try EditionRow.number(EditionKey(last.address.tileset, last.edition), index).map {
                    TileNumber.of(last.address.tile, edition: $0)
                }
            }
            return try RegionRow.missing(
                region.number, isStaged: region.isStaged, expiredAt: moment, now: now, after: place ?? .min,
                limit: limit, index
            ).compactMap { try EditionRow.tile($0, index) }
        }
    }

    /// Counts the tiles that a region needs, and those on board with their bytes; during an update, counts the staged
    /// tiles.
    ///
    /// It looks up each tile.
    ///
    /// - Parameter asServed: Whether to count the tiles that it serves now, even during an update.
    package func completeness(
        ofRegion id: String, asServed: Bool = false
    ) throws(StoreError) -> (required: Int64, present: Int64, bytes: Int64) {
        try access.snapshot { index in
            guard let region = try RegionRow.number(id, index) else { throw RegionRow.unknown(id) }
            let row = try Row.fetchOne(
                index,
                sql: """
                    SELECT count(*), count(t.id), ifnull(sum(t.body_bytes + ifnull(t.ranks_bytes, 0)), 0)
                    FROM pins p LEFT JOIN tiles t ON t.id = p.tile WHERE p.region = ? AND p.staged = ?
                    """, arguments: [region.number, region.isStaged && !asServed])
            return (row?.integer(0) ?? 0, row?.integer(1) ?? 0, row?.integer(2) ?? 0)
        }
    }

    package func expiry(ofRegion id: String) throws(StoreError) -> Timestamp? {
        try access.snapshot { index in
            guard let region = try RegionRow.number(id, index) else { throw RegionRow.unknown(id) }
            return try Int64.fetchOne(
                index,
                sql:
                    "SELECT min(t.expires) FROM pins p JOIN tiles t ON t.id = p.tile WHERE p.region = ? AND p.staged = 0",
                arguments: [region.number]
            ).map { Timestamp(nanoseconds: $0) }
        }
    }
}
