/// An error in reading or writing a bag: what failed, where in the file, and what to do.
package struct BagError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a ``BagError``; the set may be extended.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The kind as one word in lower camel case.
        package let description: String

        private init(_ name: String) { description = name }

        /// The file does not begin with the MCAP magic bytes.
        package static let notMCAP = Code("notMCAP")
        /// The file ends before a record does.
        package static let truncated = Code("truncated")
        /// A record contradicts the format or is inconsistent.
        package static let malformed = Code("malformed")
        /// Stored and computed CRC-32 differ.
        package static let crcMismatch = Code("crcMismatch")
        /// A chunk is compressed with something other than zstd, lz4 or nothing.
        package static let unsupportedCompression = Code("unsupportedCompression")
        /// A size or a count exceeds a configured limit or a limit of the format.
        package static let limitExceeded = Code("limitExceeded")
        /// A compression library failed; the writer accepts no further data.
        package static let compressionFailed = Code("compressionFailed")
        /// The caller passed an invalid argument, such as an unknown channel.
        package static let invalidArgument = Code("invalidArgument")
        /// The operating system refused to open, read or write.
        package static let io = Code("io")
        /// The sink rejected bytes; the writer accepts no more until a retry succeeds.
        package static let sinkFailed = Code("sinkFailed")
        /// The writer is already closed.
        package static let closed = Code("closed")
    }

    /// The kind of error.
    package let code: Code
    /// The byte offset in the bag, if the error has one.
    package let offset: Int?
    /// A one-line description of the cause.
    package let reason: String

    /// Creates an error of one kind at one place.
    package init(_ code: Code, _ reason: String, offset: Int? = nil) {
        self.code = code
        self.offset = offset
        self.reason = reason
    }

    /// Returns the description with the bag's path and, for a damaged bag, the remedy.
    package func description(of path: String) -> String {
        let text = description.contains(path) ? description : "'\(path)': \(description)"
        return [.truncated, .malformed, .crcMismatch].contains(code)
            ? text + "; 'navbus bag recover' makes a bag of what can be read" : text
    }

    /// The reason, followed by the byte offset if it is known.
    package var description: String {
        guard let offset else { return reason }
        return "\(reason) (at byte \(offset))"
    }
}
