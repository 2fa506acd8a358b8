public import NavGeo
public import NavMatching

/// The overall health of positioning, similar to a phone's accuracy authorisation.
public struct PositionHealth: Sendable, Hashable {
    public enum Level: UInt8, Sendable, Comparable, CaseIterable {
        /// As accurate as required.
        case full
        /// Usable, but less accurate than required.
        case reduced
        /// Unreliable.
        case lost

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The reasons for the level.
    public struct Reasons: OptionSet, Sendable, Hashable {
        /// A bit for each reason.
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// No acceptable fix arrives.
        public static let noFix = Reasons(rawValue: 1 << 0)
        /// The position is less accurate than required, or the receiver's stated accuracy is too optimistic.
        public static let accuracy = Reasons(rawValue: 1 << 1)
        /// The receiver is dead reckoning, or its fixes are of a lower type than required.
        public static let fixType = Reasons(rawValue: 1 << 2)
        /// Counterfeit signals.
        public static let spoofing = Reasons(rawValue: 1 << 3)
        public static let jamming = Reasons(rawValue: 1 << 4)
        /// The receiver's integrity monitoring has doubts, or its positions jumped.
        public static let integrity = Reasons(rawValue: 1 << 5)
        /// Fixes arrive late or too rarely.
        public static let latency = Reasons(rawValue: 1 << 6)
        /// The vehicle is in a mapped tunnel.
        public static let tunnel = Reasons(rawValue: 1 << 7)
        /// The receiver's speed or course, or the odometry, contradicts the positions and is ignored.
        public static let contradiction = Reasons(rawValue: 1 << 8)
    }

    public var level: Level
    /// The reasons; empty when the level is full.
    public var reasons: Reasons
    /// The reasons for which the position is lost, such as spoofing that is detected and not only suspected.
    public var lostReasons: Reasons
    /// The time since which the level holds.
    public var since: Timestamp
}

/// A monitor of positioning health; each reason is held for some seconds, so that the level does not flap.
public struct PositionHealthMonitor: Sendable {
    /// Standard deviation per axis from which accuracy is reduced, metres. 15: beyond it parallel roads cannot be distinguished.
    public static let reducedSigma = 15.0
    /// Standard deviation per axis from which the position is unreliable, metres.
    public static let lostSigma = 100.0
    /// The time without an accepted fix after which the position is lost, seconds, unless it is predicted.
    public static let lostAfter = 10.0
    /// The time for which positions are distrusted after an impossible jump, seconds.
    public static let jumpMemory = 10.0
    /// The time for which a reason is held after its last observation, seconds.
    public static let hold = 3.0

    private static let count = 9
    private var seen = InlineArray<9, Timestamp?>(repeating: nil)
    private var worst = InlineArray<9, PositionHealth.Level>(repeating: .full)
    private var lastGood: Timestamp?
    private var lastJump: Timestamp?
    private var current: PositionHealth?

    public init() {}

    /// The current health; nil before the first fix.
    public var health: PositionHealth? { current }

    /// Updates the health with a fix.
    ///
    /// - Parameter isJump: Whether the fix was accepted although unreachable, so that this position or the earlier ones are wrong.
    public mutating func note(
        _ fix: Fix, isAccepted: Bool, isJump: Bool = false, sigma: Double?, inflation: Double, latency: Double?,
        at stamp: Timestamp
    ) {
        note(.spoofing, fix.spoofing, at: stamp)
        note(.jamming, fix.jamming, at: stamp)
        note(.integrity, fix.integrity, at: stamp)
        if fix.type == .deadReckoning { mark(.fixType, .reduced, at: stamp) }
        if let latency, latency > 1 { mark(.latency, .reduced, at: stamp) }
        if isAccepted {
            if let lastGood, stamp.seconds(since: lastGood) > 10 { mark(.latency, .reduced, at: stamp) }
            lastGood = stamp
            clear(.noFix)
            clear(.tunnel)
            if isJump { lastJump = stamp }
            if let lastJump, abs(stamp.seconds(since: lastJump)) <= PositionHealthMonitor.jumpMemory {
                mark(.integrity, .reduced, at: stamp)
            }
            if let sigma, sigma > PositionHealthMonitor.reducedSigma || inflation > 4 {
                mark(.accuracy, sigma > PositionHealthMonitor.lostSigma ? .lost : .reduced, at: stamp)
            }
        }
        evaluate(at: stamp)
    }

    /// Adjusts the time since which the level holds when the clock is set; reasons need no adjustment, because they last only seconds.
    mutating func moveClock(by seconds: Double) {
        if let since = current?.since { current?.since = since.advanced(bySeconds: seconds) }
    }

    /// Records that a fix is of a lower type than required.
    public mutating func noteFixType(at stamp: Timestamp) { mark(.fixType, .reduced, at: stamp) }

    /// Records that a signal is ignored.
    public mutating func noteContradiction(at stamp: Timestamp) { mark(.contradiction, .reduced, at: stamp) }

    /// Updates the health when time has passed without an accepted fix.
    ///
    /// - Parameters:
    ///   - reason: The reason for predicting positions; nil when none are predicted.
    ///   - sigma: The prediction's standard deviation along the road, metres.
    public mutating func noteMissing(_ reason: ReckoningReason?, sigma: Double?, isLost: Bool, at stamp: Timestamp) {
        let isLost = isLost || (sigma ?? 0) > PositionHealthMonitor.lostSigma
        switch reason {
        case .tunnel?: mark(.tunnel, isLost ? .lost : .reduced, at: stamp)
        case .poorGNSS?: mark(.noFix, isLost ? .lost : .reduced, at: stamp)
        case nil:
            guard isLost || lastGood.map({ stamp.seconds(since: $0) > PositionHealthMonitor.lostAfter }) ?? true else {
                break
            }
            mark(.noFix, .lost, at: stamp)
        }
        evaluate(at: stamp)
    }

    private mutating func note(_ reason: PositionHealth.Reasons, _ alarm: SignalAlarm, at stamp: Timestamp) {
        switch alarm {
        case .none: break
        case .suspected: mark(reason, .reduced, at: stamp)
        case .certain: mark(reason, .lost, at: stamp)
        }
    }

    private mutating func mark(_ reason: PositionHealth.Reasons, _ level: PositionHealth.Level, at stamp: Timestamp) {
        let index = reason.rawValue.trailingZeroBitCount
        seen[index] = stamp
        worst[index] = level
    }

    private mutating func clear(_ reason: PositionHealth.Reasons) { seen[reason.rawValue.trailingZeroBitCount] = nil }

    private mutating func evaluate(at stamp: Timestamp) {
        var level = PositionHealth.Level.full
        var (reasons, lostReasons) = (PositionHealth.Reasons(), PositionHealth.Reasons())
        for index in 0..<PositionHealthMonitor.count {
            guard let last = seen[index] else { continue }
            // The absolute value prevents a clock that was set back from prolonging a reason indefinitely.
            guard abs(stamp.seconds(since: last)) <= PositionHealthMonitor.hold else {
                seen[index] = nil
                continue
            }
            reasons.insert(PositionHealth.Reasons(rawValue: 1 << UInt16(index)))
            if worst[index] == .lost { lostReasons.insert(PositionHealth.Reasons(rawValue: 1 << UInt16(index))) }
            level = max(level, worst[index])
        }
        // Without dead reckoning and without an accepted fix there is no position.
        let hasPosition = lastGood.map { abs(stamp.seconds(since: $0)) <= PositionHealthMonitor.lostAfter } ?? false
        if !hasPosition, reasons.isDisjoint(with: [.noFix, .tunnel]) {
            reasons.insert(.noFix)
            lostReasons.insert(.noFix)
            level = .lost
        }
        // The start is never in the future, not even after the clock was set back.
        let since = current.map { $0.level == level ? min($0.since, stamp) : stamp } ?? stamp
        current = PositionHealth(level: level, reasons: reasons, lostReasons: lostReasons, since: since)
    }
}
