import Glibc
import NavLaunch
import Testing

/// Real processes: shell scripts of a line or two.
@Suite struct LauncherTests {
    let scratch = Scratch()

    func shell(_ name: String, _ script: String, required: Bool = false) -> LaunchNode {
        LaunchNode(name: name, executable: "/bin/sh", arguments: ["-c", script], required: required)
    }

    func launcher(_ nodes: [LaunchNode], output: Int32, grace: GracePeriods = GracePeriods()) -> Launcher {
        var options = Launcher.Options()
        options.output = output
        options.handlesSignals = false
        options.grace = grace
        return Launcher(LaunchFile(path: "test", nodes: nodes), options: options)
    }

    /// Runs to the end and returns the exit code and the lines.
    func run(_ nodes: [LaunchNode], grace: GracePeriods = GracePeriods()) -> (code: Int32, lines: [String]) {
        let file = scratch.path + "/output"
        let output = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let code = launcher(nodes, output: output, grace: grace).run()
        close(output)
        let text = scratch.read("output") ?? ""
        return (code, text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init))
    }

    /// What the table at the end says of a node.
    func summary(_ node: String, _ lines: [String]) -> String? {
        let prefix = "launch"
        return lines.reversed().lazy.filter { $0.hasPrefix(prefix) }.compactMap { line -> String? in
            guard let bar = line.firstRange(of: "| ")?.upperBound, line[bar...].hasPrefix(node + " ") else {
                return nil
            }
            return String(line[bar...].dropFirst(node.count).drop { $0 == " " })
        }.first
    }

    @Test func everyLineCarriesTheAlignedNameOfItsNode() {
        let (code, lines) = run([
            shell("a", "echo out; echo err >&2; printf 'no end'"), shell("longer-name", "printf 'x\\n\\ny\\n'"),
        ])
        #expect(code == 0)
        for line in ["a           | out", "a           | err", "a           | no end", "longer-name | y"] {
            #expect(lines.contains(line), "\(lines)")
        }
        #expect(summary("a", lines)?.hasPrefix("ended with status 0  ") == true, "\(lines)")
    }

    @Test func aNodeGetsItsEnvironmentItsArgumentsAndNoInput() {
        let script = "echo \"$COLOR $1\"; cat; ls -l /proc/self/fd | grep -c -- '->'"
        let node = LaunchNode(
            name: "a", executable: "/bin/sh", arguments: ["-c", script, "sh", "with space"],
            environment: [EnvironmentVariable("COLOR", "red"), EnvironmentVariable("COLOR", "blue")])
        let (code, lines) = run([node])
        #expect(code == 0)
        #expect(lines.contains("a      | blue with space"))
        // 0, 1, 2 and the folder that ls itself reads.
        #expect(lines.contains("a      | 4"), "\(lines)")
    }

    @Test func theEndOfARequiredNodeStopsTheOthers() {
        let good = run([shell("r", "exit 0", required: true), shell("s", "exec sleep 1000")])
        #expect(good.code == 0, "\(good.lines)")
        let bad = run([shell("r", "exit 3", required: true), shell("s", "exec sleep 1000")])
        #expect(bad.code == 1)
        #expect(bad.lines.contains("r      | [ended with status 3; it is required, so everything stops]"))
        #expect(summary("s", bad.lines)?.hasPrefix("killed by SIGINT  ") == true, "\(bad.lines)")
    }

    @Test func aNodeThatIgnoresSignalsIsKilledInTheEndWithItsChildren() throws {
        let pids = scratch.path + "/pids"
        // The required node ends once the other has its signal handlers and its child.
        let (code, lines) = run(
            [
                shell("r", "until [ -s '\(pids)' ]; do sleep 0.01; done", required: true),
                shell("deaf", "trap '' INT TERM; sleep 1000 & echo $$ $! > '\(pids)'; while :; do wait; done"),
            ],
            grace: GracePeriods(interrupt: .milliseconds(50), terminate: .milliseconds(50)))
        #expect(code == 1)
        #expect(lines.contains("deaf   | [did not end in time: SIGTERM]"), "\(lines)")
        #expect(lines.contains("deaf   | [did not end in time: SIGKILL]"))
        #expect(summary("deaf", lines)?.hasPrefix("killed by SIGKILL, not cleanly  ") == true, "\(lines)")
        for pid in try readPIDs("pids", count: 2) { try waitUntilGone(pid) }
    }

    @Test func aChildThatANodeLeavesBehindEndsWithIt() throws {
        let (code, _) = run([shell("a", "sleep 1000 & echo $! > '\(scratch.path)/pids'")])
        #expect(code == 0)
        for pid in try readPIDs("pids", count: 1) { try waitUntilGone(pid) }
    }

    @Test func aNodeThatCannotBeExecutedSaysWhy() {
        let script = scratch.write("broken", "#!/no/such/interpreter\n", executable: true)
        let (code, lines) = run([LaunchNode(name: "a", executable: script)])
        #expect(code == 1)
        #expect(
            lines.contains("a      | [could not be started: execve \(script): No such file or directory]"), "\(lines)")
    }

    @Test func aFailingNodeIsStartedAgain() {
        let count = scratch.path + "/count"
        var node = shell("a", "echo x >> '\(count)'; [ $(wc -l < '\(count)') -ge 3 ]")
        node.restart = RestartPolicy(mode: .onFailure, delay: .milliseconds(1))
        let (code, lines) = run([node])
        #expect(code == 0)
        #expect(summary("a", lines)?.split(separator: " ").prefix(5).joined(separator: " ") == "ended with status 0 2")
    }

    @Test func aReaderThatDoesNotReadHoldsUpNeitherTheNodesNorTheEnd() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        // A hundred times what a pipe takes, and the node ends all the same.
        let script = "yes 0123456789012345678901234567890123456789012345678901234567890 | head -n 100000"
        let launcher = launcher([shell("a", script)], output: ends[1])
        let code = launcher.run()
        close(ends[1])
        close(ends[0])
        #expect(code == 0)
    }

    @Test func aStopFromAnotherThreadEndsEverything() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let launcher = launcher([shell("a", "echo ready; exec sleep 1000")], output: ends[1])
        let worker = Worker { launcher.run() }
        var first = [UInt8](repeating: 0, count: 64)
        #expect(read(ends[0], &first, first.count) > 0)
        launcher.stop()
        #expect(worker.result() == 0)
        close(ends[1])
        let rest = readAll(ends[0]) ?? ""
        #expect(rest.contains("launch | SIGTERM: stopping everything"))
    }

    @Test func nothingOutlivesALauncherThatIsKilled() throws {
        let launcher = try probe("trap '' INT TERM HUP; sleep 1000 & echo $$ $! > pids; while :; do wait; done")
        let started = try readPIDs("pids", count: 2)
        for pid in started { #expect(kill(pid, 0) == 0) }
        kill(launcher, SIGKILL)
        _ = status(of: launcher)
        for pid in started { try waitUntilGone(pid) }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalToTheLauncherStopsEverythingCleanly(signal: Int32) throws {
        let launcher = try probe("trap 'exit 0' INT; echo $$ > pids; while :; do sleep 0.01; done")
        let started = try readPIDs("pids", count: 1)
        kill(launcher, signal)
        #expect(status(of: launcher) == 0)
        for pid in started { try waitUntilGone(pid) }
        let name = signal == SIGINT ? "Ctrl-C" : signal == SIGTERM ? "SIGTERM" : "SIGHUP"
        #expect(scratch.read("output")?.contains("launch | \(name): stopping everything\n") == true)
    }

    /// Starts a launcher as a process of its own, with one node: a shell script that runs in the scratch folder.
    func probe(_ script: String) throws -> pid_t {
        let file = scratch.write(
            "launch.yaml",
            """
            nodes:
              - name: node
                executable: /bin/sh
                args: [-c, "cd '${launch_dir}'; \(script.replacing("$", with: "$$"))"]
                bus: false
            """)
        let command = "exec '\(try probePath())' '\(file)' > '\(scratch.path)/output' 2>&1"
        return try #require(startShell(command))
    }

    /// The probe is built into the folder of the test binary.
    func probePath() throws -> String {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        try #require(count > 0)
        let binary = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = try #require(binary.lastIndex(of: "/").map { binary[..<$0] })
        return folder + "/NavLaunchProbe"
    }

    func status(of pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// The process ids that a script wrote into a file, once they are all there.
    func readPIDs(_ name: String, count: Int) throws -> [pid_t] {
        for _ in 0..<60_000 {
            if let text = scratch.read(name), text.hasSuffix("\n") {
                let pids = text.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
                if pids.count == count { return pids }
            }
            usleep(1_000)
        }
        throw NeverHappened(what: "\(count) process ids in \(name)")
    }

    /// Gone, or a zombie that its new parent has not collected yet.
    func waitUntilGone(_ pid: pid_t) throws {
        for _ in 0..<60_000 {
            guard let status = readAll(open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)),
                let state = status.split(separator: ")").last?.split(separator: " ").first, state != "Z"
            else { return }
            usleep(1_000)
        }
        throw NeverHappened(what: "the end of process \(pid)")
    }
}

struct NeverHappened: Error {
    let what: String
}

/// Blocking work on a thread of its own, for a test that blocks as well.
final class Worker: Sendable {
    private let thread: pthread_t

    init(_ work: @escaping @Sendable () -> Int32) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Box(work)).toOpaque()
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                return UnsafeMutableRawPointer(
                    bitPattern: Int(Unmanaged<Box>.fromOpaque(context).takeRetainedValue().work()))
            }, context)
        self.thread = thread
    }

    /// Waits for the end of the work.
    func result() -> Int32 {
        var result: UnsafeMutableRawPointer?
        pthread_join(thread, &result)
        return Int32(Int(bitPattern: result))
    }

    private final class Box: Sendable {
        let work: @Sendable () -> Int32

        init(_ work: @escaping @Sendable () -> Int32) {
            self.work = work
        }
    }
}
