package import NavRemote

/// The rules for repeating a failed attempt.
package struct RetryPolicy: Sendable {
    /// The number of repetitions.
    package var retries: Int
    /// After which pauses.
    package var backoff: Backoff

    package init(retries: Int, backoff: Backoff) {
        self.retries = retries
        self.backoff = backoff
    }

    /// The pause after an attempt that failed, seconds; nil when it is not repeated.
    ///
    /// A provider that says when to come back is believed.
    ///
    /// - Parameters:
    ///   - attempt: counted from 0.
    ///   - remaining: seconds until the answer is of no use any more.
    package func pause(
        after error: DirectionsError, attempt: Int, remaining: Double, using random: inout some RandomNumberGenerator
    ) -> Double? {
        guard error.isTransient, attempt < retries else { return nil }
        let drawn = backoff.pause(before: attempt, chance: Double(random.next() >> 11) * 0x1p-53)
        let pause = max(drawn, error.retryAfter ?? 0)
        return pause < remaining ? pause : nil
    }
}
