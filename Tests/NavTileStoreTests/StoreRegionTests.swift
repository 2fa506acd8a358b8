import Foundation
import NavGeo
import NavTileCache
import NavStorage
import NavTileStore
import Testing

@Suite("Offline regions in the store")
struct StoreRegionTests {
    let home = StoredRegionDefinition(
        id: "home", name: "Home", geometry: [0, 255, 7],
        descriptors: [RegionDescriptor(tileset: "roads", domain: .navigation, zoomMin: 6, zoomMax: 12, pixelRatio: 2)],
        acceptExpired: true, metadata: ["a": "b"])

    /// Returns a store with an edition and a region whose first `count` tiles are stored.
    private func loaded(_ roads: RoadEdition, count: Int = 3) throws -> StoreBench {
        let bench = try StoreBench()
        try bench.store.addEdition(roads.edition, now: at(0))
        try put(roads, bench, count: count, now: 1)
        _ = try bench.store.commit(Array(roads.tiles[..<count]), now: at(2))
        try bench.store.completeRegions(["home": StoredRegionProgress(requiredCount: 3)], now: at(3))
        return bench
    }

    private func put(_ roads: RoadEdition, _ bench: StoreBench, count: Int = 3, now: Int64) throws {
        try bench.store.putRegion(
            home, tiles: Array(roads.addresses[..<count]), editions: ["roads": roads.edition.version], now: at(now))
    }

    @Test("A region is read back as written, also after a restart")
    func readBack() throws {
        var bench = try loaded(try RoadEdition("v1", count: 3))
        for _ in 0..<2 {
            let region = try #require(try bench.store.reader.region("home"))
            #expect(region.definition == home)
            #expect(region.editions == ["roads": "v1"])
            #expect(region.state == .complete)
            #expect(region.progress == StoredRegionProgress(requiredCount: 3))
            #expect(region.created == at(1))
            #expect(region.updated == at(3))
            #expect(region.failure == nil && region.staged == nil && !region.needsPlanning)
            #expect(try bench.store.reader.regions() == [region])
            try bench.reopen()
        }
        #expect(try bench.store.reader.region("away") == nil)
    }

    @Test("A region lists its missing tiles and is complete only when none is missing")
    func missing() throws {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 3)
        try bench.store.addEdition(roads.edition, now: at(0))
        _ = try bench.store.commit([roads.tiles[2]], now: at(0))
        try put(roads, bench, now: 1)
        #expect(try bench.store.reader.region("home")?.state == .loading)
        let lacks = [RegionTile(roads.addresses[0], edition: "v1"), RegionTile(roads.addresses[1], edition: "v1")]
        #expect(try bench.store.reader.missingTiles(ofRegion: "home") == lacks)
        #expect(try bench.store.reader.missingTiles(ofRegion: "home", limit: 1) == [lacks[0]])
        #expect(try bench.store.reader.missingTiles(ofRegion: "home", after: lacks[0], limit: 5) == [lacks[1]])
        #expect(try bench.store.reader.missingTiles(ofRegion: "home", after: lacks[1], limit: 5).isEmpty)
        #expect(code { try bench.store.completeRegions(["home": StoredRegionProgress()], now: at(2)) } == .inUse)
        #expect(try bench.store.reader.region("home")?.state == .loading)
        _ = try bench.store.commit([roads.tiles[0]], now: at(2))
        let part = try bench.store.reader.completeness(ofRegion: "home")
        #expect(part.required == 3 && part.present == 2)
        #expect(part.bytes == Int64(roads.tiles[0].parts.reduce(0) { $0 + $1.data.count }) * 2)
        try bench.store.dropTiles([lacks[1]], fromRegion: "home")
        #expect(try bench.store.reader.missingTiles(ofRegion: "home").isEmpty)
        try bench.store.completeRegions(["home": StoredRegionProgress()], now: at(3))
        #expect(try bench.store.reader.region("home")?.state == .complete)
    }

    @Test("Removing tiles does not rewrite the list of regions")
    func dropped() throws {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 3)
        try bench.store.addEdition(roads.edition, now: at(0))
        try put(roads, bench, now: 1)
        let list = bench.path + "/regions.json"
        try FileManager.default.removeItem(atPath: list)
        let tiles = roads.addresses.map { RegionTile($0, edition: "v1") }
        try bench.store.dropTiles([tiles[0], tiles[2]], fromRegion: "home")
        #expect(try bench.store.reader.missingTiles(ofRegion: "home") == [tiles[1]])
        #expect(!FileManager.default.fileExists(atPath: list))
    }

    @Test("Expired tiles of a region count as missing only on request")
    func expired() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        _ = try bench.store.commit([mapTile(1, "x", validators: Validators(expires: at(5)))], now: at(1))
        try bench.store.putRegion(
            home, tiles: [TileAddress("maps", tileID(1))], editions: ["maps": ""], now: at(1))
        #expect(try bench.store.reader.missingTiles(ofRegion: "home").isEmpty)
        #expect(try bench.store.reader.missingTiles(ofRegion: "home", expiredAt: at(4)).isEmpty)
        #expect(try bench.store.reader.missingTiles(ofRegion: "home", expiredAt: at(5)).count == 1)
        #expect(try bench.store.reader.expiry(ofRegion: "home") == at(5))
    }

    @Test("Pinned tiles are never evicted; after their region is removed they are evictable")
    func pinned() throws {
        let bench = try loaded(try RoadEdition("v1", count: 4))
        _ = try bench.store.commit([try RoadEdition("v1", count: 4).tiles[3]], now: at(1))
        #expect(try bench.totals().tilesets.first?.pinnedCount == 3)
        bench.store.setBudget(10)
        #expect(try !bench.store.makeRoom(for: 0, needed: nil).fits)
        #expect(try bench.totals().tilesets.first?.tileCount == 3)
        #expect(try bench.store.purge().removedCount == 0)
        #expect(try bench.store.removeRegion("home"))
        #expect(try !bench.store.removeRegion("home"))
        #expect(try bench.store.reader.regions().isEmpty)
        #expect(try bench.totals().tilesets.first?.pinnedCount == 0)
        #expect(try bench.store.makeRoom(for: 0, needed: nil).removedCount == 3)
        try bench.expectSound()
    }

    @Test("A tile shared by two regions stays pinned until both are removed")
    func overlapping() throws {
        let roads = try RoadEdition("v1", count: 3)
        let bench = try loaded(roads)
        var away = home
        away.id = "away"
        try bench.store.putRegion(
            away, tiles: [roads.addresses[2]], editions: ["roads": "v1"], now: at(4))
        try bench.store.removeRegion("home")
        #expect(try bench.store.purge().removedCount == 2)
        #expect(try bench.find(roads.addresses[2])?.isPinned == true)
        #expect(try bench.store.reader.missingTiles(ofRegion: "away").isEmpty)
    }

    @Test("An update serves the old region until the new one is complete, then switches with its edition")
    func update() throws {
        let old = try RoadEdition("v1", count: 3)
        let new = try RoadEdition("v2", count: 4)
        var bench = try loaded(old)
        try bench.store.addEdition(new.edition, now: at(4))
        var larger = home
        larger.geometry = [9]
        try bench.store.putRegion(larger, tiles: new.addresses, editions: ["roads": "v2"], now: at(5))
        _ = try bench.store.commit(Array(new.tiles[..<3]), now: at(6))
        try bench.reopen(budget: 10)
        let middle = try #require(try bench.store.reader.region("home"))
        #expect(middle.definition == home)
        #expect(middle.editions == ["roads": "v1"])
        #expect(middle.state == .loading)
        #expect(middle.staged == StagedRegion(definition: larger, editions: ["roads": "v2"]))
        #expect(try bench.store.reader.missingTiles(ofRegion: "home").map(\.address) == [new.addresses[3]])
        #expect(
            code {
                try bench.store.completeRegions(["home": StoredRegionProgress()], using: [new.key], now: at(7))
            } == .inUse)
        // Neither old nor staged tiles are evicted.
        #expect(try bench.store.purge().removedCount == 0)
        #expect(try bench.text(old.addresses[2]) == "road 2 of v1")
        #expect(code { _ = try bench.store.removeEdition(old.key) } == .inUse)

        try bench.reopen()
        _ = try bench.store.commit([new.tiles[3]], now: at(8))
        try bench.store.completeRegions(["home": StoredRegionProgress()], using: [new.key], now: at(9))
        let after = try #require(try bench.store.reader.region("home"))
        #expect(after.definition == larger)
        #expect(after.editions == ["roads": "v2"])
        #expect(after.state == .complete && after.staged == nil)
        #expect(try bench.text(old.addresses[2]) == "road 2 of v2")
        #expect(try bench.store.reader.completeness(ofRegion: "home").required == 4)
        #expect(try bench.store.removeEdition(old.key).removedCount == 3)
        #expect(try bench.totals().tilesets.first?.pinnedCount == 4)
        try bench.expectSound()
    }

    @Test("A discarded update leaves the region complete as before")
    func discard() throws {
        let old = try RoadEdition("v1", count: 3)
        let new = try RoadEdition("v2", count: 3)
        let bench = try loaded(old)
        try bench.store.addEdition(new.edition, now: at(4))
        try put(new, bench, now: 5)
        _ = try bench.store.commit([new.tiles[0]], now: at(6))
        try bench.store.setRegion(
            "home", state: .cancelled, progress: StoredRegionProgress(loadedCount: 1),
            failure: StoredRegionFailure(code: "CANCELLED", message: "as asked"), now: at(7))
        #expect(try bench.store.reader.region("home")?.failure?.message == "as asked")
        #expect(try bench.store.reader.region("home")?.staged != nil)
        try bench.store.discardStaged(ofRegion: "home", now: at(8))
        let region = try #require(try bench.store.reader.region("home"))
        #expect(region.state == .complete && region.staged == nil && region.failure == nil)
        #expect(region.editions == ["roads": "v1"])
        #expect(try bench.store.removeEdition(new.key).removedCount == 1)
    }

    @Test("A repeated update replaces the staged one; the update of a region that was never complete is not staged")
    func putAgain() throws {
        let roads = try RoadEdition("v1", count: 3)
        let bench = try StoreBench()
        try bench.store.addEdition(roads.edition, now: at(0))
        try put(roads, bench, count: 3, now: 1)
        try put(roads, bench, count: 1, now: 2)
        #expect(try bench.store.reader.region("home")?.staged == nil)
        #expect(try bench.store.reader.completeness(ofRegion: "home").required == 1)
        _ = try bench.store.commit(roads.tiles, now: at(2))
        try bench.store.completeRegions(["home": StoredRegionProgress()], now: at(3))
        try put(roads, bench, count: 3, now: 4)
        try put(roads, bench, count: 2, now: 5)
        #expect(try bench.store.reader.completeness(ofRegion: "home").required == 2)
        #expect(try bench.totals().tilesets.first?.pinnedCount == 2)
        try bench.expectSound()
    }

    @Test("Name and metadata change independently")
    func describe() throws {
        let bench = try loaded(try RoadEdition("v1", count: 3))
        try bench.store.describeRegion("home", name: "There", now: at(9))
        try bench.store.describeRegion("home", metadata: ["c": "d"], now: at(10))
        let region = try #require(try bench.store.reader.region("home"))
        #expect(region.definition.name == "There")
        #expect(region.definition.metadata == ["c": "d"])
        #expect(region.definition.geometry == home.geometry)
        #expect(region.updated == at(10))
    }

    @Test("Invalid regions, editions and states are rejected")
    func refused() throws {
        let bench = try loaded(try RoadEdition("v1", count: 3))
        let roads = TileAddress("roads", tileID(0, zoom: 12, y: 7))
        var nameless = home
        nameless.id = ""
        #expect(
            code { try bench.store.putRegion(nameless, tiles: [], editions: [:], now: at(1)) } == .invalid)
        #expect(code { try bench.store.putRegion(home, tiles: [roads], editions: [:], now: at(1)) } == .invalid)
        #expect(
            code { try bench.store.putRegion(home, tiles: [roads], editions: ["roads": "v9"], now: at(1)) } == .invalid)
        #expect(
            code {
                try bench.store.setRegion("home", state: .complete, progress: StoredRegionProgress(), now: at(1))
            } == .invalid)
        #expect(
            code {
                try bench.store.setRegion("no", state: .incomplete, progress: StoredRegionProgress(), now: at(1))
            } == .missing)
        #expect(code { try bench.store.completeRegions(["no": StoredRegionProgress()], now: at(1)) } == .missing)
        #expect(code { _ = try bench.store.reader.missingTiles(ofRegion: "no") } == .missing)
        #expect(try bench.store.reader.region("home")?.state == .complete)
    }
}
