import Foundation
import Glibc
import Testing

/// A NavTileStoreProbe process; it ends with this object, and also when this process does, because its input closes.
final class StoreProbe {
    let processID: pid_t
    private var input: Int32
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
        kill()
        if input >= 0 { close(input) }
        close(outputEnd)
    }

    /// The probe is built into the folder of the test binary.
    static func path() throws -> String {
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = (binary as NSString).deletingLastPathComponent + "/NavTileStoreProbe"
        try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not built")
        return path
    }

    /// The next line that it says; nil at its end.
    func line() -> String? {
        while true {
            if let end = text.firstIndex(of: 0x0a) {
                defer { text.removeFirst(end + 1) }
                return String(decoding: text[..<end], as: UTF8.self)
            }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = read(outputEnd, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return nil }
            text += buffer[..<count]
        }
    }

    /// Kills it, waits until it is gone, and returns the lines that it had said.
    @discardableResult
    func kill() -> [String] {
        if !isReaped { Glibc.kill(processID, SIGKILL) }
        return rest()
    }

    /// Lets it end by itself and returns its further lines.
    func release() -> [String] {
        close(input)
        input = -1
        return rest()
    }

    /// All further lines, once it has ended.
    func rest() -> [String] {
        guard !isReaped else { return [] }
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0 && errno == EINTR {}
        isReaped = true
        return lines
    }
}
