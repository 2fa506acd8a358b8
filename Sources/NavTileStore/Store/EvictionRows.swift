import NavDigest
internal import GRDB
internal import NavTileCache

/// The tiles of the index in eviction order, read from indices sorted in that order.
struct EvictionRows: EvictionSource {
    private let index: Database
    private let idle: RowCursor

    init(_ index: Database) throws {
        self.index = index
        idle = try Row.fetchCursor(
            try index.cachedStatement(
                sql: "SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE pins = 0 ORDER BY needed, id"))
    }

    mutating func nextIdle() throws -> EvictionCandidate? { try idle.next().map(Self.candidate) }

    mutating func unpinned(_ number: Int64) throws -> EvictionCandidate? {
        let find = try index.cachedStatement(
            sql: "SELECT id, body, body_bytes, ranks, ranks_bytes FROM tiles WHERE id = ? AND pins = 0")
        return try Row.fetchOne(find, arguments: [number]).map(Self.candidate)
    }

    mutating func uses(_ hash: ContentHash) throws -> Int64 {
        let find = try index.cachedStatement(sql: "SELECT uses FROM objects WHERE hash = ?")
        return try Int64.fetchOne(find, arguments: [hash.blob]) ?? 0
    }

    private static func candidate(_ row: Row) throws -> EvictionCandidate {
        var files: [(hash: ContentHash, bytes: Int64)] = []
        for column in [1, 3] {
            if let hash = try TileRow.hash(row, column) { files.append((hash, row.integer(column + 1))) }
        }
        return EvictionCandidate(row.integer(0), files: files)
    }
}

extension Eviction {
    /// The eviction among the tiles of an index.
    init(
        freeing excess: Int64, needed need: Double?, sparing spared: Int64? = nil, _ wanted: inout WantedTiles,
        _ index: Database
    ) throws {
        guard excess > 0 else {
            self.init()
            return
        }
        var rows = try EvictionRows(index)
        try self.init(freeing: excess, needed: need, sparing: spared, &wanted, among: &rows)
    }

    /// The number of passed wanted tiles above which they are moved behind the others: a page or two of the index.
    private static var greatestPassed: Int { 64 }

    /// Marks the wanted tiles that this search skipped as most recently needed, so that later searches do not examine
    /// them again.
    func putPassedBehind(_ index: Database) throws {
        guard passed.count > Self.greatestPassed else { return }
        let last = try index.cachedStatement(sql: "SELECT max(needed) FROM tiles WHERE pins = 0")
        let time = try Int64.fetchOne(last)
        let update = try index.cachedStatement(sql: "UPDATE tiles SET needed = ? WHERE id = ?")
        for number in passed { try update.execute(arguments: [time, number]) }
    }
}
