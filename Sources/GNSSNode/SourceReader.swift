import Foundation
import NavBus
import NavGeo
package import NavGNSS
import NavKit
import NavMessages
import Synchronization

/// A thread that reads a receiver, reconnecting when it fails, and queues the fixes for the node's loop, which it wakes.
final class SourceReader: Sendable {
    /// The fixes since the last call, and the state of the reader.
    struct Update {
        var fixes: [GnssFix] = []
        /// The number of messages rejected since the start.
        var rejected = 0
        /// The number of fixes dropped since the start because the queue was full.
        var overrun = 0
        /// The reason why the source cannot be read; nil while it can.
        var problem: String?
    }

    /// The most fixes queued for the loop; if there are more, the oldest are dropped.
    private static let maximumWaiting = 1_024

    private struct State: Sendable {
        var waiting: [GnssFix] = []
        var rejected = 0
        var overrun = 0
        var problem: String?
        /// The kinds of notes that have been logged.
        var noted: Set<String> = []
        var longestPause: Double
    }

    private let name: String
    private let log: NodeLog
    private let waker: Waker
    private let isStopped = Atomic<Bool>(false)
    private let state: Mutex<State>

    /// Creates a reader without starting it.
    ///
    /// - Parameter longestPause: the longest pause between two attempts to reach the source, s.
    init(name: String, longestPause: Double, log: NodeLog, waker: Waker) {
        self.name = name
        self.log = log
        self.waker = waker
        state = Mutex(State(longestPause: longestPause))
    }

    /// Starts the thread; `open` receives a closure that returns whether the source is still wanted.
    func start<Parser: StreamParser & Sendable>(
        _ parser: Parser, open: @escaping @Sendable (_ isWanted: () -> Bool) throws(NodeError) -> ByteStream
    ) {
        let thread = Thread { [self] in
            Thread.current.name = "source"
            run(parser, open)
        }
        thread.start()
    }

    /// Requests the end of the thread, which follows within a tenth of a second, or once a pending system call returns.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Changes the longest pause between two attempts, s.
    func setLongestPause(_ seconds: Double) { state.withLock { $0.longestPause = seconds } }

    func take() -> Update {
        state.withLock { state in
            defer { state.waiting.removeAll(keepingCapacity: true) }
            return Update(
                fixes: state.waiting, rejected: state.rejected, overrun: state.overrun, problem: state.problem)
        }
    }

    private var isWanted: Bool { !isStopped.load(ordering: .relaxed) }

    private func run<Parser: StreamParser>(_ parser: Parser, _ open: (() -> Bool) throws(NodeError) -> ByteStream) {
        var pause = min(1, longestPause)
        while isWanted {
            var hadFixes = false
            do throws(NodeError) {
                let stream = try open { isWanted }
                log.info("reading \(name)")
                report(nil)
                try read(stream, parser, &hadFixes)
            } catch {
                if isWanted, report(error.description) { log.warning("\(error); trying again") }
            }
            if hadFixes { pause = min(1, longestPause) }
            rest(pause)
            pause = min(pause * 2, longestPause)
        }
    }

    private func read<Parser: StreamParser>(
        _ stream: ByteStream, _ parser: Parser, _ hadFixes: inout Bool
    ) throws(NodeError) {
        // Each connection has its own parser, which counts from 0.
        var (parser, rejected) = (parser, 0)
        func put(_ fixes: [GnssFix]) {
            let total = parser.rejections.total
            // The counts restart when the parser changes the protocol.
            self.put(fixes, newlyRejected: max(total - rejected, 0), &hadFixes)
            rejected = total
        }
        while isWanted {
            switch stream.read(milliseconds: 100) {
            case .bytes(let bytes):
                // The clock of a host without a backup battery starts in 1970.
                let time = ReceptionTime(
                    monotonicNs: Clocks.monotonic(), hostNs: max(Clocks.wall(), WallClock.earliest.nanoseconds))
                put(parser.consume(bytes, at: time))
                note(parser.notes)
            case .nothing: break
            case .ended(let reason):
                put(parser.finish())
                throw NodeError(.system, "\(name): \(reason)")
            }
        }
    }

    private func put(_ fixes: [GnssFix], newlyRejected rejected: Int, _ hadFixes: inout Bool) {
        var fixes = fixes
        for index in fixes.indices { fixes[index].stampReception() }
        state.withLock { state in
            state.rejected += rejected
            state.waiting += fixes
            let surplus = state.waiting.count - SourceReader.maximumWaiting
            if surplus > 0 {
                state.waiting.removeFirst(surplus)
                state.overrun += surplus
            }
        }
        guard !fixes.isEmpty else { return }
        hadFixes = true
        waker.wake()
    }

    /// Logs notes about the stream, once for each kind.
    private func note(_ notes: [(kind: String, text: () -> String)]) {
        for note in notes where state.withLock({ $0.noted.insert(note.kind).inserted }) {
            log.warning("\(name): \(note.text())")
        }
    }

    /// Sets the current problem.
    ///
    /// - Returns: whether the problem has changed.
    @discardableResult
    private func report(_ problem: String?) -> Bool {
        state.withLock { state in
            defer { state.problem = problem }
            return state.problem != problem
        }
    }

    private var longestPause: Double { state.withLock { $0.longestPause } }

    private func rest(_ seconds: Double) {
        let start = Clocks.monotonic()
        // The longest pause may be shortened meanwhile.
        while isWanted, Double(Clocks.monotonic() - start) < min(seconds, longestPause) * 1e9 { usleep(50_000) }
    }
}

extension GnssFix {
    /// Sets the time of reception to now, unless the fix already has one.
    fileprivate mutating func stampReception() {
        if receiveStampNs == nil { receiveStampNs = Clocks.wall() }
        if receiveMonotonicNs == nil { receiveMonotonicNs = Clocks.monotonic() }
    }
}

/// A parser that takes bytes as they arrive.
protocol StreamParser {
    var rejections: RejectionCounts { get }
    /// Notes for the user about the stream, each with its kind; queried after each read, hence texts are created only when logged.
    var notes: [(kind: String, text: () -> String)] { get }
    mutating func consume(_ bytes: [UInt8], at time: ReceptionTime) -> [GnssFix]
    mutating func finish() -> [GnssFix]
}

extension SerialParser: StreamParser {
    var notes: [(kind: String, text: () -> String)] {
        guard let movedDate else { return [] }
        func day(_ nanoseconds: Int64) -> Substring {
            Date(timeIntervalSince1970: Double(nanoseconds) / 1e9).ISO8601Format().prefix(10)
        }
        return [
            (
                "moved_date",
                {
                    "the receiver's date \(day(movedDate.sentNs)) is taken as \(day(movedDate.usedNs)), because it has "
                        + "missed rollovers of the GPS week by this host's clock"
                }
            )
        ]
    }
}

extension GPSDParser: StreamParser {
    var notes: [(kind: String, text: () -> String)] {
        var notes: [(kind: String, text: () -> String)] = []
        if let firstError { notes.append(("error", { "gpsd reports an error: \(firstError.prefix(200))" })) }
        if isForeign { notes.append(("foreign", { "the server is not gpsd; check the host and the port" })) }
        return notes
    }

    mutating func consume(_ bytes: [UInt8], at time: ReceptionTime) -> [GnssFix] { consume(bytes) }
}
