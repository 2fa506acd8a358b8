internal import Foundation
package import Glibc

/// A process of this package that tests communicate with, stop and kill.
///
/// It ends with this object, and also when this process ends, because its input closes.
package final class Probe {
    private let process: ChildProcess
    private var input: Int32
    private let said: Int32
    /// All output read so far, and the length of the part that ``line()`` has returned.
    private var text: [UInt8] = []
    private var taken = 0

    /// Starts a program that is built beside the tests.
    ///
    /// - Throws: ``Failure`` when it does not exist or does not start.
    package init(_ program: String, _ arguments: [String]) throws {
        var (given, output) = ([Int32](repeating: -1, count: 2), [Int32](repeating: -1, count: 2))
        guard pipe(&given) == 0, pipe(&output) == 0 else { throw Failure("no pipe to a probe") }
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

    /// Its process id.
    package var processID: pid_t { process.id }

    /// The letter of its state in `/proc`: `T` when it is stopped.
    package var state: String {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
        return status.split(separator: " ").dropFirst(2).first.map(String.init) ?? ""
    }

    /// Sends a signal, unless it has ended.
    package func send(_ signal: Int32) { process.send(signal) }

    // MARK: Output

    /// All output that has been read so far.
    package var output: String { String(decoding: text, as: UTF8.self) }

    /// The next line that it prints; nil at its end.
    package func line() -> String? {
        while true {
            if let end = text[taken...].firstIndex(of: 0x0a) {
                defer { taken = end + 1 }
                return String(decoding: text[taken..<end], as: UTF8.self)
            }
            guard readSome() else { return nil }
        }
    }

    /// Reads the available output, waiting for output at most `milliseconds`.
    ///
    /// - Returns: true when it has closed its output.
    package func hasEnded(within milliseconds: Int32 = 0) -> Bool {
        var entry = pollfd(fd: said, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0 && !readSome()
    }

    /// Returns false at the end of the output.
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

    /// Kills it with SIGKILL and waits for its end.
    ///
    /// - Returns: the lines that it had printed and that ``line()`` has not returned.
    /// - Throws: ``Failure`` when it had already ended by itself.
    @discardableResult
    package func kill() throws -> [String] {
        process.send(SIGKILL)
        let lines = rest()
        guard process.exitStatus == 128 + SIGKILL else {
            throw Failure("the probe had ended with \(process.exitStatus ?? -1) before it was killed: \(output)")
        }
        return lines
    }

    /// Closes its input, so that it ends, and returns its further lines.
    package func release() -> [String] {
        if input >= 0 { close(input) }
        input = -1
        return rest()
    }

    /// Returns all further lines, once it has ended.
    package func rest() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        process.wait()
        return lines
    }
}
