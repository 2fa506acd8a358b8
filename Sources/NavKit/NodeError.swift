/// A failure that a user can read and act on: what happened, where, and what to do.
public struct NodeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of a failure.
    public struct Code: Sendable, Hashable {
        private let name: String

        /// Something that was named does not exist.
        public static let missing = Code(name: "missing")
        /// Something exists and is not what it should be.
        public static let invalid = Code(name: "invalid")
        /// The call itself is wrong: an option, a key, a value.
        public static let usage = Code(name: "usage")
        /// The system refused: disk, socket, process.
        public static let system = Code(name: "system")
    }

    /// The kind.
    public let code: Code
    /// One line for people.
    public let description: String

    /// A failure.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
