import Foundation
import NavGeo
import NavMap
import NavMapBuild
import NavTestKit
import NavTestSupport
import Testing

/// Checks of complete tilesets: verified, equal for equal input, and with unchanged tiles after an edit.
@Suite("Checking tilesets")
struct TilesetCheckTests {
    /// Returns a town of small blocks over a corner of four tiles in every layer, with a restriction across it. With
    /// `edit`, one street well inside a tile has another name.
    private func town(edit: Bool = false) -> OSMData {
        var builder = OSMDataBuilder()
        let frame = LocalFrame(origin: TestPlaces.everyTileCorner)
        let size: Int64 = 12
        func id(_ x: Int64, _ y: Int64) -> Int64 { 1 + x + y * size }
        for x in 0..<size {
            for y in 0..<size {
                let point = LocalPoint(east: Double(x - size / 2) * 900 + 450, north: Double(y - size / 2) * 900 + 450)
                builder.addNode(id: id(x, y), position: FixedCoordinate(frame.coordinate(of: point)))
            }
        }
        let classes = ["residential", "tertiary", "residential", "trunk"]
        for x in 0..<size {
            for y in 0..<size {
                let name = edit && x == 3 && y == 3 ? "New Street" : "Street \(x)"
                let tags = ["highway": classes[Int(x + y) % 4], "name": name]
                if x + 1 < size { builder.addWay(id: 1_000 + id(x, y), nodes: [id(x, y), id(x + 1, y)], tags: tags) }
                if y + 1 < size { builder.addWay(id: 2_000 + id(x, y), nodes: [id(x, y), id(x, y + 1)], tags: tags) }
            }
        }
        builder.addRelation(
            id: 1,
            members: [
                (.way, 1_000 + id(5, 5), "from"), (.node, id(6, 5), "via"), (.way, 2_000 + id(6, 5), "to"),
            ], tags: ["type": "restriction", "restriction": "no_left_turn"])
        return builder.build()
    }

    private func tiles(_ data: OSMData, jobs: Int = 1) throws -> [MapBuilder.BuiltTile] {
        try MapBuilder(.init(jobs: jobs)).build(data).tiles
    }

    @Test("the number of jobs does not change the output", arguments: [2, 3, 7])
    func jobs(jobs: Int) throws {
        #expect(try tiles(town(), jobs: jobs) == tiles(town()))
    }

    @Test("editing one street changes only its tile")
    func incremental() throws {
        let before = try tiles(town())
        let after = try tiles(town(edit: true))
        #expect(before.map(\.id) == after.map(\.id))
        let changed = zip(before, after).filter { $0.bytes != $1.bytes }.map(\.0.id)
        #expect(changed.count == 1 && before.count >= 12, "\(changed) of \(before.count)")
        #expect(changed.first?.layer == .local)
    }

    @Test("tiles of one build join; those with a missing tile or of mixed builds do not")
    func joins() throws {
        let built = try tiles(town()).map { try $0.roadTile }
        #expect(TileJoins.problems(built) == [])
        #expect(built.contains { $0.prohibitedPathCount > 0 })
        for missing in built {
            #expect(!TileJoins.problems(built.filter { $0.id != missing.id }).isEmpty, "\(missing.id)")
        }
        var other = OSMDataBuilder()
        other.addNode(id: 1, position: FixedCoordinate(TestPlaces.everyTileCorner))
        let near = LocalFrame(origin: TestPlaces.everyTileCorner).coordinate(of: LocalPoint(east: 50, north: 50))
        other.addNode(id: 2, position: FixedCoordinate(near))
        other.addWay(id: 1, nodes: [1, 2], tags: ["highway": "residential"])
        let stranger = try #require(try tiles(other.build()).first).roadTile
        let mixed = built.filter { $0.id != stranger.id } + [stranger]
        #expect(!TileJoins.problems(mixed).isEmpty)
    }

    /// Writes the town as a tileset and passes its directory to `body`.
    private func withTileset(_ body: (URL) throws -> Void) throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let input = directory.appendingPathComponent("town.osm")
        let data = XMLReaderTests.small
        try Data(data.utf8).write(to: input)
        let output = directory.appendingPathComponent("tiles")
        _ = try MapBuilder(.init(jobs: 1)).build(input: input.path, output: output.path)
        try body(output)
    }

    private func files(_ directory: URL, _ ending: String) throws -> [String] {
        let all = FileManager.default.enumerator(atPath: directory.path)?.compactMap { $0 as? String } ?? []
        return all.filter { $0.hasSuffix(ending) }.sorted()
    }

    @Test("a newly built tileset has no problems")
    func sound() throws {
        try withTileset { directory in
            let report = try TilesetChecker.check(directory.path, jobs: 2)
            #expect(report.problems == [])
            #expect(report.tiles > 0 && report.edges == 4 && report.bytes > 0 && report.mapVersion.count == 32)
        }
    }

    @Test("a damaged, missing, swapped or added file is reported", arguments: [".road", ".rank"])
    func damaged(ending: String) throws {
        try withTileset { directory in
            let names = try files(directory, ending)
            let name = try #require(names.first)
            let url = directory.appendingPathComponent(name)
            let good = try Data(contentsOf: url)
            func problems() throws -> [TilesetChecker.Problem] {
                try TilesetChecker.check(directory.path).problems.filter { $0.file == name }
            }
            var bad = good
            bad[bad.count - 1] ^= 1
            try bad.write(to: url)
            #expect(try problems().contains { $0.reason.contains("SHA-256 differs") })
            try good.dropLast(8).write(to: url)
            #expect(try problems().contains { $0.reason.contains("bytes") })
            try FileManager.default.removeItem(at: url)
            #expect(try problems().contains { $0.reason.contains("missing") })
            let partial = try TilesetChecker.check(directory.path, isPartial: true)
            #expect(partial.missing == 1 && partial.problems.isEmpty)
            let other = try #require(names.last)
            try Data(contentsOf: directory.appendingPathComponent(other)).write(to: url)
            #expect(try !problems().isEmpty)
            try good.write(to: url)
            #expect(try problems().isEmpty)
            let added = directory.appendingPathComponent("12/9999\(ending)")
            try FileManager.default.createDirectory(
                at: added.deletingLastPathComponent(), withIntermediateDirectories: true)
            try good.write(to: added)
            #expect(try TilesetChecker.check(directory.path).problems.map(\.file) == ["12/9999\(ending)"])
        }
    }

    @Test("a wrong index is reported, an unreadable one is an error")
    func index() throws {
        try withTileset { directory in
            let url = directory.appendingPathComponent("tileset.json")
            let good = try String(contentsOf: url, encoding: .utf8)
            func check(_ old: String, _ new: String) throws -> [TilesetChecker.Problem] {
                #expect(good.contains(old))
                try good.replacingOccurrences(of: old, with: new).write(to: url, atomically: true, encoding: .utf8)
                return try TilesetChecker.check(directory.path).problems
            }
            #expect(try check("\"formatVersion\" : 2", "\"formatVersion\" : 1").map(\.file) == ["tileset.json"])
            #expect(try check("\"mapVersion\" : \"", "\"mapVersion\" : \"0").map(\.file) == ["tileset.json"])
            #expect(try !check("\"file\" : \"", "\"file\" : \"../").isEmpty)
            for text in ["", "{}", "[1]", "nonsense"] {
                try text.write(to: url, atomically: true, encoding: .utf8)
                #expect(throws: MapBuildError.self) { try TilesetChecker.check(directory.path) }
            }
            try FileManager.default.removeItem(at: url)
            #expect(throws: MapBuildError.self) { try TilesetChecker.check(directory.path) }
        }
    }
}
