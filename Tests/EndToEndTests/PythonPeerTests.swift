import Glibc
import NavTestKit
import NavTestSystem
import Testing

/// Nodes in Python: the scripts shown in the README.
@Suite(
    .enabled(
        if: Project.hasPython && Project.find("protoc") != nil,
        "needs protoc, and Python with zmq, google.protobuf, mcap and mcap_protobuf: set NAVBUS_PYTHON"))
struct PythonPeerTests {
    @Test func pythonClientPrintsTheProgressOfARunningNode() async throws {
        let script = Project.root + "/Tests/Peers/progress_client.py"
        let lines = try #require(readFile(script)).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count - 1 <= 40)

        try await withSandbox { box in
            let (tiles, drive) = (try await Town.shared.tiles, try await Town.shared.drive)
            let node = try box.start("navigation-node", ["--set", "tiles=\(tiles)", "--set", "destination=\(Town.to)"])
            try await box.announces("/nav/progress", node: "navigation-node")
            let client = try box.start(Project.python, [script])
            try box.start("navbus", ["bag", "play", drive, "--rate", "20"])
            try await client.says(" m, ", times: 20)
            let line = #/#\d+ route \d+: \d+ m, \d+ s to go on .+/#
            #expect(try client.output.split(separator: "\n").allSatisfy { try line.wholeMatch(in: $0) != nil })
            #expect(node.exitStatus == nil)
        }
    }

    /// Runs an external client that stalls, delays, misdates and paces the inputs of the node.
    @Test(arguments: [
        "stall", "stopped", "latency", "jitter", "future", "back", "rate-0.5", "rate-1", "rate-10", "rate-50",
    ])
    func nodeSurvivesTimeFaultsOfAClient(fault: String) async throws {
        let script = Project.root + "/Tests/Peers/time_faults.py"
        try await withSandbox { box in
            let run = try box.start(
                Project.python, [script, fault, try await Town.shared.tiles, try await Town.shared.drive, Town.to])
            let ended = try await run.wait()
            #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        }
    }

    /// A liveness check takes the node's lock for a moment.
    @Test(arguments: [
        ("Tests/Peers/weather_node.py", ["probed"]), ("Tests/Peers/fix_publisher.py", ["probed", "60.17,24.94"]),
        ("launch/policy/policy_node.py", ["--name", "probed"]),
    ])
    func pythonNodeStartsWhileItsLockIsProbed(script: String, arguments: [String]) async throws {
        try await withSandbox { box in
            let folder = (box.environment["NAVBUS_DIR"] ?? "") + "/0/probed"
            let prober = try box.write(
                "prober.py",
                """
                import fcntl, os, sys, time
                os.makedirs(sys.argv[1], mode=0o700, exist_ok=True)
                file = open(sys.argv[1] + "/lock", "a")
                print("probing", flush=True)
                while True:
                    try:
                        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                        time.sleep(0.02)
                        fcntl.flock(file, fcntl.LOCK_UN)
                    except BlockingIOError:
                        pass
                    time.sleep(0.02)
                """)
            let probes = try box.start(Project.python, [prober, folder])
            try await probes.says("probing")
            let node = try box.start(Project.python, [Project.root + "/" + script] + arguments)
            try await eventually("\(script) announces itself", detail: { node.errors }) {
                readFile(folder + "/announcement.json") != nil
            }
            probes.send(SIGKILL)
        }
    }

    @Test func pythonNodeIsDiscoveredAndReceived() async throws {
        try await withSandbox { box in
            let echo = try box.start("navbus", ["topic", "echo", "/gnss/fix", "--count", "2"])
            let script = Project.root + "/Tests/Peers/fix_publisher.py"
            let publisher = try box.start(Project.python, [script, "python", "60.17,24.94", "60.18,24.95"])
            let result = try await echo.wait()
            #expect(result.status == 0)
            let fixes = try result.outputLines.map { try #require(try json($0) as? [String: Any]) }
            #expect(fixes.compactMap { $0["latitude"] as? Double } == [60.17, 60.18], "\(result.output)")
            let ended = try await publisher.wait()
            #expect(ended.status == 0, "\(ended.errors)")

            // The process's lock ended with it, so its stale files block no other node.
            let list = try await box.succeed("navbus", ["topic", "list", "--json"])
            #expect(try (json(list.output) as? [Any])?.isEmpty == true)
        }
    }

    @Test func echoReportsWhyMessagesAreRejected() async throws {
        try await withSandbox { box in
            let script = Project.root + "/Tests/Peers/fix_publisher.py"
            // Enough positions to outlast the echo, which otherwise reports that no node publishes.
            let places = Array(repeating: "60.17,24.94", count: 300)
            try box.start(Project.python, [script, "python", "--without", "stamp_ns"] + places)
            try await box.announces("/gnss/fix", node: "python")
            let echo = try await box.run("navbus", ["topic", "echo", "/gnss/fix", "--timeout", "3"])
            #expect(echo.status == 1 && echo.output.isEmpty)
            #expect(echo.errors.contains("published by python; messages_rejected: "), "\(echo.errors)")
            #expect(echo.errors.contains("on /gnss/fix, the last for a header without stamp_ns"), "\(echo.errors)")
        }
    }
}
