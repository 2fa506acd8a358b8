import Foundation
import Glibc
import NavTestKit
import NavTestSystem

/// A started process; its output goes to files, because a pipe could fill up and block it.
final class Program: Sendable {
    /// The exit status and the output of a process.
    typealias Result = Programs.Result

    let name: String
    private let process: ChildProcess
    private let outputPath: String
    private let errorPath: String

    /// Starts `command` in `folder` with no input.
    init(_ command: [String], name: String, folder: String, environment: [String: String], logs: String) throws {
        self.name = name
        (outputPath, errorPath) = (logs + ".out", logs + ".err")
        let files = [outputPath, errorPath].map { (path: String) in
            open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        }
        defer { files.forEach { close($0) } }
        guard files.allSatisfy({ $0 >= 0 }) else { throw Failure("\(logs) cannot be written") }
        process = try ChildProcess(
            ["/usr/bin/env", "-C", folder] + command, environment: environment, streams: [nil] + files)
    }

    /// Everything on standard output so far.
    var output: String { readFile(outputPath) ?? "" }
    /// Everything on standard error so far.
    var errors: String { readFile(errorPath) ?? "" }

    /// The exit status, 128 and more for a signal; nil while the process runs.
    var exitStatus: Int32? { process.exitStatus }

    /// The process id.
    var id: Int32 { process.id }

    func send(_ signal: Int32) { process.send(signal) }

    /// Limits the process to the files that it has open, or restores the default limit.
    func mayOpenFiles(_ isAllowed: Bool) throws {
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.id)/fd").compactMap { Int($0) }
        // A new file gets the lowest free descriptor.
        let limit = isAllowed ? 1_024 : (0...1_024).first { !open.contains($0) } ?? 1_024
        guard Programs.succeeds("/usr/bin/prlimit", ["--pid", "\(process.id)", "--nofile=\(limit):"]) else {
            throw Failure("prlimit cannot change what \(name) may open")
        }
    }

    /// Waits for the end.
    func wait(seconds: Int = 300) async throws -> Result {
        try await eventually("\(name) ends", seconds: seconds, detail: { self.transcript }) { exitStatus != nil }
        return Result(status: exitStatus ?? -1, output: output, errors: errors)
    }

    /// Waits until the process has printed a text, on either stream.
    func says(_ text: String, times: Int = 1, seconds: Int = 300) async throws {
        try await eventually("\(name) prints '\(text)'", seconds: seconds, detail: { self.transcript }) {
            let isOver = exitStatus != nil
            if (output + errors).ranges(of: text).count >= times { return true }
            guard !isOver else { throw Failure("\(name) ended without printing '\(text)':\n\(transcript)") }
            return false
        }
    }

    private var transcript: String { "status \(exitStatus.map(String.init) ?? "running")\n\(errors)\n\(output)" }

    /// Ends the process and its children in whatever state.
    func end() { process.end() }
}

/// Returns a file's content as text; nil if it cannot be read.
func readFile(_ path: String) -> String? {
    readBytes(path).map { String(decoding: $0, as: UTF8.self) }
}

/// Returns a file's content; nil if it cannot be read.
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
