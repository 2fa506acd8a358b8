import NavRemote
import Testing

/// The states of the circuit breaker for a failing server.
struct CircuitBreakerTests {
    private func breaker() -> CircuitBreaker {
        CircuitBreaker(
            failuresToOpen: 3, firstOpenTime: .seconds(5), longestOpenTime: .seconds(18),
            longestRetryAfter: .seconds(60))
    }

    /// Sends a request if the breaker admits it, and returns whether it was sent.
    private func ask(_ breaker: inout CircuitBreaker, at now: Duration) -> Bool {
        guard breaker.admits(at: now) else { return false }
        breaker.noteRequest(at: now)
        return true
    }

    private func fail(_ breaker: inout CircuitBreaker, at now: Duration, atLeast: Duration? = nil) {
        breaker.noteFailure("down", at: now, atLeast: atLeast)
    }

    @Test func opensAfterConsecutiveFailuresAndThenAdmitsOneTrial() {
        var breaker = breaker()
        for second in 0..<3 {
            #expect(ask(&breaker, at: .seconds(second)) && breaker.failures == second)
            fail(&breaker, at: .seconds(second))
        }
        #expect(!ask(&breaker, at: .seconds(3)) && breaker.failures == nil && breaker.reason == "down")
        #expect(breaker.remainingPause(at: .seconds(3)) == .seconds(4) && breaker.opens == .seconds(7))
        #expect(breaker.remainingPause(at: .seconds(7)) == nil, "after the pause a request is admitted")
        #expect(ask(&breaker, at: .seconds(7)))
        #expect(!ask(&breaker, at: .seconds(7)), "only one trial is admitted until it is answered")
        #expect(breaker.remainingPause(at: .seconds(7)) == .seconds(5) && breaker.opens == nil)
        breaker.noteAnswer()
        #expect(ask(&breaker, at: .seconds(8)) && ask(&breaker, at: .seconds(8)))
        #expect(breaker.remainingPause(at: .seconds(8)) == nil && breaker.reason == nil)
    }

    @Test func successResetsTheFailureCount() {
        var breaker = breaker()
        for second in 0..<10 {
            fail(&breaker, at: .seconds(second))
            fail(&breaker, at: .seconds(second))
            breaker.noteAnswer()
        }
        #expect(breaker.admits(at: .seconds(10)))
    }

    @Test func pausesGrowUpToTheMaximum() {
        var breaker = breaker()
        for _ in 0..<3 { fail(&breaker, at: .zero) }
        var now = Duration.zero
        for rest in [5, 10, 18, 18] {
            #expect(breaker.remainingPause(at: now) == .seconds(rest))
            now += .seconds(rest)
            #expect(ask(&breaker, at: now))
            fail(&breaker, at: now)
        }
    }

    @Test func retryAfterOpensAtOnceUpToALimit() {
        var breaker = breaker()
        fail(&breaker, at: .zero, atLeast: .seconds(9))
        #expect(breaker.remainingPause(at: .seconds(8)) == .seconds(1))
        var other = self.breaker()
        fail(&other, at: .zero, atLeast: .seconds(100_000))
        #expect(other.remainingPause(at: .zero) == .seconds(60))
    }

    @Test func lateFailuresProlongThePauseOnlyWithRetryAfter() {
        var breaker = breaker()
        for _ in 0..<3 { fail(&breaker, at: .zero) }
        fail(&breaker, at: .seconds(4))
        #expect(breaker.opens == .seconds(5))
        fail(&breaker, at: .seconds(4), atLeast: .seconds(20))
        #expect(breaker.opens == .seconds(24))
    }

    @Test func cancelledTrialIsRepeated() {
        var breaker = breaker()
        for _ in 0..<3 { fail(&breaker, at: .zero) }
        #expect(ask(&breaker, at: .seconds(5)))
        breaker.noteNothing(at: .seconds(6))
        #expect(ask(&breaker, at: .seconds(6)))
    }
}
