/// A circuit breaker, which stops requests to a failing server and admits a single trial request before it admits all again.
///
/// It is closed until several consecutive failures, then open for a time that doubles with each failed trial, then
/// half-open, admitting one request. It has no clock: moments are durations since an arbitrary fixed moment.
package struct CircuitBreaker: Sendable {
    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Duration, pause: Duration)
        case trial(pause: Duration)
    }

    private let failuresToOpen: Int
    private let firstOpenTime: Duration
    private let longestOpenTime: Duration
    private let longestRetryAfter: Duration
    private var state = State.closed(failures: 0)
    /// The reason of the latest failure; nil after an answer.
    package private(set) var reason: String?

    /// Creates a closed breaker.
    ///
    /// - Parameters:
    ///   - failuresToOpen: the consecutive failures that open it, at least 1.
    ///   - firstOpenTime: the time for which it first opens.
    ///   - longestOpenTime: the longest time for which it opens, at least `firstOpenTime`.
    ///   - longestRetryAfter: the longest wait that a server may request.
    package init(failuresToOpen: Int, firstOpenTime: Duration, longestOpenTime: Duration, longestRetryAfter: Duration) {
        self.failuresToOpen = max(failuresToOpen, 1)
        self.firstOpenTime = firstOpenTime
        self.longestOpenTime = max(longestOpenTime, firstOpenTime)
        self.longestRetryAfter = longestRetryAfter
    }

    /// Whether a request may be sent now; the caller must report it with ``noteRequest(at:)``, and then its outcome.
    package func admits(at now: Duration) -> Bool { remainingPause(at: now) == nil }

    /// Returns the time until a request may be sent; nil when it may be sent now.
    package func remainingPause(at now: Duration) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _): until > now ? until - now : nil
        case .trial(let pause): pause
        }
    }

    /// Records that a request is sent, which is the trial request if the breaker was open.
    package mutating func noteRequest(at now: Duration) {
        if case .open(let until, let pause) = state, now >= until { state = .trial(pause: pause) }
    }

    /// The moment of the next request; nil if one may be sent now, or when a trial must end first.
    package var opens: Duration? {
        if case .open(let until, _) = state { until } else { nil }
    }

    /// The consecutive failures while the breaker is closed; nil when it is not closed.
    package var failures: Int? {
        if case .closed(let failures) = state { failures } else { nil }
    }

    /// Records that the server answered, whatever the answer.
    package mutating func noteAnswer() {
        state = .closed(failures: 0)
        reason = nil
    }

    /// Records that the server failed; `atLeast` is the wait that it requests.
    package mutating func noteFailure(_ reason: String, at now: Duration, atLeast: Duration?) {
        self.reason = reason
        let asked = min(atLeast ?? .zero, longestRetryAfter)
        let pause: Duration
        switch state {
        case .closed(let failures):
            guard failures + 1 >= failuresToOpen || atLeast != nil else {
                state = .closed(failures: failures + 1)
                return
            }
            pause = firstOpenTime
        case .trial(let last): pause = min(last * 2, longestOpenTime)
        case .open(let until, let last):
            // Requests in flight when the breaker opened add no evidence, except for the requested wait.
            state = .open(until: max(until, now + asked), pause: last)
            return
        }
        state = .open(until: now + max(pause, asked), pause: pause)
    }

    /// Records a request whose outcome says nothing about the server.
    package mutating func noteNothing(at now: Duration) {
        if case .trial(let pause) = state { state = .open(until: now, pause: pause) }
    }
}
