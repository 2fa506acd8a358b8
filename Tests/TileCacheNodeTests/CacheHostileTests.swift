import Foundation
import Glibc
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTileCache
import NavTileStore
import NavWire
import Testing
import TileCacheNode

/// Invalid and hostile tilesets, through the whole node: nothing invalid is stored, and stored tiles remain.
struct CacheHostileTests {
    private static func region(_ tileset: String, radius: Double = 4_000) throws -> RegionDefinition {
        RegionDefinition(
            regionId: "r", geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: radius)),
            descriptors: [TilesetDescriptor(tileset: tileset)])
    }

    /// Changes the list of road tiles.
    private static func change(_ table: CacheTable, _ body: (inout [String: Any], inout [[String: Any]]) -> Void) throws
    {
        let url = URL(fileURLWithPath: table.folder + "/roads/tileset.json")
        var list = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        var tiles = try #require(list["tiles"] as? [[String: Any]])
        list["mapVersion"] = "two"
        body(&list, &tiles)
        list["tiles"] = tiles
        try JSONSerialization.data(withJSONObject: list).write(to: url)
    }

    @Test(arguments: ["a way out of the folder", "a version that is a path", "a size of 1 TB", "no JSON at all"])
    func invalidListIsRejectedAndTheOldEditionStaysInUse(kind: String) async throws {
        let table = try CacheTable([
            "tilesets=name=roads,source=FOLDER/roads", "edition.check_interval_s=1", "region.retry_s=86400",
        ]) { try TileFolders.roads(in: $0 + "/roads", reach: 20_000) }
        let loaded = try #require(try await table.load(try Self.region("roads")).last)
        #expect(loaded.region?.state == .complete)
        let secret = table.folder + "/secret"
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        let before = try FileManager.default.subpathsOfDirectory(atPath: table.folder).filter { !$0.contains("store/") }
        try Self.change(table) { list, tiles in
            switch kind {
            case "a way out of the folder": tiles[0]["file"] = "../secret"
            case "a version that is a path": list["mapVersion"] = "../../two"
            case "a size of 1 TB": tiles[0]["bytes"] = 1_000_000_000_000
            default: tiles = []
            }
        }
        if kind == "no JSON at all" {
            try Data("<html>".utf8).write(to: URL(fileURLWithPath: table.folder + "/roads/tileset.json"))
        }
        try await table.until("the faulty source is reported") {
            try table.findings.contains { $0.code == "source_faulty" && $0.message?.contains("roads") == true }
        }
        #expect(try table.states.last?.mapVersion == "one")
        let middle = TileID(containing: TileFolders.porto, zoom: 12)
        let served = try await table.call(
            TileCacheService.getTile,
            GetTileRequest(key: TileKey(domain: .navigation, zoom: 12, x: middle.x, y: middle.y)))
        #expect(served.fromCache == true && served.data?.count == 2_000 + Int(middle.x % 7) * 100)
        let after = try FileManager.default.subpathsOfDirectory(atPath: table.folder).filter { !$0.contains("store/") }
        #expect(after.sorted() == before.sorted())
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func listOfAnUploadThatWasCutShortTakesNoTileFromTheVehicle() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable([
            "tilesets=name=roads,source=FOLDER/roads", "edition.check_interval_s=1", "predictive.enabled=true",
        ]) { all = try TileFolders.roads(in: $0 + "/roads", reach: 20_000) }
        table.position(TileFolders.porto)
        try await table.until("tiles are stored") { try !table.onBoard("roads", of: all).isEmpty }
        try await table.settle()
        let before = try table.onBoard("roads", of: all)
        #expect(before.count > 1)
        try Self.change(table) { _, tiles in tiles = Array(tiles.prefix(1)) }
        try await table.until("the incomplete list is reported") {
            try table.findings.contains { $0.code == "tileset_outdated" && $0.message?.contains("lacks") == true }
        }
        #expect(try table.states.last?.mapVersion == "one" && table.onBoard("roads", of: all) == before)
        try Self.change(table) { list, tiles in
            list["mapVersion"] = "three"
            tiles = []
        }
        try await table.until("the empty list is reported") {
            try table.findings.contains { $0.code == "source_faulty" && $0.message?.contains("no tiles") == true }
        }
        #expect(try table.states.last?.mapVersion == "one" && table.onBoard("roads", of: all) == before)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test(arguments: ["changed", "cut", "longer", "empty", "a folder"])
    func mismatchedTileIsNotStoredAndTheRestIs(kind: String) async throws {
        var all: Set<TileID> = []
        let table = try CacheTable([
            "tilesets=name=roads,source=FOLDER/roads", "network.retries=0", "region.retry_s=1",
        ]) { all = try TileFolders.roads(in: $0 + "/roads", reach: 20_000) }
        let middle = TileID(containing: TileFolders.porto, zoom: 12)
        let file = "\(table.folder)/roads/12/\(middle.x)/\(middle.y).road"
        let sound = try #require(FileManager.default.contents(atPath: file))
        var other = sound
        switch kind {
        case "changed": other[100] ^= 1
        case "cut": other.removeLast()
        case "longer": other.append(0)
        default: other = Data()
        }
        try FileManager.default.removeItem(atPath: file)
        if kind == "a folder" {
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        } else {
            try other.write(to: URL(fileURLWithPath: file))
        }
        let failed = try #require(try await table.load(try Self.region("roads")).last)
        #expect(failed.region?.state == .incomplete && failed.progress?.erroredCount == 1, "\(failed)")
        #expect(failed.error?.message?.contains("\(middle.zoom)/\(middle.x)/\(middle.y)") == true, "\(failed)")
        #expect(failed.progress?.completedCount == (failed.progress?.requiredCount ?? 0) - 1)
        #expect(try !table.onBoard("roads", of: all).contains(middle))
        #expect(try table.check() == [])
        // Once repaired at the source, the tile is fetched.
        try FileManager.default.removeItem(atPath: file)
        try sound.write(to: URL(fileURLWithPath: file))
        await table.stop()
        try table.start(["network.retries=1"])
        try await table.until("the region is complete") {
            try table.events.last { $0.kind == .loadFinished }?.success == true
        }
        #expect(try table.onBoard("roads", of: all).contains(middle))
        await table.end()
    }

    @Test func failedAttemptsAndFailedTilesAreCountedSeparately() async throws {
        let table = try CacheTable([
            "tilesets=name=roads,source=FOLDER/roads", "network.retries=1", "region.retry_s=86400",
        ]) { try TileFolders.roads(in: $0 + "/roads", reach: 20_000) }
        let middle = TileID(containing: TileFolders.porto, zoom: 12)
        try FileManager.default.removeItem(atPath: "\(table.folder)/roads/12/\(middle.x)/\(middle.y).road")
        let failed = try #require(try await table.load(try Self.region("roads")).last)
        #expect(failed.region?.state == .incomplete && failed.progress?.erroredCount == 1, "\(failed)")
        func counter(_ name: String) throws -> UInt64? {
            let health = try table.messages("/health/tile-cache-node") as [NodeHealth]
            return health.last?.counters.first { $0.name == name }?.value
        }
        try await table.until("the health counts both attempts") { try counter("downloads_failed") == 2 }
        #expect(try counter("tiles_failed") == 1)
        let statistics = try await table.call(TileCacheService.statistics, StatisticsRequest())
        #expect(statistics.failedCount == 2)
        await table.end()
    }

    @Test(arguments: ["a bomb", "a page", "half a picture", "a huge one"])
    func invalidMapTileIsNeitherStoredNorServed(kind: String) async throws {
        let middle = TileID(containing: TileFolders.porto, zoom: 12)
        let ending = kind == "a bomb" ? "pbf" : "png"
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=12-12", "network.retries=0", "region.retry_s=86400",
        ]) {
            let file = "\($0)/map/12/\(middle.x)/\(middle.y).\(ending)"
            switch kind {
            case "a bomb":
                try TileFolders.write([], file)
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/bin/sh")
                process.arguments = ["-c", "head -c 300000000 /dev/zero | gzip -9 > \(file)"]
                try process.run()
                process.waitUntilExit()
            case "a page": try TileFolders.write(Array("<!DOCTYPE html><html></html>".utf8), file)
            case "half a picture": try TileFolders.write(TileFolders.png(middle).dropLast(4), file)
            default:
                // A large size without allocated disk space.
                try TileFolders.write(TileFolders.png(middle), file)
                #expect(truncate(file, 1 << 40) == 0)
            }
        }
        let failed = try #require(try await table.load(try Self.region("map", radius: 500)).last)
        #expect(failed.error?.code == .corruptData || failed.error?.code == .resourceExhausted, "\(failed)")
        let answer = try await table.call(
            TileCacheService.getTile, GetTileRequest(key: TileKey(domain: .maps, zoom: 12, x: middle.x, y: middle.y)))
        #expect(answer.data == nil && answer.error?.code == .corruptData, "\(String(describing: answer.error))")
        #expect(try table.onBoard("map", of: [middle]).isEmpty)
        #expect(try table.check() == [])
        await table.end()
    }
}
