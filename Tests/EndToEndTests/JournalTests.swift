import Foundation
import NavTestSystem
import Testing

/// A drive with calls, traffic and a changed threshold, recorded from several processes and then replayed.
struct JournalTests {
    @Test func journaledCallsAndTrafficAreReplayed() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--out", "live.mcap"])
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let player = try box.start(
                "navbus", ["bag", "play", drive, "--rate", "20", "--subscribers", "2"])
            try await box.succeed("navbus", ["topic", "echo", "/nav/position", "--count", "1", "--timeout", "60"])

            let place = Town.to.split(separator: ",")
            let order = """
                {"calculate": {"waypoints": [{"latitude": \(place[0]), "longitude": \(place[1])}]}}
                """
            try await box.succeed("navbus", ["service", "call", "navbus.v1.Navigation/SetRoute", order])
            try await box.succeed("navbus", ["node", "params", "navigation-node", "set", "reroute.cooldown_s=7"])
            let speeds = """
                {"provider": "test", "speeds": [{"from_node": 1, "to_node": 2, "speed_mps": 5}, \
                {"from_node": 2, "to_node": 3, "closed": true}]}
                """
            // Repeated messages change nothing; a subscriber may have missed the first one.
            try await box.succeed("navbus", ["topic", "pub", "/traffic/speeds", speeds, "--rate", "5", "--count", "4"])
            try await box.succeed("navbus", ["service", "call", "navbus.v1.Navigation/RefreshRoute", "{}"])
            #expect(try await player.wait().status == 0)
            for program in [node, recorder] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0)
            }

            let again = try await box.succeed(
                "navbus", ["replay", "live.mcap", "--journal", "--tiles", tiles, "--out", "again.mcap", "--json"])
            let summary = try #require(try json(again.output) as? [String: Any])
            #expect(summary["difference"] == nil && summary["unrecorded"] as? Int == 0, "\(again.output)")
            #expect((summary["events"] as? Int ?? 0) > 350 && (summary["messages"] as? Int ?? 0) > 1_000)
            #expect(try await box.run("navbus", ["bag", "diff", "live.mcap", "again.mcap"]).status == 0)

            // With other thresholds the replay repeats the commands and reports the differences.
            let replayed = try await box.succeed(
                "navbus",
                [
                    "replay", "live.mcap", "--tiles", tiles, "--out", "other.mcap", "--set", "reroute.detect=false",
                    "--json",
                ])
            #expect((try json(replayed.output) as? [String: Any])?["commands"] as? Int == 2)
            let diff = try await box.run("navbus", ["bag", "diff", "live.mcap", "other.mcap"])
            #expect(diff.status == 1)
            #expect(
                diff.outputLines.contains { $0.hasPrefix("- ") && $0.hasSuffix("reroute APPLIED (OFF_ROUTE)") },
                "\(diff.output)")
        }
    }
}
