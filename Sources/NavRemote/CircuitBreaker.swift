/// Leaves a server alone that fails, and comes back to it: one question first, all of them once it was answered.
///
/// Closed until some failures in a row; then open for a rest that doubles with each trial that fails; then half open, when
/// one question is let through. It knows no clock: moments are durations since any fixed one.
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

    /// A breaker that is closed.
    ///
    /// - Parameters:
    ///   - failuresToRest: how many failures in a row open it, at least 1.
    ///   - firstRest: for how long it opens first.
    ///   - longestRest: how long rests grow; no less than the first.
    ///   - longestRetryAfter: the longest wait that a server may ask for.
    package init(failuresToRest: Int, firstRest: Duration, longestRest: Duration, longestRetryAfter: Duration) {
        self.failuresToRest = max(failuresToRest, 1)
        self.firstRest = firstRest
        self.longestRest = max(longestRest, firstRest)
        self.longestRetryAfter = longestRetryAfter
    }

    /// Whether a question may be asked now; who asks says so with ``noteQuestion(at:)``, and then how it ended.
    package func admits(at now: Duration) -> Bool { rest(at: now) == nil }

    /// For how long the server is left alone; nil when it may be asked.
    package func rest(at now: Duration) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _): until > now ? until - now : nil
        case .trial(let rest): rest
        }
    }

    /// A question is asked: it is the trial when the server rested.
    package mutating func noteQuestion(at now: Duration) {
        if case .open(let until, let rest) = state, now >= until { state = .trial(rest: rest) }
    }

    /// The moment of the next request; nil for now, or when a trial must end first.
    package var opens: Duration? {
        if case .open(let until, _) = state { until } else { nil }
    }

    /// Failures in a row while it is closed; nil when it is not.
    package var failures: Int? {
        if case .closed(let failures) = state { failures } else { nil }
    }

    /// The server answered, whatever it said.
    package mutating func noteAnswer() {
        state = .closed(failures: 0)
        reason = nil
    }

    /// The server failed; `atLeast` is how long it asks to be left alone.
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
            // Questions that were under way when it opened say nothing new, but when to come back.
            state = .open(until: max(until, now + asked), rest: last)
            return
        }
        state = .open(until: now + max(rest, asked), rest: rest)
    }

    /// The question came to nothing that says anything of the server.
    package mutating func noteNothing(at now: Duration) {
        if case .trial(let rest) = state { state = .open(until: now, rest: rest) }
    }
}
