import Foundation
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavStorage
import NavTestKit
import NavTileCache
import NavTileStore
import NavWire
import Testing
import TileCacheNode

/// The configuration of the tile cache, and the documented table of its behaviour.
struct CacheConfigurationTests {
    private static func load(_ overrides: [String]) throws -> TileCacheConfiguration {
        try ConfigLoader.load(TileCacheConfiguration.self, file: nil, overrides: overrides)
    }

    @Test func defaultsMatchTheDocumentation() throws {
        let configuration = TileCacheConfiguration()
        #expect(!configuration.predictive.isEnabled)
        for reach in [configuration.predictive.navigation, configuration.predictive.maps] {
            #expect(reach.position == 2_000 && reach.route == 500 && reach.destination == 5_000)
        }
        #expect(configuration.http.listen.isEmpty && !configuration.http.allowsRemote)
        #expect(configuration.cache.network == .unmetered && configuration.tilesets.isEmpty)
    }

    @Test func tilesetsAreReadFromAFileAndFromOneLine() throws {
        try withTemporaryFolder { folder in
            let file = folder + "/cache.yaml"
            try Data(
                #"""
                tilesets:
                  - {name: roads, source: "https://tiles.example.org/a,b;c", auth_file: /etc/token, concurrency: 12}
                  - name: map
                    domain: maps
                    source: /data/porto.pmtiles
                    kind: pmtiles
                    zooms: 3-9
                  - {name: sat, domain: maps, source: "s/{z}/{x}/{y}@2x.png", cacheable: false, reason: "no, said B\\C", pixel_ratio: 2}
                predictive: {enabled: true, maps: {zoom_min: 6}}
                network: {bandwidth_kbps: 2000, metered: asked}
                """#.utf8
            ).write(to: URL(fileURLWithPath: file))
            let read = try ConfigLoader.load(TileCacheConfiguration.self, file: file)
            #expect(read.tilesets.map(\.name) == ["roads", "map", "sat"])
            #expect(read.tilesets[0].source == "https://tiles.example.org/a,b;c" && read.tilesets[0].concurrency == 12)
            #expect(read.tilesets[1].zooms == 3...9 && read.tilesets[1].kind == .pmtiles)
            #expect(read.tilesets[2].reason == #"no, said B\C"# && !read.tilesets[2].isCacheable)
            #expect(read.bytesPerSecond == 250_000 && read.downloads.metered == [.asked])
            // The printed configuration can be read back.
            let printed = folder + "/printed.yaml"
            try Data(ConfigLoader.describe(read).utf8).write(to: URL(fileURLWithPath: printed))
            let again = try ConfigLoader.load(TileCacheConfiguration.self, file: printed)
            #expect(again.tilesets == read.tilesets && again.predictive == read.predictive)
            #expect(again.downloads == read.downloads && again.http == read.http)
        }
    }

    @Test(arguments: [
        "tilesets=name=roads", "tilesets=source=/x", "tilesets=name=Roads,source=/x",
        "tilesets=name=a,source=/x,size=3",
        "tilesets=name=a,source=/x;name=a,source=/y", "tilesets=name=a,source=/x,zooms=9-3",
        "tilesets=name=a,source=/x,zooms=1-23", "tilesets=name=a,source=/x,concurrency=0", "tilesets=a", "tilesets=;",
        "tilesets=name=a,source=/x,domain=sea", "tilesets=name=../a,source=/x", "tilesets=name=a,name=b,source=/x",
        "network.bandwidth_kbps=1", "network.bandwidth_kbps=nan", "network.mode=fast", "network.metered=all",
        "http.listen=8090", "http.listen=::1:80", "http.listen=a:70000", "store.budget_mb=0",
        "predictive.maps.zoom_max=23", "predictive.navigation.route_buffer_m=-1", "region.max_tiles=0",
    ])
    func invalidValuesAreRejected(_ override: String) {
        #expect(throws: ConfigError.self) { try Self.load([override]) }
    }

    @Test(arguments: [
        ("name=a,source=/x;name=a,source=/y", "two tilesets have the name 'a'"),
        ("name=a,sorce=/x", "the tileset 'a' has an unknown field 'sorce': did you mean 'source'?"),
        ("name=a,source=/x,quality=3", "unknown field 'quality': it takes name, source"),
        ("source=/x", "tileset 1 needs 'name'"), ("name=a,source=", "the tileset 'a' needs 'source'"),
        ("name=a,name=b,source=/x", "has the field 'name' twice"), ("name=../a,source=/x", "'../a' is not a name"),
        ("name=b,source=/y;name=a,source=/x,zooms=9-3", "the tileset 'a' has an invalid value"),
        ("name=a,source=/x,kind=zip", "[,kind=folder|webFolder|template|tileJSON|pmtiles|mbtiles]"),
    ])
    func tilesetDefectIsReported(tilesets: String, says: String) throws {
        let error = #expect(throws: ConfigError.self) { try Self.load(["tilesets=\(tilesets)"]) }
        #expect(error?.description.contains(says) == true, "\(error?.description ?? "")")
    }

    @Test func contradictoryKeysFailAtStart() throws {
        for settings in [
            ["predictive.maps.zoom_min=9", "predictive.maps.zoom_max=8"],
            ["predictive.maps.zoom_max=22", "predictive.maps.current_radius_m=50000"],
        ] {
            #expect(throws: NodeError.self) { try CacheTable(settings) }
        }
    }

    @Test func storeLiesAtTheConfiguredPath() async throws {
        var configuration = TileCacheConfiguration()
        #expect(configuration.storeFolder(environment: ["HOME": "/h"]) == "/h/.local/share/navbus/tiles")
        #expect(
            configuration.storeFolder(environment: ["HOME": "/h", "XDG_DATA_HOME": "/d"]) == "/d/navbus/tiles")
        configuration.storePath = "/elsewhere"
        #expect(configuration.storeFolder(environment: ["XDG_DATA_HOME": "/d"]) == "/elsewhere")
        let table = try CacheTable([])
        #expect(FileManager.default.fileExists(atPath: table.folder + "/store"))
        await table.end()
    }

    @Test func secondOwnerOfStoreIsRejected() async throws {
        let table = try CacheTable([])
        let error = #expect(throws: StoreError.self) { try TileStore(folder: table.folder + "/store") }
        #expect(error?.code == .busy && error?.description.contains("tile-cache-node") == true)
        // Other processes can read at the same time.
        #expect(try TileStoreReader(folder: table.folder + "/store").editions().isEmpty)
        await table.end()
    }

    // MARK: The table

    private struct Row {
        let name: String
        let place: String
        let shown: String
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func rows() throws -> [Row] {
        let article = root.appendingPathComponent("Sources/TileCacheNode/TileCacheNode.docc/TheTileCache.md")
        return try String(contentsOf: article, encoding: .utf8).split(separator: "\n").compactMap { line in
            guard line.hasPrefix("| "), !line.hasPrefix("| row ") else { return nil }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            return cells.count == 6 ? Row(name: cells[1], place: cells[3], shown: cells[4]) : nil
        }
    }

    private static func quoted(_ cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap { index, part in
            index % 2 == 1 ? String(part) : nil
        }
    }

    @Test func everyTableRowExistsAndRefersToExistingTests() throws {
        let expected = (1...11).map { "I\($0)" } + (1...16).map { "J\($0)" }
        #expect(try Self.rows().map(\.name) == expected)
        let folder = Self.root.appendingPathComponent("Tests/TileCacheNodeTests").path
        var tests = ""
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) where file.hasSuffix(".swift") {
            tests += try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
        }
        let topics = Set(TopicCatalogue.all.map(\.name))
        let methods = Set(TileCacheService.descriptor.methods.map { "TileCache/\($0.name)" })
        let keys = Set(TileCacheConfiguration.keys.map(\.name))
        for row in try Self.rows() {
            let shown = Self.quoted(row.shown)
            #expect(!shown.isEmpty && shown.allSatisfy { tests.contains("func \($0)()") }, "\(row.name): \(shown)")
            let places = Self.quoted(row.place)
            #expect(!places.isEmpty)
            for place in places {
                let isKnown = topics.contains(place) || methods.contains(place) || keys.contains(place)
                #expect(isKnown, "\(row.name): '\(place)' is not a topic, method or key")
            }
        }
    }
}
