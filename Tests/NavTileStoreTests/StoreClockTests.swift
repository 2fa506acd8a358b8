import NavGeo
import NavTileCache
import NavTileStore
import Testing

@Suite("A wall clock that jumps")
struct StoreClockTests {
    private static let year: Int64 = 365 * 86_400
    /// 2026-11-21.
    private static let today: Int64 = 1_795_219_200

    private static func tile(_ x: UInt32, expires: Int64?) -> FetchedTile {
        var tile = mapTile(x, "tile \(x)0000")
        tile.validators = Validators(etag: "\"x\"", expires: expires.map(at))
        return tile
    }

    @Test("Eviction follows recency of use, also after the clock was set back and after a restart")
    func order() throws {
        var bench = try StoreBench(budget: 30)
        try bench.addMaps()
        try bench.put(0, "tile 00000", now: Self.today)
        try bench.put(1, "tile 10000", now: Self.today + Self.year)
        // The clock is right again; for a year, tiles fetched now must not be evicted first.
        let kept = try bench.put(2, "tile 20000", now: Self.today + 60)
        #expect(try bench.store.commit([mapTile(3, "tile 30000")], now: at(Self.today + 70)).evictedCount == 1)
        #expect(try bench.find(TileAddress("maps", tileID(0))) == nil)
        try bench.reopen(budget: 30)
        bench.store.touch([try #require(try bench.find(kept))], now: at(Self.today + 80))
        for x in 4..<6 as Range<UInt32> {
            #expect(
                try bench.store.commit([mapTile(x, "tile \(x)0000")], now: at(Self.today + 80 + Int64(x))).evictedCount
                    == 1)
        }
        #expect(try bench.find(TileAddress("maps", tileID(1))) == nil)
        #expect(try bench.find(TileAddress("maps", tileID(3))) == nil)
        #expect(try bench.find(kept) != nil)
        try bench.expectSound()
    }

    @Test("Moments of use never decrease, and a clock set back slightly is trusted")
    func moments() {
        var order = UseOrder(last: .min)
        #expect(order.moment(at(100)) == at(100))
        #expect(order.moment(at(90)) == at(90))
        #expect(order.moment(at(Self.year)) == at(Self.year))
        let back = (0..<3).map { order.moment(at(200 + $0)) }
        #expect(back == (1...3).map { Timestamp(nanoseconds: at(Self.year).nanoseconds + $0) })
        #expect(order.moment(at(2 * Self.year)) == at(2 * Self.year))
        #expect(order.moment(Timestamp(nanoseconds: .max)) == Timestamp(nanoseconds: .max))
        #expect(order.moment(at(0)) == at(0))
    }

    @Test(
        "A tile fetched with the clock ahead counts as expired and is revalidated"
    )
    func ahead() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let ahead = Self.today + 73 * Self.year
        let tile = Self.tile(1, expires: ahead + 60)
        _ = try bench.store.commit([tile], now: at(ahead))
        #expect(try bench.find(tile.address, now: ahead)?.isExpired == false)
        let found = try #require(try bench.find(tile.address, now: Self.today))
        #expect(found.isExpired)
        #expect(try bench.store.data(of: found) == tile.parts[0].data)
        let maps = EditionKey("maps", "")
        #expect(try bench.store.reader.absent([tile.address.tile], in: maps).isEmpty)
        #expect(
            try bench.store.reader.absent([tile.address.tile], in: maps, expiredAt: at(Self.today)) == [
                tile.address.tile
            ])
        try bench.store.putRegion(
            StoredRegionDefinition(id: "r"), tiles: [tile.address], editions: ["maps": ""], now: at(Self.today))
        let missing = { (moment: Int64, now: Int64?) in
            try bench.store.reader.missingTiles(ofRegion: "r", expiredAt: at(moment), now: now.map(at)).count
        }
        #expect(try bench.store.reader.missingTiles(ofRegion: "r").isEmpty)
        #expect(try missing(Self.today, nil) == 1 && missing(ahead, nil) == 0)
        // The source states that the tile is still valid.
        try bench.store.revalidate(
            [(RegionTile(tile.address, edition: ""), Validators(expires: at(Self.today + 3_600)))], now: at(Self.today))
        #expect(try bench.find(tile.address, now: Self.today)?.isExpired == false)
        #expect(try missing(Self.today, nil) == 0)
        // Tiles that arrive late in a long load are trusted although the load began earlier.
        #expect(try missing(Self.today - 1_000, Self.today) == 0)
    }

    @Test("With a clock in 2099 or 1970, tiles are still served and kept")
    func wrong() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let tile = Self.tile(1, expires: Self.today + 3_600)
        let ageless = Self.tile(2, expires: nil)
        _ = try bench.store.commit([tile, ageless], now: at(Self.today))
        for now in [Self.today + 73 * Self.year, 0] {
            let found = try #require(try bench.find(tile.address, now: now))
            #expect(found.isExpired == (now > 0))
            #expect(try bench.store.data(of: found) == tile.parts[0].data)
            #expect(try bench.find(ageless.address, now: now)?.isExpired == false)
            _ = try bench.store.makeRoom(for: 10, needed: nil)
            try bench.store.flush()
        }
        // Only an explicit purge removes tiles, and only those with a certain expiry date.
        #expect(try bench.store.purge(expiredAt: at(0)).removedCount == 0)
        #expect(try bench.find(tile.address, now: Self.today)?.isExpired == false)
        #expect(try bench.totals(now: Self.today).tilesets.first?.tileCount == 2)
    }
}
