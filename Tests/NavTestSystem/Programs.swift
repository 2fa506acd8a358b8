internal import Foundation
internal import Glibc

/// The programs of this package, and functions that run a program until it ends.
package enum Programs {
    /// The folder of the test binary, which also contains the probes.
    package static let besideTests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    /// The folder of the programs: `NAVBUS_BIN`, otherwise that of the test binary.
    package static let folder = ProcessInfo.processInfo.environment["NAVBUS_BIN"] ?? besideTests

    /// Returns the path of a program of this package by its name, or of any other program by its path.
    ///
    /// - Throws: ``Failure`` if it does not exist.
    package static func path(_ program: String) throws -> String {
        let path = program.hasPrefix("/") ? program : folder + "/" + program
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Failure("\(path) is missing: build the package, or set NAVBUS_BIN to the folder of its programs")
        }
        return path
    }

    /// The result of a program that has ended.
    package struct Result: Sendable {
        /// The exit status, or 128 plus the number of the signal that ended it.
        package var status: Int32
        /// All standard output.
        package var output: String
        /// All standard error.
        package var errors: String

        /// Creates a result from its parts.
        package init(status: Int32, output: String, errors: String) {
            (self.status, self.output, self.errors) = (status, output, errors)
        }

        /// The lines of the output.
        package var outputLines: [Substring] { output.split(separator: "\n") }
        /// The lines of the errors.
        package var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    /// Runs a program until it ends. Its input and output are files, because a pipe could fill up.
    ///
    /// - Parameters:
    ///   - program: a program as in ``path(_:)``.
    ///   - variables: environment variables in addition to those of this process.
    ///   - input: the standard input.
    /// - Throws: ``Failure`` if it cannot be started; a failure of the program is part of the result.
    package static func run(
        _ program: String, _ arguments: [String] = [], variables: [String: String] = [:], input: String = ""
    ) throws -> Result {
        let (given, output, errors) = (try UnnamedFile(input), try UnnamedFile(), try UnnamedFile())
        let process = try ChildProcess(
            [try path(program)] + arguments,
            environment: ProcessInfo.processInfo.environment.merging(variables) { $1 },
            streams: [given.descriptor, output.descriptor, errors.descriptor])
        let status = process.wait()
        return Result(status: status, output: output.text, errors: errors.text)
    }

    /// Whether a program exists and succeeds.
    package static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
        (try? run(program, arguments))?.status == 0
    }
}

/// A temporary file without a name, which is deleted with this object.
private final class UnnamedFile {
    let descriptor: Int32

    init(_ text: String = "") throws {
        var template = Array((NSTemporaryDirectory() + "/navbus-XXXXXX").utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Failure("cannot create a file: \(String(cString: strerror(errno)))") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
        let bytes = Array(text.utf8)
        guard bytes.isEmpty || pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw Failure("a temporary file of \(bytes.count) bytes cannot be written")
        }
    }

    deinit { close(descriptor) }

    /// The whole content.
    var text: String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = pread(descriptor, &buffer, buffer.count, off_t(bytes.count))
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
