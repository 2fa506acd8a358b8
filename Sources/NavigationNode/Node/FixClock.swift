package import NavGeo

/// The time of the fixes, which the node's clock carries on from the last fix that counted.
///
/// Of the node's clock only differences count: it is monotonic in a live node, and `/clock` in a playback. A host's clock that is set moves
/// nothing, and what a stall or another latency moves, the next fix puts right.
package struct FixClock {
    /// The delay after the one before from which a fix counts as missing, seconds.
    private static let tolerance = 0.3
    /// The time after a stall of the process during which an empty inbox may still be filling, ns.
    private static let settling: Int64 = 300_000_000
    /// The longest turn of the loop that is not a stall, ns: in a playback, which may be many times as fast as the drive was,
    /// less.
    private static let (longestTurn, longestTurnOfPlayback): (Int64, Int64) = (1_000_000_000, 250_000_000)

    private var last: (stamp: NavGeo.Timestamp, at: Int64, isFix: Bool)?
    /// By when the loop was to turn again, ns of the machine's monotonic clock.
    private var expected: Int64?
    /// When the process went on after a stall, on the same clock; nil once what arrived meanwhile has been taken in.
    private var resumed: Int64?

    package init() {}

    /// Notes a fix that counted, and when the node took it in, ns of its clock.
    package mutating func note(_ stamp: NavGeo.Timestamp, at now: Int64) { last = (stamp, now, true) }

    /// Begins at a moment that is known without a fix.
    mutating func begin(_ stamp: NavGeo.Timestamp, at now: Int64) { if last == nil { last = (stamp, now, false) } }

    /// The time of the fixes now, ns of the node's clock; nil before anything is known of it.
    package func time(at now: Int64) -> NavGeo.Timestamp? {
        last.map { $0.stamp.advanced(bySeconds: Double(max(now - $0.at, 0)) / 1e9) }
    }

    /// The moment by which a fix would have come by now; nil as long as none is missed.
    package func overdueSince(_ now: Int64) -> NavGeo.Timestamp? {
        guard let last, let time = time(at: now) else { return nil }
        let overdue = last.isFix ? time.advanced(bySeconds: -Self.tolerance) : time
        return overdue > last.stamp ? overdue : nil
    }

    /// Notes a turn of the loop, ns of the machine's monotonic clock. Returns when to turn again if nothing may be predicted yet, because the
    /// process stood still and what arrived meanwhile has not been taken in; nil when predictions may be made.
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

    /// Takes note of when the loop is to turn again: it does so once a second in any case.
    package mutating func rest(until wake: Int64, from machine: Int64) { expected = min(wake, machine + 1_000_000_000) }
}

/// Tells fixes of the future where they do not say when they arrived: by their arrival at the node, on its monotonic clock.
struct ArrivalMonitor {
    /// The greatest difference between a fix that counted and its arrival of late, ns.
    private var earliest: Int64?
    /// The amount that is taken off that at each fix, ns, for clocks that drift apart.
    private static let decay: Int64 = 1_000_000
    /// The lag of a fix that counts which shows that the receiver's clock was set, ns.
    private static let clockSet: Int64 = 60_000_000_000

    /// Seconds by which a fix is ahead of all before it; nil where that is not known.
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
