import NavDirections
import NavRemote
import NavSimulation
import Testing

/// Which questions to a provider are repeated, and when.
struct RetryPolicyTests {
    @Test func pausesDoubleAndAreDrawnFromTheirUpperHalf() throws {
        let policy = RetryPolicy(retries: 5, backoff: Backoff(first: 0.2, longest: 1))
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
        let policy = RetryPolicy(retries: 5, backoff: Backoff(first: 0.2, longest: 1))
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
