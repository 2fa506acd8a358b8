internal import Foundation

/// The Python interpreter that runs the Python clients and reference readers.
package enum Python {
    private static let named = ProcessInfo.processInfo.environment["NAVBUS_PYTHON"]

    /// The interpreter's path: `NAVBUS_PYTHON`, otherwise the first `python3` in `PATH`.
    package static let path: String = {
        if let named { return URL(fileURLWithPath: named).path }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }
            ?? "/usr/bin/python3"
    }()

    /// Whether the modules are available to tests.
    ///
    /// An interpreter named by `NAVBUS_PYTHON` must have all modules: a missing one fails the tests instead of skipping
    /// them.
    package static func has(_ modules: String) -> Bool {
        named != nil || Programs.succeeds(path, ["-c", "import \(modules)"])
    }

    /// Returns the output of a script or a script file.
    ///
    /// - Throws: ``Failure`` if it cannot be started or fails.
    package static func run(
        _ arguments: [String], variables: [String: String] = [:], input: String = ""
    ) throws -> String {
        let run = try Programs.run(path, arguments, variables: variables, input: input)
        guard run.status == 0 else { throw Failure("\(path) ended with \(run.status): \(run.errors)") }
        return run.output
    }
}
