import NavGeo
import Synchronization

/// A request and its answer as it arrives.
///
/// It belongs to the caller, then to a ``CurlThread`` from ``CurlThread/submit(_:)`` until ``end(_:)``, then to the
/// caller again.
final class HTTPExchange: @unchecked Sendable {
    // Unchecked: the thread's lock and the continuation order its owners' accesses; any thread may cancel it.

    enum Outcome: Sendable {
        /// An answer, or the client's reason for refusing it.
        case answered
        /// An error of libcurl with its text.
        case failed(code: UInt32, reason: String)
        case late(TransferPace.Fault)
        case cancelled
        case closed
    }

    let request: HTTPRequest
    /// The header fields of the request, except those that libcurl adds: Host, User-Agent and, if missing, Accept.
    let lines: [String]
    let meter: TransferMeter?
    private let cancelled = Atomic(false)
    var pace: TransferPace
    var continuation: CheckedContinuation<Outcome, Never>?
    /// The place in the meter's queue.
    private(set) var ticket: TransferMeter.Ticket?

    private let now: @Sendable () -> Timestamp
    private var headBytes = 0
    private var headers = HTTPHeaders()
    private var response: HTTPResponse?
    private var body: HTTPBody?
    private var drained = 0
    private var refusal: HTTPError?

    /// The most bytes of all heads, interim ones (100, 103) and trailers included.
    private static let greatestHead = 65_536
    /// The most bytes of an unwanted body that are read to keep the connection usable.
    private static let greatestDrain = 65_536

    init(
        _ request: HTTPRequest, pace: TransferPace, meter: TransferMeter?, now: @escaping @Sendable () -> Timestamp
    ) {
        self.request = request
        var headers = request.headers
        if let credential = request.credential { headers.append(credential) }
        // Otherwise libcurl may wait for 100 (Continue) before it sends the body.
        if case .post = request.method { headers.append(("Expect", "")) }
        lines = headers.map { "\($0.name): \($0.value)" }
        self.pace = pace
        self.meter = meter
        self.now = now
        self.pace.noteWaiting()
    }

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Takes a line of a head or a trailer; returns false to cancel.
    ///
    /// - Parameters:
    ///   - status: the status according to the lines so far.
    ///   - clock: the time.
    func takeLine(_ line: UnsafeBufferPointer<UInt8>, status: () -> Int, at clock: () -> Duration) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.greatestHead else {
            return refuse("has more than \(Self.greatestHead) bytes of headers")
        }
        guard response == nil else { return true }
        var content = line[...]
        while let last = content.last, last == 0x0a || last == 0x0d { content.removeLast() }
        guard content.isEmpty else {
            if content.starts(with: "HTTP/".utf8) { return true }
            return headers.add(UnsafeBufferPointer(rebasing: content)) || refuse("has an invalid header")
        }
        let status = status()
        guard status >= 200 else {
            // An interim answer: another head follows.
            headers = HTTPHeaders()
            return true
        }
        let moment = clock()
        let delay = (moment - pace.sent) / .seconds(1)
        pace.noteHead(at: moment)
        response = HTTPResponse(status: status, headers: headers, received: now(), delay: delay)
        guard request.wantsBody(ofStatus: status) else { return true }
        do throws(HTTPError) {
            body = try HTTPBody(request, headers)
            return true
        } catch {
            refusal = error
            return false
        }
    }

    private func refuse(_ fault: String) -> Bool {
        refusal = HTTPError(.malformed, "the response from '\(request.label)' \(fault)")
        return false
    }

    /// Takes a part of the body; returns false to cancel.
    func takePart(_ bytes: UnsafeBufferPointer<UInt8>, at moment: Duration) -> Bool {
        pace.note(bytes.count, at: moment)
        if let meter, let ticket = meter.note(bytes.count) {
            self.ticket = ticket
            pace.hold(at: moment)
        }
        guard body != nil else {
            drained += bytes.count
            return drained <= Self.greatestDrain
        }
        do throws(HTTPError) {
            try body?.take(bytes)
            return true
        } catch {
            refusal = error
            return false
        }
    }

    /// Resumes after the meter has granted more bytes.
    func release(at moment: Duration) {
        ticket = nil
        pace.release(at: moment)
    }

    /// Returns the exchange to the caller.
    func end(_ outcome: Outcome) {
        continuation.take()?.resume(returning: outcome)
    }

    /// Whether there is so much to unpack that other answers should not wait for it.
    var isLarge: Bool { body?.isLarge ?? false }

    /// Returns the answer, its body unpacked and hashed on request; nil when it is incomplete.
    ///
    /// - Parameter isWhole: whether the server marked the answer as complete.
    func answer(isWhole: Bool) throws(HTTPError) -> HTTPResponse? {
        if let refusal { throw refusal }
        // Part of an unwanted body is enough.
        guard var response, isWhole || body == nil else { return nil }
        try body?.finish(into: &response)
        return response
    }
}
