import Foundation
import NavBus
import NavGeo
import NavMessages
import NavNodes
import NavTileCache
import NavTileStore
import Testing

/// What an offline region is said to take, and what it takes.
struct CacheEstimateTests {
    /// Some shapes of regions around Porto.
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

    /// Bytes of a tile: much in the town, little around it, and no two alike.
    private static func size(_ tile: TileID) -> Int {
        let box = tile.bounds
        let centre = NavGeo.Coordinate(latitude: (box.south + box.north) / 2, longitude: (box.west + box.east) / 2)
        let town: Double = 12_000 * exp(-Geodesy.distance(centre, TileFolders.porto) / 4_000)
        let noise = Double(TileFolders.content(tile, "size", count: 1)[0]) / 256
        return 200 + Int(town * (0.5 + noise))
    }

    /// Road tiles are listed with their sizes, map tiles of a folder as well; a web server is asked for some of them.
    @Test func itIsWithinATenthForEveryShapeAndBothKindsOfTiles() async throws {
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
}
