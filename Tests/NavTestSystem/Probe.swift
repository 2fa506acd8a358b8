internal import Foundation
package import Glibc

/// A process of this package that tests communicate with, stop and kill.
///
/// It ends with this object and also with this process, because its input is closed.
package final class Probe {
    private let process: ChildProcess
    private var input: Int32
    private let said: Int32
    /// All output read so far, and the length of the part that ``line()`` has returned.
    private var text: [UInt8] = []
    private var taken = 0

    /// Starts a program that is built next to the tests.
    ///
    /// - Throws: ``Failure`` if it does not exist or does not start.
    package init(_ program: String, _ arguments: [String]) throws {
        var (given, output) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
        guard pipe(&given) == 0, pipe(&output) == 0 else { throw Failure("cannot create the pipes of a probe") }
        for end in given + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (input, said) = (given[1], output[0])
        defer { for end in [given[0], output[1]] { close(end) } }
        do {
            let path = try Programs.path(Programs.besideTests + "/" + program)
            process = try ChildProcess([path] + arguments, streams: [given[0], output[1], STDERR_FILENO])
        } catch {
            for end in [given[1], output[0]] { close(end) }
            throw error
        }
    }

    deinit {
        process.end()
        if input >= 0 { close(input) }
        close(said)
    }

    /// The process id.
    package var processID: pid_t { process.id }

    /// The letter of the process's state in `/proc`: `T` when it is stopped.
    package var state: String {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
        return status.split(separator: " ").dropFirst(2).first.map(String.init) ?? ""
    }

    /// Sends a signal unless the process has ended.
    package func send(_ signal: Int32) { process.send(signal) }

    // MARK: Output

    /// All output that has been read so far.
    package var output: String { String(decoding: text, as: UTF8.self) }

    /// Returns the next line that the probe prints; nil at its end.
    package func line() -> String? {
        while true {
            if let end = text[taken...].firstIndex(of: 0x0a) {
                defer { taken = end + 1 }
                return String(decoding: text[taken..<end], as: UTF8.self)
            }
            guard readSome() else { return nil }
        }
    }

    /// Reads the available output and waits for output at most `milliseconds`.
    ///
    /// - Returns: whether the probe has closed its output.
    package func hasEnded(within milliseconds: Int32 = 0) -> Bool {
        var entry = pollfd(fd: said, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0 && !readSome()
    }

    /// Reads available output; returns false at its end.
    private func readSome() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(said, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            text += buffer[..<count]
            return true
        }
    }

    // MARK: End

    /// Kills the probe with SIGKILL and waits for its end.
    ///
    /// - Returns: the printed lines that ``line()`` has not returned.
    /// - Throws: ``Failure`` if it had already ended.
    @discardableResult
    package func kill() throws -> [String] {
        process.send(SIGKILL)
        let lines = rest()
        guard process.exitStatus == 128 + SIGKILL else {
            throw Failure("the probe ended with \(process.exitStatus ?? -1) before it was killed: \(output)")
        }
        return lines
    }

    /// Closes the probe's input, which ends it, and returns its further lines.
    package func release() -> [String] {
        if input >= 0 { close(input) }
        input = -1
        return rest()
    }

    /// Returns all further lines once the probe has ended.
    package func rest() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        process.wait()
        return lines
    }
}
