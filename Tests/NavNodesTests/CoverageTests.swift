import Foundation
import NavBus
import NavGeo
import NavMap
import NavMessages
import NavNodes
import Testing

/// Tiles that a way needs: which are missing is told, and the tile cache is asked for them.
struct CoverageTests {
    private static var waypoints: [Waypoint] {
        [Helsinki.from, Helsinki.to].map { Waypoint(latitude: $0.latitude, longitude: $0.longitude) }
    }

    /// Takes the files of the tile of a layer around a place away; the tile.
    private static func hide(_ layer: RoadLayer, at place: NavGeo.Coordinate, in path: String) throws -> RoadTileID {
        let tile = RoadTileID(layer: layer, containing: place)
        for file in [tile.path, tile.ranksPath] {
            try FileManager.default.moveItem(atPath: "\(path)/\(file)", toPath: "\(path)/\(file).away")
        }
        return tile
    }

    @Test("With all tiles nothing is missing, along the way and along the route that is followed")
    func whole() async throws {
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

    @Test("A missing tile is named, and what it misses is not a road nearby")
    func lacking() async throws {
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
    }

    @Test("What a route lacks is asked of the tile cache, and the route is found when it has come")
    func requested() async throws {
        var hidden: RoadTileID?
        let table = try ServiceTable(
            [("destination", Helsinki.to.text)], prepare: { hidden = try Self.hide(.local, at: Helsinki.to, in: $0) })
        let tile = try #require(hidden)
        let path = table.tiles.path
        var asked: [TileKey] = []
        let cache = ServiceDescription(name: TileCacheService.name, methods: [MethodDescription("GetTile")])
        try table.owner.serve(cache) { call in
            if let key = try? GetTileRequest(decoding: call.request.bytes).key { asked.append(key) }
            for file in [tile.path, tile.ranksPath] {
                try? FileManager.default.moveItem(atPath: "\(path)/\(file).away", toPath: "\(path)/\(file)")
            }
            call.finish(GetTileResponse(path: "\(path)/\(tile.path)").encoded())
        }
        let drive = try Helsinki.drive.get()
        for fix in drive.prefix(30) {
            try await table.drive([fix])
            if try !table.messages("/nav/route", as: Route.self).isEmpty { break }
        }
        #expect(asked.map { [$0.zoom, $0.x, $0.y] } == [[UInt32(tile.tile.zoom), tile.tile.x, tile.tile.y]])
        #expect(try table.messages("/nav/route", as: Route.self).last?.edgeIds.isEmpty == false)
        let reroutes = try table.messages("/nav/reroute", as: RerouteEvent.self)
        #expect(reroutes.contains { $0.error?.code == .missingTiles })
    }
}
