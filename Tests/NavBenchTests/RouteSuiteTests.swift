import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The route suite as a program, on the map of Helsinki in the fixtures: its output, and that its checks pass.
/// Times are never checked.
struct RouteSuiteTests {
    private func bench(_ arguments: [String]) throws -> Programs.Result {
        try Programs.run("navbus-bench", ["route"] + arguments)
    }

    private func figures(_ text: String) throws -> [String: Double] {
        var result: [String: Double] = [:]
        for line in text.split(separator: "\n") {
            let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            result[try #require(row["name"] as? String)] = row["value"] as? Double
        }
        return result
    }

    private let map = Fixtures.helsinki

    @Test func everyDocumentedFigureExistsAndEveryCheckPasses() throws {
        let run = try bench(["--map", map, "--quick", "--json"])
        try #require(run.status == 0, "\(run.errors)")
        let found = try figures(run.output)
        for name in [
            "route.snap.p50", "route.local.p50", "route.local.p99", "route.random.p50", "route.random.p99",
            "route.query.p50", "route.query.unpack.p99", "route.full.p50", "route.full.p99", "route.alternatives.p50",
            "route.alternatives.p99", "route.alternatives.mean_routes", "route.customise.all",
            "route.customise.all.2threads", "route.traffic.all", "route.rebuild.all", "route.dijkstra.p50",
            "map.build.seconds", "map.build.rss_mb", "map.build.tile_mb",
        ] { #expect((found[name] ?? 0) > 0, "\(name)") }
        #expect(found["route.check.checked"].map { $0 > 0 } == true)
        #expect(found["route.check.wrong"] == 0)
        #expect(found["route.alternatives.check.violations"] == 0)
        for word in ["map ", "pairs ", "clock ", "build "] { #expect(run.errors.contains(word)) }
    }

    @Test func savedPairsAreReproducibleAndReusable() throws {
        let folder = try TemporaryFolder()
        var files: [String] = []
        for (number, seed) in ["7", "7", "8"].enumerated() {
            let file = "\(folder.path)/\(number).csv"
            let run = try bench([
                "--map", map, "--quick", "--json", "--only", "queries", "--match", "route.snap", "--seed", seed,
                "--save-pairs", file,
            ])
            try #require(run.status == 0, "\(run.errors)")
            files.append(try String(contentsOfFile: file, encoding: .utf8))
        }
        #expect(files[0] == files[1] && files[0] != files[2])
        #expect(files[0].split(separator: "\n").count == 41)
        let run = try bench([
            "--map", map, "--quick", "--json", "--only", "queries", "--match", "route.local", "--pairs",
            folder.path + "/0.csv",
        ])
        #expect(run.status == 0 && run.errors.contains("20 local, 20 random"), "\(run.errors)")
    }

    @Test(arguments: [
        ([], "give --tiles DIR or --map FILE.osm.pbf"),
        (["--tiles", "/nowhere", "--only", "dance"], "'dance' is not a part of the suite"),
        (["--tiles", "/nowhere", "--only", "build"], "the build part needs --map"),
        (["--tiles", "/nowhere", "--count", "0"], "--count takes 1 to 100000"),
        (["--tiles", "/nowhere", "--pairs", "a", "--save-pairs", "b"], "--save-pairs and --pairs exclude each other"),
    ])
    func invalidArgumentsAreExplained(arguments: [String], complaint: String) throws {
        let run = try bench(arguments)
        #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(complaint), "\(run)")
    }

    @Test(arguments: ["from_lat\n1,2,3,4\n", "kind,from_lat,from_lon,to_lat,to_lon\nlocal,1,2,3\n"])
    func invalidPairsFileIsRefused(content: String) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("pairs.csv", content.utf8)
        let run = try bench(["--map", map, "--quick", "--only", "queries", "--pairs", file])
        #expect(run.status == 1 && run.errors.contains(file), "\(run)")
    }

    @Test func missingMapIsReported() throws {
        let run = try bench(["--map", "/nowhere/x.osm.pbf", "--quick"])
        #expect(run.status == 1 && run.errors.contains("/nowhere/x.osm.pbf"), "\(run)")
    }
}
