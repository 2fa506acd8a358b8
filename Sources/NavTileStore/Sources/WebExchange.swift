import NavGeo
import Synchronization

/// One question and its answer as it comes in: bounded, and stored part by part.
///
/// It belongs to who asks, then to the thread of a ``WebDriver`` from ``WebDriver/submit(_:)`` until ``end(_:)``, then
/// to who asked again.
final class WebExchange: @unchecked Sendable {
    // Unchecked: the driver's lock and the continuation order the memory of its owners; all may take it back.

    /// How it ended.
    enum Outcome: Sendable {
        /// With an answer, or with a reason of ours to take none.
        case answered
        /// With an error of libcurl, and what it says of it.
        case failed(code: UInt32, reason: String)
        case late(TransferPace.Fault)
        case cancelled
        case closed
    }

    let question: WebQuestion
    /// The fields of the question's head.
    let lines: [String]
    let meter: TransferMeter?
    private let cancelled = Atomic(false)
    var pace: TransferPace
    var continuation: CheckedContinuation<Outcome, Never>?
    /// The leave to take more that it waits for.
    private(set) var ticket: TransferMeter.Ticket?

    private let now: @Sendable () -> Timestamp
    private var headBytes = 0
    private var headers = WebHeaders()
    private var reply: WebReply?
    private var intake: BodyIntake?
    private var drained = 0
    private var refusal: TileSourceError?

    /// Most bytes of a head, of those before it (100, 103) and of what follows the body, together.
    private static let greatestHead = 65_536
    /// Most bytes of a body that nobody wants: they are read, so that the connection can be used again.
    private static let greatestDrain = 65_536

    init(
        _ question: WebQuestion, lines: [String], pace: TransferPace, meter: TransferMeter?,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.question = question
        self.lines = lines
        self.pace = pace
        self.meter = meter
        self.now = now
        self.pace.noteWaiting()
    }

    /// Whether nobody wants the answer any more.
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Says that nobody wants the answer any more; anybody may.
    func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Takes a line of the head, or of what follows the body; false to break off.
    ///
    /// - Parameters:
    ///   - status: the status by all lines so far.
    ///   - clock: the time.
    func takeLine(_ line: UnsafeBufferPointer<UInt8>, status: () -> Int, at clock: () -> Duration) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.greatestHead else {
            return refuse("has more than \(Self.greatestHead) bytes of headers")
        }
        guard reply == nil else { return true }
        var content = line[...]
        while let last = content.last, last == 0x0a || last == 0x0d { content.removeLast() }
        guard content.isEmpty else {
            if content.starts(with: "HTTP/".utf8) { return true }
            return headers.add(UnsafeBufferPointer(rebasing: content)) || refuse("has a head that makes no sense")
        }
        let status = status()
        guard status >= 200 else {
            // An interim answer: another head follows.
            headers = WebHeaders()
            return true
        }
        let moment = clock()
        let delay = (moment - pace.sent) / .seconds(1)
        pace.noteHead(at: moment)
        reply = WebReply(status: status, headers: headers, received: now(), delay: delay)
        guard status == 200 || status == 206, question.method == .get else { return true }
        do throws(TileSourceError) {
            intake = try BodyIntake(question, headers)
            return true
        } catch {
            refusal = error
            return false
        }
    }

    private func refuse(_ fault: String) -> Bool {
        refusal = TileSourceError(.malformed, "the answer of '\(question.address)' \(fault)")
        return false
    }

    /// Takes some of the body; false to break off.
    func takePart(_ bytes: UnsafeBufferPointer<UInt8>, at moment: Duration) -> Bool {
        pace.note(bytes.count, at: moment)
        if let meter, let ticket = meter.note(bytes.count) {
            self.ticket = ticket
            pace.hold(at: moment)
        }
        guard intake != nil else {
            drained += bytes.count
            return drained <= Self.greatestDrain
        }
        do throws(TileSourceError) {
            try intake?.take(bytes)
            return true
        } catch {
            refusal = error
            return false
        }
    }

    /// The meter has given leave to take more.
    func release(at moment: Duration) {
        ticket = nil
        pace.release(at: moment)
    }

    /// Gives it back to who asked.
    func end(_ outcome: Outcome) {
        continuation.take()?.resume(returning: outcome)
    }

    /// Whether there is so much to unpack that others should not wait for it.
    var isLarge: Bool { intake?.isLarge ?? false }

    /// What came: unpacked, and hashed where that was wanted.
    ///
    /// - Parameter isWhole: whether the server said that this is all.
    func answer(isWhole: Bool) throws(TileSourceError) -> WebReply? {
        if let refusal { throw refusal }
        // Of a body that nobody wants it does not matter whether all of it came.
        guard var reply, isWhole || intake == nil else { return nil }
        try intake?.finish(into: &reply)
        return reply
    }
}
