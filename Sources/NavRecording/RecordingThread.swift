import Dispatch
import Foundation
import NavBag
import NavBus
import NavKit
import NavMessages
import Synchronization

/// A thread that writes a recording, so that a slow disk does not block the bus.
///
/// Messages wait in a queue of bounded size. While the disk accepts no data, because it is full or hangs, writing is retried; messages that
/// arrive while the queue is full are dropped and counted. Only a recording in lockstep waits for room in the queue, and so for the disk:
/// see ``take(_:waits:)``.
final class RecordingThread: Sendable {
    /// The names of a recording's files, and the rules for starting another file.
    struct Files: Sendable {
        var first: String
        var overwrite = false
        /// The maximum size of a file, bytes; nil for no limit.
        var splitBytes: Int?
        /// The maximum log time in a file, ns; nil for no limit.
        var splitNanoseconds: Int64?
        /// The total bytes of the files of the series, above which the oldest are deleted; nil for no limit.
        var quotaBytes: Int?
        /// Whether to write pending messages at least once a second; otherwise chunks end only by size, independent of timing.
        var flushes = true
    }

    /// Metadata or an attachment of the recording; each file begins with all supplements known by then.
    enum Supplement: Sendable {
        case metadata(name: String, [String: String])
        case attachment(name: String, mediaType: String, logTime: UInt64, data: [UInt8])

        var name: String {
            switch self {
            case .metadata(let name, _), .attachment(let name, _, _, _): name
            }
        }

        /// Whether it has a log time.
        var isDated: Bool { if case .attachment = self { true } else { false } }

        /// Returns the supplement with a log time, if its kind has one.
        func dated(_ time: UInt64) -> Supplement {
            guard case .attachment(let name, let mediaType, _, let data) = self else { return self }
            return .attachment(name: name, mediaType: mediaType, logTime: time, data: data)
        }

        /// Whether both have the same content, regardless of time.
        func hasContent(of other: Supplement) -> Bool {
            switch (self, other) {
            case (.metadata(_, let entries), .metadata(_, let others)): entries == others
            case (.attachment(_, _, _, let data), .attachment(_, _, _, let others)): data == others
            default: false
            }
        }
    }

    struct Entry: Sendable {
        var topic: String
        var type: String
        var isLatched: Bool
        var sequence: UInt64?
        var publisher: UInt64?
        /// The publisher's name, if known.
        var node: String?
        var logTime: Int64
        var publishTime: Int64
        /// The time of reception on a clock that is never adjusted: ``logTime`` in an epoch of `/clock`, otherwise the monotonic clock, ns.
        var steadyTime: Int64
        /// The epoch of `/clock` to which ``logTime`` belongs; 0 for the machine's clock.
        var epoch: UInt64 = 0
        var payload: Payload

        /// The approximate memory use, bytes.
        var cost: Int { payload.count + 256 }
    }

    struct Report: Sendable {
        /// Messages in the files, excluding those repeated at the start of a further file.
        var written: UInt64 = 0
        /// Messages dropped because the queue was full, or because the bag could not be completed.
        var unwritten: UInt64 = 0
        /// Messages larger than a bag allows.
        var tooLarge: UInt64 = 0
        /// The reason why writing fails at present.
        var failure: String?
        var paths: [String] = []
        /// Whether all data is written and the bag closed.
        var isComplete = false
        /// Whether the thread has ended, even if not all data was written.
        var hasEnded = false
    }

    /// The maximum bytes in the queue, excluding those of ``take(held:)``; a single message is accepted whatever its
    /// size.
    static let greatestBacklog = 128 << 20
    /// The maximum bytes of latched values that are repeated in a further file.
    static let greatestRepetition = 64 << 20
    /// The bytes taken from the queue at a time.
    private static let batch = 1 << 20
    /// The longest time between flushes, ns; with one iteration of the thread's loop the total stays under a second.
    private static let flushInterval: Int64 = 600_000_000
    /// The maximum number of supplements.
    static let mostSupplements = 1_024
    private static let retryInterval = 0.2
    /// The number of attempts to write the bag while closing.
    private static let lastTries = 10

    /// Messages that are taken from the queue together.
    private struct Batch: Sendable {
        var entries: [Entry] = []
        var bytes = 0
        /// Whether its bytes count against ``greatestBacklog``.
        var isCounted = true

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            bytes += entry.cost
        }
    }

    private struct State: Sendable {
        var waiting: [Batch] = []
        /// The bytes of the counted waiting batches.
        var bytes = 0
        var isClosing = false
        var losses: [String: String] = [:]
        var supplements: [Supplement] = []
        var report = Report()
    }

    private let state = Mutex(State())
    private let pending = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)
    private let files: Files
    private let log: NodeLog

    init(_ files: Files, log: NodeLog) throws(BagError) {
        self.files = files
        self.log = log
        var series = BagSeries(files.first, overwrite: files.overwrite)
        if let room = files.room(head: 0) { for note in series.makeRoom(room) { log.info(note) } }
        let (bag, path) = try series.create()
        if path != files.first { log.warning("'\(files.first)' already exists: recording into '\(path)'") }
        state.withLock { $0.report.paths = [path] }
        // From here on, only the thread uses the files.
        nonisolated(unsafe) let recording = Recording(series: series, log: MessageLog(bag))
        Thread { [self] in run(recording) }.start()
    }

    var report: Report { state.withLock { $0.report } }

    /// Queues a message, or counts it as dropped when there is no room.
    ///
    /// - Parameter waits: whether to wait for room instead, for recordings that must be independent of the machine's
    ///   speed.
    func take(_ entry: Entry, waits: Bool = false) {
        while true {
            let isFull = state.withLock { state -> Bool in
                guard state.bytes < Self.greatestBacklog else {
                    if !waits || state.report.failure != nil { state.report.unwritten += 1 }
                    return waits && state.report.failure == nil
                }
                if state.waiting.last.map({ !$0.isCounted || $0.bytes >= Self.batch }) ?? true {
                    state.waiting.append(Batch())
                }
                state.waiting[state.waiting.count - 1].append(entry)
                state.bytes += entry.cost
                return false
            }
            guard isFull else { break }
            usleep(1_000)
        }
        pending.signal()
    }

    /// Queues messages that the caller keeps in memory in any case; neither waits nor drops messages, even if the queue is full.
    func take(held entries: [Entry]) {
        var batches: [Batch] = []
        for entry in entries {
            if batches.last.map({ $0.bytes >= Self.batch }) ?? true { batches.append(Batch(isCounted: false)) }
            batches[batches.count - 1].append(entry)
        }
        state.withLock { $0.waiting += batches }
        pending.signal()
    }

    /// Writes a supplement to this file and all further files.
    func add(_ supplement: Supplement) {
        state.withLock { if $0.supplements.count < Self.mostSupplements { $0.supplements.append(supplement) } }
        pending.signal()
    }

    /// Sets the losses that each file records at its end.
    func setLosses(_ losses: [String: String]) { state.withLock { $0.losses = losses } }

    /// Writes the queue and closes the bag; gives up after `seconds` if the disk hangs.
    func close(atMost seconds: Double) -> Report {
        beginClosing()
        _ = finished.wait(timeout: .now() + seconds)
        return report
    }

    /// Starts writing the queue and closing the bag, without waiting.
    func beginClosing() {
        state.withLock { $0.isClosing = true }
        pending.signal()
    }

    // MARK: The thread

    /// The file that is being written; only the thread uses it.
    private final class Recording {
        var series: BagSeries
        var log: MessageLog<FileSink>
        /// The log time of the file's first message, and its epoch.
        var start: Int64?
        var epoch: UInt64 = 0
        var nextFlush: Int64 = 0
        var nextOpening: Int64 = 0
        var tries = 0
        /// Whether the losses have been written at the end of the file.
        var isDescribed = false
        /// The number of supplements in the file.
        var supplementCount = 0
        /// The bytes repeated in each file: supplements and latched values.
        var headBytes = 0
        /// The last value of each latched topic, for the next file.
        var latched: [String: Entry] = [:]
        var latchedBytes = 0

        init(series: BagSeries, log: MessageLog<FileSink>) {
            self.series = series
            self.log = log
        }

        func remember(_ entry: Entry) {
            guard entry.isLatched else { return }
            latchedBytes -= latched.removeValue(forKey: entry.topic)?.cost ?? 0
            guard latchedBytes + entry.cost <= greatestRepetition else { return }
            latched[entry.topic] = entry
            latchedBytes += entry.cost
        }
    }

    private func run(_ recording: Recording) {
        recording.nextFlush = Clocks.monotonic() + Self.flushInterval
        while true {
            _ = pending.wait(timeout: .now() + .milliseconds(250))
            // There is one signal per message: consume surplus signals, so that they do not keep the loop busy.
            while pending.wait(timeout: .now()) == .success {}
            supplement(recording)
            while let batch = next() {
                for entry in batch.entries { write(entry, recording) }
                if batch.isCounted { state.withLock { $0.bytes -= batch.bytes } }
                flush(recording)
            }
            flush(recording)
            guard !isClosing || !state.withLock({ $0.waiting.isEmpty }) else { break }
        }
        let isComplete = persist(recording) { () throws(BagError) in try self.finish(recording) }
        state.withLock { ($0.report.isComplete, $0.report.hasEnded) = (isComplete, true) }
        finished.signal()
    }

    private var isClosing: Bool { state.withLock { $0.isClosing } }

    private func next() -> Batch? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
    }

    /// Retries `body` until the disk accepts it; returns false when it did not complete.
    private func persist(_ recording: Recording, _ body: () throws(BagError) -> Void) -> Bool {
        while true {
            do throws(BagError) {
                try body()
                if state.withLock({ $0.report.failure.take() }) != nil { log.info("the bag can be written again") }
                return true
            } catch {
                let isRetried = error.code == .sinkFailed || error.code == .io
                guard isRetried || error.code == .compressionFailed else {
                    log.error("\(error)")
                    return false
                }
                let before = state.withLock { state in
                    defer { state.report.failure = error.reason }
                    return state.report.failure
                }
                if before == nil {
                    log.error(isRetried ? "\(error.reason); retrying until it can be written" : error.reason)
                }
                guard isRetried else { return false }
                if isClosing {
                    recording.tries += 1
                    guard recording.tries <= Self.lastTries else { return false }
                }
                Thread.sleep(forTimeInterval: Self.retryInterval)
            }
        }
    }

    private func write(_ entry: Entry, _ recording: Recording) {
        split(before: entry, recording)
        let count = recording.log.messageCount
        let isDone = append(entry, at: entry.logTime, recording)
        let isWritten = recording.log.messageCount > count
        if isWritten {
            recording.start = recording.start ?? entry.logTime
            recording.epoch = entry.epoch
            recording.remember(entry)
        }
        state.withLock { state in
            if isWritten {
                state.report.written += 1
            } else if isDone {
                state.report.tooLarge += 1
            } else {
                state.report.unwritten += 1
            }
        }
    }

    /// Writes a message, or skips a message that no bag accepts; returns false when the disk did not accept it.
    private func append(_ entry: Entry, at logTime: Int64, _ recording: Recording) -> Bool {
        let count = recording.log.messageCount
        return persist(recording) { () throws(BagError) in
            try recording.log.retry()
            // The failure may have occurred after the message was accepted.
            guard recording.log.messageCount == count else { return }
            do throws(BagError) {
                try entry.payload.withUnsafeBytes { bytes throws(BagError) in
                    try recording.log.write(
                        bytes, topic: entry.topic, type: entry.type, sequence: entry.sequence,
                        publisher: entry.publisher, node: entry.node, isLatched: entry.isLatched, logTime: logTime,
                        publishTime: entry.publishTime)
                }
            } catch {
                guard error.code == .limitExceeded else { throw error }
            }
        }
    }

    private func supplement(_ recording: Recording) {
        let supplements = state.withLock { $0.supplements }
        guard recording.supplementCount < supplements.count else { return }
        let before = recording.log.byteCount
        defer { recording.headBytes += max(recording.log.byteCount - before, 0) }
        _ = persist(recording) { () throws(BagError) in
            try recording.log.retry()
            while recording.supplementCount < supplements.count {
                // Count before adding: if adding fails, the writer keeps the supplement and the retry writes it.
                recording.supplementCount += 1
                switch supplements[recording.supplementCount - 1] {
                case .metadata(let name, let entries): try recording.log.addMetadata(name: name, entries)
                case .attachment(let name, let mediaType, let logTime, let data):
                    try recording.log.addAttachment(name: name, mediaType: mediaType, logTime: logTime, data: data)
                }
            }
        }
    }

    private func flush(_ recording: Recording) {
        guard files.flushes, Clocks.monotonic() >= recording.nextFlush else { return }
        _ = persist(recording) { () throws(BagError) in try recording.log.flush() }
        recording.nextFlush = Clocks.monotonic() + Self.flushInterval
    }

    // MARK: Files

    private func finish(_ recording: Recording) throws(BagError) {
        if files.flushes, !recording.isDescribed {
            let losses = state.withLock { state in
                state.losses.merging(["unwritten": "\(state.report.unwritten)"]) { $1 }
            }
            try recording.log.retry()
            recording.isDescribed = true
            try recording.log.addMetadata(name: "navbus.recording", losses)
        }
        try recording.log.close()
    }

    /// Starts another file when this one is full, or when time restarts, since times of different epochs cannot be ordered.
    ///
    /// A file limited in time is also full when the clock was set back to before the file's start. If the repeated part of a recording is
    /// large, its files exceed the limit: otherwise each would have a single message, and a quota would leave no history.
    private func split(before entry: Entry, _ recording: Recording) {
        guard recording.log.messageCount > 0, let start = recording.start else { return }
        let limit = files.greatestSize(head: recording.headBytes)
        let isLarge = limit.map { recording.log.byteCount + entry.payload.count > $0 } ?? false
        let isLong = files.splitNanoseconds.map { limit in
            !(0..<limit).contains(entry.logTime.subtractingReportingOverflow(start).partialValue)
        }
        let isOfAnotherEpoch = entry.epoch != recording.epoch
        guard isLarge || isLong == true || isOfAnotherEpoch, Clocks.monotonic() >= recording.nextOpening else { return }
        do throws(BagError) {
            let room = files.room(head: recording.headBytes)
            if let room { for note in recording.series.makeRoom(room) { log.info(note) } }
            let (bag, path) = try recording.series.create()
            guard persist(recording, { () throws(BagError) in try self.finish(recording) }) else {
                // Otherwise each further message would leave an empty file.
                recording.nextOpening = Clocks.monotonic() + 10 * Self.flushInterval
                return
            }
            // Only now is the size of the finished file known.
            if let room { for note in recording.series.makeRoom(room) { log.info(note) } }
            (recording.log, recording.start, recording.isDescribed) = (MessageLog(bag), nil, false)
            (recording.supplementCount, recording.headBytes) = (0, 0)
            state.withLock { $0.report.paths.append(path) }
            supplement(recording)
        } catch {
            // The current file remains usable.
            log.warning("the recording cannot continue in a new file: \(error.reason)")
            recording.nextOpening = Clocks.monotonic() + 10 * Self.flushInterval
            return
        }
        if isOfAnotherEpoch {
            (recording.latched, recording.latchedBytes) = ([:], 0)
            log.info("time restarts: recording into another file")
        }
        for value in recording.latched.values.sorted(by: { $0.topic < $1.topic }) where value.topic != entry.topic {
            _ = append(value, at: entry.logTime, recording)
        }
        recording.headBytes = recording.log.byteCount
    }
}

extension RecordingThread.Files {
    /// Returns the size at which a file is full, with room for messages after its repeated part, bytes; nil for no
    /// limit.
    fileprivate func greatestSize(head: Int) -> Int? { splitBytes.map { max($0, head + $0 / 2) } }

    /// Returns the maximum size of the series before another file is started, so that the total stays within the quota, bytes; nil for no
    /// quota.
    fileprivate func room(head: Int) -> Int? { quotaBytes.map { max($0 - (greatestSize(head: head) ?? 0), 0) } }
}
