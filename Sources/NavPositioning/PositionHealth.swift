public import NavGeo
public import NavMatching

/// The health of positioning as a whole: a vehicle's counterpart of a phone's accuracy authorisation.
public struct PositionHealth: Sendable, Hashable {
    public enum Level: UInt8, Sendable, Comparable, CaseIterable {
        /// As good as it should be.
        case full
        /// Usable, but worse than it should be.
        case reduced
        /// Not to be relied upon.
        case lost

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// Why the verdict is what it is.
    public struct Reasons: OptionSet, Sendable, Hashable {
        /// One bit a reason.
        public let rawValue: UInt16
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// No fix that counts arrives.
        public static let noFix = Reasons(rawValue: 1 << 0)
        /// The position is less accurate than it should be, or the receiver more optimistic than its fixes agree.
        public static let accuracy = Reasons(rawValue: 1 << 1)
        /// The receiver carries its position on by itself.
        public static let fixType = Reasons(rawValue: 1 << 2)
        /// Counterfeit signals.
        public static let spoofing = Reasons(rawValue: 1 << 3)
        public static let jamming = Reasons(rawValue: 1 << 4)
        /// The receiver's integrity monitoring has doubts, or its positions jumped.
        public static let integrity = Reasons(rawValue: 1 << 5)
        /// Fixes arrive late or too rarely.
        public static let latency = Reasons(rawValue: 1 << 6)
        /// The vehicle is in a tunnel of the map.
        public static let tunnel = Reasons(rawValue: 1 << 7)
        /// The receiver's speed or course, or the odometry, contradicts the positions and is left out.
        public static let contradiction = Reasons(rawValue: 1 << 8)
    }

    public var level: Level
    /// Why; empty when it is full.
    public var reasons: Reasons
    /// Since when the verdict holds.
    public var since: Timestamp
}

/// Judges positioning from what happens to fixes; a reason lasts for some seconds, so that the verdict does not flap.
public struct HealthJudge: Sendable {
    /// Standard deviation per axis from which a position is less accurate than it should be, metres. 15: beyond it parallel roads are mixed up.
    public static let reducedSigma = 15.0
    /// The same from which it is not to be relied upon, metres.
    public static let lostSigma = 100.0
    /// The time without a fix that counts after which the position is lost, seconds, where nothing carries it on.
    public static let lostAfter = 10.0
    /// The time that positions are doubted after one that the vehicle cannot have reached, seconds.
    public static let jumpMemory = 10.0
    /// The time that a reason lasts after it was last seen, seconds.
    public static let hold = 3.0

    private static let count = 9
    private var seen = InlineArray<9, Timestamp?>(repeating: nil)
    private var worst = InlineArray<9, PositionHealth.Level>(repeating: .full)
    private var lastGood: Timestamp?
    private var lastJump: Timestamp?
    private var current: PositionHealth?

    public init() {}

    /// The verdict; nil before the first fix.
    public var health: PositionHealth? { current }

    /// Takes note of a fix.
    ///
    /// - Parameter isJump: whether it was believed although the vehicle cannot have got there: this place is wrong, or those before were.
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
            if let lastJump, abs(stamp.seconds(since: lastJump)) <= HealthJudge.jumpMemory {
                mark(.integrity, .reduced, at: stamp)
            }
            if let sigma, sigma > HealthJudge.reducedSigma || inflation > 4 {
                mark(.accuracy, sigma > HealthJudge.lostSigma ? .lost : .reduced, at: stamp)
            }
        }
        judge(at: stamp)
    }

    /// Takes note that a signal is left out.
    public mutating func noteContradiction(at stamp: Timestamp) { mark(.contradiction, .reduced, at: stamp) }

    /// Takes note that time has passed without a fix that counts.
    ///
    /// - Parameters:
    ///   - reason: why positions are predicted; nil when they are not.
    ///   - sigma: standard deviation along the road of the prediction, metres.
    public mutating func noteMissing(_ reason: ReckoningReason?, sigma: Double?, isLost: Bool, at stamp: Timestamp) {
        let isLost = isLost || (sigma ?? 0) > HealthJudge.lostSigma
        switch reason {
        case .tunnel?: mark(.tunnel, isLost ? .lost : .reduced, at: stamp)
        case .poorGNSS?: mark(.noFix, isLost ? .lost : .reduced, at: stamp)
        case nil:
            guard isLost || lastGood.map({ stamp.seconds(since: $0) > HealthJudge.lostAfter }) ?? true else { break }
            mark(.noFix, .lost, at: stamp)
        }
        judge(at: stamp)
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

    private mutating func judge(at stamp: Timestamp) {
        var level = PositionHealth.Level.full
        var reasons: PositionHealth.Reasons = []
        for index in 0..<HealthJudge.count {
            guard let last = seen[index] else { continue }
            // A clock that was set back does not make a reason last for ever.
            guard abs(stamp.seconds(since: last)) <= HealthJudge.hold else {
                seen[index] = nil
                continue
            }
            reasons.insert(PositionHealth.Reasons(rawValue: 1 << UInt16(index)))
            level = max(level, worst[index])
        }
        // Without dead reckoning there is no position either.
        let hasPosition = lastGood.map { abs(stamp.seconds(since: $0)) <= HealthJudge.lostAfter } ?? false
        if !hasPosition, reasons.isDisjoint(with: [.noFix, .tunnel]) {
            reasons.insert(.noFix)
            level = .lost
        }
        // A verdict holds since no moment to come, as it would when the clock was set back.
        let since = current.map { $0.level == level ? min($0.since, stamp) : stamp } ?? stamp
        current = PositionHealth(level: level, reasons: reasons, since: since)
    }
}
