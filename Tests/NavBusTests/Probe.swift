import Foundation
import Testing

/// A NavBusProbe process; it ends with this object, and also when this process does, because its input closes.
final class Probe {
    let processID: pid_t
    private let input: Int32
    private let outputEnd: Int32
    private var text: [UInt8] = []
    private var isReaped = false

    init(_ arguments: [String]) throws {
        var (inPipe, outPipe) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
        try #require(pipe(&inPipe) == 0 && pipe(&outPipe) == 0)
        for end in inPipe + outPipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inPipe[0], 0)
        posix_spawn_file_actions_adddup2(&actions, outPipe[1], 1)
        var words = ([try Self.path()] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, try Self.path(), &actions, nil, &words, environ)
        close(inPipe[0])
        close(outPipe[1])
        try #require(code == 0, "cannot start the probe: \(String(cString: strerror(code)))")
        (processID, input, outputEnd) = (pid, inPipe[1], outPipe[0])
    }

    deinit {
        if !isReaped { _ = reap() }
        close(input)
        close(outputEnd)
    }

    /// The probe is built into the folder of the test binary.
    static func path() throws -> String {
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = (binary as NSString).deletingLastPathComponent + "/NavBusProbe"
        try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not built")
        return path
    }

    /// Waits until the probe has said `line`; `turn` keeps this process's nodes going.
    func says(_ line: String, while turn: () throws -> Void = {}) throws {
        let wanted = Array((line + "\n").utf8)
        try until("the probe's '\(line)'") {
            if text.suffix(wanted.count) == wanted || output.contains(line + "\n") {
                return true
            }
            try turn()
            try readSome()
            return false
        }
    }

    private func readSome() throws {
        if try hasEnded(within: 20) { throw Timeout(what: "the probe, which ended: \(output)") }
    }

    /// What the probe has printed, as far as it was read.
    var output: String { String(decoding: text, as: UTF8.self) }

    /// Reads what there is, waiting for some at most `milliseconds`.
    ///
    /// - Returns: true when the probe has closed its output.
    func hasEnded(within milliseconds: Int32 = 0) throws -> Bool {
        var entry = pollfd(fd: outputEnd, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(outputEnd, &buffer, buffer.count)
        guard count > 0 else { return true }
        text += buffer[..<count]
        return false
    }

    func send(_ signal: Int32) { Foundation.kill(processID, signal) }

    /// The state's letter in /proc: `T` when stopped.
    var state: String {
        let stat = (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
        return stat.split(separator: " ").dropFirst(2).first.map(String.init) ?? ""
    }

    /// kill -9, of a process that runs.
    func kill() {
        guard !isReaped else { return }
        #expect(reap() & 0x7f == SIGKILL)
    }

    /// Ends the process however it is.
    ///
    /// - Returns: what `waitpid` says.
    private func reap() -> Int32 {
        send(SIGKILL)
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        isReaped = true
        return status
    }
}
