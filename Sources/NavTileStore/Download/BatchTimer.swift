/// The schedule of batches: what comes alone is dealt with at once, what comes one after the other in batches.
///
/// To wake a thread for each takes the processor a fifth of what a small tile does.
package struct BatchTimer: Sendable {
    package enum Step: Sendable {
        case now
        /// At this moment; who is told so sees to it, and says ``wake()`` then.
        case later(Duration)
        /// Somebody sees to it already.
        case pending
    }

    /// The shortest interval of batches.
    private static let period = Duration.milliseconds(4)

    private var last: Duration?
    private var isSeenTo = false

    package init() {}

    /// - Parameters:
    ///   - isUrgent: whether nothing is won by waiting.
    ///   - now: the machine's time: a queue's own clock may stand still.
    package mutating func step(isUrgent: Bool, at now: Duration) -> Step {
        guard let last, now < last + Self.period, !isUrgent else {
            self.last = now
            return .now
        }
        if isSeenTo { return .pending }
        isSeenTo = true
        return .later(last + Self.period)
    }

    package mutating func wake() { isSeenTo = false }
}
