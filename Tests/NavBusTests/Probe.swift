import Foundation
import Testing

/// A NavBusProbe process; it ends with this object, and also when this process does, because its input closes.
final class Probe {
    let processID: pid_t
    private let input: Int32
    private let output: Int32
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
        (processID, input, output) = (pid, inPipe[1], outPipe[0])
    }

    deinit {
        if !isReaped { kill() }
        close(input)
        close(output)
    }

    /// The probe is built into the folder of the test binary.
    static func path() throws -> String {
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = (binary as NSString).deletingLastPathComponent + "/NavBusProbe"
        try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not built")
        return path
    }

    /// Waits until the probe has said `line`.
    func says(_ line: String) throws {
        let wanted = Array((line + "\n").utf8)
        try until("the probe's '\(line)'") {
            if text.suffix(wanted.count) == wanted || String(decoding: text, as: UTF8.self).contains(line + "\n") {
                return true
            }
            try readSome()
            return false
        }
    }

    private func readSome() throws {
        var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 20) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(output, &buffer, buffer.count)
        guard count > 0 else { throw Timeout(what: "the probe, which ended: \(String(decoding: text, as: UTF8.self))") }
        text += buffer[..<count]
    }

    /// kill -9.
    func kill() {
        guard !isReaped else { return }
        Foundation.kill(processID, SIGKILL)
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        isReaped = true
        #expect(status & 0x7f == SIGKILL)
    }
}
