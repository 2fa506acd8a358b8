/// What is wrong with a configuration, where, and what to do: one line for people.
public struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line.
    public let description: String

    /// An error.
    public init(_ description: String) { self.description = description }
}
