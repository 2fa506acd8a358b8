import Glibc
import NavTestSystem
import Testing

/// Lockstep playback through three processes: the player, the navigation node and the recorder.
@Suite(.serialized)
struct LockstepTests {
    /// Plays the drive in lockstep, optionally with other participants, and returns the recording.
    private func record(
        as name: String, drive: String, tiles: String, in box: Sandbox, with others: [String] = []
    ) async throws -> [UInt8] {
        let domain = ["NAVBUS_DOMAIN": name]
        let recorder = try box.start(
            "navbus", ["bag", "record", "--lockstep", "--out", name + ".mcap"], environment: domain)
        let node = try box.start("navigation-node", Self.node(tiles: tiles), environment: domain)
        let player = try await box.run(
            "navbus", ["bag", "play", drive] + Self.lockstep(with: others), environment: domain)
        #expect(player.status == 0, "\(player.errors)")
        for program in [node, recorder] {
            program.send(SIGINT)
            let result = try await program.wait()
            #expect(result.status == 0, "\(result.errors)")
        }
        return try #require(readBytes("\(box.path)/\(name).mcap"))
    }

    private static func node(tiles: String) -> [String] {
        ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)", "--set", "sim_time=true"]
    }

    private static let lockstep = lockstep(with: [])

    private static func lockstep(with others: [String]) -> [String] {
        let names = (["navigation-node", "recorder"] + others).joined(separator: ",")
        return ["--lockstep", "--wait-for", names, "--wait", "100"]
    }

    @Test func recordingsUnderLoadAreByteIdentical() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            // Competing load at the same priority.
            for _ in 0..<2 { try box.start("/bin/bash", ["-c", "while :; do :; done"]) }
            var recordings: [[UInt8]] = []
            for run in 0..<3 {
                recordings.append(try await record(as: "run\(run)", drive: drive, tiles: tiles, in: box))
            }
            #expect(recordings.allSatisfy { $0 == recordings[0] })
            let info = try await box.succeed("navbus", ["bag", "info", "run0.mcap", "--json"])
            let counts = try topicCounts(of: info.output)
            #expect(counts["/gnss/fix"] == Town.fixCount && counts["/nav/position"] == Town.fixCount)
            // The drive has a wrong turn; another thread computes the reroute.
            #expect(counts["/nav/reroute"] == 4 && counts["/nav/route"] == 2)
            #expect(counts.keys.allSatisfy { !$0.hasPrefix("/health") && $0 != "/clock" })
            // A lockstep recording has the topics of a replay and, like a replay, no metadata.
            let refused = try await box.run("navbus", ["replay", drive, "--tiles", tiles, "--out", "run0.mcap"])
            #expect(refused.status == 1 && refused.errors.contains("--overwrite"), "\(refused.errors)")
            #expect(readBytes(box.path + "/run0.mcap") == recordings[0])
        }
    }

    /// Both the replay and lockstep answer each route request before the next fix, so their messages are the same.
    @Test func threeProcessesInLockstepMatchTheReplay() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--lockstep", "--out", "live.mcap"])
            let node = try box.start("navigation-node", ["--name", "replay"] + Self.node(tiles: tiles))
            try await box.succeed(
                "navbus", ["bag", "play", drive, "--lockstep", "--wait-for", "replay,recorder", "--wait", "100"])
            for program in [node, recorder] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0)
            }
            try await box.succeed(
                "navbus", ["replay", drive, "--tiles", tiles, "--to", Town.to, "--out", "replay.mcap"])
            let live = try #require(readBytes(box.path + "/live.mcap"))
            #expect(readBytes(box.path + "/replay.mcap") == live)
        }
    }

    /// A participant written from the documentation alone publishes in waves, by simulated time.
    @Test(
        .enabled(
            if: Project.hasPython && Project.find("protoc") != nil,
            "needs protoc, and Python with zmq, google.protobuf, mcap and mcap_protobuf: set NAVBUS_PYTHON"))
    func nodeInAnotherLanguageParticipates() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let script = Project.root + "/Tests/Peers/weather_node.py"
            var recordings: [[UInt8]] = []
            for name in ["first", "second"] {
                let station = try box.start(
                    Project.python, [script, "weather", "--lockstep"], environment: ["NAVBUS_DOMAIN": name])
                recordings.append(
                    try await record(as: name, drive: drive, tiles: tiles, in: box, with: ["weather"]))
                #expect(station.exitStatus == nil, "\(station.errors)")
                station.send(SIGKILL)
            }
            #expect(recordings[0] == recordings[1])
            let info = try await box.succeed("navbus", ["bag", "info", "first.mcap", "--json"])
            let counts = try topicCounts(of: info.output)
            // One message every ten seconds of the drive.
            #expect(counts["/weather"] == Town.fixCount / 10 + 1 && counts["/gnss/fix"] == Town.fixCount, "\(counts)")
        }
    }

    @Test func deadParticipantIsReportedAndEndsThePlayback() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--lockstep", "--out", "cut.mcap"])
            let node = try box.start("navigation-node", Self.node(tiles: tiles))
            let player = try box.start("navbus", ["bag", "play", drive, "--rate", "20"] + Self.lockstep)
            try await node.says("say: ")
            node.send(SIGKILL)
            let result = try await player.wait()
            #expect(result.status == 1)
            #expect(
                result.errors.contains("lockstep playback ends: 'navigation-node' does not answer"), "\(result.errors)")
            #expect(result.errorLines.count == 1, "\(result.errors)")
            recorder.send(SIGINT)
            #expect(try await recorder.wait().status == 0)
        }
    }

    @Test func remainingNodesContinueWithSkipFailed() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let recorder = try box.start("navbus", ["bag", "record", "--lockstep", "--out", "rest.mcap"])
            let node = try box.start("navigation-node", Self.node(tiles: tiles))
            let player = try box.start(
                "navbus", ["bag", "play", drive, "--rate", "50", "--skip-failed"] + Self.lockstep)
            try await node.says("say: ")
            node.send(SIGKILL)
            let result = try await player.wait()
            #expect(result.status == 0 && result.errors.contains("continuing without it"), "\(result.errors)")
            recorder.send(SIGINT)
            #expect(try await recorder.wait().status == 0)
            let info = try await box.succeed("navbus", ["bag", "info", "rest.mcap", "--json"])
            #expect(try topicCounts(of: info.output)["/gnss/fix"] == Town.fixCount)
        }
    }

    @Test func deadPlayerReleasesTheNodes() async throws {
        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let node = try box.start("navigation-node", Self.node(tiles: tiles))
            let arguments = ["bag", "play", drive, "--lockstep", "--wait-for", "navigation-node", "--wait", "100"]
            let player = try box.start("navbus", arguments + ["--rate", "20"])
            try await node.says("say: ")
            player.send(SIGKILL)
            _ = try await player.wait()
            try await node.says("the player of the lockstep playback has left")
            // The next playback starts from the beginning in a new epoch.
            let next = try await box.run("navbus", arguments)
            #expect(next.status == 0, "\(next.errors)")
            try await node.says("time jumped: starting over")
            node.send(SIGINT)
            #expect(try await node.wait().status == 0)
        }
    }

    @Test func playbackWithoutParticipantsIsAnError() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            let alone = try await box.run("navbus", ["bag", "play", drive, "--lockstep", "--wait", "0.2"])
            #expect(alone.status == 1 && alone.errors.contains("sim_time: true"), "\(alone.errors)")
            let absent = try await box.run(
                "navbus", ["bag", "play", drive, "--lockstep", "--wait", "0.2", "--wait-for", "planner"])
            #expect(absent.status == 1 && absent.errors.contains("planner"), "\(absent.errors)")
        }
    }
}
