package import NavGeo
internal import Synchronization

/// The rules for a wall clock that may be wrong by years, and be corrected at any time.
enum WallClock {
    /// The tolerated difference between the clocks of two moments, ns.
    static let slack: Int64 = 300_000_000_000

    /// The earliest plausible time of a clock that was ever set, ns: 2024-01-01.
    private static let earliest: Int64 = 1_704_067_200_000_000_000

    /// Returns the latest plausible fetch time of a tile; a tile that appears to have been fetched later was fetched
    /// while the clock was wrong, and its age is unknown.
    static func latestFetch(_ now: Timestamp?) -> Int64 {
        // A clock that has not been set, as after a start without a battery, is behind and is no evidence about tiles.
        guard let now, now.nanoseconds > Self.earliest else { return .max }
        let (latest, overflow) = now.nanoseconds.addingReportingOverflow(slack)
        return overflow ? .max : latest
    }
}

/// The moments at which tiles were needed, in order; they keep increasing after the clock is set back.
///
/// Otherwise the tiles needed now would be evicted first, for as long as the clock had been ahead.
package struct UseOrder: Sendable {
    private var last: Int64

    /// - Parameter last: the latest noted moment.
    package init(last: Int64) { self.last = last }

    /// Returns the moment to note for a tile that is needed now.
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
