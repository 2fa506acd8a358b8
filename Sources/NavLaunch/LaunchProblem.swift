/// One thing that is wrong with a launch file, and where.
public struct LaunchProblem: Sendable, Equatable, CustomStringConvertible {
    /// The file as it was named, or `command line`.
    public let file: String
    /// Line, from 1; nil where the problem has no place in the file.
    public let line: Int?
    /// Column, from 1.
    public let column: Int?
    /// A description of what is wrong and what to do.
    public let message: String

    /// `file:line:column: message`, which editors turn into a link.
    public var description: String {
        var text = file
        if let line { text += ":\(line)" }
        if let column { text += ":\(column)" }
        return text + ": " + message
    }
}

/// A launch file was refused: everything that was found wrong with it, in the order of the text.
public struct LaunchFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    public let problems: [LaunchProblem]

    /// A problem a line.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}

struct Place: Sendable {
    let file: String
    let line: Int?
    let column: Int?
}

/// Collects what is wrong, so that one check reports everything. Bounded: a broken file cannot flood the terminal.
final class ProblemList {
    private static let maximum = 50
    private(set) var problems: [LaunchProblem] = []

    func add(_ message: String, at place: Place) {
        guard problems.count < Self.maximum else { return }
        problems.append(LaunchProblem(file: place.file, line: place.line, column: place.column, message: message))
    }
}
