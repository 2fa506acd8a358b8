/// An exponential backoff with jitter.
///
/// Pauses double, and each is drawn at random from its upper half, so that vehicles that lost a server at the same
/// moment do not all return to it at the same moment.
package struct Backoff: Sendable {
    /// The pause before the first retry, seconds.
    package var first: Double
    /// The longest pause, seconds.
    package var longest: Double

    /// Creates pauses that grow from `first` to `longest`, seconds.
    package init(first: Double, longest: Double) {
        self.first = first
        self.longest = longest
    }

    /// Returns the pause before a retry, seconds.
    ///
    /// - Parameters:
    ///   - repetition: the number of the retry, counted from 0.
    ///   - chance: a random number, uniform in 0 ..< 1.
    package func pause(before repetition: Int, chance: Double) -> Double {
        var pause = first
        for _ in 0..<min(max(repetition, 0), 30) { pause = min(pause * 2, longest) }
        return min(pause, longest) * (0.5 + 0.5 * chance)
    }
}
