import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestKit
import NavTestSupport
import NavTestSystem
import NavTileCache
import NavTileStore
import NavWire
import Testing
import TileCacheNode

/// Full disks, insufficient budgets, jumping clocks, and network modes.
struct CacheFaultTests {
    private static let roads = ["tilesets=name=roads,source=FOLDER/roads", "region.retry_s=86400"]

    private static func definition(
        _ id: String, radius: Double, tileset: String = "roads", acceptExpired: Bool = false
    ) throws -> RegionDefinition {
        RegionDefinition(
            regionId: id, geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: radius)),
            descriptors: [TilesetDescriptor(tileset: tileset)], acceptExpired: acceptExpired)
    }

    private static func key(_ tile: TileID) -> TileKey {
        TileKey(domain: .navigation, zoom: UInt32(tile.zoom), x: tile.x, y: tile.y)
    }

    // MARK: Disk

    @Test(.enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"))
    func fullDiskStopsLoadingWithReasonAndItResumesAutomatically() async throws {
        let disk = try #require(SmallDisk(megabytes: 24))
        var all: Set<TileID> = []
        let table = try CacheTable([
            "tilesets=name=roads,source=FOLDER/roads;name=other,source=FOLDER/other", "region.retry_s=86400",
            "predictive.enabled=true", "network.retries=0",
        ]) {
            all = try TileFolders.roads(in: $0 + "/roads", reach: 60_000)
            _ = try TileFolders.roads(in: $0 + "/other", reach: 500)
            try FileManager.default.createDirectory(atPath: disk.path + "/store", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: $0 + "/store", withDestinationPath: disk.path + "/store")
        }
        let small = try #require(try await table.load(try Self.definition("small", radius: 3_000)).last)
        #expect(small.region?.state == .complete)
        // A region with a missing tile, which is retried much later.
        let lost = TileID(containing: TileFolders.porto, zoom: 12)
        try FileManager.default.removeItem(atPath: "\(table.folder)/other/12/\(lost.x)/\(lost.y).road")
        let broken = try Self.definition("broken", radius: 100, tileset: "other")
        #expect(try await table.load(broken).last?.region?.state == .incomplete)
        let before = try table.onBoard("roads", of: all)
        disk.fillUp()
        // Enough for the index and a few tiles.
        disk.free(1_200_000)
        let large = try #require(try await table.load(try Self.definition("large", radius: 60_000)).last)
        #expect(large.region?.state == .incomplete && large.error?.code == .resourceExhausted)
        #expect(large.error?.retryable == true && large.error?.message?.contains("is full") == true, "\(large)")
        try await table.until("the full disk is reported") { try table.findings.contains { $0.code == "disk_full" } }
        let listed = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "large"))
        #expect(listed.region?.state == .incomplete && listed.region?.error?.message?.contains("is full") == true)

        // Stored tiles remain, and tiles that cannot be stored are not fetched repeatedly, even for the vehicle.
        #expect(try table.onBoard("roads", of: all).isSuperset(of: before))
        let node = try #require(table.node).node
        table.position(Geodesy.destination(from: TileFolders.porto, bearing: 1, distance: 45_000))
        let seen = table.healthCount
        try await table.until("a write was attempted") { table.healthCount > seen }
        let downloads = node.downloads
        table.position(Geodesy.destination(from: TileFolders.porto, bearing: 4, distance: 45_000))
        try await table.until("two seconds have passed") { table.healthCount > seen + 2 }
        #expect(node.downloads == downloads)
        for tile in before.sorted() {
            let answer = try await table.call(
                TileCacheService.getTile, GetTileRequest(key: Self.key(tile), cacheOnly: true))
            #expect(answer.data != nil && answer.error == nil)
        }
        // A requested tile is delivered even if it cannot be stored.
        let far = try #require(all.filter { $0.zoom == 12 }.subtracting(try table.onBoard("roads", of: all)).min())
        let passed = try await table.call(TileCacheService.getTile, GetTileRequest(key: Self.key(far)))
        #expect(passed.data != nil && passed.fromCache == false)
        #expect(try table.check() == [])

        disk.free(1 << 30)
        try await table.until("the region is complete") {
            try table.events.last.map { $0.kind == .loadFinished && $0.success == true } == true
        }
        #expect(try table.onBoard("roads", of: all) == all)
        #expect(try table.events.count { $0.kind == .loadFinished && $0.regionId == "broken" } == 1)
        try await table.until("the report is withdrawn") { try !table.findings.contains { $0.code == "disk_full" } }
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func fullDiskRetriesBackOffWhenReportedSpaceIsUnusable() {
        var pauses: [Int64] = []
        for failures in 0..<14 {
            let disk = FullDisk(bytes: 5_000_000, failures: failures, free: 1 << 40, at: 0)
            #expect(!disk.mayTry(free: 6_000_000, at: .max - 1) && disk.mayTry(free: 1 << 30, at: .max - 1))
            pauses.append((0...).lazy.map { $0 * 1_000_000_000 }.first { disk.mayTry(free: 1 << 40, at: $0) } ?? 0)
        }
        #expect(pauses.map { $0 / 1_000_000_000 } == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600, 600])
    }

    // MARK: Budget

    @Test func regionBeyondBudgetIsRejectedBeforeAnyFetch() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable(Self.roads + ["store.budget_mb=1"]) {
            all = try TileFolders.roads(in: $0 + "/roads", reach: 120_000)
        }
        try await table.settle()
        let refused = try #require(try await table.load(try Self.definition("large", radius: 110_000)).last)
        #expect(refused.error?.code == .resourceExhausted && refused.region == nil)
        let message = refused.error?.message ?? ""
        #expect(message.contains("needs 2.0 MB") && message.contains("1.0 MB of store.budget_mb"), "\(message)")
        #expect(try #require(table.node).node.downloads == 0)
        #expect(try table.onBoard("roads", of: all).isEmpty && table.events.isEmpty)
        let none = try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        #expect(none.regions.isEmpty)

        // Tiles that fit are loaded, and count from then on; stored tiles need no more room.
        let first = try #require(try await table.load(try Self.definition("a", radius: 55_000)).last)
        #expect(first.region?.state == .complete)
        let second = try #require(try await table.load(try Self.definition("b", radius: 110_000)).last)
        #expect(second.error?.code == .resourceExhausted)
        let same = try #require(try await table.load(try Self.definition("c", radius: 50_000)).last)
        #expect(same.region?.state == .complete && same.progress?.loadedCount == 0)
        let grown = try #require(try await table.load(try Self.definition("a", radius: 110_000)).last)
        #expect(grown.error?.code == .resourceExhausted)
        let kept = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "a"))
        #expect(kept.region?.state == .complete && kept.region?.error == nil)
        try await table.set("store.budget_mb", .doubleValue(5))
        let last = try #require(try await table.load(try Self.definition("b", radius: 110_000)).last)
        #expect(last.region?.state == .complete)
        // A lowered budget removes no tiles of regions, and a region that needs no more room is not rejected.
        try await table.set("store.budget_mb", .doubleValue(1))
        let again = try #require(try await table.load(try Self.definition("b", radius: 110_000)).last)
        #expect(again.region?.state == .complete && again.progress?.loadedCount == 0)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func samplesDecideWhetherARegionFitsWithoutAList() async throws {
        let (server, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 40_000) { _ in 20_000 }
        }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12", "store.budget_mb=1",
        ])
        let large = try Self.definition("large", radius: 30_000, tileset: "map", acceptExpired: true)
        let refused = try #require(try await table.load(large).last)
        #expect(refused.error?.code == .resourceExhausted, "\(refused)")
        #expect(refused.error?.message?.contains("1.0 MB of store.budget_mb") == true, "\(refused)")
        #expect(try #require(table.node).node.downloads == 0)
        let small = try Self.definition("small", radius: 10_000, tileset: "map", acceptExpired: true)
        #expect(try await table.load(small).last?.region?.state == .complete)
        await server.end()
        await table.end()
    }

    @Test func oversizedRegionStopsAndResumesWhenAnotherIsRemoved() async throws {
        let (server, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 11...11, reach: 40_000) { _ in 700_000 }
        }
        // Too few tiles for samples of their size, and larger than such tiles usually are.
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=11-11", "store.budget_mb=5",
            "region.retry_s=86400",
        ])
        func load(_ id: String, _ place: NavGeo.Coordinate) async throws -> LoadRegionResponse? {
            let area = try RegionArea.circle(around: place, radius: 9_000)
            return try await table.load(
                RegionDefinition(
                    regionId: id, geometry: MultiPolygon(area), descriptors: [TilesetDescriptor(tileset: "map")],
                    acceptExpired: true)
            ).last
        }
        #expect(try await load("a", TileFolders.porto)?.region?.state == .complete)
        let other = Geodesy.destination(from: TileFolders.porto, bearing: 1.5, distance: 30_000)
        let stopped = try #require(try await load("b", other))
        #expect(stopped.region?.state == .incomplete && stopped.error?.code == .resourceExhausted, "\(stopped)")
        #expect(stopped.error?.message?.contains("store.budget_mb") == true)
        try await table.until("it is reported") { try table.findings.contains { $0.code == "budget_full" } }
        _ = try await table.call(TileCacheService.removeRegion, RemoveRegionRequest(regionId: "a"))
        try await table.until("the other region is complete") {
            try table.events.last { $0.kind == .loadFinished }?.success == true
                && table.events.last { $0.kind == .loadFinished }?.regionId == "b"
        }
        #expect(try table.check() == [])
        await server.end()
        await table.end()
    }

    // MARK: Time

    @Test func jumpOfPlaybackTimeDisturbsNoLoad() async throws {
        let table = try CacheTable(Self.roads + ["predictive.enabled=true"], isPlayed: true) {
            try TileFolders.roads(in: $0 + "/roads", reach: 40_000)
        }
        let start: Int64 = 1_795_219_200
        table.clock(start, epoch: 1)
        for (round, jump) in [Int64(0), 31_536_000, -31_536_000, -start].enumerated() {
            let place = Geodesy.destination(from: TileFolders.porto, bearing: Double(round), distance: 25_000)
            table.clock(start + jump, epoch: UInt32(round + 2))
            table.position(place)
            let region = RegionDefinition(
                regionId: "r\(round)", geometry: MultiPolygon(try RegionArea.circle(around: place, radius: 3_000)),
                descriptors: [TilesetDescriptor(tileset: "roads")])
            #expect(try await table.load(region).last?.region?.state == .complete)
            var around: Set<TileID> = []
            TileCover.disc(around: place, radius: 2_000, zoom: 12) { tile, _ in around.insert(tile) }
            try await table.until("tiles around the vehicle are stored") {
                try table.onBoard("roads", of: around) == around
            }
        }
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func tilesFetchedWithClockAheadAreServedAndRevalidated() async throws {
        let (server, address) = try await CacheTable.serving(
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=12-12"
        ) { try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000) }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12"
        ])
        let right = table.wallClock.now.nanoseconds
        table.wallClock.set(ahead: 315_360_000)
        let region = try #require(
            try await table.load(try Self.definition("r", radius: 3_000, tileset: "map", acceptExpired: true)).last?
                .region)
        #expect(region.state == .complete && region.expiresNs.map { $0 > right + 300_000_000_000_000_000 } == true)
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let key = TileKey(domain: .maps, zoom: 12, x: tile.x, y: tile.y)
        func find(strictly: Bool) async throws -> GetTileResponse {
            try await table.call(
                TileCacheService.getTile, GetTileRequest(key: key, cacheOnly: true, acceptExpired: !strictly))
        }
        // A clock that was never set gives no date; a correct clock reveals that the clock was ahead.
        table.wallClock.set(ahead: -(right / 1_000_000_000))
        #expect(try await find(strictly: true).data == TileFolders.png(tile))
        table.wallClock.set(ahead: 0)
        #expect(try await find(strictly: true).error?.message?.contains("expired") == true)
        let served = try await find(strictly: false)
        #expect(served.data == TileFolders.png(tile) && served.fromCache == true)
        #expect(served.expiresNs.map { $0 <= table.wallClock.now.nanoseconds } == true)
        let asked = server.node?.node.webRequests ?? 0
        let fresh = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, acceptExpired: false))
        #expect(fresh.data == TileFolders.png(tile) && (server.node?.node.webRequests ?? 0) == asked + 1)
        #expect(try table.check() == [])
        await server.end()
        await table.end()
    }

    // MARK: The network

    @Test func meteredNetworkFetchesNothingOfAnEditionThatCannotBeUsed() async throws {
        let folder = try TemporaryFolder()
        let all = try TileFolders.roads(in: folder.path, reach: 40_000)
        let server = try LoopbackServer(serving: folder.path)
        let table = try CacheTable([
            "tilesets=name=roads,source=\(server.url)", "predictive.enabled=true", "edition.check_interval_s=1",
            "region.retry_s=86400", "network.retries=0",
        ])
        table.position(TileFolders.porto)
        #expect(try await table.load(try Self.definition("r", radius: 2_000)).last?.region?.state == .complete)
        try await table.settle()
        func lists() -> Int { server.requests.count { $0.path.hasSuffix(".json") } }
        // On a metered network no newer edition is polled, and tiles ahead are of the edition in use.
        try await table.set("network.mode", .stringValue("metered"))
        try await table.settle()
        let before = lists()
        let first = Geodesy.destination(from: TileFolders.porto, bearing: 1, distance: 15_000)
        table.position(first)
        let there = TileID(containing: first, zoom: 12)
        try await table.until("the tile there is stored") { try !table.onBoard("roads", of: [there]).isEmpty }
        try await table.pass(seconds: 3)
        #expect(lists() == before)

        // A newer edition exists, but the region cannot be loaded completely.
        try TileFolders.roads(in: folder.path, version: "two", reach: 40_000)
        let lost = "\(folder.path)/12/\(there.x)/\(there.y).road"
        try FileManager.default.moveItem(atPath: lost, toPath: folder.path + "/lost")
        let middle = TileID(containing: TileFolders.porto, zoom: 12)
        let road = "\(folder.path)/12/\(middle.x)/\(middle.y).road"
        try FileManager.default.moveItem(atPath: road, toPath: folder.path + "/late")
        try await table.set("network.mode", .stringValue("unmetered"))
        try await table.until("the region's update has failed") {
            try table.events.contains { $0.kind == .loadFinished && $0.success == false }
        }
        try await table.settle()
        try await table.set("network.mode", .stringValue("metered"))
        try await table.settle()
        let asked = server.requests.count
        table.position(Geodesy.destination(from: TileFolders.porto, bearing: 4, distance: 20_000))
        try await table.pass(seconds: 3)
        try await table.settle()
        #expect(server.requests.count == asked)
        #expect(try table.states.last?.mapVersion == "one")

        // On an unmetered network the newer edition comes into use, with tiles ahead.
        try FileManager.default.moveItem(atPath: folder.path + "/lost", toPath: lost)
        try FileManager.default.moveItem(atPath: folder.path + "/late", toPath: road)
        await table.stop()
        try table.start(["network.mode=unmetered"])
        table.position(TileFolders.porto)
        try await table.until("the newer edition is in use") { try table.states.last?.mapVersion == "two" }
        #expect(try table.onBoard("roads", of: all).contains(middle))
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func meteredNetworkFetchesOnlyVehicleTilesAndOfflineFetchesNothing() async throws {
        let (server, address) = try await CacheTable.serving(
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=9-13"
        ) { try TileFolders.maps(in: $0 + "/map", zooms: 11...13, reach: 40_000) }
        let asked = { server.node?.node.webRequests ?? 0 }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=11-13",
            "region.retry_s=86400", "predictive.enabled=true", "predictive.maps.zoom_min=13",
            "predictive.maps.zoom_max=13", "network.bandwidth_kbps=400",
        ])
        var answers: [LoadRegionResponse] = []
        try table.caller.call(
            TileCacheService.loadRegion,
            LoadRegionRequest(
                definition: try Self.definition("r", radius: 25_000, tileset: "map", acceptExpired: true)),
            options: CallOptions(timeout: .seconds(600))
        ) { if case .response(let response) = $0 { answers.append(response) } }
        try await table.until("some tiles of the region are stored") { answers.last?.progress?.completedCount ?? 0 > 5 }
        try await table.set("network.mode", .stringValue("metered"))
        try await table.until("the load ends") { answers.last?.region != nil }
        let metered = try #require(answers.last)
        #expect(metered.region?.state == .incomplete && metered.error?.retryable == true)
        #expect(metered.error?.message?.contains("metered") == true, "\(metered)")
        // Tiles that the vehicle needs or a caller requests are still fetched.
        let place = Geodesy.destination(from: TileFolders.porto, bearing: 2, distance: 35_000)
        var around: Set<TileID> = []
        TileCover.disc(around: place, radius: 2_000, zoom: 13) { tile, _ in around.insert(tile) }
        #expect(try table.onBoard("map", of: around).isEmpty)
        table.position(place)
        try await table.until("tiles around the vehicle are stored") { try table.onBoard("map", of: around) == around }
        let far = TileID(
            containing: Geodesy.destination(from: TileFolders.porto, bearing: 5, distance: 36_000), zoom: 11)
        let key = TileKey(domain: .maps, zoom: 11, x: far.x, y: far.y)
        let found = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
        #expect(found.data != nil && found.fromCache == false)

        // Offline, nothing is sent and stored tiles are served.
        try await table.until("the tile is stored") { try !table.onBoard("map", of: [far]).isEmpty }
        try await table.set("network.mode", .stringValue("offline"))
        // Running downloads were cancelled, but their server may still answer.
        for _ in 0..<50 {
            try table.turn()
            try await Task.sleep(for: .milliseconds(2))
        }
        let sent = asked()
        table.position(TileFolders.porto)
        let here = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
        #expect(here.data == found.data && here.fromCache == true)
        let away = TileID(
            containing: Geodesy.destination(from: TileFolders.porto, bearing: 6, distance: 36_000), zoom: 11)
        let none = try await table.call(
            TileCacheService.getTile, GetTileRequest(key: TileKey(domain: .maps, zoom: 11, x: away.x, y: away.y)))
        #expect(none.error?.code == .providerUnavailable && none.error?.retryable == true)
        for _ in 0..<50 { try table.turn() }
        #expect(asked() == sent)

        // Back online, the pending load resumes where it stopped.
        try await table.set("network.bandwidth_kbps", .stringValue("0"))
        try await table.set("network.mode", .stringValue("unmetered"))
        try await table.until("the region is complete") {
            try table.events.last { $0.kind == .loadFinished }?.success == true
        }
        let event = try #require(try table.events.last { $0.kind == .loadFinished })
        #expect(event.progress?.completedCount == event.progress?.requiredCount)
        #expect(event.progress?.loadedCount ?? 0 < event.progress?.requiredCount ?? 0)
        #expect(try table.check() == [])
        await server.end()
        await table.end()
    }
}
