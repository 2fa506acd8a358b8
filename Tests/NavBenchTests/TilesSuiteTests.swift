import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The tile cache suite as a program, on the map of Helsinki in the fixtures: its output, and that its counts are
/// complete. Times are never checked.
struct TilesSuiteTests {
    private func figures(_ text: String) throws -> [String: [String: Any]] {
        var result: [String: [String: Any]] = [:]
        for line in text.split(separator: "\n") {
            let row = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            result[try #require(row["name"] as? String)] = row
        }
        return result
    }

    @Test func plansStoreAndLookupsNeedNoMapAndNoServer() throws {
        let run = try Programs.run("navbus-bench", ["tiles", "--only", "plan,store,durable", "--quick", "--json"])
        try #require(run.status == 0, "\(run.errors)")
        let found = try figures(run.output)
        for name in [
            "tiles.plan_50km", "tiles.plan_500km", "tiles.plan_500km.p99", "tiles.plan_5000km", "tiles.fix.p50",
            "tiles.fix.p99", "tiles.store.insert", "tiles.store.index", "tiles.store.check", "tiles.lookup.p50",
            "tiles.lookup.p99", "tiles.lookup.miss.p99", "tiles.durable.128files.p50",
        ] { #expect((found[name]?["value"] as? Double ?? 0) > 0, "\(name)") }
        #expect(found["tiles.plan_500km"]?["unit"] as? String == "ms")
        #expect(found["tiles.durable.128files.p50"]?["peer"] as? String == "syncfs")
        // A longer route has more tiles.
        let tiles = ["50", "500", "5000"].compactMap { found["tiles.plan_\($0)km.tiles"]?["value"] as? Double }
        #expect(tiles.count == 3 && tiles == tiles.sorted() && Set(tiles).count == 3)
    }

    @Test(
        .enabled(
            if: Nginx.program != nil && FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"),
            "nginx, which NAVBUS_NGINX may name, and curl are not installed"))
    func driveFindsItsTilesAndDownloadIsComplete() throws {
        let home = try TemporaryFolder()
        let folder = home.path + "/tiles"
        let nginx = try #require(Nginx.program)
        let built = try Programs.run("navbus", ["map", "build", Fixtures.helsinki, "--out", folder])
        try #require(built.status == 0)
        let run = try Programs.run(
            "navbus-bench",
            ["tiles", "--tiles", folder, "--nginx", nginx, "--only", "node,drive,download", "--quick", "--json"])
        try #require(run.status == 0, "\(run.errors)")
        let found = try figures(run.output)
        for name in ["tiles.node.fix.p50", "tiles.node.missing.plan_50km", "tiles.node.missing.fix.p99"] {
            #expect((found[name]?["value"] as? Double ?? 0) > 0, "\(name)")
        }
        // The vehicle starts once it has the tiles that it needs.
        #expect((found["tiles.drive.hits"]?["value"] as? Double ?? 0) > 0)
        #expect((found["tiles.drive.fetched"]?["value"] as? Double ?? 0) > 0)
        for (name, peer) in [
            ("roads", "curl --parallel"), ("map", "curl --parallel"), ("packed", "curl --parallel --compressed"),
            ("roads.mobile", "curl --parallel"), ("map.mobile", "curl --parallel"),
        ] {
            let figure = found["tiles.download.\(name)"]
            #expect((figure?["value"] as? Double ?? 0) > 0 && (figure?["peer_value"] as? Double ?? 0) > 0, "\(name)")
            #expect(figure?["peer"] as? String == peer)
        }
        #expect(run.errors.contains("Mbit/s") && run.errors.contains("nginx on loopback"))
    }

    @Test(arguments: [
        ([], "give --tiles DIR"),
        (["--only", "dance"], "'dance' is not a part of the suite"),
        (["--only", "drive"], "give --tiles DIR"),
        (["--only", "store", "--count", "1"], "--count takes 100 to 10000000"),
        (["--only", "plan", "--pace", "0"], "--pace takes 0.1 to 100"),
    ])
    func invalidArgumentsAreExplained(arguments: [String], complaint: String) throws {
        let run = try Programs.run("navbus-bench", ["tiles", "--quick"] + arguments)
        #expect(run.status == 2 && run.output.isEmpty && run.errors.contains(complaint), "\(run)")
    }

    @Test(arguments: [
        (["--only", "node", "--nginx", "/nowhere/nginx"], "/nowhere/nginx"),
        (["--only", "durable", "--folder", "/nowhere/disk"], "/nowhere/disk"),
        (["--only", "drive", "--tiles", "/nowhere/tiles"], "/nowhere/tiles"),
    ])
    func missingPathIsNamed(arguments: [String], name: String) throws {
        let run = try Programs.run("navbus-bench", ["tiles", "--quick"] + arguments)
        #expect(run.status == 1 && run.errors.contains(name), "\(run)")
    }
}
