/// Leaves a provider alone that fails, and comes back to it: one question first, all of them once it was answered.
///
/// Closed until some failures in a row; then open for a rest that doubles with each trial that fails; then half open, when
/// one question is let through. It knows no clock: moments are durations since any fixed one.
package struct CircuitBreaker: Sendable {
    /// What becomes of a question.
    package enum Verdict: Equatable {
        /// It may be asked.
        case ask
        /// Not before this has passed.
        case rest(Duration)
    }

    private enum State: Equatable {
        case closed(failures: Int)
        case open(until: Duration, rest: Duration)
        case trial(rest: Duration)
    }

    private let failuresToRest: Int
    private let firstRest: Duration
    private let longestRest: Duration
    private var state = State.closed(failures: 0)

    package init(failuresToRest: Int, firstRest: Duration, longestRest: Duration) {
        self.failuresToRest = max(failuresToRest, 1)
        self.firstRest = firstRest
        self.longestRest = max(longestRest, firstRest)
    }

    /// Whether a question may be asked now; the one who is told to ask says how it ended.
    package mutating func admit(at now: Duration) -> Verdict {
        switch state {
        case .closed: return .ask
        case .open(let until, let rest):
            guard now >= until else { return .rest(until - now) }
            state = .trial(rest: rest)
            return .ask
        case .trial(let rest): return .rest(rest)
        }
    }

    /// How long the provider is left alone; nil when it may be asked.
    package func rest(at now: Duration) -> Duration? {
        switch state {
        case .closed: nil
        case .open(let until, _): until > now ? until - now : nil
        case .trial(let rest): rest
        }
    }

    /// The provider answered, whatever it said.
    package mutating func noteAnswer() { state = .closed(failures: 0) }

    /// The provider failed; `atLeast` is how long it asks to be left alone.
    package mutating func noteFailure(at now: Duration, atLeast: Duration?) {
        let rest: Duration
        switch state {
        case .closed(let failures):
            guard failures + 1 >= failuresToRest || atLeast != nil else {
                state = .closed(failures: failures + 1)
                return
            }
            rest = firstRest
        case .trial(let last): rest = min(last * 2, longestRest)
        case .open(_, let last): rest = last
        }
        state = .open(until: now + max(rest, min(atLeast ?? .zero, longestRest)), rest: rest)
    }

    /// The question came to nothing that says anything of the provider.
    package mutating func noteNothing(at now: Duration) {
        if case .trial(let rest) = state { state = .open(until: now, rest: rest) }
    }
}
