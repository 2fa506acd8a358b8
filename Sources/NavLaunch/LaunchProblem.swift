/// A problem in a launch file, and its location.
package struct LaunchProblem: Sendable, Equatable, CustomStringConvertible {
    /// The file as it was named, or `command line`.
    package let file: String
    /// The line, from 1; nil when the problem has no location in the file.
    package let line: Int?
    /// The column, from 1.
    package let column: Int?
    /// A description of what is wrong and what to do.
    package let message: String

    /// The problem as `file:line:column: message`, which editors turn into a link.
    package var description: String {
        var text = file
        if let line { text += ":\(line)" }
        if let column { text += ":\(column)" }
        return text + ": " + message
    }
}

/// An error that rejects a launch file, with all its problems in the order of the text.
package struct LaunchFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The problems, at least one.
    package let problems: [LaunchProblem]

    /// The problems, one per line.
    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}

struct Place: Sendable {
    let file: String
    let line: Int?
    let column: Int?
}

/// A list of problems, so that one check reports them all.
///
/// It is bounded: a broken file cannot flood the terminal.
final class ProblemList {
    private static let maximum = 50
    private(set) var problems: [LaunchProblem] = []

    func add(_ message: String, at place: Place) {
        guard problems.count < Self.maximum else { return }
        problems.append(LaunchProblem(file: place.file, line: place.line, column: place.column, message: message))
    }
}
