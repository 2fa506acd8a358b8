import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// Processes that end cleanly on a signal and, when killed, do not affect others.
struct SignalTests {
    @Test(arguments: [SIGINT, SIGTERM])
    func everyProcessEndsCleanlyOnRequest(signal: Int32) async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--out", "live.mcap"])
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            let gnss = try box.start("gnss-node", ["--set", "source=\(drive)", "--remap", "/gnss/fix:=/rear/fix"])
            let echo = try box.start("navbus", ["topic", "echo", "/nav/progress"])
            let hz = try box.start("navbus", ["topic", "hz", "/gnss/fix"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let player = try box.start("navbus", ["bag", "play", drive, "--rate", "20", "--subscribers", "3"])
            try await eventually("progress is echoed", detail: { echo.errors + player.errors }) {
                echo.output.split(separator: "\n").count >= 10
            }
            try await gnss.says("first fix published")

            for program in [player, gnss, node, echo, hz] {
                program.send(signal)
                let result = try await program.wait()
                #expect(result.status == 0, "\(program.name): \(result.errors)")
            }
            recorder.send(signal)
            let recorded = try await recorder.wait()
            #expect(recorded.status == 0 && recorded.output.contains("messages"), "\(recorded.errors)")
            #expect(!recorded.output.contains("lost"), "\(recorded.output)")

            let info = try await box.succeed("navbus", ["bag", "info", "live.mcap"])
            #expect(!info.output.contains("no usable index"), "\(info.output)")
            let counts = try topicCounts(
                of: try await box.succeed("navbus", ["bag", "info", "live.mcap", "--json"]).output)
            #expect(counts["/nav/progress", default: 0] >= 10)
            #expect(counts["/rear/fix", default: 0] >= 1)
            #expect(try FileManager.default.contentsOfDirectory(atPath: box.path + "/b/0").isEmpty)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func aLaunchStopsItsProcessesAndEndsCleanly(signal: Int32) async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            try box.write(
                "drive.yaml",
                """
                nodes:
                  - name: recorder
                    executable: navbus
                    args: [bag, record, --out, live.mcap]
                  - name: navigation-node
                    executable: navigation-node
                    set: {tiles: "\(tiles)", destination: "\(Town.to)"}
                  - name: player
                    executable: navbus
                    args: [bag, play, "\(drive)", --rate, 20, --subscribers, 2]
                    required: true
                """)
            let launch = try box.start("navbus", ["launch", "drive.yaml"])
            try await launch.says("say: ")
            launch.send(signal)
            let result = try await launch.wait()
            #expect(result.status == 0, "\(result.errors)\n\(result.output)")
            let bag = result.status == 0 ? try await recordedBag(in: box) : box.path + "/live.mcap"
            let info = try await box.succeed("navbus", ["bag", "info", bag])
            #expect(!info.output.contains("no usable index"), "\(info.output)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: box.path + "/b/0").isEmpty)
        }
    }

    private func recordedBag(in box: Sandbox) async throws -> String {
        try #require(FileManager.default.fileExists(atPath: box.path + "/live.mcap"))
        return box.path + "/live.mcap"
    }

    @Test func killedRecorderLeavesAReadableBag() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--out", "live.mcap"])
            try await eventually("the recorder has joined") {
                FileManager.default.fileExists(atPath: box.path + "/b/0/recorder/announcement.json")
            }
            // The recorder closes a chunk each second, so a kill loses at most one second.
            try box.start("navbus", ["bag", "play", drive, "--rate", "20", "--loop"])
            try await eventually("fixes are on disk") {
                let info = try await box.run("navbus", ["bag", "info", "live.mcap", "--json"])
                guard info.status == 0 else { return false }
                return try topicCounts(of: info.output)["/gnss/fix", default: 0] > 0
            }
            recorder.send(SIGKILL)
            #expect(try await recorder.wait().status == 128 + SIGKILL)
            let info = try await box.succeed("navbus", ["bag", "info", "live.mcap"])
            #expect(info.output.contains("no usable index"))
            let counts = try topicCounts(
                of: try await box.succeed("navbus", ["bag", "info", "live.mcap", "--json"]).output)
            #expect(counts["/gnss/fix", default: 0] > 0)
            try await box.succeed("navbus", ["replay", "live.mcap", "--tiles", tiles, "--out", "o.mcap"])
        }
    }

    @Test func theNameOfAKilledNodeIsFreeAtOnce() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let arguments = ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"]
            let first = try box.start("navigation-node", arguments)
            let echo = try box.start("navbus", ["topic", "echo", "/nav/progress"])
            try await box.announces("/nav/progress", node: "navigation-node")
            try box.start("navbus", ["bag", "play", drive, "--rate", "10", "--subscribers", "1"])
            try await eventually("progress of the first node") { !echo.output.isEmpty }
            first.send(SIGKILL)
            #expect(try await first.wait().status == 128 + SIGKILL)

            let heard = echo.output.split(separator: "\n").count
            let second = try box.start("navigation-node", arguments)
            // The second node receives from the player, and the listener receives from the second node.
            try await eventually("progress of the second node", detail: { second.errors }) {
                echo.output.split(separator: "\n").count > heard + 5
            }
            #expect(second.exitStatus == nil)
        }
    }

    @Test func closedPipeEndsTheWriterQuietly() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let command = "set -o pipefail; navbus match --tiles '\(tiles)' '\(drive)' | head -n 1"
            let result = try await box.run("/bin/bash", ["-c", command])
            #expect(result.status == 0 && result.errors.isEmpty, "\(result.status): \(result.errors)")
            #expect(result.outputLines.count == 1)
        }
    }

    @Test func anInterruptedCommandLeavesNoPartOfItsOutput() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            let fast = ["--rate", "1000", "--odometry", "1000"]
            try await box.succeed("navbus", Town.simulation(tiles: tiles, to: "long.mcap", fast))
            func outputs() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: box.path).filter { $0.hasPrefix("out") }
            }
            // Each command runs for seconds.
            for (signal, arguments) in [
                (SIGINT, ["merge"] + [String](repeating: "long.mcap", count: 20) + ["-o", "out.mcap"]),
                (SIGTERM, ["convert", "long.mcap", "-o", "out"]),
            ] {
                let program = try box.start("navbus", ["bag"] + arguments)
                try await eventually("\(program.name) writes", detail: { program.errors }) {
                    try outputs().contains { $0.contains(".partial-") }
                }
                program.send(signal)
                #expect(try await program.wait().status == 128 + signal)
                #expect(try outputs() == [])
            }
        }
    }
}
