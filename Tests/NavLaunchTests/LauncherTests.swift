import Glibc
import NavLaunch
import NavTestKit
import Testing

/// The launcher with real processes, which are shell scripts of a line or two.
@Suite struct LauncherTests {
    let scratch = Scratch()

    func shell(_ name: String, _ script: String, required: Bool = false) -> LaunchNode {
        LaunchNode(name: name, executable: "/bin/sh", arguments: ["-c", script], required: required)
    }

    func launcher(
        _ nodes: [LaunchNode], output: Int32, grace: GracePeriods = GracePeriods(),
        probe: (@Sendable () -> any ReadinessProbe)? = nil
    ) -> Launcher {
        var options = Launcher.Options()
        options.output = output
        options.handlesSignals = false
        options.grace = grace
        let file = LaunchFile(nodes: nodes)
        guard let probe else { return Launcher(file, options: options) }
        return Launcher(file, options: options, environment: LaunchContext.current().environment) { _, _ in probe() }
    }

    /// Runs the launch until it ends and returns the exit code and the lines.
    func run(
        _ nodes: [LaunchNode], grace: GracePeriods = GracePeriods(), probe: (@Sendable () -> any ReadinessProbe)? = nil
    ) -> (code: Int32, lines: [String]) {
        let file = scratch.path + "/output"
        let output = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let code = launcher(nodes, output: output, grace: grace, probe: probe).run()
        close(output)
        let text = scratch.read("output") ?? ""
        return (code, text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init))
    }

    /// Returns the row of a node in the final table.
    func summary(_ node: String, _ lines: [String]) -> String? {
        let prefix = "launch"
        return lines.reversed().lazy.filter { $0.hasPrefix(prefix) }.compactMap { line -> String? in
            guard let bar = line.firstRange(of: "| ")?.upperBound, line[bar...].hasPrefix(node + " ") else {
                return nil
            }
            return String(line[bar...].dropFirst(node.count).drop { $0 == " " })
        }.first
    }

    @Test func everyLineIsPrefixedWithItsNode() {
        let (code, lines) = run([
            shell("a", "echo out; echo err >&2; printf 'no end'"), shell("longer-name", "printf 'x\\n\\ny\\n'"),
        ])
        #expect(code == 0)
        for line in ["a           | out", "a           | err", "a           | no end", "longer-name | y"] {
            #expect(lines.contains(line), "\(lines)")
        }
        #expect(summary("a", lines)?.hasPrefix("ended with status 0  ") == true, "\(lines)")
    }

    @Test func nodeGetsItsEnvironmentAndArgumentsAndNoInput() {
        let script = "echo \"$COLOR $1\"; cat; ls -l /proc/self/fd | grep -c -- '->'"
        let node = LaunchNode(
            name: "a", executable: "/bin/sh", arguments: ["-c", script, "sh", "with space"],
            environment: [EnvironmentVariable("COLOR", "red"), EnvironmentVariable("COLOR", "blue")])
        let (code, lines) = run([node])
        #expect(code == 0)
        #expect(lines.contains("a      | blue with space"))
        // The descriptors 0, 1 and 2, and that of the folder that ls reads.
        #expect(lines.contains("a      | 4"), "\(lines)")
    }

    @Test func endOfARequiredNodeStopsTheOthers() {
        let good = run([shell("r", "exit 0", required: true), shell("s", "exec sleep 1000")])
        #expect(good.code == 0, "\(good.lines)")
        let bad = run([shell("r", "exit 3", required: true), shell("s", "exec sleep 1000")])
        #expect(bad.code == 1)
        #expect(bad.lines.contains("r      | [ended with status 3; it is required, stopping everything]"))
        #expect(summary("s", bad.lines)?.hasPrefix("killed by SIGINT  ") == true, "\(bad.lines)")
    }

    @Test func nodeThatIgnoresSignalsIsKilledWithItsChildren() throws {
        let pids = scratch.path + "/pids"
        // The required node ends once the other has installed its signal handlers and started its child.
        let (code, lines) = run(
            [
                shell("r", "until [ -s '\(pids)' ]; do sleep 0.01; done", required: true),
                shell("deaf", "trap '' INT TERM; sleep 1000 & echo $$ $! > '\(pids)'; while :; do wait; done"),
            ],
            grace: GracePeriods(interrupt: .milliseconds(50), terminate: .milliseconds(50)))
        #expect(code == 1)
        #expect(lines.contains("deaf   | [did not end in time: sending SIGTERM]"), "\(lines)")
        #expect(lines.contains("deaf   | [did not end in time: sending SIGKILL]"))
        #expect(summary("deaf", lines)?.hasPrefix("killed by SIGKILL, not cleanly  ") == true, "\(lines)")
        for pid in try readPIDs("pids", count: 2) { try waitUntilGone(pid) }
    }

    @Test func orphanedChildEndsWithItsNode() throws {
        let (code, _) = run([shell("a", "sleep 1000 & echo $! > '\(scratch.path)/pids'")])
        #expect(code == 0)
        for pid in try readPIDs("pids", count: 1) { try waitUntilGone(pid) }
    }

    @Test func failureToExecuteIsReported() {
        let script = scratch.write("broken", "#!/no/such/interpreter\n", executable: true)
        let (code, lines) = run([LaunchNode(name: "a", executable: script)])
        #expect(code == 1)
        #expect(
            lines.contains("a      | [could not be started: execve \(script): No such file or directory]"), "\(lines)")
    }

    @Test func failedNodeIsRestarted() {
        let count = scratch.path + "/count"
        var node = shell("a", "echo x >> '\(count)'; [ $(wc -l < '\(count)') -ge 3 ]")
        node.restart = RestartPolicy(mode: .onFailure, delay: .milliseconds(1))
        let (code, lines) = run([node])
        #expect(code == 0)
        #expect(summary("a", lines)?.split(separator: " ").prefix(5).joined(separator: " ") == "ended with status 0 2")
    }

    @Test func blockedReaderDelaysNeitherNodesNorShutdown() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        // The output is a hundred times the capacity of a pipe, yet the node ends.
        let script = "yes 0123456789012345678901234567890123456789012345678901234567890 | head -n 100000"
        let launcher = launcher([shell("a", script)], output: ends[1])
        let code = launcher.run()
        close(ends[1])
        close(ends[0])
        #expect(code == 0)
    }

    @Test func stopFromAnotherThreadEndsEverything() throws {
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

    @Test func nodeStartsAfterItsDependencyAndEndsBeforeIt() throws {
        let ready = scratch.path + "/ready"
        let log = scratch.path + "/log"
        let keep = "trap 'echo \"$NAME ends\" >> '\(log)'; exit 0' INT; while :; do sleep 0.01; done"
        var base = shell("base", "NAME=base; sleep 0.05; echo base >> '\(log)'; touch '\(ready)'; \(keep)")
        base.readiness = Readiness([.topic("/any")], timeout: .seconds(60))
        var next = shell("next", "NAME=next; echo next >> '\(log)'; touch '\(ready).next'; \(keep)")
        next.after = ["base"]
        let end = shell("end", "until [ -e '\(ready).next' ]; do sleep 0.01; done; sleep 0.05", required: true)
        let (code, lines) = run([next, base, end]) { FileProbe(paths: ["", ready, ""]) }
        #expect(code == 0, "\(lines)")
        #expect(scratch.read("log") == "base\nnext\nnext ends\nbase ends\n", "\(lines)")
        #expect(lines.contains { $0.hasPrefix("base   | [ready after ") }, "\(lines)")
        #expect(!lines.contains { $0.contains("ready after 60.") }, "readiness was checked only at its timeout")
    }

    @Test func nodeThatIsNeverReadyFailsTheLaunch() {
        var node = shell("slow", "exec sleep 1000")
        node.readiness = Readiness([.topic("/any")], timeout: .milliseconds(50))
        let (code, lines) = run([node]) { FileProbe(paths: ["/no/such/file"]) }
        #expect(code == 1)
        #expect(
            lines.contains("slow   | [not ready after 0.05 s: missing the file /no/such/file; stopping everything]"),
            "\(lines)")
    }

    @Test func daemonOutsideItsGroupEndsWithTheLaunch() throws {
        let (code, _) = run([
            shell(
                "a",
                "cd '\(scratch.path)'; setsid sh -c 'echo $$ > pids; exec sleep 1000' & until [ -s pids ]; do :; done")
        ])
        #expect(code == 0)
        for pid in try readPIDs("pids", count: 1) { try waitUntilGone(pid) }
    }

    /// While the daemon executes a program again, its environment briefly lacks the launch.
    @Test func repeatedlyExecutingDaemonEndsWithTheLaunch() throws {
        let program = scratch.write("again.sh", "exec sh '\(scratch.path)/again.sh'\n")
        for _ in 0..<20 {
            let start = "setsid sh -c 'echo $$ > pids; exec sh \(program)' & until [ -s pids ]; do :; done"
            let (code, _) = run([shell("a", "cd '\(scratch.path)'; rm -f pids; \(start)")])
            #expect(code == 0)
            for pid in try readPIDs("pids", count: 1) { try waitUntilGone(pid) }
        }
    }

    @Test func manyNodesStartAndStopTogether() {
        let nodes = (0..<50).map { shell("n\($0)", "exec sleep 1000") } + [shell("end", "exit 0", required: true)]
        let (code, lines) = run(nodes)
        #expect(code == 0, "\(lines)")
        #expect(lines.filter { $0.contains("killed by SIGINT  ") }.count == 50)
    }

    @Test func nodeThatClosesItsOutputKeepsRunning() {
        let (code, lines) = run([shell("a", "echo first; exec >&- 2>&-; sleep 0.02; exit 4")])
        #expect(code == 1)
        #expect(lines.contains("a      | first"))
        #expect(summary("a", lines)?.hasPrefix("ended with status 4  ") == true)
    }

    @Test func floodedOutputIsCountedAndLeavesRoomForOthers() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        // The flood ends before the output is read, so the retained part is smaller than the buffer.
        let flood = "yes 0123456789012345678901234567890123456789 | head -n 200000; touch '\(scratch.path)/over'"
        let quiet = "until [ -e '\(scratch.path)/over' ]; do sleep 0.01; done; echo important"
        let launcher = launcher([shell("flood", flood), shell("quiet", quiet)], output: ends[1])
        let worker = Worker { launcher.run() }
        _ = try readPath("over")
        let reader = Worker { [read = ends[0], path = scratch.path + "/seen"] in
            let text = readAll(read) ?? ""
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            defer { close(file) }
            return Array(text.utf8).withUnsafeBytes { Int32(write(file, $0.baseAddress, $0.count)) }
        }
        #expect(worker.result() == 0)
        close(ends[1])
        _ = reader.result()
        let seen = scratch.read("seen") ?? ""
        #expect(seen.contains("quiet  | important\n"))
        #expect(seen.firstRange(of: "lines dropped: the output is too slow]") != nil)
    }

    /// Ends a process that hangs, or one that is stopped, with SIGABRT and restarts it.
    @Test(arguments: [false, true])
    func hungNodeIsRestarted(isStopped: Bool) throws {
        let fall = isStopped ? "kill -STOP 0" : "touch hang"
        // The first run stops sending watchdog signals; the second run continues to send them.
        let command =
            "cd '\(scratch.path)'; rm -f hang; '\(try probePath())' --live & if [ -e again ]; then sleep 0.5; touch over; else touch again; "
            + "sleep 0.3; \(fall); fi; wait"
        var node = shell("a", command)
        node.restart = RestartPolicy(mode: .onFailure, delay: .milliseconds(10))
        node.watchdog = .seconds(1)
        let last = shell("last", "until [ -e '\(scratch.path)/over' ]; do sleep 0.05; done", required: true)
        let (_, lines) = run([node, last])
        #expect(lines.contains { $0.contains("[hung: no watchdog signal for ") }, "\(lines)")
        #expect(lines.contains { $0.contains("[killed by SIGABRT") && $0.contains("restart 1 of 10") }, "\(lines)")
        #expect(lines.filter { $0.contains("| alive as ") }.count == 2, "\(lines)")
    }

    @Test func crashBacktraceOfSwiftIsDisabledForNodes() {
        let (_, lines) = run([shell("a", "echo \"is $SWIFT_BACKTRACE\"")])
        #expect(lines.contains("a      | is enable=no"), "\(lines)")
    }

    @Test func launcherSurvivesAClosedOutput() throws {
        let file = scratch.write(
            "launch.yaml",
            """
            nodes:
              - {name: a, executable: /bin/sh, bus: false, args: [-c, "yes | head -n 10000; touch '${launch_dir}/done'"]}
            """)
        let command = "{ '\(try probePath())' '\(file)'; echo $? > '\(scratch.path)/status'; } | true"
        #expect(runShell(command) == 0)
        #expect(try readPath("done") == "")
        #expect(try readPIDs("status", count: 1) == [0])
    }

    /// Kills the probe's launcher at different times: before, while and after it starts processes.
    @Test(arguments: [0, 1, 2, 4, 8, 16, 32, 64, 128])
    func noProcessOutlivesALauncherKilledAtAnyTime(milliseconds: Int) throws {
        let escape = "setsid sleep 1000 & sleep 1000 & setsid sh -c 'sleep 1000 & exec sleep 1000' & "
        let file = scratch.write(
            "launch.yaml",
            """
            env: {HOME_OF_TEST: "${launch_dir}"}
            nodes:
              - {name: deaf, executable: /bin/sh, bus: false, args: [-c, "trap '' INT TERM; \(escape) while :; do wait; done"]}
              - name: crash
                executable: /bin/sh
                bus: false
                args: [-c, "\(escape) sleep 0.01; exit 1"]
                restart: {policy: always, delay_s: 0.001, max_delay_s: 0.001, limit: 100000}
              - {name: quick, executable: /bin/sh, bus: false, args: [-c, "\(escape) exit 0"]}
            """)
        let launcher = try #require(startShell("exec '\(try probePath())' '\(file)' > /dev/null 2>&1"))
        usleep(useconds_t(milliseconds * 1_000))
        kill(launcher, SIGKILL)
        _ = status(of: launcher)
        try waitUntilNobodyHas("HOME_OF_TEST=\(scratch.path)")
    }

    @Test func noProcessOutlivesAKilledLauncher() throws {
        let launcher = try probe("trap '' INT TERM HUP; sleep 1000 & echo $$ $! > pids; while :; do wait; done")
        let started = try readPIDs("pids", count: 2)
        for pid in started { #expect(kill(pid, 0) == 0) }
        kill(launcher, SIGKILL)
        _ = status(of: launcher)
        for pid in started { try waitUntilGone(pid) }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func signalToTheLauncherStopsEverythingCleanly(signal: Int32) throws {
        let launcher = try probe("trap 'exit 0' INT; echo $$ > pids; while :; do sleep 0.01; done")
        let started = try readPIDs("pids", count: 1)
        kill(launcher, signal)
        #expect(status(of: launcher) == 0)
        for pid in started { try waitUntilGone(pid) }
        let name = signal == SIGINT ? "Ctrl-C" : signal == SIGTERM ? "SIGTERM" : "SIGHUP"
        #expect(scratch.read("output")?.contains("launch | \(name): stopping everything\n") == true)
    }

    /// Starts a launcher as a separate process with one node: a shell script that runs in the scratch folder.
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

    /// Returns the path of the probe, which is built into the folder of the test binary.
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

    /// Returns the process ids that a script writes into a file, once all are there.
    func readPIDs(_ name: String, count: Int) throws -> [pid_t] {
        var pids: [pid_t] = []
        try until("\(count) process ids in \(name)", pause: 1) {
            guard let text = scratch.read(name), text.hasSuffix("\n") else { return false }
            pids = text.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
            return pids.count == count
        }
        return pids
    }

    /// Returns the content of a file once it exists.
    func readPath(_ name: String) throws -> String {
        var text: String?
        try until(name, pause: 1) {
            text = scratch.read(name)
            return text != nil
        }
        return try #require(text)
    }

    /// Waits until no process has these words in its environment in three consecutive checks.
    func waitUntilNobodyHas(_ words: String) throws {
        var quietLooks = 0
        try until("the end of every process with \(words)", pause: 5) {
            quietLooks = runShell("grep -lsF '\(words)' /proc/[0-9]*/environ > /dev/null") == 0 ? 0 : quietLooks + 1
            return quietLooks == 3
        }
    }

    /// Waits until a process is gone or a zombie that its new parent has not reaped yet.
    func waitUntilGone(_ pid: pid_t) throws {
        try until("the end of process \(pid)", pause: 1) {
            guard let status = readAll(open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)) else { return true }
            let state = status.split(separator: ")").last?.split(separator: " ").first
            return state == nil || state == "Z"
        }
    }
}

/// Blocking work on a separate thread, for tests that block as well.
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

    /// Waits for the work and returns its result.
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
