import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestKit
import NavTestSupport
import NavTestSystem
import NavTileCache
import NavWire
import Synchronization
import Testing
import TileCacheNode

/// Incomplete offline regions, which complete automatically when their obstacle ends.
struct CacheRecoveryTests {
    private static func definition(
        _ radius: Double, around place: NavGeo.Coordinate = TileFolders.porto, zooms: ClosedRange<UInt32>
    ) throws -> RegionDefinition {
        RegionDefinition(
            regionId: "r", geometry: MultiPolygon(try RegionArea.circle(around: place, radius: radius)),
            descriptors: [TilesetDescriptor(tileset: "map", zoomMin: zooms.lowerBound, zoomMax: zooms.upperBound)],
            acceptExpired: true)
    }

    private static func isLoaded(_ table: CacheTable) throws -> Bool {
        try table.events.last { $0.kind == .loadFinished }?.success == true
    }

    /// Waits until tiles ahead of the vehicle have filled a budget of 5 MB.
    private static func fill(_ table: CacheTable) async throws {
        table.position(TileFolders.porto)
        try await table.until("tiles ahead fill the budget") { try table.states.last?.sizeBytes ?? 0 > 4_900_000 }
        // The store is periodically informed of the tiles to evict last.
        try await table.pass(seconds: 3)
    }

    @Test func regionResumesWhenTilesAheadFreeTheBudget() async throws {
        let (server, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 11...11, reach: 40_000) { _ in 700_000 }
        }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=11-11", "store.budget_mb=5",
            "region.retry_s=86400", "predictive.enabled=true", "predictive.maps.zoom_min=11",
            "predictive.maps.zoom_max=11", "predictive.maps.current_radius_m=16000",
        ])
        try await Self.fill(table)
        let other = Geodesy.destination(from: TileFolders.porto, bearing: 1.5, distance: 30_000)
        let stopped = try #require(try await table.load(try Self.definition(9_000, around: other, zooms: 11...11)).last)
        #expect(stopped.region?.state == .incomplete && stopped.error?.code == .resourceExhausted, "\(stopped)")
        #expect(stopped.error?.message?.contains("predictive") == true, "\(stopped)")
        try await table.until("it is reported") { try table.findings.contains { $0.code == "budget_full" } }
        try await table.set("predictive.enabled", .boolValue(false))
        try await table.until("the region is complete") { try Self.isLoaded(table) }
        try await table.until("the report is withdrawn") { try !table.findings.contains { $0.code == "budget_full" } }
        #expect(try table.check() == [])
        await server.end()
        await table.end()
    }

    /// Returns a cache that is full of tiles ahead and has a region whose load ended for lack of room, and the servers
    /// of the region and of the tiles ahead.
    private static func full(retry: Int) async throws -> (table: CacheTable, region: CacheTable, ahead: CacheTable) {
        let (region, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 12_000) { _ in 700_000 }
        }
        let (ahead, other) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 11...11, reach: 40_000) { _ in 700_000 }
        }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12;"
                + "name=ahead,domain=maps,source=http://\(other)/map/{z}/{x}/{y},zooms=11-11", "store.budget_mb=5",
            "region.retry_s=\(retry)", "predictive.enabled=true", "predictive.maps.zoom_min=11",
            "predictive.maps.zoom_max=11", "predictive.maps.current_radius_m=16000",
        ])
        try await Self.fill(table)
        let stopped = try #require(try await table.load(try definition(1_000, zooms: 12...12)).last)
        #expect(stopped.region?.state == .incomplete && stopped.error?.code == .resourceExhausted, "\(stopped)")
        return (table, region, ahead)
    }

    @Test func purgeLetsAWaitingRegionResume() async throws {
        let (table, region, ahead) = try await Self.full(retry: 86_400)
        // The purged tiles cannot be fetched again.
        await ahead.end()
        let purged = try await table.call(TileCacheService.purge, PurgeRequest(tileset: "ahead"))
        #expect(purged.error == nil && purged.freedBytes ?? 0 > 4_000_000)
        try await table.until("the region is complete") { try Self.isLoaded(table) }
        #expect(try table.check() == [])
        await region.end()
        await table.end()
    }

    @Test func vehicleMovingAwayLetsAWaitingRegionResume() async throws {
        // Until the vehicle moves, the load is not retried, since its obstacle is local.
        let (table, region, ahead) = try await Self.full(retry: 1)
        try await table.pass(seconds: 3)
        #expect(try table.events.count { $0.kind == .loadFinished } == 1)
        table.position(Geodesy.destination(from: TileFolders.porto, bearing: 3, distance: 200_000))
        try await table.until("the region is complete") { try Self.isLoaded(table) }
        #expect(try table.check() == [])
        await region.end()
        await ahead.end()
        await table.end()
    }

    @Test func removedEditionLetsAWaitingRegionResume() async throws {
        let folder = try TemporaryFolder()
        // One tile of the region's newer editions never arrives, so they are kept beside the one in use.
        let lost = TileID(containing: TileFolders.porto, zoom: 12)
        let isLost = Mutex(false)
        let server = try LoopbackServer { request, _ in
            if request.path.hasSuffix("/12/\(lost.x)/\(lost.y).road"), isLost.withLock({ $0 }) {
                return .answer(status: 404)
            }
            return FileManager.default.contents(atPath: folder.path + request.path).map { .answer(body: [UInt8]($0)) }
                ?? .answer(status: 404)
        }
        try TileFolders.roads(in: folder.path + "/roads", reach: 70_000)
        let (maps, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000) { _ in 50_000 }
        }
        let table = try CacheTable([
            "tilesets=name=roads,source=\(server.url)/roads;"
                + "name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12",
            "edition.check_interval_s=86400", "region.retry_s=86400", "network.retries=1", "predictive.enabled=true",
            "predictive.navigation.current_radius_m=60000", "predictive.maps.zoom_max=5",
        ])
        table.position(TileFolders.porto)
        let roads = RegionDefinition(
            regionId: "roads", geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: 500)),
            descriptors: [TilesetDescriptor(tileset: "roads")])
        #expect(try await table.load(roads).last?.region?.state == .complete)
        try await table.settle()
        isLost.withLock { $0 = true }
        func publish(_ version: String, reach: Double) async throws {
            let ends = try table.events.count { $0.kind == .loadFinished && $0.regionId == "roads" }
            try FileManager.default.removeItem(atPath: folder.path + "/roads")
            try TileFolders.roads(in: folder.path + "/roads", version: version, reach: reach)
            let answer = try await table.call(
                TileCacheService.updateRegion, UpdateRegionRequest(regionId: "roads", revalidate: true))
            #expect(answer.error == nil)
            try await table.until("the update has failed") {
                try table.events.count { $0.kind == .loadFinished && $0.regionId == "roads" } > ends
            }
        }
        try await publish("two", reach: 70_000)
        try await table.settle()
        try await table.pass(seconds: 3)
        // Room for one tile of the other region, but not for all.
        let size = try #require(try table.states.last?.sizeBytes)
        try await table.set("store.budget_mb", .doubleValue((Double(size) + 60_000) / 1e6))
        let stopped = try #require(try await table.load(try Self.definition(9_000, zooms: 12...12)).last)
        #expect(stopped.region?.state == .incomplete && stopped.error?.code == .resourceExhausted, "\(stopped)")
        try await publish("three", reach: 2_000)
        try await table.until("the region is complete") {
            try table.events.last { $0.kind == .loadFinished && $0.regionId == "r" }?.success == true
        }
        #expect(try table.states.last?.mapVersion == "one" && table.check() == [])
        await maps.end()
        await table.end()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"))
    func failedChangeKeepsARegionWaiting() async throws {
        let disk = try #require(SmallDisk(megabytes: 24))
        let (server, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000)
        }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-15",
            "region.retry_s=86400",
        ]) {
            try FileManager.default.createDirectory(atPath: disk.path + "/store", withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: $0 + "/store", withDestinationPath: disk.path + "/store")
        }
        try await table.settle()
        try await table.set("network.mode", .stringValue("offline"))
        let small = try #require(try await table.load(try Self.definition(5_000, zooms: 12...12)).last)
        #expect(small.region?.state == .incomplete, "\(small)")
        disk.fillUp()
        let large = try #require(try await table.load(try Self.definition(60_000, zooms: 12...15)).last)
        #expect(large.error?.code == .resourceExhausted && large.region == nil, "\(large)")
        disk.free(1 << 30)
        try await table.set("network.mode", .stringValue("unmetered"))
        try await table.until("the region is complete") { try Self.isLoaded(table) }
        let region = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "r")).region
        #expect(region?.state == .complete && region?.definition?.descriptors.first?.zoomMax == 12)
        await server.end()
        await table.end()
    }

    @Test func regionWaitingForNetworkCompletesWhenItsTilesAreRequested() async throws {
        let (server, address) = try await CacheTable.serving {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000)
        }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12", "region.retry_s=1",
        ])
        try await table.settle()
        try await table.set("network.mode", .stringValue("metered"))
        let stopped = try #require(try await table.load(try Self.definition(1_000, zooms: 12...12)).last)
        #expect(stopped.region?.state == .incomplete && stopped.error?.message?.contains("metered") == true)
        // Retries do not report an unchanged state again.
        let told = try table.events.count
        try await table.pass(seconds: 3)
        #expect(try table.events.count == told)
        try await table.set("network.mode", .stringValue("offline"))
        try await table.until("the new obstacle is reported") {
            let region = try table.events.last { $0.kind == .loadFinished }
            return region?.error?.message?.contains("offline") == true
        }
        try await table.set("network.mode", .stringValue("metered"))
        // Callers' requests for the region's tiles store them.
        let area = try RegionArea.circle(around: TileFolders.porto, radius: 1_000)
        for tile in try area.tiles(zoom: 12, limit: 100).tiles {
            let key = TileKey(domain: .maps, zoom: 12, x: tile.x, y: tile.y)
            let answer = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
            #expect(answer.data == TileFolders.png(tile), "\(answer)")
        }
        try await table.until("the region is complete") { try Self.isLoaded(table) }
        #expect(try table.check() == [])
        await server.end()
        await table.end()
    }

    @Test func regionIsCompleteAgainAfterDamagedTileIsRefetched() async throws {
        // Only a request finds the damage.
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=12-12", "store.patrol_bytes_per_s=0",
        ]) { try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000) }
        let loaded = try #require(try await table.load(try Self.definition(5_000, zooms: 12...12)).last)
        #expect(loaded.region?.state == .complete)
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let key = TileKey(domain: .maps, zoom: 12, x: tile.x, y: tile.y)
        let file = try #require(
            try await table.call(TileCacheService.getTile, GetTileRequest(key: key, acceptPath: true)).path)
        let ends = try table.events.count { $0.kind == .loadFinished }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        try Data("rubbish".utf8).write(to: URL(fileURLWithPath: file))
        let healed = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
        #expect(healed.data == TileFolders.png(tile) && healed.fromCache == false, "\(healed)")
        try await table.until("the region is complete again") {
            try table.events.count { $0.kind == .loadFinished } > ends
        }
        let region = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "r")).region
        #expect(region?.state == .complete && region?.error == nil)
        #expect(region?.progress?.completedCount == loaded.progress?.requiredCount)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func nameLimitIsTheSameForChangesAndCreation() async throws {
        let table = try CacheTable(["tilesets=name=map,domain=maps,source=FOLDER/map,zooms=12-12"]) {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000)
        }
        var definition = try Self.definition(5_000, zooms: 12...12)
        _ = try await table.load(definition)
        let longest = String(repeating: "a", count: 65_536)
        func rename(_ name: String) async throws -> ErrorCode? {
            try await table.call(
                TileCacheService.updateRegion, UpdateRegionRequest(regionId: "r", name: name)
            ).error?.code
        }
        #expect(try await rename(longest + "a") == .invalidRequest)
        #expect(try await rename(longest) == nil)
        definition.name = longest + "a"
        #expect(try await table.load(definition).last?.error?.code == .invalidRequest)
        let region = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "r")).region
        #expect(region?.definition?.name == longest && region?.state == .complete)
        await table.end()
    }
}
