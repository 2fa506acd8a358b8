import Foundation
import Logging
import NavBus
import NavMessages
import Synchronization

/// Where a node's lines go, from any thread: to standard error at once, and to `/log` when the node's loop takes them.
final class LogSink: Sendable {
    /// Lines that wait for the loop; the oldest goes when there are more.
    static let maximumWaiting = 256

    private struct State {
        var gate = LogGate()
        var waiting: [LogEntry] = []
        var overrun: UInt64 = 0
        var waker: Waker?
    }

    private let node: String
    private let isWrittenToStandardError: Bool
    private let rank: Atomic<Int>
    private let state = Mutex(State())

    init(node: String, level: Logger.Level, isWrittenToStandardError: Bool) {
        self.node = node
        self.isWrittenToStandardError = isWrittenToStandardError
        rank = Atomic(level.rank)
    }

    /// The least level that is heard; it may change at any time.
    var level: Logger.Level {
        get { Logger.Level.allCases[rank.load(ordering: .relaxed)] }
        set { rank.store(newValue.rank, ordering: .relaxed) }
    }

    /// From now on the node's loop is woken for the first line that waits.
    func attach(_ waker: Waker) { state.withLock { $0.waker = waker } }

    /// Lines collapsed, and lines that were left out or not taken in time.
    var counts: (collapsed: UInt64, leftOut: UInt64) {
        state.withLock { ($0.gate.collapsed, $0.gate.leftOut + $0.overrun) }
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

    /// Takes what waits for `/log`.
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
            let stamp = Clocks.wall()
            if isWrittenToStandardError { write(item, stamp) }
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
                    repeatCount: item.count > 1 ? item.count : nil))
        }
    }

    /// One line in one write, so that lines of several threads and processes do not mix.
    private func write(_ item: LogGate.Passed, _ stamp: Int64) {
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
        if item.count > 1 { text += " (\(item.count) times)" }
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}

extension Logger.Level {
    /// Its place in the order, the least severe first.
    var rank: Int { Logger.Level.allCases.firstIndex(of: self) ?? 0 }
}

extension LogLevel {
    /// swift-log's level in the schema.
    init(_ level: Logger.Level) { self.init(rawValue: Int32(level.rank) + 1) }
}
