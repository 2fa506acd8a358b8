import NavDigest
import Foundation
import NavGeo
import NavStorage
import NavTileCache
import NavTileStore
import Testing

@Suite("Tiles in the store")
struct StoreTileTests {
    @Test("A tile is read back with bytes, size, hash, encoding, type and validators, also after a restart")
    func readBack() throws {
        var bench = try StoreBench()
        try bench.addMaps()
        let bytes: [UInt8] = [31, 139, 0, 255]
        let address = TileAddress("maps", tileID(7))
        let validators = Validators(etag: "\"x\"", lastModified: "Mon, 01 Jan 2026 00:00:00 GMT", expires: at(50))
        let report = try bench.store.commit(
            [
                FetchedTile(
                    address, edition: "",
                    parts: [
                        FetchedPart(
                            .body, data: bytes, hash: #require(ContentHash(of: bytes)), contentEncoding: "gzip",
                            mediaType: "application/vnd.mapbox-vector-tile")
                    ], validators: validators)
            ], now: at(3))
        #expect(report.stored.map(\.address) == [address])
        #expect(try bench.store.reader.storedBytes() == 4)
        for _ in 0..<2 {
            let tile = try #require(try bench.find(address, now: 49))
            #expect(tile.body.hash == ContentHash(of: bytes))
            #expect(tile.body.bytes == 4)
            #expect(tile.body.contentEncoding == "gzip")
            #expect(tile.body.mediaType == "application/vnd.mapbox-vector-tile")
            #expect(tile.validators == validators)
            #expect(tile.lastNeeded == at(3))
            #expect(!tile.isExpired && !tile.isPinned)
            #expect(try bench.find(address, now: 50)?.isExpired == true)
            #expect(try bench.store.data(of: tile) == bytes)
            #expect(FileManager.default.contents(atPath: tile.body.path) == Data(bytes))
            try bench.reopen()
        }
        #expect(try bench.find(TileAddress("maps", tileID(8))) == nil)
        #expect(try bench.find(TileAddress("other", tileID(7))) == nil)
        try bench.expectSound()
    }

    @Test("A commit is synced to disk, also after a restart")
    func durable() throws {
        var bench = try StoreBench()
        #expect(try bench.store.synchronous() == 2)
        try bench.reopen()
        #expect(try bench.store.synchronous() == 2)
    }

    @Test("Equal contents share one file, removed with its last tile")
    func shared() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        try bench.addMaps("other")
        let first = try bench.put(1, "sea")
        let second = try bench.put(2, "sea", tileset: "other")
        try bench.put(3, "land")
        #expect(bench.folder.files(below: "store/objects").count == 2)
        #expect(try bench.totals().objectBytes == 7)
        #expect(try bench.store.purge(tileset: "maps").freedBytes == 4)
        #expect(try bench.text(first) == nil)
        #expect(try bench.text(second) == "sea")
        #expect(bench.folder.files(below: "store/objects").count == 1)
        #expect(try bench.store.purge().freedBytes == 3)
        #expect(bench.folder.files(below: "store/objects").isEmpty)
        #expect(try bench.totals().objectBytes == 0)
        try bench.expectSound()
    }

    @Test("New content replaces a tile and its file; the same content changes nothing")
    func replaced() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let address = try bench.put(1, "old")
        try bench.put(1, "newer", now: 2)
        try bench.put(1, "newer", now: 3)
        #expect(try bench.text(address) == "newer")
        #expect(bench.folder.files(below: "store/objects").count == 1)
        let totals = try bench.totals()
        #expect(totals.objectBytes == 5)
        #expect(totals.tilesets.first?.tileCount == 1)
        #expect(totals.tilesets.first?.bytes == 5)
        // An evicted tile can be added again as new.
        try bench.put(1, "old", now: 4)
        #expect(try bench.text(address) == "old")
        try bench.expectSound()
    }

    @Test("An empty tile can be stored")
    func empty() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        #expect(try bench.text(bench.put(1, "")) == "")
        try bench.expectSound()
    }

    @Test("A road tile without ranks is rejected together with its whole batch")
    func whole() throws {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 2)
        try bench.store.addEdition(roads.edition, now: at(0))
        try bench.addMaps()
        var half = roads.tiles[1]
        half.parts.removeLast()
        #expect(code { _ = try bench.store.commit([roads.tiles[0], half], now: at(1)) } == .invalid)
        #expect(try bench.find(roads.addresses[0]) == nil)
        half.parts = [roads.tiles[1].parts[0], roads.tiles[1].parts[0]]
        #expect(code { _ = try bench.store.commit([half], now: at(1)) } == .invalid)
        var odd = mapTile(1, "x")
        odd.parts.append(part(.ranks, "y"))
        #expect(code { _ = try bench.store.commit([odd], now: at(1)) } == .invalid)
        #expect(bench.folder.files(below: "store/objects").isEmpty)
        #expect(bench.folder.files(below: "store/incoming").isEmpty)
    }

    @Test("A tile of an unknown edition is rejected")
    func unknownEdition() throws {
        let bench = try StoreBench()
        #expect(code { _ = try bench.store.commit([mapTile(1, "x")], now: at(1)) } == .invalid)
        #expect(bench.folder.files(below: "store/objects").isEmpty)
    }

    @Test("Revalidated tiles get new validators and keep their bytes")
    func revalidated() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        try bench.put(3, "z")
        _ = try bench.store.commit([mapTile(1, "x", validators: Validators(expires: at(5)))], now: at(1))
        let address = TileAddress("maps", tileID(1))
        #expect(try bench.find(address, now: 6)?.isExpired == true)
        #expect(try bench.totals(now: 6).tilesets.first?.expiredCount == 1)
        let fresh = Validators(etag: "e", expires: at(9))
        let tiles = [1, 2, 3].map { RegionTile(TileAddress("maps", tileID($0)), edition: "") }
        let unknown = RegionTile(address, edition: "v9")
        let confirmed = (tiles + [unknown]).map { (tile: $0, validators: fresh) }
        #expect(try bench.store.revalidate(confirmed, now: at(6)) == [tiles[0], tiles[2]])
        #expect(try bench.find(address, now: 6)?.validators == fresh)
        #expect(try bench.totals(now: 6).tilesets.first?.expiredCount == 0)
        #expect(try bench.text(address) == "x")
        #expect(try bench.find(tiles[2].address, now: 6)?.validators == fresh)
    }

    @Test("A huge ETag and a thousand media types are not stored")
    func bounded() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let long = Validators(etag: String(repeating: "e", count: 1_000_000))
        let tiles = (0..<1_000).map { number in
            var tile = mapTile(UInt32(number), "x", validators: long)
            tile.parts[0].mediaType = "x/\(number)"
            return tile
        }
        _ = try bench.store.commit(tiles, now: at(1))
        #expect(try bench.find(tiles[0].address)?.validators.etag == nil)
        #expect(try bench.find(tiles[0].address)?.body.mediaType == "x/0")
        #expect(try bench.find(tiles[999].address)?.body.mediaType == nil)
        let size = try FileManager.default.attributesOfItem(atPath: bench.path + "/index.sqlite-wal")[.size] as? Int
        #expect((size ?? .max) < 2_000_000)
    }

    @Test("Of repeated addresses in a commit, the last tile is stored")
    func batch() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let tiles = (0..<1_000).map { mapTile(UInt32($0 % 900), "content \($0)") }
        let report = try bench.store.commit(tiles, now: at(1))
        #expect(report.stored.count == 1_000)
        #expect(try bench.totals().tilesets.first?.tileCount == 900)
        #expect(try bench.text(TileAddress("maps", tileID(99))) == "content 999")
        #expect(try bench.text(TileAddress("maps", tileID(100))) == "content 100")
        #expect(bench.folder.files(below: "store/objects").count == 900)
        try bench.expectSound()
    }

    @Test("Absent and expired tiles of a list are found")
    func absent() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        _ = try bench.store.commit(
            [mapTile(1, "x"), mapTile(2, "y", validators: Validators(expires: at(5)))], now: at(1))
        let all = [tileID(3), tileID(2), tileID(1)]
        let key = EditionKey("maps", "")
        #expect(try bench.store.reader.absent(all, in: key) == [tileID(3)])
        #expect(try bench.store.reader.absent(all, in: key, expiredAt: at(4)) == [tileID(3)])
        #expect(try bench.store.reader.absent(all, in: key, expiredAt: at(5)) == [tileID(3), tileID(2)])
        #expect(try bench.store.reader.absent(all, in: EditionKey("maps", "2")) == all)
    }

    @Test("Many threads can commit, look up and evict concurrently")
    func threads() async throws {
        let bench = try StoreBench(budget: 20_000)
        try bench.addMaps()
        let store = bench.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for round in 0..<10 {
                        let text = String(repeating: "\(worker)", count: 500)
                        let tiles = (0..<5).map {
                            mapTile(UInt32(worker * 100 + round * 5 + $0), text + "\(round)\($0)")
                        }
                        _ = try store.commit(tiles, now: at(Int64(round)))
                        for tile in tiles {
                            if let found = try store.reader.tile(tile.address, now: at(1)) {
                                store.touch([found], now: at(Int64(round)))
                            }
                        }
                        if round % 5 == 4 { try store.makeRoom(for: 5_000, needed: nil) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try bench.totals().objectBytes <= 20_000)
        try bench.expectSound()
    }

    @Test("After closing, every call throws and another owner can open the store")
    func closed() throws {
        var bench = try StoreBench()
        try bench.addMaps()
        let old = bench.store
        let address = try bench.put(1, "x")
        try bench.reopen()
        #expect(code { _ = try old.commit([mapTile(2, "y")], now: at(1)) } == .closed)
        #expect(code { _ = try old.reader.tile(address, now: at(1)) } == .closed)
        #expect(try bench.text(address) == "x")
    }
}
