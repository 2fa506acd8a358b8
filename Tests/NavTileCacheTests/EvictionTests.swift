import NavDigest
import NavGeo
import NavTileCache
import Testing

/// A store in memory, whose tiles are ordered by the time since they were needed.
struct MemoryEvictionSource: EvictionSource {
    struct Tile {
        var number: Int64
        var files: [(hash: ContentHash, bytes: Int64)]
        var isPinned = false
    }

    /// The tiles, the least recently needed first.
    var tiles: [Tile]
    private var next = 0

    init(_ tiles: [Tile]) { self.tiles = tiles }

    mutating func nextIdle() -> EvictionCandidate? {
        while next < tiles.count {
            let tile = tiles[next]
            next += 1
            if !tile.isPinned { return EvictionCandidate(tile.number, files: tile.files) }
        }
        return nil
    }

    func unpinned(_ number: Int64) -> EvictionCandidate? {
        tiles.first { $0.number == number && !$0.isPinned }.map { EvictionCandidate($0.number, files: $0.files) }
    }

    func uses(_ hash: ContentHash) -> Int64 {
        tiles.reduce(0) { $0 + Int64($1.files.count { $0.hash == hash }) }
    }
}

/// Tests of the eviction order of a full store.
struct EvictionTests {
    private static func hash(_ number: Int64) throws -> ContentHash {
        try #require(ContentHash(of: Array("\(number)".utf8)))
    }

    private static func tile(_ number: Int64, pinned: Bool = false, sharing other: Int64? = nil) throws
        -> MemoryEvictionSource.Tile
    {
        MemoryEvictionSource.Tile(number: number, files: [(try hash(other ?? number), 10)], isPinned: pinned)
    }

    private static func number(_ id: UInt32) -> Int64 {
        TileID(zoom: 14, x: id, y: 0).map { TileNumber.of($0, edition: 1) } ?? 0
    }

    /// Returns the tiles to evict, the least recently needed first; nil when all of them do not suffice.
    private static func victims(
        _ tiles: [MemoryEvictionSource.Tile], freeing excess: Int64, needed need: Double?,
        wanted needs: [UInt32: Double] = [:],
        sparing spared: Int64? = nil
    ) throws -> [Int64]? {
        var wanted = WantedTiles()
        wanted.set(
            needs.compactMap { id, need in TileID(zoom: 14, x: id, y: 0).map { WantedTile(tile: $0, need: need) } },
            edition: 1)
        var shelf = MemoryEvictionSource(tiles)
        let eviction = try Eviction(freeing: excess, needed: need, sparing: spared, &wanted, among: &shelf)
        return eviction.suffices ? eviction.victims : nil
    }

    @Test func nothingIsEvictedWithinTheBudget() throws {
        #expect(try Self.victims([Self.tile(1)], freeing: 0, needed: 0) == [])
    }

    @Test func leastRecentlyNeededIsEvictedFirstAndNoMoreThanNecessary() throws {
        #expect(try Self.victims((1...4).map { try Self.tile($0) }, freeing: 15, needed: 0) == [1, 2])
    }

    @Test func pinnedTilesAreNeverEvicted() throws {
        let tiles = try [Self.tile(Self.number(1), pinned: true), Self.tile(Self.number(2), pinned: true)]
        #expect(try Self.victims(tiles, freeing: 1, needed: 0, wanted: [2: 900]) == nil)
    }

    @Test func laterNeededTilesAreEvictedForSoonerOnes() throws {
        let tiles = try (1...4).map { try Self.tile(Self.number($0)) }
        let needs: [UInt32: Double] = [1: 100, 2: 9_000, 3: 5_000]
        let (idle, late, soon) = (Self.number(4), Self.number(2), Self.number(3))
        #expect(try Self.victims(tiles, freeing: 25, needed: 1_000, wanted: needs) == [idle, late, soon])
        #expect(try Self.victims(tiles, freeing: 25, needed: 6_000, wanted: needs) == nil)
        #expect(try Self.victims(tiles, freeing: 25, needed: nil, wanted: needs) == nil)
        #expect(try Self.victims(tiles, freeing: 15, needed: 1_000, wanted: needs, sparing: late) == [idle, soon])
    }

    @Test func sharedFileIsFreedWithItsLastTile() throws {
        let tiles = try [Self.tile(1, sharing: 9), Self.tile(2), Self.tile(3, sharing: 9), Self.tile(4)]
        #expect(try Self.victims(tiles, freeing: 20, needed: 0) == [1, 2, 3])
        #expect(try Self.victims([tiles[0], Self.tile(3, pinned: true, sharing: 9)], freeing: 1, needed: 0) == nil)
    }
}
