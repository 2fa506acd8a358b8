/// The rules for names, which become file names, socket paths and subscription keys.
package enum Names {
    /// The longest topic name, in bytes; with its terminator it fits in the 255 bytes of a short ZeroMQ frame.
    static let maximumTopicLength = 200

    /// Checks a node or domain name: 1 to 64 of `a-z`, `0-9`, `_` and `-`, which rules out path traversal.
    package static func checkDirectoryName(_ name: String, _ what: String) throws(BusError) {
        guard isDirectoryName(name) else {
            throw BusError(
                .invalidName,
                "\(what) '\(name.prefix(80))' is not valid: use 1 to 64 of a-z, 0-9, '_' and '-'")
        }
    }

    static func isDirectoryName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                isDigit(byte) || isLowercase(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }
    }

    /// Checks a topic: `/segment/segment…`, with segments of letters, digits, `_` and `-`.
    package static func checkTopic(_ name: String) throws(BusError) {
        guard isTopic(name) else {
            throw BusError(
                .invalidName,
                "topic '\(name.prefix(80))' is not valid: use '/' before each segment of letters, digits, '_' and '-', "
                    + "at most \(maximumTopicLength) bytes")
        }
    }

    /// Whether a name is a topic, see ``checkTopic(_:)``.
    package static func isTopic(_ name: String) -> Bool {
        guard (2...maximumTopicLength).contains(name.utf8.count) else { return false }
        var previousIsSlash = false
        for (position, byte) in name.utf8.enumerated() {
            if byte == UInt8(ascii: "/") {
                if previousIsSlash { return false }
                previousIsSlash = true
            } else {
                let isWord =
                    isDigit(byte) || isLowercase(byte) || isLowercase(byte | 0x20)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
                if !isWord || position == 0 { return false }
                previousIsSlash = false
            }
        }
        return !previousIsSlash
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
}
