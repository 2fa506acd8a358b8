import Foundation
import Glibc
import NavTestKit
import NavTestSystem
import Testing

/// A vehicle that gets its road tiles from a real tile server through the tile cache, on a failing network.
@Suite(.enabled(if: Nginx.program != nil, "needs nginx: set NAVBUS_NGINX to the program"))
struct CacheDriveTests {
    /// The folder in which the cache provides the road tiles in use.
    private static func tiles(_ box: Sandbox) -> String { box.path + "/store/tilesets/roads/current" }

    /// Starts the cache and waits until it has the list of tiles.
    private func startCache(_ box: Sandbox, _ url: String, _ more: [String]) async throws -> Program {
        let cache = try box.start(
            "tile-cache-node",
            ["--set", "store.path=\(box.path)/store", "--set", "tilesets=name=roads,source=\(url)"] + more)
        try await eventually("the tileset list exists", detail: { "no \(Self.tiles(box))/tileset.json" }) {
            FileManager.default.fileExists(atPath: Self.tiles(box) + "/tileset.json")
        }
        return cache
    }

    /// Returns the tiles that the route through town lacks, as the navigation node reports them.
    private func coverage(_ box: Sandbox) async throws -> [String: Any] {
        func place(_ text: String) -> String {
            let parts = text.split(separator: ",")
            return "{\"latitude\": \(parts[0]), \"longitude\": \(parts[1])}"
        }
        let answer = try await box.succeed(
            "navbus",
            [
                "service", "call", "--wait", "navbus.v1.Navigation/Coverage",
                "{\"waypoints\": [\(place(Town.from)), \(place(Town.to))]}",
            ])
        return try #require(try json(answer.output) as? [String: Any])
    }

    @Test func navigationWaitsForTheTilesetOfTheCache() async throws {
        try await withSandbox { box in
            let server = try Nginx(serving: try await Town.shared.tiles)
            let navigation = try box.start("navigation-node", ["--set", "tiles=\(Self.tiles(box))"])
            try await navigation.says("waiting for the tile cache to provide the tileset")
            _ = try await startCache(box, server.url, [])
            try await box.announces("/nav/state", node: "navigation-node")
            let waiting = try box.start(
                "navigation-node", ["--name", "second", "--set", "tiles=/nowhere/tilesets/roads/current"])
            try await waiting.says("waiting for the tile cache to provide the tileset")
            waiting.send(SIGTERM)
            #expect(try await waiting.wait().status == 0)
        }
    }

    @Test func rerouteUsesTheCacheWhenTheServerStops() async throws {
        try await withSandbox { box in
            let server = try Nginx(serving: try await Town.shared.tiles)
            _ = try await startCache(box, server.url, ["--set", "predictive.enabled=true"])
            // No tile is stored yet; the tiles arrive while the vehicle is stationary.
            let navigation = try box.start(
                "navigation-node",
                ["--set", "tiles=\(Self.tiles(box))", "--set", "destination=\(Town.to)", "--set", "sim_time=true"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let drive = box.path + "/drive.mcap"
            try await box.succeed(
                "navbus", Town.simulation(tiles: try await Town.shared.tiles, to: drive, ["--deviate-at", "1200"]))
            let player = try box.start(
                "navbus", ["bag", "play", drive, "--rate", "8", "--topics", "/gnss/fix", "--subscribers", "1"])
            try await navigation.says("state GUIDANCE TRACKING")
            try await eventually("all tiles of the route are stored") {
                let covered = try await coverage(box)
                let wanted = try #require(covered["wanted_count"] as? Int)
                return covered["present_count"] as? Int == wanted
            }
            server.stop()
            try await navigation.says("reroute WILL_REROUTE")
            try await navigation.says("reroute APPLIED")
            try await navigation.says("arrival ARRIVED destination")
            _ = try await player.wait()
            navigation.send(SIGINT)
            let result = try await navigation.wait()
            #expect(!(result.output + result.errors).contains("MISSING_TILES"))
        }
    }

    @Test func missingTilesAreReportedWithoutANetwork() async throws {
        try await withSandbox { box in
            let server = try Nginx(serving: try await Town.shared.tiles)
            // The list of tiles is available, but no tile has been requested yet.
            let before = try await startCache(box, server.url, [])
            before.send(SIGTERM)
            #expect(try await before.wait().status == 0)
            let answered = server.answeredCount
            #expect(answered > 0)
            _ = try await startCache(box, server.url, ["--offline"])
            try box.start("navigation-node", ["--set", "tiles=\(Self.tiles(box))"])
            let covered = try await coverage(box)
            let missing = try #require(covered["missing"] as? [[String: Any]])
            #expect(missing.count >= 2 && covered["present_count"] as? Int ?? 0 == 0)
            let request = """
                {"origin": {"latitude": 60.1655, "longitude": 24.9375}, \
                "waypoints": [{"latitude": 60.1765, "longitude": 24.9505}]}
                """
            let answer = try await box.run(
                "navbus", ["service", "call", "navbus.v1.Navigation/CalculateRoute", request])
            #expect(answer.status == 1)
            let last = try #require(answer.outputLines.last)
            let error = try #require((try json(last) as? [String: Any])?["error"] as? [String: Any])
            #expect(error["code"] as? String == "ERROR_CODE_MISSING_TILES", "\(error)")
            #expect((error["missing_tiles"] as? [Any])?.isEmpty == false)
            #expect(server.answeredCount == answered)
        }
    }
}
