import NavGeo

/// A gate that admits odometry on the clock of the fixes and rejects odometry on another clock, based on the stamps
/// alone.
///
/// A report from the future would predict the vehicle far ahead. Consecutive reports may run ahead of the fixes for any
/// length of time, because there are no fixes in a tunnel.
struct OdometryGate: Sendable {
    /// The largest gap between a report and the newest input, seconds.
    private static let longestLeap = 10.0
    /// The time for which consecutive reports must stay ahead, without a fix between them, to be trusted, seconds.
    private static let confirmation = 2.0

    /// The time of the last accepted fix, or of the odometry admitted since.
    private var reference: Timestamp?
    /// The first and last of the consecutive reports that are ahead.
    private var ahead: (first: Timestamp, last: Timestamp)?
    /// Seconds by which the last report was ahead, negative when behind, if it was rejected; nil if it was admitted.
    private(set) var lead: Double?

    mutating func noteFix(_ stamp: Timestamp) {
        reference = stamp
        ahead = nil
    }

    /// Whether a report's stamp is consistent with the clock of the fixes.
    mutating func admits(_ stamp: Timestamp) -> Bool {
        guard let reference else { return true }
        let lead = stamp.seconds(since: reference)
        if lead < -Self.longestLeap {
            self.lead = lead
            return false
        }
        if lead > Self.longestLeap {
            let follows = ahead.map { (0...Self.confirmation).contains(stamp.seconds(since: $0.last)) } ?? false
            let first = follows ? ahead?.first ?? stamp : stamp
            ahead = (first, stamp)
            guard stamp.seconds(since: first) >= Self.confirmation else {
                self.lead = lead
                return false
            }
        }
        (ahead, self.lead) = (nil, nil)
        self.reference = max(reference, stamp)
        return true
    }
}
