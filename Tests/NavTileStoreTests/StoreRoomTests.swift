import Foundation
import NavGeo
import NavSimulation
import NavTileCache
import NavTileStore
import Testing

@Suite("Eviction and the store's budget")
struct StoreRoomTests {
    /// A tile of the reference rule.
    private struct Tile {
        var id: Int64
        var bytes: Int64
        var lastNeeded: Timestamp
        var isPinned = false
        var need: Double?
    }

    /// Returns the tiles to evict so that `bytes` more fit into the budget, by sorting all; nil when they do not fit.
    private static func victims(
        among tiles: [Tile], budget: Int64, toFit bytes: Int64, needed need: Double?
    ) -> [Int64]? {
        var excess = tiles.reduce(0) { $0 + $1.bytes } + bytes - budget
        guard excess > 0 else { return [] }
        let idle = tiles.filter { !$0.isPinned && $0.need == nil }.sorted {
            ($0.lastNeeded, $0.id) < ($1.lastNeeded, $1.id)
        }
        let later = tiles.filter { tile in
            guard let need, let own = tile.need else { return false }
            return !tile.isPinned && own > need
        }.sorted { ($1.need ?? 0, $1.id) < ($0.need ?? 0, $0.id) }
        var victims: [Int64] = []
        for tile in idle + later {
            guard excess > 0 else { break }
            victims.append(tile.id)
            excess -= tile.bytes
        }
        return excess > 0 ? nil : victims
    }

    @Test("Eviction matches the reference rule for random stores", arguments: 0..<24 as Range<UInt64>)
    func oracle(seed: UInt64) throws {
        var random = SeededRandom(seed: seed &* 31 &+ 5)
        let bench = try StoreBench()
        try bench.addMaps()
        var tiles: [Tile] = []
        var pinned: [TileAddress] = []
        var wanted: [WantedTile] = []
        var fetched: [Int64: [FetchedTile]] = [:]
        for x in 0..<UInt32(20 + random.below(30)) {
            let text = "tile \(x) " + String(repeating: ".", count: random.below(300))
            let needed = Int64(random.below(12))
            let address = TileAddress("maps", tileID(x))
            fetched[needed, default: []].append(mapTile(x, text))
            var tile = Tile(id: Int64(x), bytes: Int64(text.utf8.count), lastNeeded: at(needed))
            if random.below(4) == 0 {
                tile.isPinned = true
                pinned.append(address)
            }
            if random.below(3) == 0 {
                tile.need = Double(random.below(10_000))
                wanted.append(WantedTile(tile: address.tile, need: tile.need ?? 0))
            }
            tiles.append(tile)
        }
        for (needed, batch) in fetched { _ = try bench.store.commit(batch, now: at(needed)) }
        try bench.store.setWanted(wanted, in: EditionKey("maps", ""))
        try bench.store.putRegion(
            StoredRegionDefinition(id: "r"), tiles: pinned, editions: ["maps": ""], now: at(20))
        let total = tiles.reduce(0) { $0 + $1.bytes }
        for _ in 0..<4 {
            let budget = total * Int64(random.below(110)) / 100
            let bytes = 1 + Int64(random.below(600))
            let need = random.below(3) == 0 ? nil : Double(random.below(10_000))
            let expected = Self.victims(among: tiles, budget: budget, toFit: bytes, needed: need)
            bench.store.setBudget(budget)
            let report = try bench.store.makeRoom(for: bytes, needed: need)
            #expect(report.fits == (expected != nil))
            #expect(report.removedCount == expected?.count ?? 0)
            tiles.removeAll { expected?.contains($0.id) == true }
            for x in 0..<UInt32(50) {
                let isThere = try bench.find(TileAddress("maps", tileID(x))) != nil
                #expect(isThere == tiles.contains { $0.id == Int64(x) }, "tile \(x), seed \(seed)")
            }
        }
        try bench.expectSound()
    }

    @Test("A commit stays within the budget: the tile unused for longest is evicted, a touched one stays")
    func commit() throws {
        let bench = try StoreBench(budget: 30)
        try bench.addMaps()
        let all = try (0..<3).map { try bench.put(UInt32($0), "tile \($0)0000", now: Int64($0)) }
        bench.store.touch([try #require(try bench.find(all[0]))], now: at(10))
        let report = try bench.store.commit([mapTile(7, "tile 70000")], now: at(11))
        #expect(report.evictedCount == 1)
        #expect(try bench.store.reader.storedBytes() == 30)
        #expect(try bench.find(all[0])?.lastNeeded == at(10))
        #expect(try bench.find(all[1]) == nil)
        #expect(try bench.find(all[2]) != nil)
        try bench.expectSound()
    }

    @Test("Tiles of a commit that do not fit are rejected individually, and their older versions stay")
    func refused() throws {
        let bench = try StoreBench(budget: 20)
        try bench.addMaps()
        try bench.put(1, "old")
        let report = try bench.store.commit(
            [mapTile(1, String(repeating: "x", count: 21)), mapTile(2, "fits")], now: at(2))
        #expect(report.refused.map(\.address) == [TileAddress("maps", tileID(1))])
        #expect(report.stored.map(\.address) == [TileAddress("maps", tileID(2))])
        #expect(try bench.text(TileAddress("maps", tileID(1))) == "old")
        #expect(bench.folder.files(below: "store/objects").count == 2)
        try bench.expectSound()
    }

    @Test("A wanted tile displaces one wanted later, not one wanted sooner")
    func wanted() throws {
        let bench = try StoreBench(budget: 20)
        try bench.addMaps()
        let key = EditionKey("maps", "")
        try bench.store.setWanted(
            [
                WantedTile(tile: tileID(1), need: 100), WantedTile(tile: tileID(2), need: 900),
                WantedTile(tile: tileID(3), need: 500), WantedTile(tile: tileID(4), need: 950),
            ], in: key)
        let first = try bench.put(1, "0123456789")
        let second = try bench.put(2, "1123456789")
        let third = try bench.put(3, "2123456789")
        #expect(try bench.find(second) == nil)
        #expect(try bench.find(first) != nil)
        #expect(try bench.store.commit([mapTile(4, "3123456789")], now: at(1)).refused.count == 1)
        // Neither a region's tile nor an unwanted one displaces a wanted tile.
        #expect(try bench.store.commit([mapTile(5, "4123456789")], now: at(1)).refused.count == 1)
        try bench.store.setWanted([], in: key)
        #expect(try bench.store.commit([mapTile(5, "4123456789")], now: at(2)).evictedCount == 1)
        #expect(try bench.find(third) != nil || bench.find(first) != nil)
    }

    @Test("Wanted tiles stay even if unused for longest; once unwanted, they are evicted in order of need")
    func wantedAhead() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let wanted = (0..<300).map { WantedTile(tile: tileID($0), need: Double($0)) }
        _ = try bench.store.commit((0..<300).map { mapTile($0, "wanted \(1_000 + $0)") }, now: at(1))
        for x in 300..<310 as Range<UInt32> { try bench.put(x, "other \(x).", now: Int64(x)) }
        try bench.store.setWanted(wanted, in: EditionKey("maps", ""))
        bench.store.setBudget(try bench.totals().objectBytes)
        for x in 300..<310 as Range<UInt32> {
            #expect(try bench.store.makeRoom(for: Int64(x - 299) * 10, needed: nil).removedCount == 1)
            #expect(try bench.find(TileAddress("maps", tileID(x))) == nil)
        }
        #expect(try !bench.store.makeRoom(for: 200, needed: nil).fits)
        #expect(try bench.totals().tilesets.first?.tileCount == 300)
        // When no longer wanted, they count as needed most recently: tiles needed earlier are evicted first.
        try bench.put(400, "before", now: 200)
        try bench.store.setWanted([], in: EditionKey("maps", ""))
        bench.store.setBudget(try bench.totals().objectBytes)
        try bench.store.makeRoom(for: 1, needed: nil)
        #expect(try bench.find(TileAddress("maps", tileID(400))) == nil)
        try bench.expectSound()
    }

    @Test("Shared content is freed only with its last tile")
    func shared() throws {
        let bench = try StoreBench(budget: 20)
        try bench.addMaps()
        for x in 0..<5 { try bench.put(UInt32(x), "0123456789", now: Int64(x)) }
        try bench.put(9, "9876543210", now: 9)
        #expect(try bench.totals().objectBytes == 20)
        let report = try bench.store.makeRoom(for: 10, needed: nil)
        #expect(report.removedCount == 5)
        #expect(report.freedBytes == 10)
        #expect(try bench.find(TileAddress("maps", tileID(9))) != nil)
    }

    @Test("A purge removes a tileset or expired tiles, but nothing pinned")
    func purge() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        try bench.addMaps("other")
        try bench.put(1, "a", tileset: "other")
        _ = try bench.store.commit(
            (1...4).map { mapTile($0, "m\($0)", validators: Validators(expires: at(Int64($0)))) }, now: at(1))
        try bench.put(5, "stays")
        try bench.store.putRegion(
            StoredRegionDefinition(id: "r"), tiles: [TileAddress("maps", tileID(1))], editions: ["maps": ""],
            now: at(1))
        #expect(try bench.store.purge(tileset: "maps", expiredAt: at(3)).removedCount == 2)
        #expect(try bench.store.purge(tileset: "other", expiredAt: at(3)).removedCount == 0)
        #expect(try bench.find(TileAddress("maps", tileID(1))) != nil)
        #expect(try bench.store.purge(tileset: "maps").removedCount == 2)
        let totals = try bench.totals()
        #expect(totals.tilesets.map(\.tileset) == ["maps", "other"])
        #expect(totals.tilesets.map(\.tileCount) == [1, 1])
        #expect(try bench.store.purge().removedCount == 1)
        try bench.expectSound()
    }

    @Test("Totals per tileset count tiles, bytes, pins and expired tiles")
    func statistics() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let roads = try RoadEdition("v1", count: 2)
        try bench.store.addEdition(roads.edition, now: at(0))
        _ = try bench.store.commit(roads.tiles, now: at(1))
        _ = try bench.store.commit([mapTile(1, "abc", validators: Validators(expires: at(4)))], now: at(1))
        try bench.store.putRegion(
            StoredRegionDefinition(id: "r"), tiles: [roads.addresses[0]], editions: ["roads": "v1"], now: at(2))
        let bytes = Int64(roads.tiles.flatMap(\.parts).reduce(0) { $0 + $1.data.count })
        let totals = try bench.totals(now: 4)
        #expect(totals.tilesets.map(\.tileset) == ["maps", "roads"])
        #expect(totals.tilesets.map(\.tileCount) == [1, 2])
        #expect(totals.tilesets.map(\.bytes) == [3, bytes])
        #expect(totals.tilesets.map(\.pinnedCount) == [0, 1])
        #expect(totals.tilesets.map(\.expiredCount) == [1, 0])
        #expect(totals.objectBytes == bytes + 3)
    }
}
