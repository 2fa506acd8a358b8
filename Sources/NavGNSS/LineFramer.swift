/// A framer that splits chunks of bytes into lines of at most `limit` bytes, without line ends; longer lines are skipped whole.
struct LineFramer: Sendable {
    /// Largest line in bytes.
    let limit: Int
    /// The number of the line returned last, from 1.
    private(set) var lineNumber = 0
    /// The number of lines longer than the limit so far.
    private(set) var skipped = 0
    private var partial: [UInt8] = []
    private var skipping = false

    init(limit: Int) { self.limit = limit }

    /// Returns the next line of the chunk from `position` on; `nil` at the end of the chunk.
    mutating func next(_ chunk: [UInt8], _ position: inout Int) -> Bytes? {
        while position < chunk.count {
            let rest = chunk[position...]
            guard let end = rest.firstIndex(of: .newline) else {
                position = chunk.count
                keep(rest)
                return nil
            }
            position = end + 1
            let piece = rest[..<end]
            if skipping || partial.count + piece.count > limit {
                skip()
                skipping = false
                lineNumber += 1
                continue
            }
            lineNumber += 1
            if partial.isEmpty { return Self.withoutReturn(piece) }
            partial += piece
            return takePartial()
        }
        return nil
    }

    /// Returns the last line if the input ends without a line end.
    mutating func finish() -> Bytes? {
        guard !skipping, !partial.isEmpty else { return nil }
        lineNumber += 1
        return takePartial()
    }

    private mutating func keep(_ rest: Bytes) {
        guard !skipping else { return }
        guard partial.count + rest.count <= limit else { return skip() }
        partial += rest
    }

    private mutating func skip() {
        if !skipping { skipped += 1 }
        skipping = true
        partial = []
    }

    private mutating func takePartial() -> Bytes {
        defer { partial = [] }
        return Self.withoutReturn(partial[...])
    }

    private static func withoutReturn(_ line: Bytes) -> Bytes {
        line.last == .carriageReturn ? line.dropLast() : line
    }
}
