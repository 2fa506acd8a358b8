/// The pauses before a failed attempt is repeated.
///
/// Pauses double, and each is drawn from its upper half, so that vehicles that lost one server at one moment do not return
/// to it at one moment.
package struct Backoff: Sendable {
    /// The pause before the first repetition, seconds.
    package var first: Double
    /// The longest pause, seconds.
    package var longest: Double

    /// Pauses that begin with one and grow to the other, seconds.
    package init(first: Double, longest: Double) {
        self.first = first
        self.longest = longest
    }

    /// The pause before a repetition, seconds.
    ///
    /// - Parameters:
    ///   - repetition: counted from 0.
    ///   - chance: what was drawn for it, evenly from 0 ..< 1.
    package func pause(before repetition: Int, chance: Double) -> Double {
        var pause = first
        for _ in 0..<min(max(repetition, 0), 30) { pause = min(pause * 2, longest) }
        return min(pause, longest) * (0.5 + 0.5 * chance)
    }
}
