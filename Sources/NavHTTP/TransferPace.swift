import CCurl
import Glibc

/// The machine's monotonic clock.
package enum Monotonic {
    /// Returns the time since an arbitrary start (`CLOCK_MONOTONIC`, which stops while the machine is suspended).
    package static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// The time and rate of one answer, checked against its limits; moments are durations since any fixed one.
package struct TransferPace: Sendable {
    /// The limit that an answer exceeds.
    package enum Fault: Sendable {
        case idle
        case total
        case slow
    }

    private enum Stage: Sendable {
        /// The request waits for a connection, which has its own time limit.
        case waiting
        case sent
        case body
    }

    let limits: HTTPLimits
    private let began: Duration
    private var stage = Stage.waiting
    private var lastPart: Duration
    private var windowBegan: Duration
    private var windowBytes = 0
    /// The beginning of the current wait for the meter, which is not the server's fault.
    private var heldSince: Duration?
    private var held = Duration.zero
    /// The moment when the request was last sent.
    package private(set) var sent: Duration

    package init(_ limits: HTTPLimits, at now: Duration) {
        self.limits = limits
        (began, lastPart, windowBegan, sent) = (now, now, now, now)
    }

    /// Records that the request waits for a connection: at first, or after a redirect.
    package mutating func noteWaiting() { stage = .waiting }

    package mutating func noteSent(at now: Duration) {
        (sent, lastPart) = (now, now)
        stage = .sent
    }

    /// Records that the head arrived, after which the minimum rate applies.
    package mutating func noteHead(at now: Duration) {
        (lastPart, windowBegan) = (now, now)
        windowBytes = 0
        stage = .body
    }

    /// Records that bytes of the body arrived.
    package mutating func note(_ bytes: Int, at now: Duration) {
        lastPart = now
        windowBytes += bytes
    }

    /// Records that the transfer waits for its meter.
    package mutating func hold(at now: Duration) { heldSince = now }

    /// Records that the meter lets the transfer continue.
    package mutating func release(at now: Duration) {
        guard let since = heldSince else { return }
        heldSince = nil
        held += now - since
        windowBegan += now - since
        lastPart = now
    }

    /// The end of the allowed time, unless the transfer waits for its meter.
    private var ends: Duration { began + held + .seconds(limits.totalTimeout) }

    /// Returns the exceeded limit, or nil to continue; begins the next window of the minimum rate when one is over.
    package mutating func fault(at now: Duration) -> Fault? {
        guard heldSince == nil else { return nil }
        if stage != .waiting, now - lastPart > .seconds(limits.idleTimeout) { return .idle }
        if now >= ends { return .total }
        let window = now - windowBegan
        guard stage == .body, limits.slowestRate > 0, window >= .seconds(limits.slowestWindow) else { return nil }
        if Double(windowBytes) < limits.slowestRate * (window / .seconds(1)) { return .slow }
        windowBegan = now
        windowBytes = 0
        return nil
    }

    /// Returns when to check for a fault next: exactly at the end of the allowed time, and soon after any other limit.
    package func nextCheck(after now: Duration) -> Duration {
        let period = min(max(min(limits.idleTimeout, limits.slowestWindow) / 4, 0.02), 1)
        let next = now + .seconds(period)
        return heldSince == nil ? min(ends, next) : next
    }

    /// The moment of the first check for a fault.
    var firstCheck: Duration { nextCheck(after: began) }
}
