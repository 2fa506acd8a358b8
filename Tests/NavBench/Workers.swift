internal import CSpawn
internal import Foundation
internal import Glibc
internal import Synchronization

/// The processes of one measurement, with a separate folder. No process outlives ``close()``; the kernel kills them
/// when the thread that started them ends.
package final class Workers {
    /// The path of the folder, short enough for sockets; ``close()`` removes it.
    package let folder: String
    private var running: [(name: String, pid: pid_t, descriptor: Int32)] = []
    private var logs: [String: String] = [:]

    /// Creates the folder.
    package init() throws(BenchError) {
        var template = Array("/tmp/nvb-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw BenchError("cannot create a folder in /tmp: \(Self.reason(errno))")
        }
        let path = String(cString: made)
        folder = path
        Self.folders.withLock { _ = $0.insert(path) }
    }

    private static let folders = Mutex<Set<String>>([])

    /// Makes SIGINT, SIGTERM and SIGHUP remove the existing folders and end the program with 128 plus the signal's
    /// number; the kernel ends the processes.
    package static func cleanUpOnSignals() {
        var waited = sigset_t()
        sigemptyset(&waited)
        for number in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&waited, number) }
        // Later threads inherit the mask; processes start with an empty one.
        pthread_sigmask(SIG_BLOCK, &waited, nil)
        let signals = waited
        Thread.detachNewThread {
            var (signals, number) = (signals, Int32(0))
            while sigwait(&signals, &number) != 0 {}
            folders.withLock { $0.forEach { try? FileManager.default.removeItem(atPath: $0) } }
            _exit(128 + number)
        }
    }

    /// Starts a program under a name that is used in errors and by ``output(of:)``.
    ///
    /// - Parameter command: the executable's path and its arguments.
    package func start(_ name: String, _ command: [String]) throws(BenchError) {
        guard let executable = command.first else { throw BenchError("\(name): the command is empty") }
        let log = "\(folder)/\(name).log"
        let descriptor = open(log, O_RDWR | O_CREAT | O_CLOEXEC | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw BenchError("\(log): \(Self.reason(errno))") }
        defer { Glibc.close(descriptor) }
        let words = command.map { strdup($0) }
        defer { words.forEach { free($0) } }
        var pid: pid_t = 0
        var step: UnsafePointer<CChar>?
        let failure = (words + [nil]).withUnsafeBufferPointer { argv in
            executable.withCString { path in
                var request = cspawn_plain_request(
                    path, argv.baseAddress, cspawn_environment(), descriptor, descriptor)
                return cspawn_start(&request, &pid, &step)
            }
        }
        guard failure == 0 else {
            throw BenchError("\(executable) cannot be started: \(Self.reason(failure))")
        }
        logs[name] = log
        let ended = cspawn_pidfd(pid)
        running.append((name, pid, ended))
        guard ended >= 0 else { throw BenchError("\(name) cannot be monitored: \(Self.reason(errno))") }
    }

    /// Returns the id of a process that is not known to have ended; nil if no process has the name.
    package func processID(of name: String) -> Int32? { running.first { $0.name == name }?.pid }

    /// Waits until every process has ended successfully.
    ///
    /// - Throws: an error with the process's output if a process fails or has not ended after `seconds`.
    package func finish(within seconds: Double) throws(BenchError) {
        let deadline = Self.now() + Int64(seconds * 1e9)
        while !running.isEmpty {
            guard let index = waitForOne(until: deadline) else {
                let names = running.map(\.name).joined(separator: ", ")
                throw BenchError("not done within \(Int(seconds)) s: \(names)\n\(running.map { text(of: $0.name) })")
            }
            let worker = running.remove(at: index)
            var status: Int32 = 0
            while waitpid(worker.pid, &status, 0) < 0, errno == EINTR {}
            Glibc.close(worker.descriptor)
            guard status == 0 else {
                let how = status & 0x7f == 0 ? "exit \((status >> 8) & 0xff)" : "signal \(status & 0x7f)"
                throw BenchError("\(worker.name) failed: \(how)\n\(text(of: worker.name))")
            }
        }
    }

    /// Returns the values that a process printed, one per line such as `count 20000`, by the first words.
    package func words(of name: String) -> [String: String] {
        var result: [String: String] = [:]
        for line in text(of: name).split(separator: "\n") {
            guard let space = line.firstIndex(of: " ") else { continue }
            result[String(line[..<space])] = String(line[line.index(after: space)...])
        }
        return result
    }

    /// Returns the numbers among ``words(of:)``.
    package func output(of name: String) -> [String: Int64] { words(of: name).compactMapValues { Int64($0) } }

    /// Returns the samples that a process wrote to a file in the folder, 64-bit nanoseconds each.
    package func samples(_ file: String) throws(BenchError) -> [Int64] {
        let path = "\(folder)/\(file)"
        guard let data = FileManager.default.contents(atPath: path), data.count % 8 == 0 else {
            throw BenchError("\(path) is not a file of samples")
        }
        return data.withUnsafeBytes { bytes in
            (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
        }
    }

    /// Kills the remaining processes and removes the folder.
    package func close() {
        for worker in running {
            kill(worker.pid, SIGKILL)
            while waitpid(worker.pid, nil, 0) < 0, errno == EINTR {}
            Glibc.close(worker.descriptor)
        }
        running = []
        try? FileManager.default.removeItem(atPath: folder)
        Self.folders.withLock { _ = $0.remove(folder) }
    }

    deinit { close() }

    private func text(of name: String) -> String {
        guard let log = logs[name], let data = FileManager.default.contents(atPath: log) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the index of a process that has ended; nil if the time limit is reached first.
    private func waitForOne(until deadline: Int64) -> Int? {
        var entries = running.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        while true {
            let left = deadline - Self.now()
            guard left > 0 else { return nil }
            _ = Glibc.poll(&entries, nfds_t(entries.count), Int32(clamping: left / 1_000_000 + 1))
            if let index = entries.firstIndex(where: { $0.revents != 0 }) { return index }
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func reason(_ number: Int32) -> String { String(cString: strerror(number)) }
}
