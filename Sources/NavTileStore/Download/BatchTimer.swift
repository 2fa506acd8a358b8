/// The schedule of batches: a single item is handled at once, items in quick succession are handled in batches.
///
/// Waking a thread for each item would cost a fifth of the processor time of a small tile.
package struct BatchTimer: Sendable {
    package enum Step: Sendable {
        case now
        /// At the given moment; the caller must handle the batch then, and call ``wake()``.
        case later(Duration)
        /// Another caller will handle the batch.
        case pending
    }

    /// The shortest interval between batches.
    private static let period = Duration.milliseconds(4)

    private var last: Duration?
    private var hasTimer = false

    package init() {}

    /// - Parameters:
    ///   - isUrgent: whether waiting has no benefit.
    ///   - now: the machine's time, since a queue's own clock may be stopped.
    package mutating func step(isUrgent: Bool, at now: Duration) -> Step {
        guard let last, now < last + Self.period, !isUrgent else {
            self.last = now
            return .now
        }
        if hasTimer { return .pending }
        hasTimer = true
        return .later(last + Self.period)
    }

    package mutating func wake() { hasTimer = false }
}
