import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTileCache
import NavTileStore
import NavWire
import Testing
import TileCacheNode

/// The estimated and actual sizes of offline regions.
struct CacheEstimateTests {
    /// Returns regions of several shapes around Porto.
    private static func shapes() throws -> [(name: String, area: RegionArea)] {
        let porto = TileFolders.porto
        func square(_ reach: Double, _ shift: Double = 0) -> [NavGeo.Coordinate] {
            let centre = Geodesy.destination(from: porto, bearing: .pi / 2, distance: shift)
            return [0.25, 0.75, 1.25, 1.75].map {
                Geodesy.destination(from: centre, bearing: $0 * .pi, distance: reach * 2.0.squareRoot())
            }
        }
        return [
            ("a small circle", try .circle(around: porto, radius: 1_500)),
            ("a large circle", try .circle(around: porto, radius: 10_000)),
            ("a corridor", try .corridor(along: TileFolders.line(16_000), buffer: 800)),
            (
                "two squares, one with a hole",
                try RegionArea(polygons: [[square(7_000), square(4_000)], [square(1_500, 10_000)]])
            ),
        ]
    }

    /// Returns the size of a tile, bytes: large in the town, small around it, and all different.
    private static func size(_ tile: TileID) -> Int {
        let box = tile.bounds
        let centre = NavGeo.Coordinate(latitude: (box.south + box.north) / 2, longitude: (box.west + box.east) / 2)
        let town: Double = 12_000 * exp(-Geodesy.distance(centre, TileFolders.porto) / 4_000)
        let noise = Double(TileFolders.content(tile, "size", count: 1)[0]) / 256
        return 200 + Int(town * (0.5 + noise))
    }

    /// Lists give the sizes of road tiles, and folders those of map tiles; from a web server, the sizes of a sample are
    /// requested.
    @Test func estimateIsWithinTenPercentForEveryShapeAndDomain() async throws {
        let settings = ["tilesets=name=roads,source=FOLDER/roads;name=map,domain=maps,source=FOLDER/map,zooms=9-14"]
        let local = try CacheTable(settings + ["http.listen=127.0.0.1:0"]) {
            try TileFolders.roads(in: $0 + "/roads", reach: 70_000)
            try TileFolders.maps(in: $0 + "/map", zooms: 9...14, reach: 15_000, count: Self.size)
        }
        try await local.settle()
        let address = try #require(local.node?.node.serverAddress)
        let web = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=9-14"
        ])
        try await web.settle()
        for (table, tileset, domain, source) in [
            (local, "roads", .navigation, "a list"), (local, "map", .maps, "a folder"), (web, "map", .maps, "samples"),
        ] as [(CacheTable, String, NavMessages.TileDomain, String)] {
            for (name, area) in try Self.shapes() {
                let definition = RegionDefinition(
                    regionId: "\(tileset) \(name)", geometry: MultiPolygon(area),
                    descriptors: [TilesetDescriptor(tileset: tileset, domain: domain)], acceptExpired: true)
                let before = try await table.call(
                    TileCacheService.estimateRegion, EstimateRegionRequest(definition: definition))
                let loaded = try #require(try await table.load(definition).last?.progress)
                let (said, took) = (Double(before.sizeBytes ?? 0), Double(loaded.completedBytes ?? 0))
                let off = String(format: "%+.1f %%", 100 * (said / took - 1))
                print(
                    "\(tileset) by \(source), \(name): \(before.tileCount ?? 0) tiles and \(Int(said)) bytes estimated, "
                        + "\(loaded.completedCount ?? 0) and \(Int(took)) loaded, \(off)")
                #expect(abs(said - took) <= 0.1 * took)
                let (count, truth) = (Double(before.tileCount ?? 0), Double(loaded.completedCount ?? 0))
                #expect(abs(count - truth) <= 0.1 * truth && truth > 0)
            }
        }
        await local.end()
        await web.end()
    }

    private static func region(
        _ radius: Double, around place: NavGeo.Coordinate = TileFolders.porto, id: String? = nil
    ) throws -> RegionDefinition {
        RegionDefinition(
            regionId: id, geometry: MultiPolygon(try RegionArea.circle(around: place, radius: radius)),
            descriptors: [TilesetDescriptor(tileset: "map")], acceptExpired: true)
    }

    @Test func evictableTilesCountAsFreeForARegionAndTilesAheadDoNot() async throws {
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=11-11", "store.budget_mb=5",
            "predictive.enabled=true",
            "predictive.maps.zoom_min=11", "predictive.maps.zoom_max=11", "predictive.maps.current_radius_m=16000",
        ]) { try TileFolders.maps(in: $0 + "/map", zooms: 11...11, reach: 40_000) { _ in 700_000 } }
        table.position(TileFolders.porto)
        try await table.until("tiles ahead fill the budget") { try table.states.last?.sizeBytes ?? 0 > 4_900_000 }
        // The store is periodically informed of the tiles to evict last.
        try await table.pass(seconds: 3)
        let other = Geodesy.destination(from: TileFolders.porto, bearing: 1.5, distance: 30_000)
        func estimate(_ definition: RegionDefinition) async throws -> EstimateRegionResponse {
            let answer = try await table.call(
                TileCacheService.estimateRegion, EstimateRegionRequest(definition: definition))
            #expect(answer.error == nil, "\(answer)")
            return answer
        }
        let ahead = try await estimate(try Self.region(5_000, around: other))
        let needed = try #require(ahead.downloadBytes)
        #expect(needed > 700_000 && ahead.freeBytes.map { $0 < needed } == true, "\(ahead)")
        try await table.set("predictive.enabled", .boolValue(false))
        try await table.settle()
        let idle = try await estimate(try Self.region(5_000, around: other))
        // The region's own stored tiles are not free for its other tiles.
        #expect(idle.downloadBytes == needed && idle.freeBytes == 5_000_000 + needed - (idle.sizeBytes ?? 0), "\(idle)")
        #expect(try table.states.last?.sizeBytes ?? 0 > 4_900_000)
        let loaded = try #require(try await table.load(try Self.region(5_000, around: other, id: "r")).last)
        #expect(loaded.region?.state == .complete, "\(loaded)")
        let held = try #require(loaded.progress?.completedBytes)
        // Another region can use only the remaining room; the same region can also use its own.
        let beside = try await estimate(try Self.region(5_000))
        #expect(beside.freeBytes == 5_000_000 - held - (beside.sizeBytes ?? 0) + (beside.downloadBytes ?? 0))
        let same = try await estimate(try Self.region(5_000, around: other, id: "r"))
        #expect(same.downloadBytes == 0 && same.freeBytes == 5_000_000 - held, "\(same)")
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func regionTileLimitIsTheSameForEveryCall() async throws {
        let table = try CacheTable(["tilesets=name=map,domain=maps,source=FOLDER/map,zooms=9-12"]) {
            try TileFolders.maps(in: $0 + "/map", zooms: 9...12, reach: 20_000)
        }
        let region = try Self.region(9_000, id: "r")
        let area = try #require(region.geometry)
        func errors() async throws -> [ErrorInfo?] {
            [
                try await table.call(TileCacheService.estimateRegion, EstimateRegionRequest(definition: region)).error,
                try await table.call(
                    TileCacheService.coverage, TileCoverageRequest(geometry: area, descriptors: region.descriptors)
                ).error,
                try await table.load(region).last?.error,
            ]
        }
        try await table.settle()
        #expect(try await errors() == [nil, nil, nil])
        try await table.set("region.max_tiles", .intValue(5))
        try await table.settle()
        for error in try await errors() {
            #expect(
                error?.code == .invalidRequest && error?.message?.contains("more than 5 ") == true, "\(error as Any)")
        }
        try await table.set("region.max_tiles", .intValue(500))
        try await table.settle()
        #expect(try await errors() == [nil, nil, nil])
        await table.end()
    }

    @Test func repeatedTilesetIsCoveredOnce() async throws {
        let table = try CacheTable(["tilesets=name=map,domain=maps,source=FOLDER/map,zooms=9-12"]) {
            try TileFolders.maps(in: $0 + "/map", zooms: 9...12, reach: 20_000)
        }
        try await table.settle()
        let area = try #require(try Self.region(9_000).geometry)
        func coverage(_ zooms: [ClosedRange<UInt32>]) async throws -> TileCoverageResponse {
            let descriptors = zooms.map {
                TilesetDescriptor(tileset: "map", zoomMin: $0.lowerBound, zoomMax: $0.upperBound)
            }
            return try await table.call(
                TileCacheService.coverage, TileCoverageRequest(geometry: area, descriptors: descriptors))
        }
        let whole = try await coverage([9...12])
        #expect(whole.error == nil && whole.wantedCount ?? 0 > 8)
        #expect(try await coverage([9...12, 9...12]) == whole)
        let parts = try await coverage([9...11, 10...12])
        #expect(
            parts.wantedCount == whole.wantedCount
                && Set(parts.missing.map { $0.encoded() }).count == parts.missing.count)
        await table.end()
    }
}
