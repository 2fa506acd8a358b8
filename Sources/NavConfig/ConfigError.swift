/// An error in a configuration: what is wrong, where, and what to do, in one line.
public struct ConfigError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line.
    public let description: String

    /// An error.
    public init(_ description: String) { self.description = description }
}
