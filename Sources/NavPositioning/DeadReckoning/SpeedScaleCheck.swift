/// A detector of a receiver speed that is wrong by a constant factor, such as a confusion of similar units.
///
/// A single leg is too short, because the position errors at its ends are as large as the difference. Straight legs are
/// therefore summed to a distance that is long compared with these errors.
///
/// Wheel speeds need no such check: the filter estimates their scale (see ``MotionConfig/scaleSigma``). A receiver's
/// speed has no scale state, so a wrong one would keep the position ahead of or behind the measured ones.
struct SpeedScaleCheck: Sendable {
    /// The evidence that the speed is wrong.
    private(set) var evidence = SignalEvidence()

    private var distance = 0.0
    private var variance = 0.0
    private var ofReceiver = 0.0
    private var ofWheels: Double? = 0

    /// The length to sum, metres.
    private static let length = 1_000.0
    /// The relative differences in length that contradict a speed (at least) and confirm it (at most).
    ///
    /// The filter tolerates smaller errors: the position is off by some metres.
    private static let (contradiction, agreement) = (0.1, 0.06)
    /// The number of contradicting sums that make a speed wrong.
    private static let count = 2
    /// The minimum length of a leg according to the speed, in standard deviations of its ends, so that cross-track
    /// errors lengthen it by less than a hundredth.
    ///
    /// Selecting by the positions' length would bias the selection by their errors.
    private static let deviations = 8.0
    /// The largest share of the total length that one leg may have.
    private static let greatestShare = 0.5

    /// Adds a straight leg that does not contradict the speed on its own: a reflection in a single leg is no evidence
    /// about the speed.
    ///
    /// - Parameters:
    ///   - distance: The distance between its ends, metres.
    ///   - spread: The standard deviation of that distance by position errors, metres.
    ///   - ofReceiver: The leg's length by the receiver's speed, metres; nil when unknown. `ofWheels` is the same by
    ///     wheel speed.
    mutating func add(_ distance: Double, spread: Double, ofReceiver: Double?, ofWheels: Double?) {
        guard let ofReceiver, ofReceiver >= SpeedScaleCheck.deviations * spread,
            distance <= SpeedScaleCheck.greatestShare * SpeedScaleCheck.length
        else { return }
        self.distance += distance
        variance += spread * spread
        self.ofReceiver += ofReceiver
        self.ofWheels = self.ofWheels.flatMap { sum in ofWheels.map { sum + $0 } }
        if self.distance >= SpeedScaleCheck.length { evaluate() }
    }

    private mutating func evaluate() {
        let difference = ofReceiver - distance
        // Most of a position's error is common to consecutive legs.
        let margin = variance.squareRoot() + 5
        // Two independent speeds that agree are correct.
        let isShared = ofWheels.map { abs($0 - ofReceiver) <= SpeedScaleCheck.agreement * ofReceiver } ?? false
        if isShared || abs(difference) <= margin + SpeedScaleCheck.agreement * distance {
            evidence.add(0, limit: SpeedScaleCheck.count)
        } else if abs(difference) > margin + SpeedScaleCheck.contradiction * distance {
            evidence.add(difference < 0 ? -1 : 1, limit: SpeedScaleCheck.count)
        }
        (distance, variance, ofReceiver, ofWheels) = (0, 0, 0, 0)
    }
}
