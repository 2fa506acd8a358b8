/// A failure that a user can understand and act on: what happened, where, and what to do.
public struct NodeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: Sendable, Hashable {
        private let name: String

        /// A named object does not exist.
        public static let missing = Code(name: "missing")
        /// An object exists but is not valid.
        public static let invalid = Code(name: "invalid")
        /// The usage is wrong: an option, a key, a value.
        public static let usage = Code(name: "usage")
        /// The system refused an operation: disk, socket, process.
        public static let system = Code(name: "system")
    }

    /// The kind of failure.
    public let code: Code
    /// The message, in one line.
    public let description: String

    /// Creates a failure.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
