import NavGeo

/// An estimator of measurement times from stamps that are arrival times.
///
/// Receivers measure at equal intervals. Stamps that are regular to a few milliseconds are measurement times. Stamps
/// that jitter are arrival times: nothing arrives before it is sent, so the earliest arrivals show the phase of the
/// measurements, and the lateness of the others is their difference from it. A delay common to all fixes cannot be
/// detected.
struct StampRegulator: Sendable {
    private var phase: Timestamp?
    private var last: Timestamp?
    private var period = 0.0
    /// Mean lateness, seconds.
    private var jitter = 0.0
    private var count = 0

    /// Lateness below which stamps count as measurement times, seconds: the regularity of receivers' own clocks.
    private static let regular = 0.003
    /// The number of fixes before the phase is trusted.
    private static let settling = 20
    /// The largest lateness, as a share of the period.
    private static let mostLate = 0.9
    /// The rates at which the phase follows early and late arrivals.
    private static let (early, late) = (0.3, 0.02)

    /// Returns when the position stamped with `stamp` was valid; never later than the stamp.
    mutating func validity(of stamp: Timestamp) -> Timestamp {
        defer { last = stamp }
        guard let last, let phase else {
            phase = stamp
            return stamp
        }
        let seconds = stamp.seconds(since: last)
        guard seconds > 0, seconds < 5 * max(period, 0.04), seconds < 3 else { return restart(stamp) }
        if period == 0 { period = max(seconds, 0.01) }
        // The period tracks the median of the intervals, because a mean would follow late arrivals.
        let interval = seconds / max((seconds / period).rounded(), 1)
        let pull = count < StampRegulator.settling ? 0.01 : 0.002
        period *= interval > period ? 1 + pull : (interval < period ? 1 - pull : 1)
        let steps = max((stamp.seconds(since: phase) / period).rounded(), 1)
        let expected = phase.advanced(bySeconds: steps * period)
        let lateness = stamp.seconds(since: expected)
        let next = expected.advanced(
            bySeconds: lateness * (lateness < 0 ? StampRegulator.early : StampRegulator.late))
        self.phase = next
        let delay = max(stamp.seconds(since: next), 0)
        jitter += (delay - jitter) * 0.05
        count = min(count + 1, 1_000)
        guard count > StampRegulator.settling, jitter > StampRegulator.regular, delay < StampRegulator.mostLate * period
        else { return stamp }
        return stamp.advanced(bySeconds: -delay)
    }

    private mutating func restart(_ stamp: Timestamp) -> Timestamp {
        (phase, count, jitter) = (stamp, 0, 0)
        period = 0
        return stamp
    }
}
