import Foundation
import NavTestKit
import NavTestSystem
import Testing

/// Recorders and players that are killed, stopped, or run out of disk space.
struct RecordingTests {
    /// Prints the message counts of a bag by topic, as read by the reference implementation with `make_reader`.
    private static let count = """
        import collections, sys
        from mcap.reader import make_reader
        for path in sys.argv[1:]:
            with open(path, "rb") as file:
                counts = collections.Counter()
                for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
                    counts[channel.topic] += 1
                print(path, counts["/gnss/fix"])
        """

    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func killedRecorderLeavesABagThatAnyToolReads() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            try box.start("navbus", ["bag", "play", drive, "--rate", "100", "--loop", "--subscribers", "0"])
            let files = (0..<5).map { $0 == 0 ? "live.mcap" : "live_\($0).mcap" }
            for file in files {
                let recorder = try box.start("navbus", ["bag", "record", "--out", "live.mcap"])
                try await eventually("something is recorded", detail: { recorder.errors }) {
                    (readBytes("\(box.path)/\(file)")?.count ?? 0) > 6_000
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<1_200)))
                recorder.send(SIGKILL)
                #expect(try await recorder.wait().status == 128 + SIGKILL)
            }
            let read = try await box.succeed(Project.python, ["-c", Self.count] + files)
            #expect(read.outputLines.count == 5)
            let fixes = read.outputLines.map { Int($0.split(separator: " ").last ?? "") ?? 0 }
            #expect(fixes.allSatisfy { $0 > 0 }, "\(read.output)")

            // The missing index is the only problem.
            let check = try await box.run("navbus", ["bag", "check", "live_3.mcap"])
            #expect(check.status == 1 && check.output.contains("there is no usable index"), "\(check.output)")
            #expect(check.outputLines.filter { $0.contains("!") }.count == 1, "\(check.output)")
            try await box.succeed("navbus", ["bag", "recover", "live_3.mcap", "-o", "whole.mcap"])
            try await box.succeed("navbus", ["bag", "check", "whole.mcap"])
            let again = try await box.succeed(Project.python, ["-c", Self.count, "whole.mcap", "live_3.mcap"])
            let counts = again.outputLines.compactMap { $0.split(separator: " ").last }
            #expect(counts.count == 2 && counts.first == counts.last)
        }
    }

    @Test func restartedRecorderContinuesInTheNextFile() async throws {
        try await withSandbox { box in
            try box.write(
                "record.yaml",
                """
                nodes:
                  - name: recorder
                    executable: navbus
                    args: [bag, record, --out, drive.mcap]
                    restart: on-failure
                """)
            let launch = try box.start("navbus", ["launch", "record.yaml"])
            let announcement = box.path + "/b/0/recorder/announcement.json"
            func recorder() throws -> Int32? {
                let text = readFile(announcement) ?? ""
                let document = (try? json(text)) as? [String: Any]
                return (document?["pid"] as? Int).map(Int32.init)
            }
            try await eventually("the recorder has joined", detail: { launch.errors }) {
                try recorder() != nil && FileManager.default.fileExists(atPath: box.path + "/drive.mcap")
            }
            let first = try #require(try recorder())
            kill(first, SIGKILL)
            try await eventually("the recorder is back", detail: { launch.errors }) {
                let now = try recorder()
                return now != nil && now != first && FileManager.default.fileExists(atPath: box.path + "/drive_1.mcap")
            }
            try await box.succeed("navbus", ["topic", "pub", "/gnss/fix", "{\"latitude\": 1}", "--count", "3"])
            launch.send(SIGINT)
            #expect(try await launch.wait().status == 0, "\(launch.errors)")
            let info = try await box.succeed("navbus", ["bag", "info", "drive_1.mcap", "--json"])
            #expect(try topicCounts(of: info.output)["/gnss/fix"] == 3)
        }
    }

    @Test func hangingRecorderIsRestarted() async throws {
        try await withSandbox { box in
            try box.write(
                "record.yaml",
                """
                nodes:
                  - name: recorder
                    executable: navbus
                    args: [bag, record, --out, drive.mcap]
                    restart: on-failure
                    watchdog_s: 1
                """)
            let launch = try box.start("navbus", ["launch", "record.yaml"])
            func recorder() throws -> Int32? {
                let text = readFile(box.path + "/b/0/recorder/announcement.json") ?? ""
                return (((try? json(text)) as? [String: Any])?["pid"] as? Int).map(Int32.init)
            }
            try await eventually("the recorder has joined", detail: { launch.errors }) { try recorder() != nil }
            let first = try #require(try recorder())
            // The watchdog is armed by the first sign of life.
            try await Task.sleep(for: .seconds(1))
            kill(first, SIGSTOP)
            try await eventually("the recorder is back", detail: { launch.errors }) {
                let now = try recorder()
                return now != nil && now != first
            }
            launch.send(SIGINT)
            #expect(try await launch.wait().status == 0, "\(launch.errors)")
        }
    }

    private static let mayMount = Programs.succeeds(
        "/usr/bin/unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"])

    /// Fills a small disk, enlarges it, and fills it again before the recording ends.
    private static let fullDisk = """
        mkdir disk && mount -t tmpfs -o size=64k tmpfs disk
        navbus bag record --out disk/live.mcap & recorder=$!
        navbus bag play "$1" --rate 500 --loop & player=$!
        until grep -q 'No space left' err; do sleep 0.1; done
        navbus bag check disk/live.mcap > first
        mount -o remount,size=100m disk
        until grep -q 'can be written again' err; do sleep 0.1; done
        kill -INT $player; wait $player
        kill -INT $recorder; wait $recorder; echo "first $?"
        navbus bag check disk/live.mcap; echo "check $?"
        cat first

        mount -o remount,size=400k disk
        navbus bag record --out disk/more.mcap & recorder=$!
        navbus bag play "$1" --rate 500 --loop & player=$!
        until [ "$(grep -c 'No space left' err)" = 2 ]; do sleep 0.1; done
        kill -INT $recorder; wait $recorder; echo "second $?"
        kill -INT $player; wait $player
        navbus bag info disk/more.mcap > /dev/null; echo "info $?"
        umount disk
        """

    @Test(.enabled(if: mayMount, "needs the right to mount: run it as root"))
    func recorderAndBagSurviveAFullDisk() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            try box.write("script", "exec 2> err\n" + Self.fullDisk)
            let run = try await box.run("/usr/bin/unshare", ["-m", "/bin/bash", "script", drive])
            let errors = readFile(box.path + "/err") ?? ""
            #expect(run.output.contains("first 0") && run.output.contains("check 0"), "\(run.output)\n\(errors)")
            // While the disk was full, the file lacked only its index.
            let first = run.outputLines.drop { $0 != "check 0" }
            #expect(first.filter { $0.contains("!") }.count == 1, "\(run.output)")
            #expect(run.output.contains("second 1") && run.output.contains("info 0"), "\(run.output)\n\(errors)")
            #expect(errors.contains("navbus: the recording is incomplete: "), "\(errors)")
        }
    }

    /// At rate 10, a player stopped for three seconds falls thirty fixes behind.
    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func stoppedPlayerDoesNotCatchUpInABurst() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            let recorder = try box.start("navbus", ["bag", "record", "/gnss/fix", "--out", "heard.mcap"])
            let player = try box.start("navbus", ["bag", "play", drive, "--rate", "10", "--clock"])
            try await eventually("fixes are recorded") {
                (readBytes("\(box.path)/heard.mcap")?.count ?? 0) > 3_000
            }
            player.send(SIGSTOP)
            try await Task.sleep(for: .seconds(3))
            player.send(SIGCONT)
            let size = readBytes("\(box.path)/heard.mcap")?.count ?? 0
            try await eventually("the player continues") {
                (readBytes("\(box.path)/heard.mcap")?.count ?? 0) > size + 2_000
            }
            for program in [player, recorder] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0, "\(program.errors)")
            }
            let times = try await box.succeed(Project.python, ["-c", Self.times, "heard.mcap"])
            let stamps = times.outputLines.compactMap { Double($0) }
            let most = stamps.indices.map { index in stamps[index...].prefix { $0 < stamps[index] + 0.1 }.count }.max()
            #expect(stamps.count > 20 && most ?? 0 <= 12, "\(most ?? 0) fixes within 0.1 s: \(stamps)")
        }
    }

    private static let times = """
        import sys
        from mcap.reader import make_reader
        with open(sys.argv[1], "rb") as file:
            for schema, channel, message in make_reader(file).iter_messages(["/gnss/fix"]):
                print(message.log_time * 1e-9)
        """

    /// Ten years of `/clock` between two fixes: at one per second, health would be reported 315 million times.
    @Test(.enabled(if: Project.hasPython, "needs Python with mcap: set NAVBUS_PYTHON"))
    func gapOfYearsIsSkippedByThePlayerAndItsNodes() async throws {
        try await withSandbox { box in
            let drive = try await Town.shared.drive
            // The same drive twice, ten years apart.
            try await box.succeed(Project.python, ["-c", Self.twice, drive, "gap.mcap"])
            let tiles = try await Town.shared.tiles
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "sim_time=true"])
            let recorder = try box.start("navbus", ["bag", "record", "--sim-time", "--out", "heard.mcap"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let player = try await box.succeed(
                "navbus", ["bag", "play", "gap.mcap", "--rate", "100", "--clock", "--subscribers", "2"])
            #expect(player.errors.contains("skipping a gap of"), "\(player.errors)")
            for program in [node, recorder] {
                program.send(SIGINT)
                #expect(try await program.wait().status == 0, "\(program.errors)")
            }
            let info = try await box.succeed("navbus", ["bag", "info", "heard.mcap", "--json"])
            let counts = try topicCounts(of: info.output)
            #expect(counts["/gnss/fix"] == 2 * Town.fixCount)
            #expect((counts["/health/navigation-node"] ?? 0) < 2 * Town.fixCount + 60, "\(counts)")
        }
    }

    private static let twice = """
        import sys
        from mcap.reader import make_reader
        from mcap.writer import Writer
        with open(sys.argv[1], "rb") as file, open(sys.argv[2], "wb") as out:
            writer = Writer(out)
            writer.start()
            rows = list(make_reader(file).iter_messages())
            schema = writer.register_schema(rows[0][0].name, rows[0][0].encoding, rows[0][0].data)
            channel = writer.register_channel(rows[0][1].topic, "protobuf", schema)
            for shift in (0, 10 * 365 * 86400 * 10**9):
                for _, _, message in rows:
                    writer.add_message(channel, message.log_time + shift, message.data, message.publish_time + shift)
            writer.finish()
        """
}
