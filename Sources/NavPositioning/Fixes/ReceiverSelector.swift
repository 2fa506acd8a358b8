import NavGeo
import NavMatching

/// Chooses among several receivers: the better one is used, and it stays in use until another is clearly better or it falls silent.
///
/// A receiver that is preferred is better than those after it while it has positions that can be used. What the receiver in use says of
/// itself does not keep it in use: its fixes must have counted. Of the others nothing else is known.
struct ReceiverSelector: Sendable {
    private struct Receiver: Sendable {
        var id: UInt8
        /// Standard deviation, averaged over some seconds.
        var sigma: Double
        /// Time of the last fix that counted, or of one not in use that could be used.
        var good: Timestamp?
        /// Since when it has been better than the one in use.
        var betterSince: Timestamp?
        /// Its first usable fix after the last one that counted of the receiver in use: whether that is silent is told by this one's own clock as
        /// well, for clocks of receivers differ.
        var aloneSince: Timestamp?
        /// The times in a row that it fell silent while it was in use.
        var failures = 0
        /// For how long it is not trusted again, seconds, once it is heard; and until when.
        var doubt = 0.0
        var doubtedUntil: Timestamp?
        /// Which fix of all was its last.
        var heard: UInt64 = 0

        init(_ fix: Fix, sigma: Double) {
            id = fix.receiver
            self.sigma = sigma
        }

        /// It fell silent while it was in use.
        mutating func fail() {
            failures += 1
            doubt = min(ReceiverSelector.dwell * Double(1 << min(failures - 1, 16)), ReceiverSelector.longestDoubt)
            doubtedUntil = nil
        }

        /// Whether it failed so lately that it is taken for want of another only.
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

    /// The longest time that the one in use may be silent or without a position, seconds; then another one is used at once.
    private static let silence = 1.5
    /// For how long the other one must have been heard alone by its own clock, seconds: two fixes at 1 Hz.
    private static let alone = 0.9
    /// The ratio that the other's standard deviation must keep: a third less.
    private static let advantage = 0.67
    /// For how long, seconds.
    private static let patience = 5.0
    /// Shortest time between two such changes, seconds; as long one that failed is not trusted, twice as long each time that it fails again.
    private static let dwell = 10.0
    private static let longestDoubt = 640.0
    /// The time that one that failed must do well to be as good as new, seconds.
    private static let recovery = 60.0
    /// The multiple of ``silence`` that nobody else must be heard before one is taken that is not trusted.
    private static let despair = 4.0
    /// Over how long standard deviations are averaged, fixes.
    private static let memory = 0.2

    /// Whether a fix is of the receiver in use, which this fix may change.
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
        candidate.good = fix.stamp
        let isDoubted = candidate.isDoubted(at: fix.stamp)
        // A clock that was set back looks like silence that has not begun.
        let waited = current.good.map { abs(fix.stamp.seconds(since: $0)) } ?? .infinity
        let aloneSince = candidate.aloneSince ?? fix.stamp
        candidate.aloneSince = aloneSince
        let isAlone = current.good == nil || fix.stamp.seconds(since: aloneSince) >= Self.alone
        let isSilent = isAlone && waited > Self.silence * (isDoubted ? Self.despair : 1)
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
        }
        return true
    }

    /// Takes note that the last fix, of the receiver in use, counted.
    mutating func noteCounted(_ fix: Fix) {
        for index in receivers.indices {
            guard receivers[index]?.id == active else {
                receivers[index]?.aloneSince = nil
                continue
            }
            receivers[index]?.good = fix.stamp
            if lastSwitch.map({ fix.stamp.seconds(since: $0) >= Self.recovery }) ?? true {
                receivers[index]?.failures = 0
            }
        }
    }

    /// Whether another receiver has a position at about a moment.
    func hasOther(at stamp: Timestamp) -> Bool {
        for index in receivers.indices {
            guard let receiver = receivers[index], receiver.id != active, let good = receiver.good else { continue }
            if abs(stamp.seconds(since: good)) <= Self.silence { return true }
        }
        return false
    }

    private func position(of id: UInt8) -> Int? { receivers.indices.first { receivers[$0]?.id == id } }

    /// Takes note of a fix; where its receiver is kept, if need be in the place of the one that was silent longest of those not in use.
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
