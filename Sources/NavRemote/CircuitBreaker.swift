/// A circuit breaker, which stops requests to a failing server and tries a single one before it lets all through again.
///
/// It is closed until several consecutive failures, then open for a rest that doubles with each failed trial, then half
/// open, when one request is let through. It has no clock: moments are durations since an arbitrary fixed moment.
package struct CircuitBreaker: Sendable {
    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Duration, rest: Duration)
        case trial(rest: Duration)
    }

    private let failuresToRest: Int
    private let firstRest: Duration
    private let longestRest: Duration
    private let longestRetryAfter: Duration
    private var state = State.closed(failures: 0)
    /// The reason of the last failure; nil since the last answer.
    package private(set) var reason: String?

    /// Creates a closed breaker.
    ///
    /// - Parameters:
    ///   - failuresToRest: the consecutive failures that open it, at least 1.
    ///   - firstRest: the first rest.
    ///   - longestRest: the longest rest, no less than the first.
    ///   - longestRetryAfter: the longest wait that a server may ask for.
    package init(failuresToRest: Int, firstRest: Duration, longestRest: Duration, longestRetryAfter: Duration) {
        self.failuresToRest = max(failuresToRest, 1)
        self.firstRest = firstRest
        self.longestRest = max(longestRest, firstRest)
        self.longestRetryAfter = longestRetryAfter
    }

    /// Whether a request may be sent now; the caller must report it with ``noteQuestion(at:)``, and then its outcome.
    package func admits(at now: Duration) -> Bool { rest(at: now) == nil }

    /// Returns the time for which the server is not asked; nil when it may be asked.
    package func rest(at now: Duration) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _): until > now ? until - now : nil
        case .trial(let rest): rest
        }
    }

    /// Records that a request is sent, which is the trial if the server was resting.
    package mutating func noteQuestion(at now: Duration) {
        if case .open(let until, let rest) = state, now >= until { state = .trial(rest: rest) }
    }

    /// The moment of the next request; nil for now, or when a trial must end first.
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
        let rest: Duration
        switch state {
        case .closed(let failures):
            guard failures + 1 >= failuresToRest || atLeast != nil else {
                state = .closed(failures: failures + 1)
                return
            }
            rest = firstRest
        case .trial(let last): rest = min(last * 2, longestRest)
        case .open(let until, let last):
            // Requests that were running when the breaker opened are no new evidence, except for the requested wait.
            state = .open(until: max(until, now + asked), rest: last)
            return
        }
        state = .open(until: now + max(rest, asked), rest: rest)
    }

    /// Records that a request ended without evidence about the server.
    package mutating func noteNothing(at now: Duration) {
        if case .trial(let rest) = state { state = .open(until: now, rest: rest) }
    }
}
