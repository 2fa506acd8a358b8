import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// The user interface of `tile-cache-node` and `navbus region`.
struct CacheToolTests {
    private static let centre = "60.17,24.94"

    private func withCache(_ more: [String] = [], _ body: (Sandbox, Program) async throws -> Void) async throws {
        try await withSandbox { box in
            let tiles = try await box.copyTiles()
            let node = try box.start(
                "tile-cache-node",
                ["--set", "store.path=\(box.path)/store", "--set", "tilesets=name=roads,source=\(tiles)"] + more)
            try await node.says("tile store")
            // The node announces its services after it has opened the store.
            try await box.announces("navbus.v1.TileCache", node: "tile-cache-node")
            try await body(box, node)
        }
    }

    @Test func aRegionIsEstimatedLoadedListedAndRemoved() async throws {
        try await withCache { box, node in
            let area = ["--circle", Self.centre + ",1500"]
            let estimate = try #require(
                try json(try await box.succeed("navbus", ["region", "estimate", "--json"] + area).output)
                    as? [String: Any])
            let load = try await box.succeed(
                "navbus", ["region", "load", "centre", "--name", "Helsinki", "--metadata", "trip=1"] + area)
            #expect(load.output.hasPrefix("centre: ") && load.output.contains(" tiles"), "\(load.output)")
            #expect(load.errors.isEmpty)
            let list = try await box.succeed("navbus", ["region", "list"])
            #expect(list.output.contains(#/centre +complete +\d+\/\d+ +.* Helsinki/#), "\(list.output)")
            let one = try #require(
                try json(try await box.succeed("navbus", ["region", "list", "centre", "--json"]).output)
                    as? [String: Any])
            #expect(one["state"] as? String == "REGION_STATE_COMPLETE", "\(one)")
            #expect(
                "\(estimate["tile_count"] ?? "")" == "\((one["progress"] as? [String: Any])?["required_count"] ?? "-")")

            // A GeoJSON line and an area; their tiles are either stored already or loaded now.
            try box.write(
                "route.geojson",
                #"{"type":"LineString","coordinates":[[24.93,60.165],[24.94,60.17],[24.95,60.176]]}"#)
            let along = try await box.succeed(
                "navbus", ["region", "load", "trip", "--along", "route.geojson", "--buffer", "300", "--json"])
            let last = try #require(try json(along.outputLines.last ?? "") as? [String: Any])
            #expect((last["region"] as? [String: Any])?["state"] as? String == "REGION_STATE_COMPLETE", "\(last)")
            let update = try await box.succeed("navbus", ["region", "update", "trip", "--name", "T", "--revalidate"])
            #expect(update.output.hasPrefix("trip: "))
            let cancel = try await box.run("navbus", ["region", "cancel", "centre"])
            #expect(cancel.status == 1 && cancel.errors.contains("not being loaded"), "\(cancel.errors)")

            // The store is consistent, the navigation node's folder exists, and a second cache on the same store is
            // refused.
            let check = try await box.succeed("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/store"])
            #expect(check.output.contains("sound"))
            #expect(FileManager.default.fileExists(atPath: box.path + "/store/tilesets/roads/current/tileset.json"))
            let second = try await box.run(
                "tile-cache-node", ["--name", "other", "--set", "store.path=\(box.path)/store"])
            #expect(second.status == 1 && second.errors.contains("tile-cache-node"), "\(second.errors)")
            let remove = try await box.succeed("navbus", ["region", "remove", "centre"])
            #expect(remove.output == "centre: removed\n")
            let gone = try await box.run("navbus", ["region", "list", "centre"])
            #expect(gone.status == 1 && gone.errors.contains("there is no region 'centre'"), "\(gone.errors)")

            node.send(SIGTERM)
            #expect(try await node.wait().status == 0)
            // The check reports a damaged file and fails.
            let folder = URL(fileURLWithPath: box.path + "/store")
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.allObjects ?? []
            let object = try #require(
                files.compactMap { $0 as? URL }.first { $0.path.contains("/objects/") && !$0.hasDirectoryPath })
            try FileManager.default.removeItem(at: object)
            let broken = try await box.run("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/store"])
            #expect(broken.status == 1 && broken.output.contains("faults"), "\(broken.output)")
            let repaired = try await box.succeed(
                "tile-cache-node", ["--repair", "--set", "store.path=\(box.path)/store"])
            #expect(repaired.output.contains("(repaired)") && repaired.output.contains("all repaired"))
            let sound = try await box.succeed("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/store"])
            #expect(sound.output.contains("sound"))
        }
    }

    @Test func pendingCallsFailAtOnceWhenTheCacheStops() async throws {
        // The source never answers, so a region and a web map wait for their tiles.
        let server = try LoopbackServer { _, _ in .silence }
        try await withSandbox { box in
            let node = try box.start(
                "tile-cache-node",
                [
                    "--set", "store.path=\(box.path)/store", "--set", "http.listen=127.0.0.1:0", "--set",
                    "tilesets=name=map,domain=maps,source=\(server.url)/{z}/{x}/{y}.png,zooms=0-14",
                ])
            try await node.says("tiles for web maps at")
            let port = try #require(node.errors.firstMatch(of: #/at http:\/\/127\.0\.0\.1:(\d+)\//#)?.output.1)
            let map = try box.start(
                "/bin/bash",
                [
                    "-c",
                    #"exec 3<>/dev/tcp/127.0.0.1/$0; printf 'GET /map/3/1/1 HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3; cat <&3"#,
                    "\(port)",
                ])
            let load = try box.start(
                "navbus", ["region", "load", "r", "--circle", Self.centre + ",500", "--tileset", "map:14-14"])
            try await eventually("both wait", detail: { node.errors + load.errors }) {
                server.requests.contains { $0.path.hasPrefix("/3/") }
                    && server.requests.contains { $0.path.hasPrefix("/14/") }
            }
            node.send(SIGTERM)
            let ended = try await node.wait()
            #expect(ended.status == 0 && !ended.errors.contains("EventLoop"), "\(ended.errors)")
            let told = try await load.wait()
            #expect(
                told.status == 1 && told.errors.contains("loading resumes when it restarts"), "\(told.errors)")
            #expect(try await map.wait().output.isEmpty)
        }
    }

    @Test func errorsAreOneLine() async throws {
        try await withCache(["--offline"]) { box, _ in
            try box.write("point.geojson", #"{"type":"Point","coordinates":[1,2]}"#)
            for (arguments, status, says) in [
                (["load", "x"], 2, "--geojson"), (["load", "x", "--circle", "1,2"], 2, "metres"),
                (["load", "x", "--circle", Self.centre + ",9e9"], 2, "500000"),
                (["load", "x", "--circle", "92.5,1.5,5"], 2, "the latitude 92.5 is not within -90 to 90"),
                (["load", "x", "--circle", Self.centre + ",500", "--buffer", "9"], 2, "--along"),
                (["load", "x", "--geojson", "point.geojson"], 1, "Point"),
                (["load", "x", "--geojson", "none.geojson"], 1, "none.geojson"),
                (["load", "x", "--circle", Self.centre + ",500", "--tileset", "sea"], 1, "there is no tileset 'sea'"),
                (["load", "x", "--circle", Self.centre + ",500", "--tileset", "roads:9-3"], 2, "zoom"),
                (["load", "x", "--circle", "0,0,500"], 1, "none of the tilesets"),
                (["remove", "x"], 1, "there is no region 'x'"), (["update", "x"], 2, "nothing to do"),
                (["list", "--node", "nobody"], 1, "nobody"),
            ] as [([String], Int32, String)] {
                let result = try await box.run("navbus", ["region"] + arguments)
                #expect(result.status == status && result.errors.contains(says), "\(arguments): \(result.errors)")
                #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            }
        }
        try await withSandbox { box in
            let none = try await box.run("navbus", ["region", "list"])
            #expect(none.status == 1 && none.errors.contains("no tile cache"), "\(none.errors)")
            let check = try await box.run("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/none"])
            #expect(check.status == 1 && check.errors.contains("none"), "\(check.errors)")
            let wrong = try await box.run("tile-cache-node", ["--set", "tilesets=name=roads"])
            #expect(wrong.status == 2 && wrong.errors.contains("tilesets"), "\(wrong.errors)")
        }
    }
}
