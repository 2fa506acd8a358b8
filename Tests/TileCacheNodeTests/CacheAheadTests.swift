import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTileCache
import NavWire
import Testing
import TileCacheNode

/// The predictive cache: tiles fetched without a request.
struct CacheAheadTests {
    private static let roads = ["tilesets=name=roads,source=FOLDER/roads", "predictive.enabled=true"]

    /// Returns the tiles of a profile around a place and along lines, from the tile covers alone.
    private static func expected(
        around place: NavGeo.Coordinate? = nil, along lines: [[NavGeo.Coordinate]] = [], _ profile: CacheProfile
    ) -> Set<TileID> {
        var tiles: Set<TileID> = []
        for level in profile.levels {
            if let place {
                TileCover.disc(around: place, radius: level.reach.position + profile.step, zoom: level.zoom) {
                    tile, _ in
                    tiles.insert(tile)
                }
            }
            for line in lines {
                TileCover.corridor(
                    along: ProjectedLine(Polyline(line)), buffer: level.reach.route, zoom: level.zoom
                ) { tile, _ in tiles.insert(tile) }
                guard let end = line.last else { continue }
                TileCover.disc(around: end, radius: level.reach.destination, zoom: level.zoom) { tile, _ in
                    tiles.insert(tile)
                }
            }
        }
        return tiles
    }

    @Test func roadTilesAroundVehicleRouteAndDestinationAreFetchedAndNoOthers() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable(Self.roads) { all = try TileFolders.roads(in: $0 + "/roads") }
        table.position(TileFolders.porto)
        var expected = Self.expected(around: TileFolders.porto, .navigation()).intersection(all)
        try await table.until("the tiles around the vehicle are stored") {
            try table.onBoard("roads", of: all).isSuperset(of: expected)
        }
        try await table.settle()
        #expect(try table.onBoard("roads", of: all) == expected)

        let line = TileFolders.line(30_000)
        table.state(.guidance)
        table.route(line)
        expected.formUnion(Self.expected(along: [line], .navigation()).intersection(all))
        try await table.until("the tiles of the route are stored") {
            try table.onBoard("roads", of: all).isSuperset(of: expected)
        }
        try await table.settle()
        #expect(try table.onBoard("roads", of: all) == expected && expected.count < all.count)
        #expect(Set(expected.map(\.zoom)) == [6, 9, 12])
        try await table.until("the totals are published") {
            try table.states.last?.tilesets.first?.tileCount == UInt64(expected.count)
        }
        let state = try #require(try table.states.last)
        #expect(state.routeCoverage == 1 && state.mapVersion == "one" && state.sourceState == .online)
        // The folder that the navigation node maps.
        let current = table.folder + "/store/tilesets/roads/current"
        for tile in expected {
            for name in ["road", "rank"] {
                #expect(FileManager.default.fileExists(atPath: "\(current)/\(tile.zoom)/\(tile.x)/\(tile.y).\(name)"))
            }
        }
        #expect(FileManager.default.fileExists(atPath: current + "/tileset.json"))
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func nothingIsFetchedAheadByDefault() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable(["tilesets=name=roads,source=FOLDER/roads"]) {
            all = try TileFolders.roads(in: $0 + "/roads", reach: 10_000)
        }
        table.position(TileFolders.porto)
        table.route(TileFolders.line(5_000))
        try await table.settle()
        #expect(try table.onBoard("roads", of: all).isEmpty)
        #expect(try table.states.last?.routeCoverage == nil)
        // When the cache is enabled, earlier movements of the vehicle are taken into account.
        try await table.set("predictive.enabled", .boolValue(true))
        let expected = Self.expected(
            around: TileFolders.porto, along: [TileFolders.line(5_000)], .navigation()
        ).intersection(all)
        try await table.until("the tiles are fetched") { try table.onBoard("roads", of: all) == expected }
        await table.end()
    }

    @Test func roadAndMapTilesHaveTheirOwnDistancesAndZoomLevels() async throws {
        var (roads, maps) = (Set<TileID>(), Set<TileID>())
        let table = try CacheTable([
            "tilesets=name=roads,source=FOLDER/roads;name=map,domain=maps,source=FOLDER/map,zooms=5-13",
            "predictive.enabled=true", "predictive.navigation.current_radius_m=1000",
            "predictive.navigation.route_buffer_m=300", "predictive.navigation.destination_radius_m=3000",
            "predictive.maps.current_radius_m=2000", "predictive.maps.route_buffer_m=700",
            "predictive.maps.destination_radius_m=1500", "predictive.maps.zoom_min=9", "predictive.maps.zoom_max=12",
        ]) {
            roads = try TileFolders.roads(in: $0 + "/roads")
            maps = try TileFolders.maps(in: $0 + "/map", zooms: 5...13, reach: 20_000)
        }
        let line = TileFolders.line(9_000)
        table.position(TileFolders.porto)
        table.route(line)
        let navigation = CacheProfile.navigation(CacheReach(position: 1_000, route: 300, destination: 3_000))
        let display = CacheProfile.maps(CacheReach(position: 2_000, route: 700, destination: 1_500), zooms: 9...12)
        let wantedRoads = Self.expected(around: TileFolders.porto, along: [line], navigation).intersection(roads)
        let wantedMaps = Self.expected(around: TileFolders.porto, along: [line], display).intersection(maps)
        try await table.until("all tiles are stored") {
            try table.onBoard("roads", of: roads).isSuperset(of: wantedRoads)
                && table.onBoard("map", of: maps).isSuperset(of: wantedMaps)
        }
        try await table.settle()
        #expect(try table.onBoard("roads", of: roads) == wantedRoads)
        #expect(try table.onBoard("map", of: maps) == wantedMaps)
        #expect(Set(wantedMaps.map(\.zoom)) == [9, 10, 11, 12])
        await table.end()
    }

    @Test func rerouteAndAlternativesAreFetchedAndStationaryVehicleRequestsNothing() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable(Self.roads) { all = try TileFolders.roads(in: $0 + "/roads") }
        let profile = CacheProfile.navigation()
        let first = TileFolders.line(12_000)
        table.position(TileFolders.porto)
        table.route(first)
        try await table.settle()
        // An alternative leaves the route after 4 km and ends elsewhere.
        let other = Array(first.prefix(81)) + TileFolders.line(9_000, bearing: 2.2, from: first[80])
        table.alternative(other, forkPoint: 80, forkOffset: 4_000)
        // Alternatives normally end at the route's destination, so tiles around the destination come from the route
        // alone.
        var narrow = profile
        for index in narrow.levels.indices { narrow.levels[index].reach.destination = 0 }
        let branch = Self.expected(along: [Array(other.dropFirst(80))], narrow).intersection(all)
        #expect(try !table.onBoard("roads", of: all).isSuperset(of: branch))
        try await table.until("the alternative's tiles are stored") {
            try table.onBoard("roads", of: all).isSuperset(of: branch)
        }
        let reroute = TileFolders.line(14_000, bearing: 4.0)
        table.route(reroute, id: 2)
        let ahead = Self.expected(along: [reroute], profile).intersection(all)
        try await table.until("the new route's tiles are stored") {
            try table.onBoard("roads", of: all).isSuperset(of: ahead)
        }
        try await table.settle()
        let before = try #require(table.node).node.downloads
        for _ in 0..<200 {
            table.position(Geodesy.destination(from: TileFolders.porto, bearing: 1, distance: 8))
            table.progress(10, route: 2)
            table.route(reroute, id: 2)
            try table.turn()
        }
        try await table.settle()
        #expect(try #require(table.node).node.downloads == before)
        // After the trip the tiles ahead are no longer wanted, but remain until room is needed.
        table.state(.idle)
        try await table.until("no route is covered") { try table.states.last?.routeCoverage == nil }
        #expect(try table.onBoard("roads", of: all).isSuperset(of: ahead))
        await table.end()
    }

    @Test func imminentTilesPrecedeAllOthers() async throws {
        let line = TileFolders.line(60_000)
        var wanted: Set<TileID> = []
        var near: Set<TileID> = []
        TileCover.corridor(along: ProjectedLine(Polyline(line)), buffer: 500, zoom: 16) { tile, offset in
            wanted.insert(tile)
            if offset <= 4_000 { near.insert(tile) }
        }
        let (server, address) = try await CacheTable.serving(
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=16-16"
        ) {
            for tile in wanted {
                try TileFolders.write(TileFolders.png(tile, count: 5_000), "\($0)/map/16/\(tile.x)/\(tile.y).png")
            }
        }
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=16-16",
            "predictive.enabled=true", "predictive.maps.zoom_min=16", "predictive.maps.zoom_max=16",
            "predictive.maps.current_radius_m=100", "predictive.maps.destination_radius_m=100",
            "network.bandwidth_kbps=200",
        ])
        table.position(TileFolders.porto)
        table.route(line)
        try await table.until("the near tiles are stored, and others are fetched in parallel") {
            try table.onBoard("map", of: near) == near
                && table.states.last?.downloadingCount ?? 0 > 2
        }
        // Far enough ahead that no tile there is stored yet, even if this test was delayed for a minute.
        let count = try table.states.count
        table.progress(40_000)
        var isFirst = false
        try await table.until("only near tiles are fetched, or all are stored") {
            isFirst = try table.states.dropFirst(count).contains {
                1...2 ~= $0.downloadingCount ?? 0 && $0.pendingCount ?? 0 > 6
            }
            return try isFirst || table.onBoard("map", of: wanted) == wanted
        }
        #expect(isFirst)
        await server.end()
        await table.end()
    }

    @Test func newRouteIsKeptAfterAnEarlierEndOfGuidance() {
        let route = CacheTable.route([TileFolders.porto, NavGeo.Coordinate(latitude: 41, longitude: -8)], 7)
        var news = VehicleUpdates()
        news.update.isGuided = false
        news.take(route: route.encoded().withUnsafeBytes { Payload(copying: $0) })
        let update = news.read { Issue.record("\($0)") }
        #expect(update.route?.id == 7 && update.isGuided == nil)
        // An end that is reported after the route ends it.
        news.update.isGuided = false
        #expect(news.read { Issue.record("\($0)") }.isGuided == false)
    }

    @Test func uncacheableTilesetIsNotStoredAndGivesReason() async throws {
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=9-12,cacheable=false,reason=composed by its vendor",
            "predictive.enabled=true", "predictive.maps.zoom_min=9", "predictive.maps.zoom_max=12",
        ]) { _ = try TileFolders.maps(in: $0 + "/map", zooms: 9...12, reach: 5_000) }
        table.position(TileFolders.porto)
        try await table.settle()
        let state = try #require(try table.states.last?.tilesets.first)
        #expect(state.cacheable == false && state.notCacheableReason == "composed by its vendor")
        #expect(state.tileCount == 0)
        // The tile is still delivered to callers.
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let key = TileKey(domain: .maps, tileset: "map", zoom: 12, x: tile.x, y: tile.y)
        let answer = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
        #expect(
            answer.data == TileFolders.png(tile) && answer.fromCache == false, "\(String(describing: answer.error))")
        try await table.settle()
        #expect(try table.states.last?.tilesets.first?.tileCount == 0)
        let region = try await table.load(
            RegionDefinition(
                regionId: "r", geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: 1_000)),
                descriptors: [TilesetDescriptor(tileset: "map")]))
        #expect(region.last?.error?.code == .deniedByPolicy)
        #expect(region.last?.error?.message?.contains("composed by its vendor") == true)
        await table.end()
    }

    @Test func budgetKeepsSoonestNeededTiles() async throws {
        var all: Set<TileID> = []
        let table = try CacheTable(Self.roads + ["store.budget_mb=1"]) {
            // About 2.6 kB each: far more tiles than fit.
            all = try TileFolders.roads(in: $0 + "/roads", reach: 120_000)
        }
        table.position(TileFolders.porto)
        table.route(TileFolders.line(110_000, bearing: 0.2))
        try await table.settle()
        let near = Self.expected(around: TileFolders.porto, .navigation()).intersection(all)
        #expect(try table.onBoard("roads", of: all).isSuperset(of: near))
        let state = try #require(try table.states.last)
        #expect(state.sizeBytes.map { $0 <= 1_000_000 } == true && state.budgetBytes == 1_000_000)
        #expect(try table.check() == [])
        await table.end()
    }
}
