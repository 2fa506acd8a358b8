internal import GRDB

/// Finds the tiles that go so that the store fits into its budget, without changing anything.
///
/// It reads tiles in the order in which they go, from the indices that hold them in that order, and stops as soon as
/// enough is found: what it costs does not grow with the store. A file that several tiles have is freed by the last.
struct RoomFinder {
    /// What goes.
    struct Victims {
        var numbers: [Int64] = []
        var freedBytes: Int64 = 0
    }

    private let index: Database
    private var victims = Victims()
    /// How many users each file loses.
    private var lost: [ContentHash: Int64] = [:]

    private init(_ index: Database) { self.index = index }

    /// The tiles that go so that `excess` bytes are freed; nil when that cannot be.
    ///
    /// - Parameters:
    ///   - need: How soon what is to come will be needed; nil: nothing that is wanted goes for it.
    ///   - spared: A tile that stays: the one that is to come.
    static func victims(
        freeing excess: Int64, needed need: Double?, _ wanted: inout WantedTiles, sparing spared: Int64? = nil,
        _ index: Database
    ) throws -> Victims? {
        var finder = RoomFinder(index)
        guard excess > 0 else { return finder.victims }
        let idle = try Row.fetchCursor(
            try index.cachedStatement(
                sql: "SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE pins = 0 ORDER BY needed, id"))
        while finder.victims.freedBytes < excess, let row = try idle.next() {
            let number = row.integer(0)
            if number != spared, wanted.need(number) == nil { try finder.take(row) }
        }
        guard let need else { return finder.victims.freedBytes >= excess ? finder.victims : nil }
        let find = try index.cachedStatement(
            sql: "SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE id = ? AND pins = 0")
        if finder.victims.freedBytes < excess {
            for later in wanted.later(than: need) where later.number != spared {
                if let row = try Row.fetchOne(find, arguments: [later.number]) { try finder.take(row) }
                if finder.victims.freedBytes >= excess { break }
            }
        }
        return finder.victims.freedBytes >= excess ? finder.victims : nil
    }

    private mutating func take(_ row: Row) throws {
        victims.numbers.append(row.integer(0))
        try take(try TileRow.hash(row, 1), row.integer(2))
        try take(try TileRow.hash(row, 3), row.integer(4))
    }

    private mutating func take(_ hash: ContentHash?, _ bytes: Int64) throws {
        guard let hash else { return }
        let find = try index.cachedStatement(sql: "SELECT uses FROM objects WHERE hash = ?")
        let uses = try Int64.fetchOne(find, arguments: [hash.blob]) ?? 0
        lost[hash, default: 0] += 1
        if lost[hash] == uses { victims.freedBytes += bytes }
    }
}
