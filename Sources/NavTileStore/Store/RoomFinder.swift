import NavDigest
internal import GRDB

/// Finds the tiles that go so that the store fits into its budget.
///
/// It reads tiles in the order in which they go, from the indices that hold them in that order, and stops as soon as
/// enough is found: what it costs does not grow with the store. A file that several tiles have is freed by the last.
struct RoomFinder {
    /// What would go.
    struct Victims {
        /// The tiles, in the order in which they go.
        var numbers: [Int64] = []
        /// Bytes that they free.
        var freedBytes: Int64 = 0
        /// Whether that is enough.
        var suffices = true
        /// Tiles that were looked at and stay, because they are wanted.
        fileprivate var passed: [Int64] = []
    }

    private let index: Database
    private var victims = Victims()
    /// How many users each file loses.
    private var lost: [ContentHash: Int64] = [:]

    private init(_ index: Database) { self.index = index }

    /// The tiles that go so that `excess` bytes are freed.
    ///
    /// - Parameters:
    ///   - need: How soon what is to come will be needed; nil: nothing that is wanted goes for it.
    ///   - spared: A tile that stays: the one that is to come.
    static func victims(
        freeing excess: Int64, needed need: Double?, _ wanted: inout WantedTiles, sparing spared: Int64? = nil,
        _ index: Database
    ) throws -> Victims {
        var finder = RoomFinder(index)
        guard excess > 0 else { return finder.victims }
        let idle = try Row.fetchCursor(
            try index.cachedStatement(
                sql: "SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE pins = 0 ORDER BY needed, id"))
        while finder.victims.freedBytes < excess, let row = try idle.next() {
            let number = row.integer(0)
            if wanted.need(number) != nil {
                finder.victims.passed.append(number)
            } else if number != spared {
                try finder.take(row)
            }
        }
        if let need, finder.victims.freedBytes < excess {
            let find = try index.cachedStatement(
                sql: "SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE id = ? AND pins = 0")
            for later in wanted.later(than: need) where later.number != spared {
                if let row = try Row.fetchOne(find, arguments: [later.number]) { try finder.take(row) }
                if finder.victims.freedBytes >= excess { break }
            }
        }
        finder.victims.suffices = finder.victims.freedBytes >= excess
        return finder.victims
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

    /// Wanted tiles that were passed before the others are told from them: a page or two of the index.
    private static let greatestPassed = 64

    /// Makes wanted tiles that stood in the way of those that go the most recently needed ones, which they are as good
    /// as: each is passed once, not at every search.
    static func putBehind(_ victims: Victims, _ index: Database) throws {
        guard victims.passed.count > greatestPassed else { return }
        let last = try index.cachedStatement(sql: "SELECT max(needed) FROM tiles WHERE pins = 0")
        let time = try Int64.fetchOne(last)
        let update = try index.cachedStatement(sql: "UPDATE tiles SET needed = ? WHERE id = ?")
        for number in victims.passed { try update.execute(arguments: [time, number]) }
    }
}
