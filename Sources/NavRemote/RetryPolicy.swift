/// A limit on retries and the backoff between them.
package struct RetryPolicy: Sendable {
    package var retries: Int
    package var backoff: Backoff
    /// The longest pause that a server may request, seconds.
    package var longestRetryAfter: Double

    package init(retries: Int, backoff: Backoff, longestRetryAfter: Double = .infinity) {
        self.retries = retries
        self.backoff = backoff
        self.longestRetryAfter = longestRetryAfter
    }

    /// Returns the pause after a failed attempt, seconds; nil when it is not retried.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt, counted from 0.
    ///   - retryAfter: the wait that the server requests, seconds; it is honoured.
    ///   - remaining: the seconds after which the answer is useless.
    ///   - chance: a random number, uniform in 0 ..< 1.
    package func pause(
        afterAttempt attempt: Int, retryAfter: Double?, remaining: Double = .infinity, chance: @autoclosure () -> Double
    ) -> Double? {
        guard attempt < retries else { return nil }
        let drawn = backoff.pause(before: attempt, chance: chance())
        let pause = max(drawn, min(retryAfter ?? 0, longestRetryAfter))
        return pause < remaining ? pause : nil
    }
}
