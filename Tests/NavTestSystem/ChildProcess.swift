package import Glibc
internal import Synchronization

/// A process started by a test, reaped once; it is killed when its last reference is released.
///
/// It has a separate process group, the default handling of every signal, and no open descriptors except its streams:
/// it does not inherit descriptors of other tests in this process.
package final class ChildProcess: Sendable {
    /// The process id, which is also the id of the group.
    package let id: pid_t
    private let status = Mutex<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - command: the executable's path and its arguments.
    ///   - environment: all variables; nil for those of this process.
    ///   - streams: the descriptors 0, 1, 2 and so on; nil for `/dev/null`. They stay open in this process.
    /// - Throws: ``Failure`` if the process cannot be started.
    package init(_ command: [String], environment: [String: String]? = nil, streams: [Int32?]) throws {
        var files = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&files)
        defer { posix_spawn_file_actions_destroy(&files) }
        // The copies have numbers above the passed descriptors, so that none is overwritten before it has been copied.
        let copies = streams.map { stream in stream.map { fcntl($0, F_DUPFD_CLOEXEC, Int32(streams.count)) } }
        defer { for case let copy? in copies { close(copy) } }
        for (number, copy) in copies.enumerated() {
            if let copy {
                posix_spawn_file_actions_adddup2(&files, copy, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&files, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        for descriptor in Self.openDescriptors where descriptor >= streams.count {
            posix_spawn_file_actions_addclose(&files, descriptor)
        }

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

        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] =
            (environment ?? [:]).map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var id: pid_t = 0
        let code =
            environment == nil
            ? posix_spawn(&id, command[0], &files, &attributes, &words, environ)
            : posix_spawn(&id, command[0], &files, &attributes, &words, &variables)
        guard code == 0 else { throw Failure("cannot start \(command[0]): \(String(cString: strerror(code)))") }
        self.id = id
    }

    deinit { end() }

    /// The exit status, or 128 plus the number of the signal that ended it; nil while it runs.
    package var exitStatus: Int32? { status.withLock { refresh(&$0) } }

    /// Sends a signal unless the process has ended.
    package func send(_ signal: Int32) {
        status.withLock { status in
            if refresh(&status) == nil { kill(id, signal) }
        }
    }

    /// Waits for the end of the process.
    ///
    /// - Returns: the same value as ``exitStatus``.
    @discardableResult
    package func wait() -> Int32 {
        var info = siginfo_t()
        // The process is not reaped here, so that its id stays valid while another thread may send it a signal.
        while waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return exitStatus ?? -1
    }

    /// Kills the process and its group in whatever state, and waits for its end.
    package func end() {
        status.withLock { status in
            if refresh(&status) == nil { kill(-id, SIGKILL) }
        }
        wait()
    }

    /// Reaps the process once it has ended.
    private func refresh(_ status: inout Int32?) -> Int32? {
        guard status == nil else { return status }
        var code: Int32 = 0
        if waitpid(id, &code, WNOHANG) == id { status = code & 0x7f == 0 ? code >> 8 & 0xff : 128 + code & 0x7f }
        return status
    }

    private static var openDescriptors: [Int32] {
        guard let folder = opendir("/proc/self/fd") else { return Array(3..<256) }
        defer { closedir(folder) }
        var numbers: [Int32] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let number = Int32(name) { numbers.append(number) }
        }
        return numbers
    }
}
