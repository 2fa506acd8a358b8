internal import CProcess
internal import CSpawn
internal import Glibc
internal import NavBus

/// A launcher that runs the processes of a launch file until they end, a required one ends, or a stop is requested.
///
/// Every process has its own process group and no stdin; its stdout and stderr go to one descriptor, each line prefixed
/// with its name. Stopping sends SIGINT, then SIGTERM, then SIGKILL to the group. Nothing outlives the launcher: when it
/// is killed with SIGKILL, the kernel kills its processes. A guardian process kills their children by process group, and
/// those that left their group (`setsid`, a daemon) by the environment variable `NAVBUS_LAUNCH_ID`.
package final class Launcher: Sendable {
    package struct Options: Sendable {
        /// The descriptor that lines go to; stdout by default.
        package var output: Int32 = STDOUT_FILENO
        /// Whether prefixes are coloured; if nil, on a terminal unless `NO_COLOR` is set.
        package var colored: Bool?
        /// The time between the signals of a stop.
        package var grace = GracePeriods()
        /// Whether to stop on SIGINT, SIGTERM and SIGHUP, and ignore SIGPIPE, while running; only one launcher per process may.
        package var handlesSignals = true

        /// Creates the defaults for a command line.
        package init() {}
    }

    private let file: LaunchFile
    private let options: Options
    private let environment: [String: String]
    private let control: Pipe
    private let makeProbe: @Sendable (LaunchFile, [String: String]) -> any ReadinessProbe

    /// Creates a launcher without starting anything; the processes inherit `environment`.
    package convenience init(
        _ file: LaunchFile, options: Options = Options(),
        environment: [String: String] = LaunchContext.current().environment
    ) {
        self.init(file, options: options, environment: environment) { file, environment in
            BusReadinessProbe(file.nodes, environment: environment)
        }
    }

    /// Creates a launcher with another readiness probe.
    package init(
        _ file: LaunchFile, options: Options, environment: [String: String],
        probe: @escaping @Sendable (LaunchFile, [String: String]) -> any ReadinessProbe
    ) {
        makeProbe = probe
        self.file = file
        self.options = options
        self.environment = environment
        var control = Pipe()
        _ = control.open()
        // A signal handler must not block, even when the pipe is full.
        _ = fcntl(control.writeEnd, F_SETFL, O_NONBLOCK)
        self.control = control
    }

    deinit {
        var control = control
        control.close()
    }

    /// Requests a stop like SIGTERM, from any thread; a further call escalates at once.
    package func stop() {
        var byte = UInt8(SIGTERM)
        write(control.writeEnd, &byte, 1)
    }

    /// Starts everything and returns when everything has ended.
    ///
    /// It blocks its thread, which must not exit before it returns.
    ///
    /// - Returns: 0 when a required process ended with 0, all ended with 0, or a stop was requested, and every process that was then
    ///   stopped ended cleanly; 1 otherwise.
    package func run() -> Int32 {
        let isTerminal =
            isatty(options.output) == 1 && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
        var loop = SupervisorLoop(
            nodes: file.nodes, environment: environment, grace: options.grace, control: control.readEnd,
            probe: makeProbe(file, environment),
            writer: OutputWriter(
                descriptor: options.output, names: file.nodes.map(\.name), colored: options.colored ?? isTerminal))
        if options.handlesSignals { cspawn_watch_signals(control.writeEnd) }
        defer { if options.handlesSignals { cspawn_unwatch_signals() } }
        return loop.run()
    }
}

/// The shell around `SupervisorStateMachine`: one thread, one `poll`.
private struct SupervisorLoop {
    /// The longest time that a stalled reader may delay the end.
    private static let lastFlush = Duration.seconds(2)
    /// The interval of polling for ended processes where the kernel has no process descriptors, in milliseconds.
    private static let lookInterval: Int64 = 50
    /// The interval of checking readiness while a node is awaited, in milliseconds; a start takes longer, and checking 50
    /// nodes takes less than a hundredth of the interval.
    private static let probeInterval: Int64 = 20

    private enum Source {
        case control, output, heartbeats
        case stream(node: Int, stream: Int)
        case end(node: Int)
    }

    private let nodes: [LaunchNode]
    private let environment: [String: String]
    private let control: Int32
    private var writer: OutputWriter
    private var machine: SupervisorStateMachine
    private var children: [ChildProcess?]
    private var exitCode: Int32?

    private var guardian: Int32 = -1
    private var guardianPID: pid_t = 0
    /// The socket for heartbeats, and its name; -1 without one.
    private var heartbeatSocket: Int32 = -1
    private var heartbeatSocketName: String?
    /// The most heartbeats read in one iteration of the loop, so that a flooding process does not block the launcher.
    private static let maximumHeartbeats = 1_024
    private let mark = LaunchID.unique()
    private var probe: any ReadinessProbe
    private var isProbing = false
    private var nextLook = MonotonicTime(nanoseconds: 0)

    init(
        nodes: [LaunchNode], environment: [String: String], grace: GracePeriods, control: Int32,
        probe: any ReadinessProbe, writer: OutputWriter
    ) {
        self.nodes = nodes
        self.environment = mark.added(to: environment)
        self.probe = probe
        self.control = control
        self.writer = writer
        machine = SupervisorStateMachine(nodes: nodes, grace: grace)
        children = Array(repeating: nil, count: nodes.count)
    }

    mutating func run() -> Int32 {
        cspawn_raise_file_limit()
        guardian = cspawn_guardian_start(mark.text, &guardianPID)
        if guardian < 0 {
            note(
                "cannot start the guardian process (\(errorText(errno))): children of killed nodes may survive", of: nil
            )
        }
        openHeartbeatSocket()
        defer {
            probe.rest()
            if heartbeatSocket >= 0 { close(heartbeatSocket) }
            endGuardian()
        }
        feed(.start)
        while exitCode == nil { turn() }
        writer.reportDropped()
        for line in machine.summary { note(line, of: nil) }
        finishOutput()
        return exitCode ?? 1
    }

    private mutating func feed(_ event: SupervisorStateMachine.Event) {
        var effects = machine.handle(event, at: now())[...]
        while let effect = effects.popFirst() {
            switch effect {
            case .spawn(let node):
                effects += machine.handle(spawn(node), at: now())
            case .signal(let node, let signal):
                children[node]?.signal(signal)
            case .abort(let node):
                children[node]?.abort()
            case .note(let node, let text):
                note(text, of: node)
            case .finish(let code):
                exitCode = code
            }
        }
    }

    private mutating func spawn(_ node: Int) -> SupervisorStateMachine.Event {
        do {
            children[node] = try ChildProcess(
                nodes[node], environment: environment, guardian: guardian, notifySocket: heartbeatSocketName)
            return .spawned(node: node)
        } catch {
            return .spawnFailed(node: node, reason: error.text(nodes[node]))
        }
    }

    /// Waits for one batch of events and handles it.
    private mutating func turn() {
        var sources: [Source] = [.control]
        var requests = [pollfd(fd: control, events: Int16(POLLIN), revents: 0)]
        func watch(_ descriptor: Int32, _ events: Int32, _ source: Source) {
            sources.append(source)
            requests.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
        }
        if heartbeatSocket >= 0 { watch(heartbeatSocket, POLLIN, .heartbeats) }
        if writer.hasPending { watch(writer.descriptor, POLLOUT, .output) }
        for (node, child) in children.enumerated() {
            guard let child else { continue }
            watch(child.endDescriptor, POLLIN, .end(node: node))
            for (index, stream) in child.streams.enumerated() {
                watch(stream, POLLIN, .stream(node: node, stream: index))
            }
        }
        // poll ignores negative descriptors: closed streams, and processes without a descriptor.
        let count = poll(&requests, nfds_t(requests.count), timeout())
        var mayHaveEnded = children.map { $0.map { $0.endDescriptor < 0 } ?? false }
        if count > 0 {
            for (request, source) in zip(requests, sources) where request.revents != 0 {
                switch source {
                case .stream(let node, let stream): readLines(of: node, stream: stream)
                case .end(let node): mayHaveEnded[node] = true
                case .heartbeats: readHeartbeats()
                case .control, .output: break
                }
            }
        }
        collectEnds(mayHaveEnded)
        look()
        if let deadline = machine.nextDeadline, deadline <= now() { feed(.timer) }
        readControl()
        writer.flush()
    }

    private func timeout() -> Int32 {
        var milliseconds = Int64.max
        if let deadline = machine.nextDeadline {
            let left = deadline.nanoseconds.subtractingReportingOverflow(now().nanoseconds).partialValue
            milliseconds = max(0, left / 1_000_000 + 1)
        }
        if children.contains(where: { $0.map { $0.endDescriptor < 0 } ?? false }) {
            milliseconds = min(milliseconds, Self.lookInterval)
        }
        if !machine.awaited.isEmpty { milliseconds = min(milliseconds, Self.probeInterval) }
        return milliseconds == .max ? -1 : Int32(min(milliseconds, 60_000))
    }

    private mutating func readLines(of node: Int, stream: Int) {
        for line in children[node]?.readLines(stream: stream) ?? [] {
            writer.line(line, of: node)
        }
    }

    private mutating func collectEnds(_ candidates: [Bool]) {
        for node in children.indices where candidates[node] {
            guard var child = children[node], let end = child.end() else { continue }
            cspawn_guardian_forget(guardian, child.pid)
            let (lines, usage) = child.reap()
            for line in lines { writer.line(line, of: node) }
            children[node] = nil
            feed(.ended(node: node, end, usage))
        }
    }

    /// Checks which nodes are ready, if one is awaited and ``probeInterval`` has passed since the last check.
    private mutating func look() {
        let awaited = machine.awaited
        guard !awaited.isEmpty else {
            if isProbing { probe.rest() }
            isProbing = false
            return
        }
        let start = now()
        guard !isProbing || nextLook <= start else { return }
        isProbing = true
        for (node, missing) in zip(awaited, probe.missing(awaited)) { feed(.seen(node, missing: missing)) }
        nextLook = now() + .milliseconds(Self.probeInterval)
    }

    private mutating func openHeartbeatSocket() {
        var name = [CChar](repeating: 0, count: Int(CPROCESS_NOTIFY_NAME))
        heartbeatSocket = cprocess_notify_socket(&name)
        if heartbeatSocket >= 0 {
            heartbeatSocketName = name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
        } else {
            note("cannot create the watchdog socket (\(errorText(errno))): hung nodes are not detected", of: nil)
        }
    }

    private mutating func readHeartbeats() {
        for _ in 0..<Self.maximumHeartbeats {
            let group = cprocess_notify_read(heartbeatSocket)
            guard group >= 0 else { return }
            if group > 0, let node = children.firstIndex(where: { $0?.pid == group }) { feed(.alive(node: node)) }
        }
    }

    private mutating func readControl() {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(control, &bytes, bytes.count)
        guard count > 0 else { return }
        for byte in bytes[..<count] {
            feed(.stopRequested(by: byte == UInt8(SIGINT) ? "Ctrl-C" : signalName(Int32(byte))))
        }
    }

    private mutating func note(_ text: String, of node: Int?) {
        writer.line((node == nil ? text : "[\(text)]").utf8, of: node)
    }

    private mutating func finishOutput() {
        let deadline = now() + Self.lastFlush
        writer.flush()
        while writer.hasPending, now() < deadline {
            var request = pollfd(fd: writer.descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&request, 1, 100)
            writer.flush()
        }
    }

    // MARK: The guardian

    private func endGuardian() {
        guard guardian >= 0 else { return }
        close(guardian)
        while waitpid(guardianPID, nil, 0) < 0, errno == EINTR {}
    }
}

private func now() -> MonotonicTime { MonotonicTime(nanoseconds: Clocks.monotonic()) }
