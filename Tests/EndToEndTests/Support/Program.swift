import Glibc
import Synchronization

/// A started process. Its output goes to files, so that nobody has to read it for it to go on.
final class Program: Sendable {
    let name: String
    private let pid: pid_t
    private let outputPath: String
    private let errorPath: String
    private let status = Mutex<Int32?>(nil)

    /// What a process left behind.
    struct Result {
        /// The exit status; 128 and the number of the signal when one ended it.
        var status: Int32
        var output: String
        var errors: String

        var outputLines: [Substring] { output.split(separator: "\n") }
        var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    /// Starts `command` in `folder` with no input, a process group of its own and every signal as the system sets it.
    init(_ command: [String], name: String, folder: String, environment: [String: String], logs: String) throws {
        self.name = name
        outputPath = logs + ".out"
        errorPath = logs + ".err"

        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errorPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        // What other tests of this process have open is none of the new one's business.
        for descriptor in 3..<Int32(256) { posix_spawn_file_actions_addclose(&files, descriptor) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        posix_spawnattr_setflags(&attributes, Int16(flags))

        let call = ["/usr/bin/env", "-C", folder] + command
        var words: [UnsafeMutablePointer<CChar>?] = call.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, call[0], &files, &attributes, &words, &variables)
        guard code == 0 else { throw Failure("cannot start \(command[0]): \(String(cString: strerror(code)))") }
        self.pid = pid
    }

    /// Everything on standard output so far.
    var output: String { readFile(outputPath) ?? "" }
    /// Everything on standard error so far.
    var errors: String { readFile(errorPath) ?? "" }

    /// The exit status, 128 and more for a signal; nil while the process runs.
    var exitStatus: Int32? {
        status.withLock { status in
            if status == nil {
                var code: Int32 = 0
                if waitpid(pid, &code, WNOHANG) == pid {
                    status = code & 0x7f == 0 ? code >> 8 & 0xff : 128 + code & 0x7f
                }
            }
            return status
        }
    }

    func send(_ signal: Int32) {
        if exitStatus == nil { kill(pid, signal) }
    }

    /// Waits for the end.
    func wait(seconds: Int = 120) async throws -> Result {
        try await eventually("\(name) ends", seconds: seconds, detail: { self.transcript }) { exitStatus != nil }
        return Result(status: exitStatus ?? -1, output: output, errors: errors)
    }

    /// Waits until the process has said something, on either stream.
    func says(_ text: String, times: Int = 1, seconds: Int = 120) async throws {
        try await eventually("\(name) says '\(text)'", seconds: seconds, detail: { self.transcript }) {
            let isOver = exitStatus != nil
            if (output + errors).ranges(of: text).count >= times { return true }
            guard !isOver else { throw Failure("\(name) has ended without saying '\(text)':\n\(transcript)") }
            return false
        }
    }

    private var transcript: String { "status \(exitStatus.map(String.init) ?? "running")\n\(errors)\n\(output)" }

    /// Ends the process and what it started, whatever state it is in.
    func end() {
        guard exitStatus == nil else { return }
        kill(-pid, SIGKILL)
        status.withLock { status in
            var code: Int32 = 0
            while waitpid(pid, &code, 0) < 0, errno == EINTR {}
            status = 128 + SIGKILL
        }
    }
}

/// What went wrong in a test's own machinery or in a process it waits for.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Waits until something holds. The limit is a safety net and no measurement.
func eventually(
    _ what: String, seconds: Int = 120, detail: () -> String = { "" }, _ condition: () async throws -> Bool
) async throws {
    for _ in 0..<seconds * 50 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(20))
    }
    throw Failure("gave up waiting after \(seconds) s: \(what)\n\(detail())")
}

/// A file's content as text; nil when it cannot be read.
func readFile(_ path: String) -> String? {
    readBytes(path).map { String(decoding: $0, as: UTF8.self) }
}

/// A file's content; nil when it cannot be read.
func readBytes(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return count == 0 ? bytes : nil }
        bytes += buffer[..<count]
    }
}
