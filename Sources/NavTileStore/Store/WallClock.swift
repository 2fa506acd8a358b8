package import NavGeo
internal import Synchronization

/// The rules for a wall clock that may be wrong by years and may be corrected at any time.
enum WallClock {
    /// The tolerated difference between the clocks at two moments, ns.
    static let slack: Int64 = 300_000_000_000

    /// The earliest plausible time of a clock that was ever set, ns: 2024-01-01.
    private static let earliest: Int64 = 1_704_067_200_000_000_000

    /// Returns the latest plausible fetch time of a tile; a tile with a later fetch time was fetched while the clock
    /// was wrong, and its age is unknown.
    static func latestFetch(_ now: Timestamp?) -> Int64 {
        // A clock that was never set, as after a start without a battery, is behind and says nothing about tiles.
        guard let now, now.nanoseconds > Self.earliest else { return .max }
        let (latest, overflow) = now.nanoseconds.addingReportingOverflow(slack)
        return overflow ? .max : latest
    }
}

/// The use times of tiles, which keep increasing after the clock is set back.
///
/// Otherwise tiles needed now would be evicted first, for as long as the clock had been ahead.
package struct UseOrder: Sendable {
    private var last: Int64

    /// - Parameter last: the latest recorded time.
    package init(last: Int64) { self.last = last }

    /// Returns the time to record for a tile that is needed now.
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
