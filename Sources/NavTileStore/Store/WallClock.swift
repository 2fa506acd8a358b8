package import NavGeo
internal import Synchronization

/// Rules for a wall clock that may be wrong and be set right at any time, by years.
enum WallClock {
    /// By how much the clocks of two moments may differ without either being wrong, ns.
    static let slack: Int64 = 300_000_000_000

    /// No clock that was ever set is before this, ns: 2024-01-01.
    private static let earliest: Int64 = 1_704_067_200_000_000_000

    /// The latest moment at which a tile can have been fetched: one that seems to have been fetched later came while the
    /// clock was wrong, and nobody knows how old it is.
    static func latestFetch(_ now: Timestamp?) -> Int64 {
        // A clock that has not been set, as after a start without a battery, is behind: it says nothing of tiles.
        guard let now, now.nanoseconds > Self.earliest else { return .max }
        let (latest, overflow) = now.nanoseconds.addingReportingOverflow(slack)
        return overflow ? .max : latest
    }
}

/// Moments at which tiles were needed, in their order: they go on rising after the clock was set back, so that what is
/// needed now is not the first to be evicted for as long as the clock had been ahead.
package struct UseOrder: Sendable {
    private var last: Int64

    /// - Parameter last: the latest moment that was noted.
    package init(last: Int64) { self.last = last }

    /// The moment to note for something that is needed now.
    package mutating func moment(_ now: Timestamp) -> Timestamp {
        if now.nanoseconds >= last {
            last = now.nanoseconds
        } else if last - WallClock.slack > now.nanoseconds, last < .max {
            last += 1
            return Timestamp(nanoseconds: last)
        }
        return now
    }
}
