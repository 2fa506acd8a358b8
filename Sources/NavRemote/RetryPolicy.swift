/// The number of repetitions of a failed attempt, and the pauses before them.
package struct RetryPolicy: Sendable {
    package var retries: Int
    package var backoff: Backoff
    /// The longest pause that a server may ask for, seconds.
    package var longestRetryAfter: Double

    package init(retries: Int, backoff: Backoff, longestRetryAfter: Double = .infinity) {
        self.retries = retries
        self.backoff = backoff
        self.longestRetryAfter = longestRetryAfter
    }

    /// The pause after an attempt that failed, seconds; nil when it is not repeated.
    ///
    /// - Parameters:
    ///   - attempt: counted from 0.
    ///   - retryAfter: when the server asks to come back, seconds: it is believed.
    ///   - remaining: seconds until the answer is of no use any more.
    ///   - chance: what was drawn for it, evenly from 0 ..< 1.
    package func pause(
        afterAttempt attempt: Int, retryAfter: Double?, remaining: Double = .infinity, chance: @autoclosure () -> Double
    ) -> Double? {
        guard attempt < retries else { return nil }
        let drawn = backoff.pause(before: attempt, chance: chance())
        let pause = max(drawn, min(retryAfter ?? 0, longestRetryAfter))
        return pause < remaining ? pause : nil
    }
}
