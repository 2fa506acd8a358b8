import Foundation
import Glibc
import NavTestSystem
import Testing

/// Programs with full disks, closed outputs, crashes, and files that change under them.
struct OperatorTests {
    /// Every command that prints reports a full disk and fails.
    @Test func unwritableOutputIsAnError() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            try box.write("pairs.csv", "from_lat,from_lon,to_lat,to_lon\n\(Town.from),\(Town.to)\n")
            let calls = [
                "navbus --help", "navbus --version", "navbus map info '\(tiles)'",
                "navbus map junction --tiles '\(tiles)' 60.1700,24.9400 --radius 500", "navbus bag info '\(drive)'",
                "navbus route --tiles '\(tiles)' --from \(Town.from) --to \(Town.to)",
                "navbus route --tiles '\(tiles)' --batch pairs.csv", "navbus match --tiles '\(tiles)' '\(drive)'",
                "navbus simulate --tiles '\(tiles)' --from \(Town.from) --to \(Town.to) --out o.mcap --json",
                "gnss-node --print-config",
            ]
            for call in calls {
                for output in ["> /dev/full", ">&-"] {
                    let result = try await box.start("/bin/sh", ["-c", "\(call) \(output)"]).wait()
                    #expect(result.status == 1, "\(call) \(output): \(result.errors)")
                    #expect(result.errors.contains("standard output cannot be written"), "\(call): \(result.errors)")
                }
                let piped = try await box.start("/bin/bash", ["-c", "set -o pipefail; \(call) | true"]).wait()
                #expect(piped.status == 0, "\(call): \(piped.errors)")
            }
        }
    }

    @Test func nodeContinuesWithAnUnwritableLogAndReportsIt() async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            for output in ["2> /dev/full", "2>&-"] {
                let node = try box.start("/bin/sh", ["-c", "exec navigation-node --set 'tiles=\(tiles)' \(output)"])
                try await box.announces("/nav/state", node: "navigation-node")
                let health = try await box.succeed(
                    "navbus", ["topic", "echo", "/health/navigation-node", "--count", "2", "--json"])
                let lines = health.outputLines.last.map(String.init) ?? ""
                let count = try #require(lines.firstRange(of: "log_lines_unwritten\",\"value\":\""), "\(lines)")
                #expect(lines[count.upperBound] != "0", "\(output): \(lines)")
                node.send(SIGTERM)
                #expect(try await node.wait().status == 0)
            }
        }
    }

    @Test func tripThatCannotBeSavedIsLogged() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let settings = ["tiles=\(tiles)", "destination=\(Town.to)", "state.path=\(box.path)/nowhere/trip"]
            let node = try box.start("navigation-node", settings.flatMap { ["--set", $0] })
            try await box.announces("/nav/progress", node: "navigation-node")
            try box.start("navbus", ["bag", "play", drive, "--rate", "20"])
            try await node.says("the trip cannot be saved: ")
            #expect(node.exitStatus == nil)
        }
    }

    /// The process writes the crash report itself: a debugger would hold the node's lock for minutes.
    @Test(arguments: [SIGSEGV, SIGILL, SIGABRT])
    func crashedNodeReportsItsLocationAndLeavesTheBus(signal: Int32) async throws {
        try await withSandbox { box in
            let tiles = try await Town.shared.tiles
            for _ in 0..<2 {
                let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)"])
                // The announcement may still be that of the previous run.
                try await node.says(" edges")
                node.send(signal)
                let result = try await node.wait()
                #expect(result.status == 128 + signal)
                #expect(result.errors.contains("navigation-node: crashed: SIG"), "\(result.errors)")
                // The report has a stack frame, whichever thread received the signal.
                #expect(result.errors.contains("(+0x"), "\(result.errors)")
                #expect(!result.errors.contains("Backtrac"), "\(result.errors)")
            }
        }
    }

    @Test func onlyBagsOfTheSameCommandAreReplaced() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let route = ["--tiles", tiles, "--from", Town.from, "--to", Town.to]
            try box.write("notes.mcap", "precious")
            for call in [["simulate"] + route, ["replay", drive, "--tiles", tiles]] {
                let refused = try await box.start("navbus", call + ["--out", "notes.mcap"]).wait()
                #expect(refused.status == 1 && refused.errors.contains("--overwrite"), "\(refused.errors)")
                #expect(readFile(box.path + "/notes.mcap") == "precious")
                try await box.succeed("navbus", call + ["--out", "\(call[0]).mcap"])
                try await box.succeed("navbus", call + ["--out", "\(call[0]).mcap"])
            }
            let back = try await box.start("navbus", ["replay", drive, "--tiles", tiles, "--out", "simulate.mcap"])
                .wait()
            #expect(back.status == 1, "a drive is not replaced by its replay")
            let other = try await box.start("navbus", ["simulate"] + route + ["--out", "replay.mcap"]).wait()
            #expect(other.status == 1, "a bag of another command is not replaced")
            try await box.succeed("navbus", ["simulate"] + route + ["--out", "notes.mcap", "--overwrite"])
            let left = try FileManager.default.contentsOfDirectory(atPath: box.path).filter { $0.contains("partial") }
            #expect(left.isEmpty)
        }
    }

    @Test(arguments: ["inf", "-inf", "nan", "1e308", "-1", "1e20"])
    func invalidDistancesOfTheSimulatorAreErrors(distance: String) async throws {
        try await withSandbox { box in
            let result = try await box.start(
                "navbus",
                ["simulate", "--tiles", "t", "--from", "1,1", "--to", "2,2", "--deviate-at=\(distance)", "--out", "o"]
            ).wait()
            #expect(result.status == 2 && result.errors.contains("--deviate-at"), "\(result.errors)")
        }
    }

    /// Map files are truncated, overwritten, removed and restored while a node uses them.
    @Test func nodeSurvivesChangesOfItsMapFiles() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await box.copyTiles(), try await Town.shared.drive)
            let whole = try await Town.shared.tiles
            try await box.succeed("navbus", ["map", "build", Project.map, "--out", "other", "--country", "PT"])
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/state", node: "navigation-node")
            let player = try box.start(
                "navbus", ["bag", "play", drive, "--rate", "5", "--subscribers", "1"])
            let deeds = [
                "find '\(tiles)' -name '*.road' -exec truncate -s 4096 {} +", "cp -r other/. '\(tiles)/'",
                "find '\(tiles)' -type f -exec truncate -s 0 {} +", "cp -r '\(whole)/.' '\(tiles)/'",
                "rm -rf '\(tiles)'/*", "cp -r other/. '\(tiles)/'",
                "find '\(tiles)' -name '*.rank' -exec sh -c 'head -c 9999 /dev/urandom > $1' _ {} ';'",
                "cp -r '\(whole)/.' '\(tiles)/'",
            ]
            for round in 0..<4 {
                for deed in deeds {
                    try await box.succeed("/bin/sh", ["-c", deed])
                    // The node checks its files once a second, so it detects only some of the changes.
                    try await Task.sleep(for: .milliseconds(round % 2 == 0 ? 100 : 700))
                    try #require(node.exitStatus == nil, "\(deed): \(node.errors.suffix(2_000))")
                }
            }
            try await node.says("the tiles on disk match their tileset again")
            #expect(
                node.errors.contains("the map keeps the tiles in memory")
                    || node.errors.contains("the map is unchanged"))
            try await box.succeed("navbus", ["topic", "echo", "/nav/progress", "--count", "3"])
            for program in [player, node] {
                program.send(SIGTERM)
                #expect(try await program.wait().status == 0)
            }
        }
    }
}
