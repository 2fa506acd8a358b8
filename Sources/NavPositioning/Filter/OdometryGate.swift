import NavGeo

/// A gate that admits odometry on the clock of the fixes and rejects odometry on another clock, based on the stamps
/// alone.
///
/// A report from the future would predict the vehicle far ahead. Consecutive reports may run ahead of the fixes for any
/// length of time, because there are no fixes in a tunnel, and fixes arrive later than odometry.
struct OdometryGate: Sendable {
    /// The largest gap between a report and the last fix, or the odometry admitted since, seconds.
    private static let longestLead = 10.0
    /// The largest gap between a report and the newest moment known to have passed, seconds: odometry arrives at least once a second.
    private static let longestStep = 1.5
    /// The time for which consecutive reports must stay ahead to be trusted, seconds.
    private static let confirmation = 2.0

    /// The time of the last accepted fix, or of the odometry admitted since.
    private var reference: Timestamp?
    /// The newest time of accepted fixes, admitted odometry and predictions; late fixes do not set it back.
    private var newest = Timestamp(nanoseconds: .min)
    /// The first and last of the consecutive reports that are ahead.
    private var ahead: (first: Timestamp, last: Timestamp)?
    /// Seconds by which reports are ahead of the fixes, negative when behind, if the last report is on another clock or shows that the held
    /// ones are; otherwise nil. Reports held for confirmation do not count as on another clock, because the fixes may be late.
    private(set) var lead: Double?

    mutating func noteFix(_ stamp: Timestamp) {
        reference = stamp
        // Fixes this far behind are on another clock: it was set back, or it differs from the odometry's.
        newest = newest.seconds(since: stamp) > Self.longestLead ? stamp : max(newest, stamp)
        if let last = ahead?.last, last.seconds(since: stamp) > Self.longestLead { ahead = nil }
    }

    /// Records that time has passed without an input, for example at a prediction.
    mutating func notePassed(_ stamp: Timestamp) { newest = max(newest, stamp) }

    /// Whether a report's stamp is consistent with the clock of the fixes; false before the first accepted fix.
    mutating func admits(_ stamp: Timestamp) -> Bool {
        lead = nil
        // Without a fix, the clock is unknown.
        guard let reference else { return false }
        let lead = stamp.seconds(since: reference)
        if abs(lead) > Self.longestLead {
            self.lead = lead
            if lead < 0 { return false }
        } else if let held = ahead?.last, held > stamp {
            self.lead = held.seconds(since: reference)
        }
        if lead > Self.longestLead || stamp.seconds(since: newest) > Self.longestStep {
            let follows = ahead.map { (0...Self.confirmation).contains(stamp.seconds(since: $0.last)) } ?? false
            let first = follows ? ahead?.first ?? stamp : stamp
            ahead = (first, stamp)
            guard stamp.seconds(since: first) >= Self.confirmation else { return false }
            self.lead = nil
        }
        ahead = nil
        self.reference = max(reference, stamp)
        newest = max(newest, stamp)
        return true
    }
}
