import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTileCache
import NavWire
import Testing
import TileCacheNode

/// Lists of many offline regions.
struct CacheRegionListTests {
    private static func ids(_ response: ListRegionsResponse) -> [String] {
        response.regions.compactMap { $0.definition?.regionId }
    }

    @Test func regionsAreListedInPagesOrderedByID() async throws {
        let table = try CacheTable(["tilesets=name=map,domain=maps,source=FOLDER/map,zooms=12-12"]) {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 9_000)
        }
        let area = MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: 500))
        // Large enough that not all of them fit into a page, whatever its limit.
        let name = String(repeating: "n", count: 65_536)
        let metadata = [KeyValue(key: "k", value: String(repeating: "v", count: 65_000))]
        let wanted = ["é", "Z"] + (0..<20).map { "r\($0)" }
        for id in wanted {
            let definition = RegionDefinition(
                regionId: id, name: name, geometry: area, descriptors: [TilesetDescriptor(tileset: "map")],
                metadata: metadata)
            #expect(try await table.load(definition).last?.error == nil)
        }
        func list(_ start: String? = nil, _ size: UInt32? = nil) async throws -> ListRegionsResponse {
            try await table.call(
                TileCacheService.listRegions, ListRegionsRequest(startAfter: start, pageSize: size))
        }
        let all = try await list()
        #expect(all.nextStartAfter == nil)
        #expect(Self.ids(all) == wanted.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Self.ids(all).first == "Z" && Self.ids(all).last == "é")
        for (size, pages) in [(7, [7, 7, 7, 1]), (22, nil), (1_000_000, nil), (0, nil)] as [(UInt32, [Int]?)] {
            var found: [Region] = []
            var counts: [Int] = []
            var start: String?
            repeat {
                let page = try await list(start, size)
                #expect(page.encoded().count <= 2 << 20 && !page.regions.isEmpty)
                found += page.regions
                counts.append(page.regions.count)
                start = page.nextStartAfter
            } while start != nil && counts.count < 100
            #expect(found == all.regions)
            if let pages { #expect(counts == pages) } else { #expect(counts.count > 1) }
        }
        #expect(try await list("é").regions.isEmpty)
        #expect(Self.ids(try await list("r8")) == ["r9", "é"])
        await table.end()
    }

    @Test func oversizedRegionListPointsToPaging() async throws {
        // The source does not answer, so none of the wanted tiles is stored.
        let silence = try TestWeb.Silence()
        let table = try CacheTable(["tilesets=name=roads,source=http://127.0.0.1:\(silence.port)/"])
        let ring = (0..<RegionArea.greatestCornerCount - 1).map { number -> (Double, Double) in
            let shift = Double(number) * 1e-6
            return number.isMultiple(of: 2) ? (41 + shift, -8) : (-41, 28 + shift)
        }
        let area = MultiPolygon(polygons: [Polygon(rings: [Polyline(ring)])])
        for number in 10..<40 {
            let definition = RegionDefinition(
                regionId: "r\(number)", geometry: area, descriptors: [TilesetDescriptor(tileset: "roads")])
            try table.caller.call(
                TileCacheService.loadRegion, LoadRegionRequest(definition: definition),
                options: CallOptions(timeout: .seconds(600))
            ) { _ in }
        }
        let failure = await #expect(throws: CallStatus.self) {
            try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        }
        #expect(
            failure?.code == .resourceExhausted && failure?.message.contains("page_size") == true, "\(failure as Any)")
        let page = try await table.call(TileCacheService.listRegions, ListRegionsRequest(pageSize: 10))
        #expect(Self.ids(page).first == "r10" && page.nextStartAfter == Self.ids(page).last)
        #expect(page.encoded().count <= 2 << 20)
        await table.end()
    }
}
