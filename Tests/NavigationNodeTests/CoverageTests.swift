import Foundation
import NavBus
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavRecording
import NavReplay
import NavTestBus
import NavWire
import NavigationNode
import Testing

/// The tiles that a route needs: missing tiles are reported and requested from the tile cache.
struct CoverageTests {
    private static var waypoints: [Waypoint] {
        [Helsinki.from, Helsinki.to].map { Waypoint(latitude: $0.latitude, longitude: $0.longitude) }
    }

    /// Moves the files of a tile to another folder.
    private static func hide(_ tile: RoadTileID, in path: String) throws {
        for file in [tile.path, tile.ranksPath] {
            try FileManager.default.moveItem(atPath: "\(path)/\(file)", toPath: "\(path)/\(file).away")
        }
    }

    /// Moves the files of a layer's tile around a place to another folder and returns the tile.
    private static func hide(_ layer: RoadLayer, at place: NavGeo.Coordinate, in path: String) throws -> RoadTileID {
        let tile = RoadTileID(layer: layer, containing: place)
        try hide(tile, in: path)
        return tile
    }

    /// Serves a tile cache that restores requested tiles and reports the requests.
    private static func serveTiles(_ table: ServiceTable, _ note: @escaping ([UInt32?]) -> Void) throws {
        let path = table.tiles.path
        let cache = ServiceDescription(name: TileCacheService.name, methods: [MethodDescription("GetTile")])
        try table.owner.serve(cache) { call in
            guard let key = try? GetTileRequest(decoding: call.request.bytes).key, let zoom = key.zoom, let x = key.x,
                let y = key.y
            else { return _ = call.finish(CallStatus(.invalidArgument, "no key")) }
            note([zoom, x, y])
            for ending in ["road", "rank"] {
                let file = "\(path)/\(zoom)/\(x)/\(y).\(ending)"
                try? FileManager.default.moveItem(atPath: file + ".away", toPath: file)
            }
            call.finish(GetTileResponse(path: "\(path)/\(zoom)/\(x)/\(y).road").encoded())
        }
    }

    @Test("A complete tileset has no missing tiles, along a requested route and the active route")
    func completeTilesetHasNoMissingTiles() async throws {
        let table = try ServiceTable()
        let early = try await table.call(NavigationService.coverage, RouteCoverageRequest())
        #expect(early.error?.code == .wrongState)
        let alone = try await table.call(
            NavigationService.coverage, RouteCoverageRequest(waypoints: [Self.waypoints[1]]))
        #expect(alone.error?.code == .noPosition)
        let way = try await table.call(NavigationService.coverage, RouteCoverageRequest(waypoints: Self.waypoints))
        #expect(way.error == nil && way.missing.isEmpty && (way.wantedCount ?? 0) > 1)
        #expect(way.wantedCount == way.presentCount)

        try await table.drive(try Helsinki.drive.get().prefix(5))
        _ = try await table.call(
            NavigationService.setRoute,
            SetRouteRequest(target: .calculate(CalculateRouteRequest(waypoints: [Self.waypoints[1]]))))
        let followed = try await table.call(NavigationService.coverage, RouteCoverageRequest())
        #expect(followed.error == nil && followed.missing.isEmpty && followed.wantedCount == way.wantedCount)
        let wide = try await table.call(NavigationService.coverage, RouteCoverageRequest(corridorM: -1))
        #expect(wide.error?.code == .invalidRequest)
    }

    @Test("A missing tile is reported as such instead of as a place without roads")
    func missingTileIsReported() async throws {
        var hidden: RoadTileID?
        let table = try ServiceTable(prepare: { hidden = try Self.hide(.local, at: Helsinki.to, in: $0) })
        let tile = try #require(hidden)
        let way = try await table.call(NavigationService.coverage, RouteCoverageRequest(waypoints: Self.waypoints))
        #expect(way.error == nil)
        #expect(way.missing.map { [$0.zoom, $0.x, $0.y] } == [[UInt32(tile.tile.zoom), tile.tile.x, tile.tile.y]])
        #expect(way.wantedCount == (way.presentCount ?? 0) + 1)
        let found = try await table.routes(
            CalculateRouteRequest(origin: Self.waypoints[0], waypoints: [Self.waypoints[1]]))
        #expect(found.last?.error?.code == .missingTiles && found.last?.error?.missingTiles.count == 1)
        #expect(found.last?.error?.message?.contains("no tile cache runs") == true)
    }

    @Test("An answer without a route says that a running tile cache is asked for the missing tiles")
    func missingTilesOfAnAnswerAreRequested() async throws {
        let table = try ServiceTable(prepare: { _ = try Self.hide(.local, at: Helsinki.to, in: $0) })
        var asked = 0
        try Self.serveTiles(table) { _ in asked += 1 }
        let found = try await table.routes(
            CalculateRouteRequest(origin: Self.waypoints[0], waypoints: [Self.waypoints[1]]))
        #expect(found.last?.error?.message?.hasSuffix("may turn out to be needed: call again") == true)
        try await table.drive(try Helsinki.drive.get().prefix(2))
        #expect(asked == 1)
    }

    @Test("Missing tiles are requested from the tile cache, and the route is found once they arrive")
    func missingTilesAreRequestedFromTheTileCache() async throws {
        var hidden: RoadTileID?
        let table = try ServiceTable(
            [("destination", Helsinki.to.text)], prepare: { hidden = try Self.hide(.local, at: Helsinki.to, in: $0) })
        let tile = try #require(hidden)
        var asked: [[UInt32?]] = []
        try Self.serveTiles(table) { asked.append($0) }
        let drive = try Helsinki.drive.get()
        for fix in drive.prefix(30) {
            try await table.drive([fix])
            if try !table.messages("/nav/route", as: Route.self).isEmpty { break }
        }
        #expect(asked == [[UInt32(tile.tile.zoom), tile.tile.x, tile.tile.y]])
        #expect(try table.messages("/nav/route", as: Route.self).last?.edgeIds.isEmpty == false)
        let reroutes = try table.messages("/nav/reroute", as: RerouteEvent.self)
        #expect(reroutes.contains { $0.error?.code == .missingTiles })
    }

    @Test("A node without any tile reports this, requests the needed tiles, and finds the route")
    func emptyMapReportsAndLoadsItsTiles() async throws {
        let table = try ServiceTable(
            [("destination", Helsinki.to.text)],
            prepare: { path in
                for tile in try TilesetDirectory(path: path).tileset.tileIDs { try Self.hide(tile, in: path) }
            })
        #expect(table.node.node.findings(0).contains { $0.code == "no_tiles" && $0.severity == .lost })
        var asked: [[UInt32?]] = []
        try Self.serveTiles(table) { asked.append($0) }
        for fix in try Helsinki.drive.get().prefix(200) {
            try await table.drive([fix])
            if try !table.messages("/nav/route", as: Route.self).isEmpty { break }
        }
        #expect(try table.messages("/nav/route", as: Route.self).last?.edgeIds.isEmpty == false)
        #expect(Set(asked).count >= 2)
        #expect(!table.node.node.findings(0).contains { $0.code == "no_tiles" })
    }

    /// Returns the health findings with a code once their condition has lasted for a minute.
    private static func lastingFindings(_ code: String, of table: ServiceTable) -> [HealthFinding] {
        let now = Clocks.monotonic()
        _ = table.node.node.findings(now)
        return table.node.node.findings(now + 60_000_000_000).filter { $0.code == code }
    }

    @Test("Health reports the tiles that a route lacks for a while, until they arrive")
    func lastingLackOfTilesIsAFinding() async throws {
        var hidden: RoadTileID?
        let table = try ServiceTable(
            [("destination", Helsinki.to.text)], prepare: { hidden = try Self.hide(.local, at: Helsinki.to, in: $0) })
        let tile = try #require(hidden)
        var drive = try Helsinki.drive.get()[...]
        while try table.messages("/nav/reroute", as: RerouteEvent.self).isEmpty {
            try await table.drive([try #require(drive.popFirst())])
        }
        let code = "route_missing_tiles"
        let found = try #require(Self.lastingFindings(code, of: table).first)
        #expect(found.message.contains(tile.description) && found.severity == .degraded && found.isLogged)

        for file in [tile.path, tile.ranksPath] {
            let path = "\(table.tiles.path)/\(file)"
            try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        }
        while try table.messages("/nav/route", as: Route.self).isEmpty {
            try await table.drive([try #require(drive.popFirst())])
        }
        #expect(Self.lastingFindings(code, of: table).isEmpty)
    }

    @Test(
        "Health reports a vehicle without map tiles around it, but not one far from the roads inside the map",
        arguments: [(0.0, 0.0, false), (0.1, 0.0, false), (0.0, 10.0, true)])
    func vehicleOutsideTheMapIsAFinding(north: Double, east: Double, isOutside: Bool) async throws {
        let table = try ServiceTable()
        try await table.drive(
            try Helsinki.drive.get().prefix(5).map { fix in
                var fix = fix
                fix.latitude = fix.latitude.map { $0 + north }
                fix.longitude = fix.longitude.map { $0 + east }
                return fix
            })
        let found = Self.lastingFindings("outside_map", of: table)
        #expect(found.isEmpty != isOutside)
        #expect(found.allSatisfy { $0.severity == .lost && $0.isLogged })
    }
}
