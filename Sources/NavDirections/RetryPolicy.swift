/// When a failed attempt is repeated.
package struct RetryPolicy: Sendable {
    /// How often.
    package var retries: Int
    /// The pause before the first repetition, seconds.
    package var firstPause: Double
    /// The longest pause, seconds.
    package var longestPause: Double

    package init(retries: Int, firstPause: Double, longestPause: Double) {
        self.retries = retries
        self.firstPause = firstPause
        self.longestPause = longestPause
    }

    /// The pause after an attempt that failed, seconds; nil when it is not repeated.
    ///
    /// Pauses double, and each is drawn from its upper half, so that vehicles that lost one provider at one moment do not
    /// return to it at one moment. A provider that says when to come back is believed.
    ///
    /// - Parameters:
    ///   - attempt: counted from 0.
    ///   - remaining: seconds until the answer is of no use any more.
    package func pause(
        after error: DirectionsError, attempt: Int, remaining: Double, using random: inout some RandomNumberGenerator
    ) -> Double? {
        guard error.isTransient, attempt < retries else { return nil }
        var pause = firstPause
        for _ in 0..<min(attempt, 30) { pause = min(pause * 2, longestPause) }
        pause = min(pause, longestPause)
        pause *= 0.5 + 0.5 * Double(random.next() >> 11) * 0x1p-53
        pause = max(pause, error.retryAfter ?? 0)
        return pause < remaining ? pause : nil
    }
}
