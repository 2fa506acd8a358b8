import Foundation
import NavMap
import NavMapBuild
import NavTestKit
import Synchronization
import Testing

@Suite("Writing tilesets")
struct BuildOutputTests {
    private func contents(_ directory: URL) throws -> [String: Data] {
        var result: [String: Data] = [:]
        let names = FileManager.default.enumerator(atPath: directory.path)?.allObjects as? [String] ?? []
        for name in names {
            var isDirectory: ObjCBool = false
            let path = directory.appendingPathComponent(name).path
            if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue {
                result[name] = try Data(contentsOf: URL(fileURLWithPath: path))
            }
        }
        return result
    }

    @Test("builds with one and three jobs are byte-identical, and the tileset describes its tiles")
    func deterministic() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let first = directory.appendingPathComponent("first")
        let second = directory.appendingPathComponent("second")
        let input = TestData.helsinki
        let report = try MapBuilder(.init(jobs: 1)).build(input: input, output: first.path)
        #expect(try MapBuilder(.init(jobs: 3)).build(input: input, output: second.path) == report)
        let files = try contents(first)
        #expect(try contents(second) == files)
        let json = try #require(files["tileset.json"])
        let tileset = try JSONDecoder().decode(Tileset.self, from: json)
        #expect(tileset.formatVersion == Tileset.formatVersion)
        #expect(tileset.mapVersion == report.mapVersion && tileset.mapVersion.count == 32)
        #expect(tileset.source == "helsinki.osm.pbf")
        #expect(tileset.attribution == "© OpenStreetMap contributors")
        #expect(tileset.tiles.map(\.id) == tileset.tiles.map(\.id).sorted())
        #expect(tileset.tiles.count * 2 == files.count - 1)
        for entry in tileset.tiles {
            let ranks = try #require(files[entry.ranks.file])
            #expect(ranks.count == entry.ranks.bytes && entry.ranks.sha256.count == 64)
            let bytes = try #require(files[entry.file])
            #expect(bytes.count == entry.bytes && entry.sha256.count == 64)
            let tile = try RoadTile(TileStorage(copying: [UInt8](bytes)))
            #expect(tile.id.rawValue == entry.id)
        }
        #expect(tileset.tiles.reduce(0) { $0 + $1.bytes + $1.ranks.bytes } == report.bytes)
    }

    @Test("tiles built in memory equal the tiles written to files")
    func memory() throws {
        let data = try OSMPBFReader.read(path: TestData.helsinki, jobs: 3)
        let (tiles, report) = try MapBuilder(.init(jobs: 2)).build(data)
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let output = directory.appendingPathComponent("tiles")
        let written = try MapBuilder().build(input: TestData.helsinki, output: output.path)
        #expect(written == report)
        for tile in tiles {
            #expect(try [UInt8](Data(contentsOf: output.appendingPathComponent(tile.id.path))) == tile.bytes)
        }
    }

    @Test("an existing tileset is replaced; any other directory is left untouched")
    func replacement() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let output = directory.appendingPathComponent("tiles")
        let builder = MapBuilder(.init(jobs: 2))
        _ = try builder.build(input: TestData.helsinki, output: output.path + "/")
        let first = try contents(output)
        try Data("stale".utf8).write(to: output.appendingPathComponent("stale.road"))
        _ = try builder.build(input: TestData.helsinki, output: output.path)
        #expect(try contents(output) == first)
        // No temporary files remain.
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["tiles"])

        let foreign = directory.appendingPathComponent("home")
        try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: foreign.appendingPathComponent("letter.txt"))
        for path in [foreign.path, foreign.appendingPathComponent("letter.txt").path] {
            #expect { try builder.build(input: TestData.helsinki, output: path) } throws: {
                ($0 as? MapBuildError)?.code == .outputExists
            }
        }
        #expect(try contents(foreign) == ["letter.txt": Data("mine".utf8)])
    }

    @Test("a link to a directory is kept and the directory replaced; a dangling link is refused")
    func link() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let (output, link) = (directory.appendingPathComponent("tiles"), directory.appendingPathComponent("current"))
        let files = FileManager.default
        try files.createSymbolicLink(atPath: link.path, withDestinationPath: "tiles")
        let builder = MapBuilder(.init(jobs: 2))
        #expect { try builder.build(input: TestData.helsinki, output: link.path) } throws: {
            ($0 as? MapBuildError)?.code == .outputExists
        }
        try files.createDirectory(at: output, withIntermediateDirectories: true)
        for _ in 0..<2 {
            _ = try builder.build(input: TestData.helsinki, output: link.path)
            let built = try contents(output)
            #expect(built["tileset.json"] != nil && built["stale.road"] == nil)
            #expect(try files.destinationOfSymbolicLink(atPath: link.path) == "tiles")
            #expect(try files.contentsOfDirectory(atPath: directory.path).sorted() == ["current", "tiles"])
            try Data("stale".utf8).write(to: output.appendingPathComponent("stale.road"))
        }
    }

    @Test("a path that ends in a dot denotes the directory")
    func dot() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let output = directory.appendingPathComponent("tiles")
        try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
        for path in [output.path + "/.", output.path + "/../tiles/./"] {
            _ = try MapBuilder(.init(jobs: 2)).build(input: TestData.helsinki, output: path)
            #expect(try contents(output)["tileset.json"] != nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["tiles"])
        }
    }

    @Test("a mounted file system as output directory is refused before the input is read")
    func mounted() {
        #expect { try MapBuilder().build(input: "/nowhere.osm.pbf", output: "/proc") } throws: {
            let error = $0 as? MapBuildError
            return error?.code == .unwritable && error?.path == "/proc"
        }
    }

    @Test("a failed build leaves an older tileset unchanged")
    func failure() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let output = directory.appendingPathComponent("tiles")
        _ = try MapBuilder().build(input: TestData.helsinki, output: output.path)
        let before = try contents(output)
        let cut = directory.appendingPathComponent("cut.osm.pbf")
        try Data(contentsOf: URL(fileURLWithPath: TestData.helsinki)).prefix(300_000).write(to: cut)
        #expect(throws: MapBuildError.self) { try MapBuilder().build(input: cut.path, output: output.path) }
        #expect(try contents(output) == before)
    }

    @Test("an output directory that cannot be created is reported before the input is read")
    func unwritable() {
        let output = "/proc/nowhere/tiles"
        #expect { try MapBuilder().build(input: "/nowhere.osm.pbf", output: output) } throws: {
            let error = $0 as? MapBuildError
            return error?.code == .unwritable && error?.path.hasPrefix(output) == true
        }
    }

    @Test("a report in JSON lists warnings and restrictions by reason")
    func reportAsJSON() throws {
        var report = BuildReport()
        report.warnings = [.missingNodes: 3]
        report.restrictionProblems = [.ambiguous: 2]
        let json = try JSONEncoder().encode(report)
        let text = String(decoding: json, as: UTF8.self)
        #expect(text.contains("\"warnings\":{\"missingNodes\":3}"))
        #expect(text.contains("\"restrictionProblems\":{\"ambiguous\":2}"))
        #expect(try JSONDecoder().decode(BuildReport.self, from: json) == report)
    }

    @Test("progress passes through all phases in order and reaches the end of each")
    func progress() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let heard = Mutex<[(BuildPhase, Double)]>([])
        _ = try MapBuilder(.init(jobs: 2)).build(
            input: TestData.helsinki, output: directory.appendingPathComponent("tiles").path
        ) { phase, fraction in heard.withLock { $0.append((phase, fraction)) } }
        let steps = heard.withLock { $0 }
        var phases: [BuildPhase] = []
        for (phase, _) in steps where phases.last != phase { phases.append(phase) }
        #expect(phases == BuildPhase.allCases)
        for phase in BuildPhase.allCases {
            let fractions = steps.filter { $0.0 == phase }.map(\.1)
            #expect(fractions == fractions.sorted() && fractions.last == 1)
        }
    }
}
