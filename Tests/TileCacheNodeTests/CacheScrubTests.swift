import Foundation
import Glibc
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestKit
import NavTestSystem
import NavTileCache
import NavWire
import Testing
import TileCacheNode

/// Damaged files without requests for them, which the running node finds by its scrub.
struct CacheScrubTests {
    private static let roads = [
        "tilesets=name=roads,source=FOLDER/roads", "region.retry_s=86400", "store.patrol_bytes_per_s=50000000",
    ]

    private static func definition(_ id: String = "r", radius: Double) throws -> RegionDefinition {
        RegionDefinition(
            regionId: id, geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: radius)),
            descriptors: [TilesetDescriptor(tileset: "roads")])
    }

    /// Returns the path of a tile in the folder for memory mapping.
    private static func view(_ table: CacheTable, _ tile: TileID) -> String {
        "\(table.folder)/store/tilesets/roads/current/\(tile.zoom)/\(tile.x)/\(tile.y).road"
    }

    /// Truncates a file, which is the same under all its names.
    private static func damage(_ path: String) throws {
        #expect(chmod(path, 0o600) == 0 && truncate(path, 7) == 0)
    }

    private static func size(_ path: String) -> Int? { FileManager.default.contents(atPath: path)?.count }

    @Test func damagedRegionTileIsReportedOnceAndFetchedAgain() async throws {
        let table = try CacheTable(Self.roads, hearsLog: true) {
            try TileFolders.roads(in: $0 + "/roads", reach: 30_000)
        }
        #expect(try await table.load(try Self.definition(radius: 5_000)).last?.region?.state == .complete)
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let path = Self.view(table, tile)
        let size = try #require(Self.size(path))
        try Self.damage(path)
        try await table.until("the region is complete again") {
            try table.events.count { $0.kind == .loadFinished && $0.success == true } == 2
        }
        #expect(Self.size(path) == size)
        let region = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "r")).region
        #expect(region?.state == .complete && region?.error == nil)
        #expect(try table.check() == [])
        try await table.until("the damage is logged") { try table.log.contains { $0.contains("damaged on the disk") } }
        // The following round reports nothing more.
        try await table.pass(seconds: 6)
        let log = try table.log
        #expect(
            log.count { $0.contains("damaged on the disk") && $0.contains("roads/12/\(tile.x)/\(tile.y)") } == 1,
            "\(log)")
        #expect(log.count { $0.contains("wrongSize: objects/") } == 1, "\(log)")
        let lines = try table.messages("/log") as [LogEntry]
        #expect(lines.contains { $0.source == "cache" } && lines.allSatisfy { $0.source != "" })
        let health = try table.messages("/health/tile-cache-node") as [NodeHealth]
        #expect(health.last?.counters.first { $0.name == "tiles_damaged" }?.value == 1)
        try await table.until("the report is withdrawn") { try !table.findings.contains { $0.code == "tiles_damaged" } }
        await table.end()
    }

    @Test func missingMappingFileIsRestoredWithoutFetch() async throws {
        let table = try CacheTable(Self.roads) { try TileFolders.roads(in: $0 + "/roads", reach: 30_000) }
        #expect(try await table.load(try Self.definition(radius: 5_000)).last?.region?.state == .complete)
        let downloads = try #require(table.node).node.downloads
        let path = Self.view(table, TileID(containing: TileFolders.porto, zoom: 12))
        let size = try #require(Self.size(path))
        try FileManager.default.removeItem(atPath: path)
        try await table.until("the file is restored") { Self.size(path) == size }
        #expect(try #require(table.node).node.downloads == downloads)
        #expect(try table.events.count { $0.kind == .loadFinished } == 1)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func damagedTilesAheadAreFetchedAgain() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable(Self.roads + ["predictive.enabled=true"]) {
            all = try TileFolders.roads(in: $0 + "/roads", reach: 30_000)
        }
        table.position(TileFolders.porto)
        try await table.settle()
        let before = try table.onBoard("roads", of: all)
        let downloads = try #require(table.node).node.downloads
        let path = Self.view(table, TileID(containing: TileFolders.porto, zoom: 12))
        let size = try #require(Self.size(path))
        try Self.damage(path)
        try await table.until("the file is restored") { Self.size(path) == size }
        try await table.settle()
        #expect(try #require(table.node).node.downloads == downloads + 1)
        #expect(try table.onBoard("roads", of: all) == before && table.check() == [])
        await table.end()
    }

    @Test func damageWhileOfflineIsReportedAndFetchedOnceOnline() async throws {
        let folder = try TemporaryFolder()
        try TileFolders.roads(in: folder.path, reach: 30_000)
        let server = try LoopbackServer { request, _ in
            FileManager.default.contents(atPath: folder.path + request.path).map { .answer(body: [UInt8]($0)) }
                ?? .answer(status: 404)
        }
        let table = try CacheTable(["tilesets=name=roads,source=\(server.url)"] + Self.roads.dropFirst())
        let loaded = try #require(try await table.load(try Self.definition(radius: 5_000)).last)
        #expect(loaded.region?.state == .complete)
        try await table.set("network.mode", .stringValue("offline"))
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let path = Self.view(table, tile)
        let size = try #require(Self.size(path))
        try Self.damage(path)
        try await table.until("the damage is reported") {
            try table.findings.contains {
                $0.code == "tiles_damaged" && $0.message?.contains("roads/12/\(tile.x)/\(tile.y)") == true
            }
        }
        let marked = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "r")).region
        #expect(marked?.state != .complete)
        #expect(
            marked?.progress?.completedCount == loaded.progress?.requiredCount.map { $0 - 1 },
            "\(String(describing: marked))")
        let key = TileKey(domain: .navigation, zoom: 12, x: tile.x, y: tile.y)
        let asked = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, cacheOnly: true))
        #expect(asked.error?.code == .notFound && asked.data == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
        try await table.set("network.mode", .stringValue("unmetered"))
        try await table.until("the file is restored") { Self.size(path) == size }
        try await table.until("the report is withdrawn") { try !table.findings.contains { $0.code == "tiles_damaged" } }
        let whole = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "r")).region
        #expect(whole?.state == .complete && whole?.error == nil)
        await table.end()
    }

    @Test func unrepairableDamageIsLoggedOnceAndReported() async throws {
        let table = try CacheTable(Self.roads, hearsLog: true) {
            try TileFolders.roads(in: $0 + "/roads", reach: 30_000)
        }
        #expect(try await table.load(try Self.definition(radius: 5_000)).last?.region?.state == .complete)
        // The node does not replace a folder that is not empty.
        let link = "\(table.folder)/store/tilesets/roads/current"
        #expect(unlink(link) == 0 && mkdir(link, 0o755) == 0 && mkdir(link + "/mine", 0o755) == 0)
        try await table.until("the damage is reported") {
            try table.findings.contains { $0.code == "store_unsound" && $0.message?.contains("roads/current") == true }
        }
        try await table.pass(seconds: 6)
        let log = try table.log
        #expect(log.count { $0.contains("it cannot be repaired") } == 1, "\(log)")
        await table.end()
    }

    @Test func storeWhoseFolderIsGoneIsShownAndClaimsNoTile() async throws {
        let table = try CacheTable(Self.roads) { try TileFolders.roads(in: $0 + "/roads", reach: 30_000) }
        #expect(try await table.load(try Self.definition(radius: 5_000)).last?.region?.state == .complete)
        #expect(rename(table.folder + "/store/objects", table.folder + "/store/away") == 0)
        try await table.until("the missing folder is reported") {
            try table.findings.contains {
                $0.code == "store_failed" && $0.message?.contains("no longer exists") == true
            }
        }
        let refused = try #require(try await table.load(try Self.definition("again", radius: 3_000)).last)
        #expect(refused.region == nil && refused.error?.message?.contains("no longer exists") == true, "\(refused)")
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let key = TileKey(domain: .navigation, zoom: 12, x: tile.x, y: tile.y)
        let found = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, acceptPath: true))
        #expect(found.path == nil && found.data?.isEmpty == false && found.fromCache == false, "\(found)")
        await table.end()
    }

    @Test func scrubIsEnabledAndDisabledAtRunTime() async throws {
        let table = try CacheTable(Self.roads + ["store.patrol_bytes_per_s=0"]) {
            try TileFolders.roads(in: $0 + "/roads", reach: 30_000)
        }
        #expect(try await table.load(try Self.definition(radius: 5_000)).last?.region?.state == .complete)
        let path = Self.view(table, TileID(containing: TileFolders.porto, zoom: 12))
        let size = try #require(Self.size(path))
        try Self.damage(path)
        try await table.pass(seconds: 6)
        #expect(Self.size(path) == 7)
        try await table.set("store.patrol_bytes_per_s", .intValue(50_000_000))
        try await table.until("the file is restored") { Self.size(path) == size }
        try await table.set("store.patrol_bytes_per_s", .intValue(0))
        try Self.damage(path)
        try await table.pass(seconds: 6)
        #expect(Self.size(path) == 7)
        await table.end()
    }
}
