import NavRemote
import Testing

/// The retries of failed attempts.
struct RetryPolicyTests {
    private let policy = RetryPolicy(
        retries: 5, backoff: Backoff(first: 0.2, longest: 1), longestRetryAfter: 10)

    @Test func pausesGrowAndEndAfterTheLastRetry() {
        for (attempt, longest) in [0.2, 0.4, 0.8, 1, 1].enumerated() {
            #expect(policy.pause(afterAttempt: attempt, retryAfter: nil, chance: 0) == longest / 2)
        }
        #expect(policy.pause(afterAttempt: 5, retryAfter: nil, chance: 0) == nil)
    }

    @Test func retryAfterIsHonouredUpToALimit() {
        #expect(policy.pause(afterAttempt: 0, retryAfter: 3, chance: 0) == 3)
        #expect(policy.pause(afterAttempt: 0, retryAfter: 1e9, chance: 0) == 10)
        #expect(policy.pause(afterAttempt: 3, retryAfter: 0.01, chance: 0) == 0.5)
    }

    @Test func nothingIsRetriedBeyondTheDeadline() {
        #expect(policy.pause(afterAttempt: 0, retryAfter: 3, remaining: 2, chance: 0) == nil)
        #expect(policy.pause(afterAttempt: 0, retryAfter: 3, remaining: 4, chance: 0) == 3)
    }
}
