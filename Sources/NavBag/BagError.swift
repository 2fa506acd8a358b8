/// An error in reading or writing a bag: what failed, where in the file, and what to do.
public struct BagError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a ``BagError``; new kinds may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The kind as one word in lower camel case.
        public let description: String

        private init(_ name: String) { description = name }

        /// The file does not begin with the MCAP magic bytes.
        public static let notMCAP = Code("notMCAP")
        /// The file ends before a record does.
        public static let truncated = Code("truncated")
        /// A record contradicts the format or itself.
        public static let malformed = Code("malformed")
        /// Stored and computed CRC-32 differ.
        public static let crcMismatch = Code("crcMismatch")
        /// A chunk is compressed with something other than zstd, lz4 or nothing.
        public static let unsupportedCompression = Code("unsupportedCompression")
        /// A size or a count exceeds a configured limit or a limit of the format.
        public static let limitExceeded = Code("limitExceeded")
        /// A compression library failed; the writer accepts nothing more.
        public static let compressionFailed = Code("compressionFailed")
        /// The caller passed an invalid argument, such as an unknown channel.
        public static let invalidArgument = Code("invalidArgument")
        /// The operating system refused to open, read or write.
        public static let io = Code("io")
        /// The sink refused bytes; the writer accepts no more until a retry succeeds.
        public static let sinkFailed = Code("sinkFailed")
        /// The writer is already closed.
        public static let closed = Code("closed")
    }

    /// The kind of error.
    public let code: Code
    /// The byte offset in the bag, if the error has one.
    public let offset: Int?
    /// A one-line description of the cause.
    public let reason: String

    /// Creates an error of one kind at one place.
    public init(_ code: Code, _ reason: String, offset: Int? = nil) {
        self.code = code
        self.offset = offset
        self.reason = reason
    }

    /// Returns the description with the bag's path and, for a damaged bag, what to do about it.
    package func description(of path: String) -> String {
        let text = description.contains(path) ? description : "'\(path)': \(description)"
        return [.truncated, .malformed, .crcMismatch].contains(code)
            ? text + "; 'navbus bag recover' makes a bag of what can be read" : text
    }

    /// The reason, followed by the byte offset if it is known.
    public var description: String {
        guard let offset else { return reason }
        return "\(reason) (at byte \(offset))"
    }
}
