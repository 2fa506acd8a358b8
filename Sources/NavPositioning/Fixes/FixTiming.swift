public import NavGeo
public import NavMatching

/// An estimate of the present time from arriving fixes.
///
/// It is separate from ``Positioning``, which is expensive to copy, because it is read at every fix.
public struct FixTiming: Sendable {
    /// The stamp of the last accepted fix; nil before the first.
    public internal(set) var lastFix: Timestamp?
    /// The newest stamp of the fixes, including rejected ones, and of the odometry since; nil before the first accepted fix.
    private var newest: Timestamp?
    /// The receiver in use; nil before the first accepted fix.
    private var receiver: UInt8?
    /// A bit for each receiver: whether the receiver in use has delivered a fix since that receiver's last one.
    private var followed: UInt64 = 0
    /// The usual delay of a fix's arrival, seconds; nil when unknown.
    var usualLatency: Double?
    var limits: FixLimits

    init(limits: FixLimits) { self.limits = limits }

    private static func bit(_ receiver: UInt8) -> UInt64 { receiver < 8 ? 1 << UInt64(receiver) : 0 }

    /// Returns the present time at a fix's arrival, from its stamp and the usual delay.
    ///
    /// Nil when the fix gives no such information: receivers' clocks differ, so a standby receiver determines the time only while the
    /// receiver in use is silent.
    public func time(reportedBy fix: Fix) -> Timestamp? {
        if let receiver, receiver != fix.receiver, followed & Self.bit(fix.receiver) != 0 { return nil }
        if step(to: fix) != nil { return nil }
        guard let received = fix.received, let usualLatency else { return fix.stamp }
        return min(fix.stamp, received.advanced(bySeconds: limits.maximumFuture - usualLatency))
    }

    /// Returns the step from the newest known stamp, seconds, if it is suspiciously long and the fix's stamp is the only evidence of time.
    func step(to fix: Fix) -> Double? {
        guard fix.lead == nil, fix.received == nil, let newest else { return nil }
        let step = fix.stamp.seconds(since: newest)
        return step > limits.maximumStep ? step : nil
    }

    mutating func note(_ fix: Fix) {
        if fix.receiver == receiver { followed = .max }
        followed &= ~Self.bit(fix.receiver)
    }

    mutating func noteAccepted(_ fix: Fix) {
        lastFix = fix.stamp
        newest = fix.stamp
        if receiver == nil { (receiver, followed) = (fix.receiver, ~Self.bit(fix.receiver)) }
    }

    /// Records the stamp of a rejected fix that is not itself a suspicious step, or of odometry on the clock of the fixes, so that a long
    /// tunnel or minutes of poor fixes do not count as a step of the clock.
    mutating func noteTime(_ stamp: Timestamp) { newest = newest.map { max($0, stamp) } }

    mutating func use(_ receiver: UInt8?) { self.receiver = receiver }
}
