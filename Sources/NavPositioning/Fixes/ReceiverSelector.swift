import NavGeo
import NavMatching

/// A selector among several receivers that keeps the best one until another is clearly better or it falls silent.
///
/// A preferred receiver outranks those after it while it has usable positions. The receiver in use is kept for its accepted fixes, not its
/// stated accuracy. For the others, only the stated accuracy is known.
struct ReceiverSelector: Sendable {
    private struct Receiver: Sendable {
        var id: UInt8
        /// The stated standard deviation, averaged over some fixes.
        var sigma: Double
        /// Time of its last accepted fix, or of its last usable fix while not in use.
        var good: Timestamp?
        /// Seconds by which that usable fix was ahead of the accepted ones, by their arrivals; 0 when unknown.
        var lead = 0.0
        /// The time since which it has been better than the receiver in use.
        var betterSince: Timestamp?
        /// Its first usable fix since the last accepted one of the receiver in use.
        ///
        /// It measures that receiver's silence on this receiver's clock too, because receivers' clocks differ.
        var aloneSince: Timestamp?
        /// The time of its first fix after its clock was set, until the receiver in use has an accepted fix again.
        ///
        /// If that receiver's clock was set too, some of its fixes are rejected first, which does not count as silence.
        var setAt: Timestamp?
        /// The number of consecutive times that it fell silent while in use.
        var failures = 0
        /// The time for which it is not trusted after it resumes, seconds; `doubtedUntil` is the end of that time.
        var doubt = 0.0
        var doubtedUntil: Timestamp?
        /// The sequence number of its last fix among all fixes.
        var heard: UInt64 = 0

        init(_ fix: Fix, sigma: Double) {
            id = fix.receiver
            self.sigma = sigma
        }

        /// Records that it fell silent while in use.
        mutating func fail() {
            failures += 1
            beginDoubt()
        }

        private mutating func beginDoubt() {
            doubt = min(
                ReceiverSelector.dwell * Double(1 << min(max(failures - 1, 0), 16)), ReceiverSelector.longestDoubt)
            doubtedUntil = nil
        }

        /// Discards moments on a clock that was set; a running period of distrust restarts.
        mutating func forgetMoments() {
            if let doubtedUntil, good.map({ $0 < doubtedUntil }) ?? true { beginDoubt() }
            (good, betterSince, aloneSince, setAt, doubtedUntil) = (nil, nil, nil, nil, nil)
        }

        /// Records a usable fix while not in use.
        mutating func note(_ fix: Fix, _ limits: FixLimits) {
            let lead = fix.lead ?? 0
            if let good, setAt == nil,
                good.seconds(since: fix.stamp) > ReceiverSelector.silence || lead - self.lead > limits.maximumLead
            {
                forgetMoments()
                setAt = fix.stamp
            }
            (good, self.lead) = (fix.stamp, lead)
        }

        /// Whether it failed so recently that it is used only as a last resort.
        mutating func isDoubted(at stamp: Timestamp) -> Bool {
            if doubt > 0 {
                doubtedUntil = stamp.advanced(bySeconds: doubt)
                doubt = 0
            }
            return doubtedUntil.map { stamp < $0 } ?? false
        }
    }

    /// The receiver in use; nil before the first fix.
    private(set) var active: UInt8?
    private(set) var change: ReceiverChange?
    private var receivers = InlineArray<4, Receiver?>(repeating: nil)
    private var lastSwitch: Timestamp?
    private var count: UInt64 = 0

    /// The longest time without an accepted fix of the receiver in use, seconds, after which another takes over immediately.
    private static let silence = 1.5
    /// The time for which the other receiver must have been the only active one, on its own clock, seconds: two fixes at 1 Hz.
    private static let alone = 0.9
    /// The ratio of standard deviations below which another receiver is better: a third less.
    private static let advantage = 0.67
    /// The time for which it must remain better, seconds.
    private static let patience = 5.0
    /// The shortest time between two such switches, seconds.
    ///
    /// A failed receiver is distrusted for the same time, doubled with each further failure.
    private static let dwell = 10.0
    private static let longestDoubt = 640.0
    /// The time without failure after which a receiver's earlier failures are forgotten, seconds.
    private static let recovery = 60.0
    /// The multiple of ``silence`` after which a distrusted receiver takes over if no other delivers fixes.
    private static let despair = 4.0
    /// The weight of a new value in the moving average of standard deviations.
    private static let memory = 0.2

    /// Returns whether a fix is from the receiver in use; the fix may change which one that is.
    mutating func choose(_ fix: Fix, sigma: Double, _ limits: FixLimits) -> Bool {
        change = nil
        let isGood =
            fix.isUsable && fix.spoofing != .certain && fix.jamming != .certain && fix.integrity != .certain
            && sigma <= limits.maximumAccuracy && fix.type.isAtLeast(limits.minimumType)
        let index = note(fix, sigma: sigma)
        guard let active, let position = position(of: active), let current = receivers[position] else {
            self.active = fix.receiver
            return true
        }
        if position == index { return true }
        guard isGood, var candidate = receivers[index] else {
            receivers[index]?.betterSince = nil
            return false
        }
        candidate.note(fix, limits)
        let isDoubted = candidate.isDoubted(at: fix.stamp)
        // After a clock was set back, the silence would be negative.
        let waited = (candidate.setAt ?? current.good).map { abs(fix.stamp.seconds(since: $0)) } ?? .infinity
        let aloneSince = candidate.aloneSince ?? fix.stamp
        candidate.aloneSince = aloneSince
        let isAlone = current.good == nil || fix.stamp.seconds(since: aloneSince) >= Self.alone
        let isSilent = isAlone && waited > Self.silence * (isDoubted || candidate.setAt != nil ? Self.despair : 1)
        let ranks = (min(Int(candidate.id), limits.preferredReceivers), min(Int(active), limits.preferredReceivers))
        let isPreferred = ranks.0 < ranks.1
        let isAhead = isPreferred || ranks.0 == ranks.1 && candidate.sigma < current.sigma * Self.advantage
        candidate.betterSince = isAhead && !isDoubted ? candidate.betterSince ?? fix.stamp : nil
        let isBetter = candidate.betterSince.map { fix.stamp.seconds(since: $0) >= Self.patience } ?? false
        let isSettled = lastSwitch.map { abs(fix.stamp.seconds(since: $0)) >= Self.dwell } ?? true
        receivers[index] = candidate
        guard isSilent || isBetter && isSettled else { return false }
        if isSilent { receivers[position]?.fail() }
        change = ReceiverChange(
            old: active, new: fix.receiver, reason: isSilent ? .failed : isPreferred ? .preferred : .better)
        self.active = fix.receiver
        lastSwitch = fix.stamp
        for other in receivers.indices {
            receivers[other]?.betterSince = nil
            receivers[other]?.aloneSince = nil
            receivers[other]?.setAt = nil
        }
        return true
    }

    /// Records that the last fix, from the receiver in use, was accepted.
    mutating func noteCounted(_ fix: Fix) {
        for index in receivers.indices {
            guard receivers[index]?.id == active else {
                receivers[index]?.aloneSince = nil
                receivers[index]?.setAt = nil
                continue
            }
            receivers[index]?.good = fix.stamp
            if lastSwitch.map({ fix.stamp.seconds(since: $0) >= Self.recovery }) ?? true {
                receivers[index]?.failures = 0
            }
        }
    }

    /// Continues on a clock that was set to `stamp`. How far the other receivers' clocks were set is unknown, so all running intervals
    /// restart.
    mutating func noteClockSet(to stamp: Timestamp) {
        for index in receivers.indices { receivers[index]?.forgetMoments() }
        if lastSwitch != nil { lastSwitch = stamp }
    }

    /// Whether another receiver has a position around a moment.
    func hasOther(at stamp: Timestamp) -> Bool {
        for index in receivers.indices {
            guard let receiver = receivers[index], receiver.id != active, let good = receiver.good else { continue }
            if abs(stamp.seconds(since: good)) <= Self.silence { return true }
        }
        return false
    }

    private func position(of id: UInt8) -> Int? { receivers.indices.first { receivers[$0]?.id == id } }

    /// Records a fix and returns the slot of its receiver; a new receiver may replace the one that has been silent longest and is not in
    /// use.
    private mutating func note(_ fix: Fix, sigma: Double) -> Int {
        count += 1
        let index =
            position(of: fix.receiver) ?? receivers.indices.first { receivers[$0] == nil }
            ?? receivers.indices.filter { receivers[$0]?.id != active }.min { heard($0) < heard($1) } ?? 0
        if var receiver = receivers[index], receiver.id == fix.receiver {
            receiver.sigma += (sigma - receiver.sigma) * Self.memory
            receivers[index] = receiver
        } else {
            receivers[index] = Receiver(fix, sigma: sigma)
        }
        receivers[index]?.heard = count
        return index
    }

    private func heard(_ index: Int) -> UInt64 { receivers[index]?.heard ?? 0 }
}
