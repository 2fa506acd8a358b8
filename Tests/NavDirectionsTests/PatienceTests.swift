import NavDirections
import NavSimulation
import Testing

/// When it is asked again, and when not.
struct PatienceTests {
    private func breaker() -> CircuitBreaker {
        CircuitBreaker(failuresToRest: 3, firstRest: .seconds(5), longestRest: .seconds(18))
    }

    @Test func aProviderRestsAfterFailuresInARowAndReturnsWithOneQuestion() {
        var breaker = breaker()
        for second in 0..<3 {
            #expect(breaker.admit(at: .seconds(second)) == .ask)
            breaker.noteFailure(at: .seconds(second), atLeast: nil)
        }
        #expect(breaker.admit(at: .seconds(3)) == .rest(.seconds(4)))
        #expect(breaker.rest(at: .seconds(3)) == .seconds(4))
        #expect(breaker.rest(at: .seconds(7)) == nil, "who asks only when it is not left alone asks again")
        #expect(breaker.admit(at: .seconds(7)) == .ask)
        #expect(breaker.admit(at: .seconds(7)) == .rest(.seconds(5)), "one question, until it is answered")
        breaker.noteAnswer()
        #expect(breaker.admit(at: .seconds(8)) == .ask && breaker.rest(at: .seconds(8)) == nil)
    }

    @Test func anAnswerBetweenFailuresForgetsThem() {
        var breaker = breaker()
        for second in 0..<10 {
            breaker.noteFailure(at: .seconds(second), atLeast: nil)
            breaker.noteFailure(at: .seconds(second), atLeast: nil)
            breaker.noteAnswer()
        }
        #expect(breaker.admit(at: .seconds(10)) == .ask)
    }

    @Test func restsGrowUpToTheLongest() {
        var breaker = breaker()
        for _ in 0..<3 { breaker.noteFailure(at: .zero, atLeast: nil) }
        var now = Duration.zero
        for rest in [5, 10, 18, 18] {
            #expect(breaker.rest(at: now) == .seconds(rest))
            now += .seconds(rest)
            #expect(breaker.admit(at: now) == .ask)
            breaker.noteFailure(at: now, atLeast: nil)
        }
    }

    @Test func aProviderThatAsksToBeLeftAloneIsAtOnceButNotForever() {
        var breaker = breaker()
        breaker.noteFailure(at: .zero, atLeast: .seconds(9))
        #expect(breaker.admit(at: .seconds(8)) == .rest(.seconds(1)))
        var other = self.breaker()
        other.noteFailure(at: .zero, atLeast: .seconds(100_000))
        #expect(other.rest(at: .zero) == .seconds(18))
    }

    @Test func aTrialThatWasTakenBackIsMadeAgain() {
        var breaker = breaker()
        for _ in 0..<3 { breaker.noteFailure(at: .zero, atLeast: nil) }
        #expect(breaker.admit(at: .seconds(5)) == .ask)
        breaker.noteNothing(at: .seconds(6))
        #expect(breaker.admit(at: .seconds(6)) == .ask)
    }

    @Test func pausesDoubleAndAreDrawnFromTheirUpperHalf() throws {
        let policy = RetryPolicy(retries: 5, firstPause: 0.2, longestPause: 1)
        var random = SeededRandom(seed: 1)
        let error = DirectionsError(.server, "")
        for (attempt, longest) in [0.2, 0.4, 0.8, 1, 1].enumerated() {
            let drawn = try (0..<100).map { _ in
                try #require(policy.pause(after: error, attempt: attempt, remaining: 60, using: &random))
            }
            #expect(drawn.allSatisfy { $0 >= longest / 2 && $0 <= longest })
            #expect(Set(drawn).count > 90)
        }
        #expect(policy.pause(after: error, attempt: 5, remaining: 60, using: &random) == nil)
        var again = SeededRandom(seed: 1)
        var third = SeededRandom(seed: 1)
        let first = policy.pause(after: error, attempt: 0, remaining: 60, using: &again)
        #expect(first == policy.pause(after: error, attempt: 0, remaining: 60, using: &third))
    }

    @Test func nothingIsRepeatedThatTheCallerCannotWaitForOrThatCannotSucceed() {
        let policy = RetryPolicy(retries: 5, firstPause: 0.2, longestPause: 1)
        var random = SeededRandom(seed: 1)
        let later = DirectionsError(.rateLimited, "", retryAfter: 3)
        #expect(policy.pause(after: later, attempt: 0, remaining: 2, using: &random) == nil)
        #expect(policy.pause(after: later, attempt: 0, remaining: 4, using: &random) == 3)
        for code in DirectionsError.Code.allCases {
            let pause = policy.pause(after: DirectionsError(code, ""), attempt: 0, remaining: 60, using: &random)
            #expect((pause != nil) == [.rateLimited, .server, .timedOut, .unreachable].contains(code), "\(code)")
        }
    }
}
