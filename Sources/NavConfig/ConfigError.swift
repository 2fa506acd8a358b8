/// An error in a configuration: the problem, its place and the remedy, in one line.
public struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file or variable, the key, and what to do, on one line.
    public let description: String

    /// Creates an error with a message.
    public init(_ description: String) { self.description = description }
}
