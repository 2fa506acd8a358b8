import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestSystem
import NavTileCache
import NavTileStore
import NavWire
import Testing
import TileCacheNode

/// Offline regions through the service, and their events.
struct CacheRegionTests {
    private static let settings = [
        "tilesets=name=roads,source=FOLDER/roads;name=map,domain=maps,source=FOLDER/map,zooms=9-13"
    ]

    private static func table(_ more: [String] = []) throws -> (CacheTable, roads: Set<TileID>, maps: Set<TileID>) {
        var (roads, maps) = (Set<TileID>(), Set<TileID>())
        let table = try CacheTable(settings + more) {
            roads = try TileFolders.roads(in: $0 + "/roads", reach: 40_000)
            maps = try TileFolders.maps(in: $0 + "/map", zooms: 9...13, reach: 20_000)
        }
        return (table, roads, maps)
    }

    private static func definition(
        _ id: String = "porto", radius: Double = 8_000, _ descriptors: [TilesetDescriptor]? = nil,
        name: String? = nil, metadata: [KeyValue] = []
    ) throws -> RegionDefinition {
        RegionDefinition(
            regionId: id, name: name,
            geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: radius)),
            descriptors: descriptors ?? [
                TilesetDescriptor(tileset: "roads", domain: .navigation),
                TilesetDescriptor(tileset: "map", domain: .maps, zoomMin: 10, zoomMax: 12),
            ], metadata: metadata)
    }

    /// Returns the tiles that a region has for a circle.
    private static func tiles(_ radius: Double, _ layers: [RegionLayer]) throws -> Set<TileID> {
        let area = try RegionArea.circle(around: TileFolders.porto, radius: radius)
        return Set(try area.tiles(of: layers, limit: 100_000).flatMap(\.tiles))
    }

    @Test func regionLoadsRoadsAndMapsAndReportsProgress() async throws {
        let (table, roads, maps) = try Self.table()
        let answers = try await table.load(
            try Self.definition(name: "Porto", metadata: [KeyValue(key: "trip", value: "summer")]))
        let wantedRoads = try Self.tiles(8_000, RegionLayer.navigation()).intersection(roads)
        let wantedMaps = try Self.tiles(8_000, RegionLayer.maps(10...12)).intersection(maps)
        let count = UInt64(wantedRoads.count + wantedMaps.count)
        let last = try #require(answers.last)
        #expect(last.error == nil && last.region?.state == .complete)
        #expect(last.progress?.requiredCount == count && last.progress?.completedCount == count)
        #expect(last.progress?.loadedCount == count && last.progress?.erroredCount == 0)
        #expect(last.progress?.completedBytes == last.progress?.loadedBytes)
        #expect(last.region?.definition?.name == "Porto")
        #expect(last.region?.definition?.metadata == [KeyValue(key: "trip", value: "summer")])
        #expect(try table.onBoard("roads", of: roads) == wantedRoads)
        #expect(try table.onBoard("map", of: maps) == wantedMaps)
        let events = try table.events
        #expect(events.last?.kind == .loadFinished && events.last?.success == true)
        #expect(events.dropLast().allSatisfy { $0.kind == .loadProgress && $0.progress?.requiredCount == count })
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.eventSequence ?? 0 < $1.eventSequence ?? 0 })

        let listed = try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        #expect(listed.regions.map { $0.definition?.regionId } == ["porto"])
        let one = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "porto"))
        #expect(one.region?.progress?.completedCount == count && one.error == nil)
        let none = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "lisbon"))
        #expect(none.error?.code == .notFound)
        let coverage = try await table.call(
            TileCacheService.coverage,
            TileCoverageRequest(
                geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: 12_000)),
                descriptors: [TilesetDescriptor(tileset: "roads")]))
        let larger = try Self.tiles(12_000, RegionLayer.navigation()).intersection(roads)
        #expect(coverage.wantedCount == UInt64(larger.count))
        #expect(coverage.presentCount == UInt64(larger.intersection(wantedRoads).count))
        #expect(coverage.missing.count == larger.subtracting(wantedRoads).count)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func estimateMatchesTheLoadedSize() async throws {
        let (table, _, _) = try Self.table()
        try await table.settle()
        let definition = try Self.definition()
        let before = try await table.call(
            TileCacheService.estimateRegion, EstimateRegionRequest(definition: definition))
        #expect(before.error == nil && before.sizeBytes == before.downloadBytes)
        let loaded = try #require(try await table.load(definition).last?.progress)
        let size = Double(loaded.completedBytes ?? 0)
        #expect(before.tileCount == loaded.requiredCount)
        #expect(abs(Double(before.sizeBytes ?? 0) - size) <= 0.1 * size)
        let after = try await table.call(
            TileCacheService.estimateRegion, EstimateRegionRequest(definition: definition))
        #expect(after.downloadBytes == 0 && after.sizeBytes == before.sizeBytes)
        #expect(after.freeBytes ?? 0 < before.freeBytes ?? 0)
        await table.end()
    }

    @Test func existingRegionIsUpdatedAndObserversAreNotified() async throws {
        let (table, roads, _) = try Self.table()
        let only = [TilesetDescriptor(tileset: "roads")]
        _ = try await table.load(try Self.definition(radius: 4_000, only))
        let small = try Self.tiles(4_000, RegionLayer.navigation()).intersection(roads)
        let answers = try await table.load(
            try Self.definition(radius: 9_000, only, metadata: [KeyValue(key: "a", value: "b")]))
        let large = try Self.tiles(9_000, RegionLayer.navigation()).intersection(roads)
        #expect(answers.last?.region?.state == .complete)
        #expect(answers.last?.progress?.requiredCount == UInt64(large.count))
        // Stored tiles are not fetched again.
        #expect(answers.last?.progress?.loadedCount == UInt64(large.subtracting(small).count))
        let kinds = try table.events.compactMap(\.kind).filter { $0 != .loadProgress }
        #expect(kinds == [.loadFinished, .geometryChanged, .metadataChanged, .loadFinished])

        let renamed = try await table.call(
            TileCacheService.updateRegion,
            UpdateRegionRequest(regionId: "porto", name: "P", metadata: [KeyValue(key: "c", value: "d")]))
        #expect(renamed.region?.definition?.name == "P" && renamed.region?.state == .complete)
        #expect(renamed.region?.definition?.metadata == [KeyValue(key: "c", value: "d")])
        #expect(try table.events.last?.kind == .metadataChanged)

        let removed = try await table.call(TileCacheService.removeRegion, RemoveRegionRequest(regionId: "porto"))
        #expect(removed.error == nil)
        #expect(try table.events.last?.kind == .removed && table.events.last?.region == nil)
        let again = try await table.call(TileCacheService.removeRegion, RemoveRegionRequest(regionId: "porto"))
        #expect(again.error?.code == .notFound)
        // The region's tiles remain until room is needed.
        #expect(try table.onBoard("roads", of: roads) == large)
        let purged = try await table.call(TileCacheService.purge, PurgeRequest(tileset: "roads"))
        #expect(purged.removedCount == UInt64(large.count) && purged.freedBytes ?? 0 > 0)
        #expect(try table.onBoard("roads", of: roads).isEmpty)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func purgeKeepsPinnedTilesOfARegion() async throws {
        let (table, roads, _) = try Self.table()
        _ = try await table.load(try Self.definition(radius: 4_000, [TilesetDescriptor(tileset: "roads")]))
        let pinned = try table.onBoard("roads", of: roads)
        let purged = try await table.call(TileCacheService.purge, PurgeRequest())
        #expect(purged.removedCount == 0)
        #expect(try table.onBoard("roads", of: roads) == pinned)
        let statistics = try await table.call(TileCacheService.statistics, StatisticsRequest())
        #expect(statistics.state?.tilesets.first?.pinnedCount == UInt64(pinned.count))
        #expect(statistics.failedCount == 0 && statistics.corruptCount == 0 && statistics.evictedCount == 0)
        await table.end()
    }

    @Test func failedLoadReportsReasonAndResumesAlsoAfterRestart() async throws {
        let (table, roads, _) = try Self.table(["network.retries=0", "region.retry_s=86400"])
        // Tiles that are listed but do not exist.
        let wanted = try Self.tiles(6_000, RegionLayer.navigation()).intersection(roads)
        let lost = wanted.filter { $0.zoom == 12 }.sorted().prefix(3)
        for tile in lost {
            try FileManager.default.moveItem(
                atPath: "\(table.folder)/roads/12/\(tile.x)/\(tile.y).road",
                toPath: "\(table.folder)/lost-\(tile.x)-\(tile.y)")
        }
        let definition = try Self.definition(radius: 6_000, [TilesetDescriptor(tileset: "roads")])
        let failed = try #require(try await table.load(definition).last)
        #expect(failed.error != nil && failed.error?.retryable == true)
        #expect(failed.region?.state == .incomplete && failed.region?.error?.message?.isEmpty == false)
        #expect(failed.progress?.erroredCount == UInt64(lost.count))
        #expect(failed.progress?.completedCount == UInt64(wanted.count - lost.count))
        #expect(try table.events.last?.kind == .loadFinished && table.events.last?.success == false)
        await table.stop()
        for tile in lost {
            try FileManager.default.moveItem(
                atPath: "\(table.folder)/lost-\(tile.x)-\(tile.y)",
                toPath: "\(table.folder)/roads/12/\(tile.x)/\(tile.y).road")
        }
        try table.start()
        try await table.until("the region is complete") {
            try table.events.last.map { $0.kind == .loadFinished && $0.success == true } == true
        }
        #expect(try table.events.last?.progress?.loadedCount == UInt64(lost.count))
        #expect(try table.onBoard("roads", of: roads) == wanted)
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func cancelledLoadKeepsItsTiles() async throws {
        // A tile is missing, so the load is pending until it is cancelled.
        let (table, roads, _) = try Self.table(["region.retry_s=86400", "network.retries=100"])
        let wanted = try Self.tiles(6_000, RegionLayer.navigation()).intersection(roads)
        let lost = try #require(wanted.filter { $0.zoom == 12 }.max())
        try FileManager.default.removeItem(atPath: "\(table.folder)/roads/12/\(lost.x)/\(lost.y).road")
        var end: CallStatus?
        var last: LoadRegionResponse?
        try table.caller.call(
            TileCacheService.loadRegion,
            LoadRegionRequest(definition: try Self.definition(radius: 6_000, [TilesetDescriptor(tileset: "roads")])),
            options: CallOptions(timeout: .seconds(600))
        ) {
            switch $0 {
            case .response(let response): last = response
            case .end(let status): end = status
            }
        }
        try await table.until("all tiles but one are stored") {
            last?.progress?.completedCount == UInt64(wanted.count - 1)
        }
        let cancelled = try await table.call(TileCacheService.cancelLoad, CancelLoadRequest(regionId: "porto"))
        #expect(cancelled.error == nil && cancelled.region?.state == .cancelled)
        try await table.until("the stream ends") { end != nil }
        #expect(last?.error?.code == .cancelled && last?.region?.state == .cancelled)
        let event = try table.events.last
        #expect(event?.kind == .loadFinished && event?.success == false && event?.error?.code == .cancelled)
        #expect(try table.onBoard("roads", of: roads).count == wanted.count - 1)
        let twice = try await table.call(TileCacheService.cancelLoad, CancelLoadRequest(regionId: "porto"))
        #expect(twice.error?.code == .wrongState)
        let unknown = try await table.call(TileCacheService.cancelLoad, CancelLoadRequest(regionId: "x"))
        #expect(unknown.error?.code == .notFound)
        await table.end()
    }

    @Test func regionBeingSampledCanBeListedCancelledAndRemoved() async throws {
        // The samples take until their time limit.
        let server = try LoopbackServer { _, _ in .silence }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=\(server.url)/map/{z}/{x}/{y},zooms=12-12", "store.budget_mb=1",
        ])
        try await table.settle()
        var ends: [LoadRegionResponse] = []
        func load(_ id: String) throws {
            try table.caller.call(
                TileCacheService.loadRegion,
                LoadRegionRequest(
                    definition: try Self.definition(id, radius: 30_000, [TilesetDescriptor(tileset: "map")])),
                options: CallOptions(timeout: .seconds(600))
            ) { if case .response(let response) = $0 { ends.append(response) } }
        }
        try load("porto")
        let cancelled = try await table.call(TileCacheService.cancelLoad, CancelLoadRequest(regionId: "porto"))
        #expect(cancelled.error == nil && cancelled.region?.state == .cancelled, "\(cancelled)")
        try await table.until("the load is over") { ends.count == 1 }
        #expect(ends.last?.error?.code == .cancelled)
        let none = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "porto"))
        #expect(none.error?.code == .notFound)

        try load("porto")
        let known = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "porto"))
        #expect(known.region?.state == .loading && known.region?.definition?.regionId == "porto")
        let named = try await table.call(
            TileCacheService.updateRegion, UpdateRegionRequest(regionId: "porto", name: "Porto"))
        #expect(named.error == nil && named.region?.definition?.name == "Porto")
        let listed = try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        #expect(listed.regions.map(\.definition?.name) == ["Porto"])
        // The region is requested again in the meantime: both callers get the same result.
        try load("porto")
        let removed = try await table.call(TileCacheService.removeRegion, RemoveRegionRequest(regionId: "porto"))
        #expect(removed.error == nil)
        try await table.until("both loads are over") { ends.count == 3 }
        #expect(ends.allSatisfy { $0.error?.code == .cancelled }, "\(ends)")
        let again = try await table.call(TileCacheService.removeRegion, RemoveRegionRequest(regionId: "porto"))
        #expect(again.error?.code == .notFound)
        #expect(try table.events.isEmpty)
        await table.end()
    }

    @Test func newerEditionSwitchesTogetherWithItsRegions() async throws {
        let (table, roads, _) = try Self.table(["edition.check_interval_s=86400"])
        let only = [TilesetDescriptor(tileset: "roads")]
        _ = try await table.load(try Self.definition("a", radius: 6_000, only))
        _ = try await table.load(try Self.definition("b", radius: 3_000, only))
        let wanted = try table.onBoard("roads", of: roads)
        let current = table.folder + "/store/tilesets/roads/current"
        let versions: () throws -> Data = {
            try Data(contentsOf: URL(fileURLWithPath: current + "/tileset.json"))
        }
        let old = try versions()
        // One tile of the newer edition is missing, so the old edition remains in use.
        try TileFolders.roads(in: table.folder + "/roads", version: "two", reach: 40_000)
        let late = try #require(wanted.filter { $0.zoom == 12 }.min())
        let file = "\(table.folder)/roads/12/\(late.x)/\(late.y).road"
        try FileManager.default.moveItem(atPath: file, toPath: table.folder + "/late")
        _ = try await table.call(
            TileCacheService.updateRegion, UpdateRegionRequest(regionId: "a", revalidate: true))
        try await table.until("one region has failed") {
            try table.events.contains { $0.kind == .loadFinished && $0.success == false }
        }
        try await table.settle()
        #expect(try versions() == old && table.states.last?.mapVersion == "one")
        // A region that serves all its tiles is listed as complete, with the reason why its update is pending, which
        // the health also reports.
        let waits = try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        let failed = try #require(try table.events.last { $0.kind == .loadFinished && $0.success == false })
        for region in waits.regions.filter({ $0.definition?.regionId == failed.regionId }) + [failed.region] {
            #expect(region?.state == .complete && region?.error?.message?.isEmpty == false)
            let count = region?.progress?.completedCount ?? 0
            #expect(count > 0 && region?.progress?.requiredCount == count)
        }
        #expect(waits.regions.allSatisfy { $0.state != .incomplete })
        try await table.until("the pending update is reported") {
            try table.findings.contains {
                $0.code == "region_outdated" && $0.message?.contains("'\(failed.regionId ?? "")'") == true
            }
        }
        #expect(try table.onBoard("roads", of: roads) == wanted)
        let key = TileKey(domain: .navigation, zoom: 12, x: late.x, y: late.y)
        let served = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, cacheOnly: true))
        #expect(served.data == TileFolders.content(late, "one", count: 2_000 + Int(late.x % 7) * 100))

        try FileManager.default.moveItem(atPath: table.folder + "/late", toPath: file)
        await table.stop()
        try table.start(["region.retry_s=1"])
        try await table.until("the newer edition is in use") { try table.states.last?.mapVersion == "two" }
        #expect(try versions() != old)
        #expect(try table.onBoard("roads", of: roads) == wanted)
        let listed = try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        #expect(listed.regions.map(\.state) == [.complete, .complete])
        let newer = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, cacheOnly: true))
        #expect(newer.data == TileFolders.content(late, "two", count: 2_000 + Int(late.x % 7) * 100))
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func invalidRegionIsRejectedWithReason() async throws {
        let (table, _, _) = try Self.table(["region.max_tiles=20"])
        try await table.settle()
        let fine = try Self.definition()
        func refusal(_ change: (inout RegionDefinition) -> Void) async throws -> (ErrorCode?, String) {
            var definition = fine
            change(&definition)
            let error = try await table.load(definition).last?.error
            return (error?.code, error?.message ?? "")
        }
        for (change, code, word) in [
            ({ $0.regionId = nil }, .invalidRequest, "definition.region_id has 0 bytes"),
            ({ $0.geometry = nil }, .invalidRequest, "definition.geometry of region"),
            ({ $0.geometry = MultiPolygon() }, .invalidRequest, "definition.geometry: the area has no polygon"),
            ({ $0.descriptors = [] }, .invalidRequest, "definition.descriptors of region"),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "sea")] }, .notFound,
                "definition.descriptors[0].tileset: there is no tileset 'sea'"
            ),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "map", domain: .navigation)] }, .invalidRequest,
                "definition.descriptors[0].domain: tileset 'map' only has maps tiles"
            ),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "map", pixelRatio: 3)] }, .invalidRequest,
                "definition.descriptors[0].pixel_ratio: tileset 'map'"
            ),
            ({ $0.descriptors = [TilesetDescriptor()] }, .invalidRequest, "definition.descriptors[0].tileset is"),
            ({ $0.name = String(repeating: "x", count: 70_000) }, .invalidRequest, "definition.name has 70000"),
            (
                { $0.metadata = Array(repeating: KeyValue(key: "a"), count: 300) }, .invalidRequest,
                "definition.metadata has 300 keys"
            ),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "map", zoomMin: 9, zoomMax: 3)] }, .invalidRequest,
                "definition.descriptors[0].zoom_min 9 of 'map' is above its zoom_max 3"
            ),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "map", zoomMin: 30)] }, .invalidRequest,
                "definition.descriptors[0].zoom_min 30 of 'map' is not within 0 to 22"
            ),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "map"), TilesetDescriptor(tileset: "map")] },
                .invalidRequest, "definition.descriptors of region 'porto' has two"
            ),
            (
                { $0.descriptors = [TilesetDescriptor(tileset: "map", zoomMin: 0, zoomMax: 22)] }, .invalidRequest,
                "geometry: the area has"
            ),
            ({ $0.geometry = Self.far }, .notFound, "none of the tilesets"),
        ] as [((inout RegionDefinition) -> Void, ErrorCode, String)] {
            let (found, message) = try await refusal(change)
            #expect(found == code && message.contains(word), "\(message)")
        }
        #expect(try table.events.isEmpty)
        let bare = try await table.call(TileCacheService.estimateRegion, EstimateRegionRequest())
        #expect(bare.error?.code == .invalidRequest && bare.error?.message?.contains("definition is missing") == true)
        let empty = try await table.call(TileCacheService.coverage, TileCoverageRequest())
        #expect(empty.error?.code == .invalidRequest && empty.error?.message?.contains("geometry is") == true)
        await table.end()
    }

    @Test func rejectionsNameTheField() async throws {
        let (table, _, _) = try Self.table()
        try await table.settle()
        func tile(_ key: TileKey?) async throws -> String {
            let answer = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
            return answer.error?.message ?? ""
        }
        for (key, words) in [
            (nil, "key.zoom is missing"), (TileKey(zoom: 3, y: 1), "key.x is missing"),
            (TileKey(zoom: 23, x: 0, y: 0), "key.zoom 23 is not within 0 to 22"),
            (TileKey(zoom: 3, x: 8, y: 0), "key.x 8 is not within 0 to 7"),
            (TileKey(zoom: 3, x: 0, y: .max), "key.y 4294967295 is not within 0 to 7"),
            (TileKey(zoom: 3, x: 0, y: 0), "key.tileset is missing"),
            (TileKey(tileset: "sea", zoom: 3, x: 0, y: 0), "key.tileset: there is no tileset 'sea'"),
            (TileKey(domain: .navigation, tileset: "map", zoom: 3, x: 0, y: 0), "key.domain: tileset 'map' only"),
        ] as [(TileKey?, String)] {
            let message = try await tile(key)
            #expect(message.hasPrefix(words), "\(message)")
        }
        let region = try await table.call(TileCacheService.getRegion, GetRegionRequest(regionId: "none"))
        #expect(region.error?.message?.hasPrefix("region_id: there is no region 'none'") == true)
        let purge = try await table.call(TileCacheService.purge, PurgeRequest(tileset: "sea"))
        #expect(purge.error?.message?.hasPrefix("tileset: there is no tileset 'sea'") == true)
        var request = TileCoverageRequest(geometry: Self.far)
        let none = try await table.call(TileCacheService.coverage, request)
        #expect(none.error?.message?.hasPrefix("descriptors is empty") == true)
        request.descriptors = [TilesetDescriptor(tileset: "map"), TilesetDescriptor(tileset: "map", zoomMax: 23)]
        let high = try await table.call(TileCacheService.coverage, request)
        #expect(high.error?.message?.hasPrefix("descriptors[1].zoom_max 23 of 'map' is not") == true, "\(high)")
        request.descriptors = [TilesetDescriptor(tileset: "map")]
        request.geometry?.polygons[0].rings[0].lonDeltasE7 = []
        let uneven = try await table.call(TileCacheService.coverage, request)
        #expect(uneven.error?.message?.hasPrefix("geometry.polygons[0].rings[0] has unequal") == true, "\(uneven)")
        await table.end()
    }

    /// Returns a square in the Pacific.
    private static var far: MultiPolygon {
        let corners = [(0.0, -150.0), (0, -149.9), (0.1, -149.9), (0, -150)]
        return MultiPolygon(polygons: [Polygon(rings: [Polyline(corners.map { ($0.0, $0.1) })])])
    }
}
