package import NavGeo

/// The time of the fixes, extrapolated with the node's clock from the last accepted fix.
///
/// Only differences of the node's clock are used: it is monotonic in a live node, and `/clock` in a playback. Setting the host's clock has
/// no effect, and the next fix corrects any error from a stall or a change of latency.
package struct FixClock {
    /// The delay past the expected moment from which a fix counts as missing, seconds.
    private static let tolerance = 0.3
    /// The time after a stall of the process during which messages may still reach an empty inbox, ns.
    private static let settling: Int64 = 300_000_000
    /// The longest delay of a loop iteration that is not a stall, ns; shorter in a playback, which may run many times as fast as the drive.
    private static let (longestTurn, longestTurnOfPlayback): (Int64, Int64) = (1_000_000_000, 250_000_000)

    private var last: (stamp: NavGeo.Timestamp, at: Int64, isFix: Bool)?
    /// The due time of the next loop iteration, ns of the machine's monotonic clock.
    private var expected: Int64?
    /// The moment at which the process resumed after a stall, on the same clock; nil once the inbox has been handled.
    private var resumed: Int64?

    package init() {}

    /// Records an accepted fix and the moment at which the node handled it, ns of its clock.
    package mutating func note(_ stamp: NavGeo.Timestamp, at now: Int64) { last = (stamp, now, true) }

    /// Starts the clock at a moment given without a fix.
    mutating func begin(_ stamp: NavGeo.Timestamp, at now: Int64) { if last == nil { last = (stamp, now, false) } }

    /// Returns the time of the fixes at a moment of the node's clock, ns; nil before it is known.
    package func time(at now: Int64) -> NavGeo.Timestamp? {
        last.map { $0.stamp.advanced(bySeconds: Double(max(now - $0.at, 0)) / 1e9) }
    }

    /// Returns the moment by which a fix should have arrived; nil when none is overdue.
    package func overdueSince(_ now: Int64) -> NavGeo.Timestamp? {
        guard let last, let time = time(at: now) else { return nil }
        let overdue = last.isFix ? time.advanced(bySeconds: -Self.tolerance) : time
        return overdue > last.stamp ? overdue : nil
    }

    /// Records a loop iteration, ns of the machine's monotonic clock. After a stall, returns the time of the next iteration, and
    /// predictions are suspended until the inbox has been handled; otherwise returns nil.
    package mutating func turn(_ machine: Int64, isInboxEmpty: Bool, isPlayback: Bool = false) -> Int64? {
        let longest = isPlayback ? Self.longestTurnOfPlayback : Self.longestTurn
        if let expected, machine - expected > longest { resumed = machine }
        expected = machine
        guard let resumed else { return nil }
        let settled = resumed + Self.settling
        if machine >= settled, isInboxEmpty {
            self.resumed = nil
            return nil
        }
        return max(settled, machine)
    }

    /// Records the time of the loop's next iteration, at most one second away.
    package mutating func rest(until wake: Int64, from machine: Int64) { expected = min(wake, machine + 1_000_000_000) }
}

/// A detector of fixes with stamps in the future, by their arrival at the node on its monotonic clock, for fixes without a reception time.
struct ArrivalMonitor {
    /// The recent maximum of an accepted fix's stamp minus its arrival, ns.
    private var earliest: Int64?
    /// The decay of the maximum at each fix, ns, for clocks that drift apart.
    private static let decay: Int64 = 1_000_000
    /// The drop in an accepted fix's lead from which the receiver's clock counts as set, ns.
    private static let clockSet: Int64 = 60_000_000_000

    /// Returns the seconds by which a fix is ahead of all earlier ones; nil before the first.
    func lead(of stamp: NavGeo.Timestamp, arrival: Int64) -> Double? {
        earliest.map { Double((stamp.nanoseconds &- arrival) &- $0) / 1e9 }
    }

    mutating func note(_ stamp: NavGeo.Timestamp, arrival: Int64) {
        let difference = stamp.nanoseconds &- arrival
        guard let known = earliest, difference > known &- Self.clockSet else {
            earliest = difference
            return
        }
        earliest = max(known &- Self.decay, difference)
    }
}
