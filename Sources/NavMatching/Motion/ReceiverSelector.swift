import NavGeo

/// Chooses among several receivers: the better one is used, and it stays in use until another is clearly better or it falls silent.
///
/// A receiver that is preferred is better than those after it while it has positions that can be used.
struct ReceiverSelector: Sendable {
    private struct Receiver: Sendable {
        var id: UInt8
        /// Standard deviation, averaged over some seconds.
        var sigma: Double
        /// Time of the last fix that could be used.
        var good: Timestamp?
        /// Since when it has been better than the one in use.
        var betterSince: Timestamp?
    }

    /// The receiver in use; nil before the first fix.
    private(set) var active: UInt8?
    /// The one that the last fix replaced.
    private(set) var replaced: UInt8?
    private var receivers = InlineArray<4, Receiver?>(repeating: nil)
    private var lastSwitch: Timestamp?

    /// How long the one in use may be silent or without a position, seconds; then another one is used at once.
    private static let silence = 1.5
    /// How much smaller the other's standard deviation must be: a third less.
    private static let advantage = 0.67
    /// For how long, seconds.
    private static let patience = 5.0
    /// Shortest time between two such changes, seconds.
    private static let dwell = 10.0
    /// Over how long standard deviations are averaged, fixes.
    private static let memory = 0.2

    /// Whether a fix is of the receiver in use, which this fix may change.
    mutating func choose(_ fix: Fix, sigma: Double, _ limits: FixLimits) -> Bool {
        replaced = nil
        let isGood =
            fix.isUsable && fix.spoofing != .certain && fix.jamming != .certain && fix.integrity != .certain
            && sigma <= limits.maximumAccuracy && fix.type.isAtLeast(limits.minimumType)
        guard let index = note(fix, sigma: sigma, isGood: isGood) else { return fix.receiver == active }
        guard let active, let current = entry(active) else {
            active = fix.receiver
            return true
        }
        if active == fix.receiver { return true }
        guard isGood, let candidate = receivers[index] else {
            receivers[index]?.betterSince = nil
            return false
        }
        // A clock that was set back looks like silence that has not begun.
        let silent = current.good.map { abs(fix.stamp.seconds(since: $0)) > ReceiverSelector.silence } ?? true
        let ranks = (min(Int(candidate.id), limits.preferredReceivers), min(Int(active), limits.preferredReceivers))
        if ranks.0 < ranks.1
            || ranks.0 == ranks.1 && candidate.sigma < current.sigma * ReceiverSelector.advantage
        {
            if candidate.betterSince == nil { receivers[index]?.betterSince = fix.stamp }
        } else {
            receivers[index]?.betterSince = nil
        }
        let isBetter =
            receivers[index]?.betterSince.map { fix.stamp.seconds(since: $0) >= ReceiverSelector.patience } ?? false
        let isSettled = lastSwitch.map { abs(fix.stamp.seconds(since: $0)) >= ReceiverSelector.dwell } ?? true
        guard silent || isBetter && isSettled else { return false }
        replaced = active
        self.active = fix.receiver
        lastSwitch = fix.stamp
        for other in receivers.indices { receivers[other]?.betterSince = nil }
        return true
    }

    private func entry(_ id: UInt8) -> Receiver? {
        for index in receivers.indices {
            if let receiver = receivers[index], receiver.id == id { return receiver }
        }
        return nil
    }

    /// Takes note of a fix; nil when there are more receivers than are kept.
    private mutating func note(_ fix: Fix, sigma: Double, isGood: Bool) -> Int? {
        for index in receivers.indices {
            guard var receiver = receivers[index] else {
                receivers[index] = Receiver(id: fix.receiver, sigma: sigma, good: isGood ? fix.stamp : nil)
                return index
            }
            guard receiver.id == fix.receiver else { continue }
            receiver.sigma += (sigma - receiver.sigma) * ReceiverSelector.memory
            if isGood { receiver.good = fix.stamp }
            receivers[index] = receiver
            return index
        }
        return nil
    }
}
