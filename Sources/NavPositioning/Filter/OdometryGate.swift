import NavGeo

/// Admits odometry by the clock of the fixes and refuses what is of another clock, by the stamps alone.
///
/// A report of tomorrow would carry the vehicle away to where it never is. Reports may run ahead of the fixes for as long as they
/// follow each other: in a tunnel there are no fixes.
struct OdometryGate: Sendable {
    /// The greatest distance of a report from everything before it, seconds.
    private static let longestLeap = 10.0
    /// The time that reports that are ahead must go on, without a fix between them, to be believed, seconds.
    private static let confirmation = 2.0

    /// The time of the last fix that counted, or of the odometry taken since.
    private var reference: Timestamp?
    /// The first and the last of the reports that are ahead and follow each other.
    private var ahead: (first: Timestamp, last: Timestamp)?
    /// Seconds by which the last report was ahead, negative behind, when it was left out; nil when it was taken.
    private(set) var lead: Double?

    mutating func noteFix(_ stamp: Timestamp) {
        reference = stamp
        ahead = nil
    }

    /// Whether a report is of the time of the fixes.
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
