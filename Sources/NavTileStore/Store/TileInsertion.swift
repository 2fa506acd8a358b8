internal import Foundation
internal import GRDB
internal import NavGeo
import NavTileCache

/// The insertion of tiles into the index, within the budget.
struct TileInsertion {
    private let index: Database
    private let budget: Int64
    private let now: Timestamp
    private let needed: Timestamp

    /// - Parameter needed: the time to record as last needed; see ``UseOrder``.
    init(_ index: Database, budget: Int64, now: Timestamp, needed: Timestamp) {
        self.index = index
        self.budget = budget
        self.now = now
        self.needed = needed
    }

    func run(
        _ tiles: [FetchedTile], _ editions: [EditionKey: Int64], _ wanted: inout WantedTiles
    ) throws -> CommitReport {
        var report = CommitReport()
        let before = try Self.bytes(index)
        let size = tiles.reduce(Int64(0)) { $0 + $1.size }
        // If all of them fit, no insertion will have to be undone.
        let isTight = before.addingReportingOverflow(size).overflow || before + size > budget
        var stored: [(tile: RegionTile, number: Int64)] = []
        var evicted: Set<Int64> = []
        for tile in tiles {
            guard let edition = editions[EditionKey(tile.address.tileset, tile.edition)] else { continue }
            let number = TileNumber.of(tile.address.tile, edition: edition)
            if isTight {
                var eviction = Eviction()
                try index.inSavepoint {
                    try insert(tile, number)
                    eviction = try makeRoom(for: number, &wanted)
                    return eviction.suffices ? .commit : .rollback
                }
                try eviction.putPassedBehind(index)
                guard eviction.suffices else {
                    report.refused.append(RegionTile(tile.address, edition: tile.edition))
                    continue
                }
                evicted.formUnion(eviction.victims)
                report.evictedCount += eviction.victims.count
                report.evictedWantedCount += eviction.wantedCount
            } else {
                try insert(tile, number)
            }
            evicted.remove(number)
            stored.append((RegionTile(tile.address, edition: tile.edition), number))
        }
        report.stored = stored.filter { !evicted.contains($0.number) }.map(\.tile)
        return report
    }

    private static func bytes(_ index: Database) throws -> Int64 {
        try Int64.fetchOne(try index.cachedStatement(sql: "SELECT object_bytes FROM totals")) ?? 0
    }

    /// Evicts for a tile that was just inserted, unless that cannot make enough room.
    private func makeRoom(for number: Int64, _ wanted: inout WantedTiles) throws -> Eviction {
        let excess = try Self.bytes(index) - budget
        guard excess > 0 else { return Eviction() }
        let pins = try Int64.fetchOne(
            try index.cachedStatement(sql: "SELECT pins FROM tiles WHERE id = ?"), arguments: [number])
        let need = pins == 0 ? wanted.need(number) : nil
        let eviction = try Eviction(freeing: excess, needed: need, sparing: number, &wanted, index)
        if eviction.suffices { try TileRemoval.evict(eviction.victims, index) }
        return eviction
    }

    private func insert(_ tile: FetchedTile, _ number: Int64) throws {
        let insert = try index.cachedStatement(
            sql: """
                INSERT INTO tiles SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
                  (SELECT count(*) FROM pins WHERE tile = ?1), ?12
                """)
        // Delete and insert rather than update; the triggers count correctly either way.
        try index.cachedStatement(sql: "DELETE FROM tiles WHERE id = ?").execute(arguments: [number])
        guard let body = tile.parts.first(where: { $0.part == .body }) else { return }
        let ranks = tile.parts.first { $0.part == .ranks }
        let validators = Self.bounded(tile.validators)
        try insert.execute(
            arguments: [
                number, body.hash.blob, Int64(body.data.count), try kind(body), ranks?.hash.blob,
                ranks.map { Int64($0.data.count) }, try ranks.map(kind), validators.etag, validators.lastModified,
                validators.expires?.nanoseconds, needed.nanoseconds, now.nanoseconds,
            ])
        if ranks != nil { try TileRemoval.unsettle(number, index) }
    }

    private func kind(_ part: FetchedPart) throws -> Int64 {
        try FileKind.number(FileKind(encoding: part.contentEncoding, mediaType: part.mediaType), index)
    }

    /// Returns the validators without those above 1,024 bytes, the limit of a reasonable header.
    static func bounded(_ validators: Validators) -> Validators {
        func bounded(_ text: String?) -> String? { text.flatMap { $0.utf8.count <= 1_024 ? $0 : nil } }
        return Validators(
            etag: bounded(validators.etag), lastModified: bounded(validators.lastModified),
            expires: validators.expires)
    }
}

/// The removal of tiles from the index.
enum TileRemoval {
    /// Removes tiles; files that no other tile uses are freed.
    static func remove(_ numbers: [Int64], _ index: Database) throws -> RemovalReport {
        let bytes = try index.cachedStatement(sql: "SELECT object_bytes FROM totals")
        let before = try Int64.fetchOne(bytes) ?? 0
        let delete = try index.cachedStatement(sql: "DELETE FROM tiles WHERE id = ?")
        for number in numbers {
            try unsettle(number, index)
            try delete.execute(arguments: [number])
        }
        return RemovalReport(removedCount: numbers.count, freedBytes: before - (try Int64.fetchOne(bytes) ?? 0))
    }

    /// Removes tiles to make room, and counts the evictions.
    static func evict(_ numbers: [Int64], _ index: Database) throws {
        guard !numbers.isEmpty else { return }
        _ = try remove(numbers, index)
        try index.cachedStatement(sql: "UPDATE totals SET evicted_count = evicted_count + ?")
            .execute(arguments: [numbers.count])
    }

    /// Records that a tile's files for mapping may be outdated; only road tiles have such files.
    static func unsettle(_ number: Int64, _ index: Database) throws {
        try index.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO unsettled SELECT id FROM tiles WHERE id = ? AND ranks IS NOT NULL
                """
        ).execute(arguments: [number])
    }
}
