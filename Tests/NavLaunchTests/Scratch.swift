import Glibc
import NavLaunch
import NavTestKit

/// A temporary folder of one test, removed with this object.
final class Scratch {
    private let folder: TemporaryFolder
    var path: String { folder.path }

    init() {
        guard let folder = try? TemporaryFolder() else { preconditionFailure("cannot create a temporary folder") }
        self.folder = folder
    }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ name: String, _ text: String, executable: Bool = false) -> String {
        let file = path + "/" + name
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, executable ? 0o755 : 0o644)
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        return file
    }

    func read(_ name: String) -> String? {
        readAll(open(path + "/" + name, O_RDONLY | O_CLOEXEC))
    }

    /// Loads a file of this folder with an environment that contains only `PATH`.
    func load(_ name: String, _ arguments: [String: String] = [:]) throws(LaunchFileError) -> LaunchFile {
        try LaunchFile.load(path: path + "/" + name, arguments: arguments, context: context)
    }

    /// Returns the problems of a launch file with this text, each without the folder's path.
    func problems(_ text: String, _ arguments: [String: String] = [:]) -> [String] {
        write("launch.yaml", text)
        do {
            _ = try load("launch.yaml", arguments)
            return []
        } catch {
            return error.problems.map { problem in
                problem.description.replacing(path + "/", with: "")
            }
        }
    }

    var context: LaunchContext {
        LaunchContext(binaryDirectory: path, environment: ["PATH": "/usr/bin:/bin", "PLACE": "here"])
    }
}

/// Reads everything until the end of the file and closes the descriptor; returns nil if the descriptor is invalid.
func readAll(_ descriptor: Int32) -> String? {
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer[..<count]
    }
}

/// Starts a shell command and returns its process id; nil if it cannot be started.
func startShell(_ command: String) -> pid_t? {
    var pid: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(command), nil]
    defer { words.forEach { free($0) } }
    // The tests may run with ignored signals, as under nohup, which their children would inherit.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    return posix_spawn(&pid, "/bin/sh", nil, &attributes, &words, nil) == 0 ? pid : nil
}

/// Waits for a shell command and returns its status.
func runShell(_ command: String) -> Int32 {
    guard let pid = startShell(command) else { return -1 }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    return status
}
