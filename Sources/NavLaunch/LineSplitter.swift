/// A splitter of a byte stream into lines.
///
/// A line over the limit is cut and marked as such, so memory is bounded.
package struct LineSplitter: Sendable {
    /// The longest line that is passed on whole, in bytes.
    package static let maximumLength = 8_192

    private static let mark = Array(" [cut]".utf8)
    private var partial: [UInt8] = []
    private var isCutting = false

    package init() {}

    /// Returns the lines that these bytes complete, without their line ends.
    package mutating func feed(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            lines.append(takeLine())
            rest = rest[rest.index(after: end)...]
        }
        append(rest)
        return lines
    }

    /// Returns the text after the last line end; call it at the end of the stream.
    package mutating func finish() -> [UInt8]? {
        partial.isEmpty ? nil : takeLine()
    }

    private mutating func append(_ bytes: some Collection<UInt8>) {
        let room = Self.maximumLength - partial.count
        partial += bytes.prefix(room)
        if bytes.count > room { isCutting = true }
    }

    private mutating func takeLine() -> [UInt8] {
        if partial.last == UInt8(ascii: "\r") { partial.removeLast() }
        if isCutting { partial += Self.mark }
        isCutting = false
        defer { partial.removeAll(keepingCapacity: true) }
        return partial
    }
}
