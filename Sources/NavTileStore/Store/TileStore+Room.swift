internal import GRDB
package import NavGeo
package import NavStorage
package import NavTileCache
internal import Synchronization

extension TileStore {
    /// Evicts tiles until `bytes` more fit into the budget; also works on a full disk.
    ///
    /// Unwanted tiles are evicted first, least recently needed first; then wanted tiles needed later than the incoming tiles, latest first.
    /// Pinned tiles are never evicted.
    ///
    /// - Parameter need: The need of the incoming tiles, see `WantedTile.need`; with nil, no wanted tile is evicted.
    /// - Returns: The evicted tiles. If eviction cannot free enough, `fits` is false and nothing is evicted; with 0 bytes, as much as
    ///   allowed is evicted.
    @discardableResult
    package func makeRoom(for bytes: Int64, needed need: Double?) throws(StoreError) -> RemovalReport {
        try write { writer throws(StoreError) in
            var wanted = wanted.withLock { $0 }
            let budget = budgetBytes
            // Write the pending use times first, because they determine which tiles are evicted.
            let eviction = try clear(&writer) { index in
                let stored = try Int64.fetchOne(index, sql: "SELECT object_bytes FROM totals") ?? 0
                let (needed, overflow) = stored.addingReportingOverflow(max(bytes, 0))
                let excess = overflow ? .max : needed - budget
                let eviction = try Eviction(freeing: excess, needed: need, &wanted, index)
                try eviction.putPassedBehind(index)
                return eviction
            }
            keepOrder(of: wanted)
            guard eviction.suffices || bytes <= 0 else { return RemovalReport(fits: false) }
            var report = try remove(eviction.victims, &writer, isEviction: true)
            report.fits = report.fits && eviction.suffices
            return report
        }
    }

    /// Returns the bytes that cannot be evicted for a region: pinned tiles of other regions and of its current
    /// definition during an update, wanted tiles, and its own tiles on board.
    ///
    /// - Parameters:
    ///   - id: The region's id; empty if it has none yet.
    ///   - tiles: All tiles that it needs.
    ///   - editions: The edition of each tileset among them, by name of the tileset.
    /// - Returns: Bytes; files shared by pinned tiles count once, other shared files count for each tile.
    package func keptBytes(
        besideRegion id: String, _ tiles: [TileAddress], editions: [String: String]
    ) throws(StoreError) -> Int64 {
        let (held, others) = try reader.held(besideRegion: id, tiles, editions: editions)
        let wanted = wanted.withLock { $0.numbers }
        return try access.snapshot { index in
            let own = Set(try Self.numbers(others, editions, index))
            let ownPins = try RegionRow.ownPins(id, index)
            let find = try index.cachedStatement(
                sql: """
                    SELECT body_bytes + ifnull(ranks_bytes, 0),
                      EXISTS (SELECT 1 FROM pins WHERE tile = ?3 AND \(RegionRow.pinsOfOthers))
                    FROM tiles WHERE id = ?3
                    """)
            return try own.union(wanted).reduce(into: held) { bytes, number in
                guard let row = try Row.fetchOne(find, arguments: ownPins + [number]) else { return }
                // Tiles of other regions have been counted above.
                if own.contains(number) || row.integer(1) == 0 { bytes += row.integer(0) }
            }
        }
    }

    /// Removes tiles that no region needs.
    ///
    /// - Parameters:
    ///   - tileset: The tileset to purge; nil for all.
    ///   - now: The moment by which they must have expired; nil for all tiles.
    @discardableResult
    package func purge(tileset: String? = nil, expiredAt now: Timestamp? = nil) throws(StoreError) -> RemovalReport {
        let numbers = try access.snapshot { index in
            try Int64.fetchAll(
                index,
                sql: """
                    SELECT id FROM tiles WHERE pins = 0 AND ifnull(expires, 9223372036854775807) <= ?1
                    AND (?2 IS NULL OR id >> 49 IN
                      (SELECT e.id FROM editions e JOIN tilesets s ON s.id = e.tileset WHERE s.name = ?2))
                    """, arguments: [now?.nanoseconds ?? .max, tileset])
        }
        return try write { writer throws(StoreError) in try remove(numbers, &writer, isEviction: false) }
    }

    /// The maximum number of tiles removed in one transaction: their log entries, at worst some 25 kB each, fit into
    /// the reserve for a full disk.
    private static let chunk = 128

    /// Removes tiles unless they have been pinned since their selection.
    func remove(
        _ numbers: [Int64], _ writer: inout Writer, isEviction: Bool
    ) throws(StoreError) -> RemovalReport {
        var report = RemovalReport()
        var rest = numbers[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Self.chunk))
            let removed = try clear(&writer) { index in
                let find = try index.cachedStatement(sql: "SELECT 1 FROM tiles WHERE id = ? AND pins = 0")
                let present = try part.filter { try Int64.fetchOne(find, arguments: [$0]) != nil }
                let removed = try TileRemoval.remove(present, index)
                if isEviction {
                    try index.cachedStatement(sql: "UPDATE totals SET evicted_count = evicted_count + ?")
                        .execute(arguments: [present.count])
                }
                return removed
            }
            report.removedCount += removed.removedCount
            report.freedBytes += removed.freedBytes
            rest = rest.dropFirst(Self.chunk)
        }
        return report
    }
}
