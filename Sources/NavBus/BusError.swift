/// An error of the bus: what failed, where, and what to do.
public struct BusError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, for code that reacts to it.
    public struct Code: Sendable, Hashable {
        let name: String

        /// Another live node of the domain holds the name.
        public static let nameBusy = Code(name: "name busy")
        /// A node, domain or topic name breaks the naming rules.
        public static let invalidName = Code(name: "invalid name")
        /// A number in a configuration, topic or subscription is outside its range.
        public static let invalidArgument = Code(name: "invalid argument")
        /// The registry's path leaves no room for a Unix socket's name.
        public static let pathTooLong = Code(name: "path too long")
        /// A registry directory belongs to another user or others may write to it.
        public static let unsafeDirectory = Code(name: "unsafe directory")
        /// The registry's files cannot be read or written.
        public static let registry = Code(name: "registry")
        /// ZeroMQ refused an operation.
        public static let transport = Code(name: "transport")
        /// A payload is larger than its topic allows.
        public static let payloadTooLarge = Code(name: "payload too large")
        /// The node already publishes the topic.
        public static let topicConflict = Code(name: "topic conflict")
        /// The node already serves the service.
        public static let serviceConflict = Code(name: "service conflict")
        /// A table of the node is full.
        public static let limitReached = Code(name: "limit reached")
        /// A publication or subscription handle does not belong to this node.
        public static let unknownHandle = Code(name: "unknown handle")
        /// The node was closed.
        public static let closed = Code(name: "closed")
    }

    /// The kind of failure.
    public let code: Code

    /// One line: what, where, and what to do.
    public let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
