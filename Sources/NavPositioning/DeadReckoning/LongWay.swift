/// Finds a receiver's speed that is off by a share, one unit taken for a similar one.
///
/// A leg is too short to show it: what positions err at its ends is as much. Straight legs are summed up to a long way, of which that is little.
/// The same of the wheels need not be found: the filter learns their scale (see ``MotionConfig/scaleSigma``); a receiver's speed has none, and the
/// position would go ahead of what it measures, or fall behind, for as long as both are believed.
struct LongWay: Sendable {
    /// Whether the speed is off.
    private(set) var evidence = SignalEvidence()

    private var distance = 0.0
    private var variance = 0.0
    private var ofReceiver = 0.0
    private var ofWheels: Double? = 0

    /// The length, metres.
    private static let length = 1_000.0
    /// By what share it contradicts a speed, and agrees with it. What is off by less the filter can bear: its position errs by some metres.
    private static let (contradiction, agreement) = (0.1, 0.06)
    /// The number of long ways that make a speed wrong.
    private static let count = 2
    /// Length of a leg that counts, by the speed, in standard deviations of its ends: what positions err across it makes it longer by less than a
    /// hundredth. Were it the length by the positions, those that err would choose.
    private static let deviations = 8.0
    /// Most of a long way that one leg is.
    private static let greatestShare = 0.5

    /// Takes the next straight leg, of which nothing is wrong by itself: what a reflection makes of one leg says nothing of the speed.
    ///
    /// - Parameters:
    ///   - distance: between its ends, metres.
    ///   - spread: its standard deviation by what positions err, metres.
    ///   - ofReceiver: what the receiver's speed makes of it, metres; nil when not known. So the wheels'.
    mutating func add(_ distance: Double, spread: Double, ofReceiver: Double?, ofWheels: Double?) {
        guard let ofReceiver, ofReceiver >= LongWay.deviations * spread,
            distance <= LongWay.greatestShare * LongWay.length
        else { return }
        self.distance += distance
        variance += spread * spread
        self.ofReceiver += ofReceiver
        self.ofWheels = self.ofWheels.flatMap { sum in ofWheels.map { sum + $0 } }
        if self.distance >= LongWay.length { judge() }
    }

    private mutating func judge() {
        let difference = ofReceiver - distance
        // Most of what positions err lasts from one leg to the next.
        let margin = variance.squareRoot() + 5
        // Two that are wrong alike are right.
        let isShared = ofWheels.map { abs($0 - ofReceiver) <= LongWay.agreement * ofReceiver } ?? false
        if isShared || abs(difference) <= margin + LongWay.agreement * distance {
            evidence.add(0, limit: LongWay.count)
        } else if abs(difference) > margin + LongWay.contradiction * distance {
            evidence.add(difference < 0 ? -1 : 1, limit: LongWay.count)
        }
        (distance, variance, ofReceiver, ofWheels) = (0, 0, 0, 0)
    }
}
