import Foundation
import Glibc
import NavTestKit
import NavTestSystem
import Testing

/// Network modes while offline regions are loaded and updated from a real tile server.
@Suite(.enabled(if: Nginx.program != nil, "needs nginx: set NAVBUS_NGINX to the program"))
struct CacheNetworkTests {
    private static let town = ["--circle", "41.15,-8.61,9000"]
    private static let country = ["--circle", "41.15,-8.61,60000"]

    private func set(_ box: Sandbox, _ key: String, _ value: String) async throws {
        try await box.succeed("navbus", ["node", "params", "tile-cache-node", "set", "network.\(key)=\(value)"])
    }

    /// Returns the edition in use from the folder that a navigation node maps; nil if it is not one complete edition.
    private func edition(_ box: Sandbox, _ tiles: [MadeUpRoads.Tile]) throws -> Int? {
        let current = box.path + "/store/tilesets/roads/current/"
        let list = try #require(try json(readFile(current + "tileset.json") ?? "") as? [String: Any])
        let edition = try #require(Int((list["mapVersion"] as? String ?? "").dropFirst("edition".count)))
        let isWhole = tiles.allSatisfy { tile in
            ["road", "rank"].allSatisfy { readBytes("\(current)\(tile.path).\($0)") == tile.content(edition, $0) }
        }
        return isWhole ? edition : nil
    }

    @Test func meteredAndOfflineModesPauseLoadsUntilTheNetworkIsBack() async throws {
        try await withSandbox { box in
            let roads = MadeUpRoads(in: box)
            try await roads.publish(1)
            let server = try Nginx(serving: roads.served)
            try box.start(
                "tile-cache-node",
                [
                    "--set", "store.path=\(box.path)/store", "--set", "tilesets=name=roads,source=\(server.url)",
                    "--set", "region.retry_s=1", "--set", "edition.check_interval_s=1",
                ])
            try await box.announces("/tiles/state", node: "tile-cache-node")
            try await box.succeed("navbus", ["region", "load", "town"] + Self.town)
            // Slow enough that loading is incomplete when the network mode changes, even on a fast machine.
            try await set(box, "bandwidth_kbps", "24")
            let load = try box.start("navbus", ["region", "load", "country", "--json"] + Self.country)
            try await load.says("completed_count", times: 2)

            // Regions wait for an unmetered network; tiles that are requested are still fetched.
            try await set(box, "mode", "metered")
            let result = try await load.wait()
            #expect(result.status == 1 && result.errors.contains("metered"), "\(result.errors)")
            let listed = try await box.succeed("navbus", ["region", "list"])
            #expect(listed.output.contains(#/country +incomplete/#) && listed.output.contains(#/town +complete/#))
            let sent = Set(server.sentFiles)
            let other = try #require(
                MadeUpRoads.tiles.last { $0.zoom == 12 && !sent.contains("\(roads.folder(1))/\($0.path).road") })
            let key = #"{"domain": "TILE_DOMAIN_NAVIGATION", "zoom": 12, "x": \#(other.x), "y": \#(other.y)}"#
            let asked = try await box.succeed(
                "navbus", ["service", "call", "navbus.v1.TileCache/GetTile", #"{"key": \#(key)}"#])
            let tile = try #require(try json(asked.output) as? [String: Any])
            #expect((tile["data"] as? String).flatMap { Data(base64Encoded: $0) } == Data(other.content(1, "road")))

            // A newer edition is found on request but not loaded: the town stays complete in its edition.
            try await roads.publish(2)
            try await box.succeed("navbus", ["region", "update", "town", "--revalidate"])
            try await eventually("the update waits for the network") {
                try await box.succeed("navbus", ["region", "list", "town", "--json"]).output.contains("metered")
            }
            let town = MadeUpRoads.tiles.filter { (1948...1950).contains($0.x) && (1532...1533).contains($0.y) }
            #expect(try edition(box, town) == 1)

            // Offline, no request is sent.
            try await set(box, "mode", "offline")
            let count = server.answeredCount
            #expect(try edition(box, town) == 1)
            let refused = try await box.run("navbus", ["region", "load", "country"] + Self.country)
            #expect(refused.status == 1 && refused.errors.contains("offline"), "\(refused.errors)")
            #expect(server.answeredCount == count)

            // Online again, the newer edition is loaded completely.
            try await set(box, "bandwidth_kbps", "0")
            try await set(box, "mode", "unmetered")
            try await eventually("both regions are loaded in the newer edition") {
                guard try edition(box, MadeUpRoads.tiles) == 2 else { return false }
                let regions = try await box.succeed("navbus", ["region", "list"]).output
                return regions.contains(#/country +complete/#) && regions.contains(#/town +complete/#)
            }
            let check = try await box.run("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/store"])
            #expect(check.status == 0, "\(check.output)")
        }
    }

    @Test func captivePortalPagesAreNotStoredAndLoadsAreRetried() async throws {
        try await withSandbox { box in
            let roads = MadeUpRoads(in: box)
            try await roads.publish(1)
            let server = try Nginx(
                serving: roads.served,
                "location ~ [.](road|rank)$ { return 302 http://127.0.0.1:1/login; }")
            try box.start(
                "tile-cache-node",
                ["--set", "store.path=\(box.path)/store", "--set", "tilesets=name=roads,source=\(server.url)"])
            try await box.announces("/tiles/state", node: "tile-cache-node")
            // Few tiles, so that each is requested before the circuit breaker opens.
            let load = try await box.run(
                "navbus", ["region", "load", "town", "--json", "--circle", "41.15,-8.61,100"])
            let last = try #require(try json(load.outputLines.last ?? "") as? [String: Any])
            let error = try #require(last["error"] as? [String: Any])
            #expect(error["retryable"] as? Bool == true, "\(error)")
            #expect((last["region"] as? [String: Any])?["state"] as? String == "REGION_STATE_INCOMPLETE", "\(last)")
            let check = try await box.succeed("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/store"])
            #expect(check.output.contains(" 0 tiles, 0 files"), "\(check.output)")
        }
    }
}
