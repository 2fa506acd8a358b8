package import Logging

package struct LogLine: Sendable, Equatable {
    /// The longest text, bytes; what is over it is cut.
    package static let maximumText = 4_096
    /// The most facts beside a text.
    static let maximumMetadata = 16
    /// The longest value of a fact, bytes.
    static let maximumValue = 256

    package var level: Logger.Level
    package var text: String
    package var source: String
    package var metadata: [(key: String, value: String)]

    /// A line within the limits: longer texts are cut, control characters written as spaces, facts sorted by key.
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

    /// Text that stays one line: bytes of the network must not write lines of their own.
    private static func bounded(_ text: String, _ limit: Int) -> String {
        let isClean = text.utf8.count <= limit && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
        if isClean { return text }
        let utf8 = Array(text.utf8)
        var end = min(limit, utf8.count)
        // A cut falls between two characters.
        while end > 0, end < utf8.count, utf8[end] & 0xc0 == 0x80 { end -= 1 }
        let bytes = utf8[..<end].map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: " ") : $0 }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Decides which lines of a log go out: what repeats is collapsed into a count, and a storm is cut off.
///
/// A line that was said less than a second ago is held and counted; the count goes out a second later. All lines together
/// may come in a burst of 200 and then 50 a second; critical ones always go out. It knows no clock: times are monotonic
/// nanoseconds that the caller passes in.
package struct LogGate {
    /// A line that goes out, and how many times it was said since it went out last.
    package struct Passed: Equatable {
        package var line: LogLine
        package var count: UInt64

        package init(line: LogLine, count: UInt64) { (self.line, self.count) = (line, count) }
    }

    /// The time that a repeated line is held.
    static let holdNanoseconds: Int64 = 1_000_000_000
    /// Lines at once.
    static let burst = 200.0
    /// Lines a second in the long run.
    static let perSecond = 50.0
    /// Lines whose repetitions are known.
    private static let known = 16

    private struct Recent {
        let line: LogLine
        var since: Int64
        var held: UInt64
    }

    private var recent: [Recent] = []
    private var tokens = LogGate.burst
    private var refilled: Int64?
    private var cut: UInt64 = 0
    private var cutToldAt: Int64?
    /// Lines that were collapsed, since the start.
    package private(set) var collapsed: UInt64 = 0
    /// Lines that were left out in a storm, since the start.
    package private(set) var leftOut: UInt64 = 0

    package init() {}

    /// Takes a line and returns what goes out now, the line itself last when it does.
    package mutating func take(_ line: LogLine, at now: Int64) -> [Passed] {
        var passed = flush(at: now)
        if let index = recent.firstIndex(where: { $0.line == line }) {
            guard now - recent[index].since >= LogGate.holdNanoseconds else {
                recent[index].held += 1
                collapsed += 1
                return passed
            }
            recent[index].since = now
        } else {
            if recent.count == LogGate.known {
                let oldest = recent.removeFirst()
                if oldest.held > 0 { pass(Passed(line: oldest.line, count: oldest.held), now, &passed) }
            }
            recent.append(Recent(line: line, since: now, held: 0))
        }
        pass(Passed(line: line, count: 1), now, &passed)
        return passed
    }

    /// Returns the lines that are due without a new one: counts of held lines, and the number of those that were left out.
    package mutating func flush(at now: Int64) -> [Passed] {
        var passed: [Passed] = []
        for index in recent.indices where now - recent[index].since >= LogGate.holdNanoseconds {
            guard recent[index].held > 0 else { continue }
            pass(Passed(line: recent[index].line, count: recent[index].held), now, &passed)
            recent[index].since = now
            recent[index].held = 0
        }
        // Who has been quiet for ten seconds is new again.
        recent.removeAll { $0.held == 0 && now - $0.since >= 10 * LogGate.holdNanoseconds }
        if cut > 0, now - (cutToldAt ?? .min / 2) >= LogGate.holdNanoseconds {
            let text = "\(cut) lines were left out: more than \(Int(LogGate.perSecond)) a second"
            passed.append(Passed(line: LogLine(.warning, text), count: 1))
            cut = 0
            cutToldAt = now
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
            if cutToldAt == nil { cutToldAt = now }
            return
        }
        tokens = max(0, tokens - 1)
        passed.append(candidate)
    }
}
