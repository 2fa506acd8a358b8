/// How long one answer takes and how fast it comes; it says when to break it off. Moments are durations since any fixed one.
package struct TransferPace: Sendable {
    /// Why an answer is broken off.
    package enum Fault: Sendable {
        case idle
        case total
        case slow
    }

    private enum Stage: Sendable {
        /// For a connection, which has a time limit of its own.
        case waiting
        case sent
        case body
    }

    private let began: Duration
    private var stage = Stage.waiting
    private var lastPart: Duration
    private var windowBegan: Duration
    private var windowBytes = 0
    /// Since when it waits for leave to take more; that is not the server's fault.
    private var heldSince: Duration?
    private var held = Duration.zero
    /// When the question was sent last.
    package private(set) var sent: Duration

    package init(at now: Duration) {
        (began, lastPart, windowBegan, sent) = (now, now, now, now)
    }

    /// How often to look for faults.
    package static func period(_ limits: TransferLimits) -> Duration {
        .seconds(min(max(min(limits.idleTimeout, limits.totalTimeout, limits.slowestWindow) / 4, 0.02), 1))
    }

    /// It waits for a connection: at first, or since it was sent elsewhere.
    package mutating func noteWaiting() { stage = .waiting }

    /// The question was sent.
    package mutating func noteSent(at now: Duration) {
        (sent, lastPart) = (now, now)
        stage = .sent
    }

    /// The head came; from now on the rate counts.
    package mutating func noteHead(at now: Duration) {
        (lastPart, windowBegan) = (now, now)
        windowBytes = 0
        stage = .body
    }

    /// Some of the body came.
    package mutating func note(_ bytes: Int, at now: Duration) {
        lastPart = now
        windowBytes += bytes
    }

    /// It waits for its meter.
    package mutating func hold(at now: Duration) { heldSince = now }

    /// Its meter lets it go on.
    package mutating func release(at now: Duration) {
        guard let since = heldSince else { return }
        heldSince = nil
        held += now - since
        windowBegan += now - since
        lastPart = now
    }

    /// Why to break it off; nil to go on. Begins the next window of the least rate when one is over.
    package mutating func fault(_ limits: TransferLimits, at now: Duration) -> Fault? {
        guard heldSince == nil else { return nil }
        if stage != .waiting, now - lastPart > .seconds(limits.idleTimeout) { return .idle }
        if now - began - held > .seconds(limits.totalTimeout) { return .total }
        let window = now - windowBegan
        guard stage == .body, limits.slowestRate > 0, window >= .seconds(limits.slowestWindow) else { return nil }
        if Double(windowBytes) < limits.slowestRate * (window / .seconds(1)) { return .slow }
        windowBegan = now
        windowBytes = 0
        return nil
    }
}
