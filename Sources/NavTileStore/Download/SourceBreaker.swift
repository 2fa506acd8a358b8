/// Leaves a source alone that fails, and comes back to it: one question first, all of them once it was answered.
///
/// It knows no clock: moments are durations since any fixed one.
package struct SourceBreaker: Sendable {
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
    /// Why it failed last.
    package private(set) var reason: String?

    package init(_ configuration: DownloadConfiguration) {
        failuresToRest = max(configuration.failuresToRest, 1)
        firstRest = .seconds(configuration.firstRest)
        longestRest = max(.seconds(configuration.longestRest), firstRest)
        longestRetryAfter = .seconds(configuration.longestRetryAfter)
    }

    /// Whether a question may be asked now.
    package func admits(at now: Duration) -> Bool {
        switch state {
        case .closed: true
        case .open(let until, _): now >= until
        case .trial: false
        }
    }

    /// A question is asked: it is the trial when the source rested.
    package mutating func noteQuestion(at now: Duration) {
        if case .open(let until, let rest) = state, now >= until { state = .trial(rest: rest) }
    }

    /// When the next question may be asked; nil for now, or when a trial must end first.
    package var opens: Duration? {
        if case .open(let until, _) = state { until } else { nil }
    }

    /// For how long it is left alone.
    package func rest(at now: Duration) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _): max(until - now, .zero)
        case .trial(let rest): rest
        }
    }

    package var isClosed: Bool { if case .closed = state { true } else { false } }

    package var reachability: SourceReachability {
        switch state {
        case .closed(let failures): failures == 0 ? .online : .degraded
        case .open, .trial: .offline
        }
    }

    /// The source answered, whatever it said.
    package mutating func noteAnswer() {
        state = .closed(failures: 0)
        reason = nil
    }

    /// The source failed; `atLeast` is how long it asks to be left alone.
    package mutating func noteFailure(_ reason: String, at now: Duration, atLeast: Duration?) {
        self.reason = reason
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
            let asked = now + min(atLeast ?? .zero, longestRetryAfter)
            state = .open(until: max(until, asked), rest: last)
            return
        }
        state = .open(until: now + max(rest, min(atLeast ?? .zero, longestRetryAfter)), rest: rest)
    }

    /// The question came to nothing that says anything of the source.
    package mutating func noteNothing(at now: Duration) {
        if case .trial(let rest) = state { state = .open(until: now, rest: rest) }
    }
}
