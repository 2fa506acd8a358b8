import Foundation
import Glibc
import Logging
import NavBus
import NavMessages
import Synchronization

/// A thread-safe sink of a node's log lines: they go to standard error at once, and to `/log` when the node's loop takes them.
final class LogSink: Sendable {
    /// The most lines that wait for the loop; beyond that number, the oldest are dropped.
    static let maximumWaiting = 256

    private struct State {
        var gate = LogGate()
        var waiting: [LogEntry] = []
        var overrun: UInt64 = 0
        var waker: Waker?
        /// The numbers of lines that could not be written since the start and of those already reported, and the last errno.
        var unwritten: (count: UInt64, reported: UInt64, error: Int32) = (0, 0, 0)
        /// Whether the last line was cut off in the middle.
        var isTorn = false
    }

    private let node: String
    /// The descriptor that lines are written to; nil for a log that goes to the bus only.
    private let output: Int32?
    private let rank: Atomic<Int>
    private let state = Mutex(State())

    init(node: String, level: Logger.Level, output: Int32?) {
        self.node = node
        self.output = output
        rank = Atomic(level.rank)
    }

    /// The lowest level that is logged; it may change at any time.
    var level: Logger.Level {
        get { Logger.Level.allCases[rank.load(ordering: .relaxed)] }
        set { rank.store(newValue.rank, ordering: .relaxed) }
    }

    /// Makes the first waiting line wake the node's loop from now on.
    func attach(_ waker: Waker) { state.withLock { $0.waker = waker } }

    /// The numbers of lines collapsed, of lines omitted or dropped from the full queue, and of lines not written to
    /// standard error.
    var counts: (collapsed: UInt64, leftOut: UInt64, unwritten: UInt64) {
        state.withLock { ($0.gate.collapsed, $0.gate.leftOut + $0.overrun, $0.unwritten.count) }
    }

    func take(_ line: LogLine) {
        let now = Clocks.monotonic()
        let waker = state.withLock { state -> Waker? in
            let wasEmpty = state.waiting.isEmpty
            emit(state.gate.take(line, at: now), &state)
            return wasEmpty && !state.waiting.isEmpty ? state.waker : nil
        }
        waker?.wake()
    }

    /// Removes and returns the lines that wait for `/log`.
    func drain() -> [LogEntry] {
        let now = Clocks.monotonic()
        return state.withLock { state in
            emit(state.gate.flush(at: now), &state)
            defer { state.waiting.removeAll(keepingCapacity: true) }
            return state.waiting
        }
    }

    private func emit(_ passed: [LogGate.Passed], _ state: inout State) {
        for item in passed {
            // A held line gets the time of its last occurrence, because later lines may have been logged meanwhile.
            let stamp = Clocks.wall() - (item.heldFor ?? 0)
            if let output { write(item, stamp, to: output, &state) }
            if state.waiting.count == LogSink.maximumWaiting {
                state.waiting.removeFirst()
                state.overrun += 1
            }
            let line = item.line
            state.waiting.append(
                LogEntry(
                    stampNs: stamp, node: node, level: LogLevel(line.level), text: line.text,
                    source: line.source.isEmpty ? nil : line.source,
                    metadata: line.metadata.map { KeyValue(key: $0.key, value: $0.value) },
                    repeatCount: item.heldFor == nil ? nil : item.count))
        }
    }

    /// Writes a line, preceded by a notice about earlier lines that could not be written.
    ///
    /// A line that is not accepted at once is counted, so that a full disk or a stalled reader never blocks the threads
    /// that log.
    private func write(_ item: LogGate.Passed, _ stamp: Int64, to output: Int32, _ state: inout State) {
        let missing = state.unwritten.count - state.unwritten.reported
        if missing > 0 {
            let reason = String(cString: strerror(state.unwritten.error))
            let notice = LogLine(.warning, "\(missing) log lines could not be written to standard error: \(reason)")
            if write(text(LogGate.Passed(line: notice, count: 1), stamp), to: output, &state) {
                state.unwritten.reported = state.unwritten.count
            }
        }
        if state.unwritten.reported < state.unwritten.count || !write(text(item, stamp), to: output, &state) {
            state.unwritten.count += item.count
        }
    }

    /// Writes one line in a single write, so that lines of several threads and processes do not mix.
    private func write(_ text: String, to output: Int32, _ state: inout State) -> Bool {
        // Wait only once for a stalled reader, until it reads again.
        let isFailing = state.unwritten.reported < state.unwritten.count
        let outcome = StandardError.write(
            Array((state.isTorn ? "\n" : "").utf8) + Array(text.utf8), to: output, patience: isFailing ? 0 : 50)
        if outcome.written > 0 { state.isTorn = outcome.error != 0 }
        if outcome.error != 0 { state.unwritten.error = outcome.error }
        return outcome.error == 0
    }

    private func text(_ item: LogGate.Passed, _ stamp: Int64) -> String {
        var seconds = time_t(stamp / 1_000_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let time = String(
            format: "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
            parts.tm_hour, parts.tm_min, parts.tm_sec, Int(stamp / 1_000_000 % 1_000))
        var text = "\(time) \(item.line.level) \(node): "
        if !item.line.source.isEmpty { text += "[\(item.line.source)] " }
        text += item.line.text
        for (key, value) in item.line.metadata {
            text +=
                value.contains { $0 == " " || $0 == "\"" } ? " \(key)=\(value.debugDescription)" : " \(key)=\(value)"
        }
        if item.heldFor != nil { text += item.count > 1 ? " (\(item.count) times)" : " (once more)" }
        return text + "\n"
    }
}

extension Logger.Level {
    /// The rank by severity, the least severe first.
    var rank: Int { Logger.Level.allCases.firstIndex(of: self) ?? 0 }
}

extension LogLevel {
    init(_ level: Logger.Level) { self.init(rawValue: Int32(level.rank) + 1) }
}
