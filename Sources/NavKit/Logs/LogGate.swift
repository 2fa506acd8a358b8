package import Logging

package struct LogLine: Sendable, Equatable {
    /// The longest text, in bytes; longer texts are cut.
    package static let maximumText = 4_096
    /// The most metadata entries of a line.
    static let maximumMetadata = 16
    /// The longest metadata value, in bytes.
    static let maximumValue = 256

    package var level: Logger.Level
    package var text: String
    package var source: String
    package var metadata: [(key: String, value: String)]

    /// Creates a line within the limits: long texts are cut, control characters become spaces, metadata is sorted by key.
    package init(_ level: Logger.Level, _ text: String, source: String = "", metadata: [String: String] = [:]) {
        self.level = level
        self.text = LogLine.bounded(text, LogLine.maximumText)
        self.source = LogLine.bounded(source, 64)
        self.metadata = metadata.sorted { $0.key < $1.key }.prefix(LogLine.maximumMetadata).map {
            (LogLine.bounded($0.key, 64), LogLine.bounded($0.value, LogLine.maximumValue))
        }
    }

    package static func == (left: LogLine, right: LogLine) -> Bool {
        left.level == right.level && left.text == right.text && left.source == right.source
            && left.metadata.elementsEqual(right.metadata) { $0 == $1 }
    }

    /// Returns the text as a single line, so that bytes from the network cannot forge lines of their own.
    private static func bounded(_ text: String, _ limit: Int) -> String {
        let isClean = text.utf8.count <= limit && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
        if isClean { return text }
        let utf8 = Array(text.utf8)
        var end = min(limit, utf8.count)
        // Cut between two characters.
        while end > 0, end < utf8.count, utf8[end] & 0xc0 == 0x80 { end -= 1 }
        let bytes = utf8[..<end].map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: " ") : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A rate limiter for log lines: repeated lines are collapsed into a count, and a storm is cut off.
///
/// A line that was logged less than a second ago is held and counted; the count is logged a second later, with the time of the last
/// occurrence. All lines together are limited to a burst of 200 and then 50 a second; critical lines are always logged. It reads no
/// clock: the caller passes times in monotonic nanoseconds.
package struct LogGate {
    /// A line to log, and the number of its occurrences since it was last logged.
    package struct Passed: Equatable {
        package var line: LogLine
        package var count: UInt64
        /// The time since it last occurred, ns, if it was held as a repetition; nil for a line that is logged at once.
        package var heldFor: Int64?

        package init(line: LogLine, count: UInt64, heldFor: Int64? = nil) {
            (self.line, self.count, self.heldFor) = (line, count, heldFor)
        }
    }

    /// The time for which a repeated line is held.
    static let holdNanoseconds: Int64 = 1_000_000_000
    /// The most lines at once.
    static let burst = 200.0
    /// The most lines per second in the long run.
    static let perSecond = 50.0
    /// The most lines whose repetitions are tracked.
    private static let known = 16

    private struct Recent {
        let line: LogLine
        var since: Int64
        var held: UInt64 = 0
        /// The time of the last occurrence that is held.
        var last: Int64 = 0

        func passed(at now: Int64) -> Passed { Passed(line: line, count: held, heldFor: now - last) }
    }

    private var recent: [Recent] = []
    private var tokens = LogGate.burst
    private var refilled: Int64?
    private var cut: UInt64 = 0
    private var cutReportedAt: Int64?
    /// The number of lines that were collapsed since the start.
    package private(set) var collapsed: UInt64 = 0
    /// The number of lines that were omitted in a storm since the start.
    package private(set) var leftOut: UInt64 = 0

    package init() {}

    /// Handles a line and returns the lines to log now; the line itself is last, if it is among them.
    package mutating func take(_ line: LogLine, at now: Int64) -> [Passed] {
        var passed = flush(at: now)
        if let index = recent.firstIndex(where: { $0.line == line }) {
            guard now - recent[index].since >= LogGate.holdNanoseconds else {
                recent[index].held += 1
                recent[index].last = now
                collapsed += 1
                return passed
            }
            recent[index].since = now
        } else {
            if recent.count == LogGate.known {
                let oldest = recent.removeFirst()
                if oldest.held > 0 { pass(oldest.passed(at: now), now, &passed) }
            }
            recent.append(Recent(line: line, since: now))
        }
        pass(Passed(line: line, count: 1), now, &passed)
        return passed
    }

    /// Returns the lines that are due without a new one: counts of held lines, and the number of omitted lines.
    package mutating func flush(at now: Int64) -> [Passed] {
        var passed: [Passed] = []
        for index in recent.indices where now - recent[index].since >= LogGate.holdNanoseconds {
            guard recent[index].held > 0 else { continue }
            pass(recent[index].passed(at: now), now, &passed)
            recent[index].since = now
            recent[index].held = 0
        }
        // A line that has been quiet for ten seconds counts as new.
        recent.removeAll { $0.held == 0 && now - $0.since >= 10 * LogGate.holdNanoseconds }
        if cut > 0, now - (cutReportedAt ?? .min / 2) >= LogGate.holdNanoseconds {
            let text = "\(cut) lines were dropped: more than \(Int(LogGate.perSecond)) per second"
            passed.append(Passed(line: LogLine(.warning, text), count: 1))
            cut = 0
            cutReportedAt = now
        }
        return passed
    }

    private mutating func pass(_ candidate: Passed, _ now: Int64, _ passed: inout [Passed]) {
        let elapsed = refilled.map { Double(max(0, now - $0)) * 1e-9 } ?? 0
        tokens = min(LogGate.burst, tokens + elapsed * LogGate.perSecond)
        refilled = now
        guard tokens >= 1 || candidate.line.level == .critical else {
            cut += candidate.count
            leftOut += candidate.count
            if cutReportedAt == nil { cutReportedAt = now }
            return
        }
        tokens = max(0, tokens - 1)
        passed.append(candidate)
    }
}
