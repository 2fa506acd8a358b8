internal import CSpawn
internal import Glibc

/// A process that was started: its id, its group, and the read ends of its stdout and stderr.
struct ChildProcess {
    /// The system call that failed, and its errno.
    struct Failure: Error {
        let step: String
        let error: Int32
    }

    /// Bytes taken from one stream at a time, so that a chatty process does not keep the others waiting.
    private static let readSize = 65_536
    /// Bytes taken after the end, so that a child of a child that writes for ever does not keep the launch.
    private static let drainLimit = 1 << 20

    let pid: pid_t
    /// Readable when the process ended; -1 on kernels without it.
    let endDescriptor: Int32
    private(set) var streams: [Int32]
    private var splitters = [LineSplitter(), LineSplitter()]

    /// Starts the process, in the launcher's working directory.
    init(_ node: LaunchNode, environment: [String: String], guardian: Int32) throws(Failure) {
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
        for variable in node.environment { variables[variable.name] = variable.value }
        let words = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }

        var started: pid_t = 0
        var step: UnsafePointer<CChar>?
        let result = withCStrings([node.executable] + node.arguments) { argv in
            withCStrings(words) { envp in
                node.executable.withCString { path in
                    var request = cspawn_request(
                        path: path, argv: argv, envp: envp, output: output.writeEnd,
                        error: error.writeEnd,
                        guardian: guardian)
                    return cspawn_start(&request, &started, &step)
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

    /// How it ended, if it did; it stays a zombie, so its id and its group's cannot be given to another process.
    func end() -> ProcessEnd? {
        var status: Int32 = 0
        switch cspawn_peek(pid, &status) {
        case 0: return nil
        case 1: return .exited(status)
        case 2: return .signalled(status)
        default: return .notStarted("its end was lost")
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
        // A stopped process takes a signal only once it continues.
        kill(-pid, SIGCONT)
    }

    /// The lines that can be read now from one stream.
    mutating func readLines(stream: Int) -> [[UInt8]] {
        read(stream: stream, limit: Self.readSize)
    }

    /// After the end: ends what is left of its group, takes the last lines, and lets go of the process.
    mutating func reap() -> [[UInt8]] {
        kill(-pid, SIGKILL)
        var lines: [[UInt8]] = []
        for stream in streams.indices {
            lines += read(stream: stream, limit: Self.drainLimit)
            lines += splitters[stream].finish().map { [$0] } ?? []
            closeStream(stream)
        }
        if endDescriptor >= 0 { Glibc.close(endDescriptor) }
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
        return lines
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

/// Lends an array of C strings that ends with NULL.
private func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) }
    pointers.append(nil)
    defer { pointers.forEach { free($0) } }
    return pointers.withUnsafeBufferPointer { buffer in
        guard let base = buffer.baseAddress else { preconditionFailure("the array holds the final NULL at least") }
        return body(base)
    }
}
