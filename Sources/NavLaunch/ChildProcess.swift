internal import CSpawn
internal import Glibc

/// A started process: its id, its group, and the read ends of its stdout and stderr.
struct ChildProcess {
    /// The step that failed, and its errno.
    struct Failure: Error {
        let step: String
        let error: Int32

        func text(_ node: LaunchNode) -> String {
            let reason = errorText(error)
            switch (step, error) {
            case ("execve", _):
                return "execve \(node.executable): \(reason)"
            case ("cpus", EINVAL):
                let cpus = cpuText(node.settings.cpus)
                return "cpus: some of the processors \(cpus) are missing or not allowed for the launcher"
            case ("nice", EPERM), ("nice", EACCES):
                return "nice: \(reason): a niceness below the launcher's needs root, CAP_SYS_NICE, or a higher limit "
                    + "(ulimit -e, \"nice\" in /etc/security/limits.conf)"
            case ("scheduler", EPERM):
                return "scheduler: \(reason): real-time priorities need root, CAP_SYS_NICE, or a higher limit "
                    + "(ulimit -r, \"rtprio\" in /etc/security/limits.conf)"
            case ("core_limit", EPERM), ("memory_limit", EPERM), ("open_files", EPERM):
                return "\(step): \(reason): only root may go above the hard limit (ulimit -H)"
            default:
                return "\(step): \(reason)"
            }
        }
    }

    /// The most bytes read from one stream at a time, so that a chatty process does not starve the others.
    private static let readSize = 65_536
    /// The most bytes read after the end, so that a grandchild that writes endlessly does not block the launch.
    private static let drainLimit = 1 << 20

    let pid: pid_t
    /// Readable when the process has ended; -1 on kernels without process descriptors.
    let endDescriptor: Int32
    private(set) var streams: [Int32]
    private var splitters = [LineSplitter(), LineSplitter()]

    /// Starts the process, in the launcher's working directory.
    ///
    /// - Parameter notifySocket: the socket for its heartbeats, as in sd_notify(3).
    init(
        _ node: LaunchNode, environment: [String: String], guardian: Int32, notifySocket: String?
    ) throws(Failure) {
        var output = Pipe()
        var error = Pipe()
        let opened = output.open()
        let failed = opened == 0 ? error.open() : opened
        guard failed == 0 else {
            output.close()
            error.close()
            throw Failure(step: "pipe2", error: failed)
        }
        var variables = environment
        // The Swift runtime's crash report may take minutes, during which the process keeps its lock and its name.
        if variables["SWIFT_BACKTRACE"] == nil { variables["SWIFT_BACKTRACE"] = "enable=no" }
        // The variables of the launcher's own supervisor do not concern its nodes.
        variables["WATCHDOG_PID"] = nil
        variables["NOTIFY_SOCKET"] = node.watchdog > .zero ? notifySocket : nil
        variables["WATCHDOG_USEC"] = node.watchdog > .zero ? "\(node.watchdog.microseconds)" : nil
        for variable in node.environment { variables[variable.name] = variable.value }
        variables[LaunchID.variable] = environment[LaunchID.variable]
        let words = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }

        var started: pid_t = 0
        var step: UnsafePointer<CChar>?
        let settings = node.settings
        let limits = settings.kernelLimits
        let result = withCStrings([node.executable] + node.arguments) { argv in
            withCStrings(words) { envp in
                node.executable.withCString { path in
                    settings.cpus.map { Int32(clamping: $0) }.withUnsafeBufferPointer { cpus in
                        limits.withUnsafeBufferPointer { limits in
                            var request = cspawn_request(
                                path: path, argv: argv, envp: envp, output: output.writeEnd, error: error.writeEnd,
                                guardian: guardian, cpus: cpus.baseAddress, cpu_count: Int32(cpus.count),
                                nice: settings.nice.map { Int32(clamping: $0) } ?? .max, policy: settings.policy.number,
                                priority: settings.policy.priority, limits: limits.baseAddress,
                                limit_count: Int32(limits.count))
                            return cspawn_start(&request, &started, &step)
                        }
                    }
                }
            }
        }
        Glibc.close(output.writeEnd)
        Glibc.close(error.writeEnd)
        guard result == 0 else {
            Glibc.close(output.readEnd)
            Glibc.close(error.readEnd)
            throw Failure(step: step.map { String(cString: $0) } ?? "start", error: result)
        }
        pid = started
        endDescriptor = cspawn_pidfd(started)
        streams = [output.readEnd, error.readEnd]
    }

    /// Returns how the process ended, if it has; it stays a zombie, so that its process id and group id cannot be reused.
    func end() -> ProcessEnd? {
        let end = cspawn_peek(pid)
        switch end.kind {
        case 0: return nil
        case 1: return .exited(end.status)
        case 2: return .signalled(end.status)
        case 3: return .signalled(end.status, dumpedCore: true)
        default: return .notStarted("its exit status was lost")
        }
    }

    func signal(_ signal: StopSignal) {
        let number: Int32
        switch signal {
        case .interrupt: number = SIGINT
        case .terminate: number = SIGTERM
        case .kill: number = SIGKILL
        }
        kill(-pid, number)
        // A stopped process handles most signals only after it continues.
        kill(-pid, SIGCONT)
    }

    /// Ends a hung process with SIGABRT, so that it reports where it hangs.
    func abort() {
        // SIGCONT first: the kernel delivers a signal to a running thread, preferably the main one, which runs the loop.
        kill(-pid, SIGCONT)
        kill(-pid, SIGABRT)
    }

    /// Reads the lines available from one stream.
    mutating func readLines(stream: Int) -> [[UInt8]] {
        read(stream: stream, limit: Self.readSize)
    }

    /// Cleans up after the end: kills the rest of the group, reads the last lines, and reaps the process.
    mutating func reap() -> (lines: [[UInt8]], usage: ProcessUsage) {
        kill(-pid, SIGKILL)
        var lines: [[UInt8]] = []
        for stream in streams.indices {
            lines += read(stream: stream, limit: Self.drainLimit)
            lines += splitters[stream].finish().map { [$0] } ?? []
            closeStream(stream)
        }
        if endDescriptor >= 0 { Glibc.close(endDescriptor) }
        let usage = cspawn_reap(pid)
        return (
            lines,
            ProcessUsage(peakMemory: usage.peak_bytes, processorTime: .microseconds(usage.cpu_microseconds))
        )
    }

    private mutating func read(stream: Int, limit: Int) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var total = 0
        while total < limit, streams[stream] >= 0 {
            let descriptor = streams[stream]
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, size in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                size = max(0, count)
            }
            if count > 0 {
                total += count
                lines += splitters[stream].feed(bytes)
            } else if count < 0, errno == EINTR {
                continue
            } else {
                if count == 0 || errno != EAGAIN { closeStream(stream) }
                break
            }
        }
        return lines
    }

    private mutating func closeStream(_ stream: Int) {
        guard streams[stream] >= 0 else { return }
        Glibc.close(streams[stream])
        streams[stream] = -1
    }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}

extension ProcessSettings {
    /// The number and priority of the scheduling policy for the kernel; -1 for none.
    fileprivate var policy: (number: Int32, priority: Int32) {
        switch scheduler {
        case nil: return (-1, 0)
        case .other: return (SCHED_OTHER, 0)
        // SCHED_BATCH and SCHED_IDLE, which the Glibc module does not export.
        case .batch: return (3, 0)
        case .idle: return (5, 0)
        case .fifo(let priority): return (SCHED_FIFO, Int32(clamping: priority))
        case .roundRobin(let priority): return (SCHED_RR, Int32(clamping: priority))
        }
    }

    fileprivate var kernelLimits: [cspawn_limit] {
        let resources = [
            (RLIMIT_CORE, coreLimit), (RLIMIT_DATA, memoryLimit), (RLIMIT_NOFILE, openFiles),
        ]
        return resources.compactMap { resource, limit in
            switch limit {
            case nil: return nil
            case .unlimited: return cspawn_limit(resource: Int32(resource.rawValue), value: .max)
            case .value(let value): return cspawn_limit(resource: Int32(resource.rawValue), value: value)
            }
        }
    }
}

/// A pipe whose read end does not block.
struct Pipe {
    private(set) var readEnd: Int32 = -1
    private(set) var writeEnd: Int32 = -1

    /// Returns 0, or the errno.
    mutating func open() -> Int32 {
        var ends: [Int32] = [-1, -1]
        let result = cspawn_pipe(&ends)
        (readEnd, writeEnd) = (ends[0], ends[1])
        return result
    }

    mutating func close() {
        for end in [readEnd, writeEnd] where end >= 0 { Glibc.close(end) }
        (readEnd, writeEnd) = (-1, -1)
    }
}

/// Calls a body with a NULL-terminated array of C strings.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { pointers.forEach { free($0) } }
    return pointers.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("the array has at least the final NULL") }
        return body(base)
    }
}
