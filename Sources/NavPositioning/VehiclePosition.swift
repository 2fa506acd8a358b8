public import NavGeo
public import NavMatching

/// A fix and what the matcher made of it.
public struct VehiclePosition: Sendable, Hashable {
    public var fix: Fix
    /// Its place on the road graph.
    public var match: MatchedPosition
    /// The share of the matcher's belief that points the way of the best match, within 90°; 0 off the roads. It is taken
    /// when the fix comes: the match's edges are those of the map of that moment.
    public var directionProbability = 0.0

    /// The method of prediction; nil for a position of a fix. The fix is then one that the prediction stands for.
    public var prediction: PredictionMethod?
    /// Seconds since the last fix that counted.
    public var age = 0.0
    /// The evidence of the position: what is only expected decides nothing that lasts.
    public var evidence = PositionEvidence.measured

    /// Whether waypoints may be reached and passed by this position: by a fix that is believed, or by odometry.
    package var isDecisive: Bool { evidence == .measured }
    /// Whether a fix shows the vehicle here.
    package var isSeen: Bool { prediction == nil && evidence == .measured }
    /// Whether a fix shows the vehicle here and it may go on from here: whoever drives against a one-way road has turned onto no route.
    package var isSeenUnderWay: Bool { isSeen && road?.isAgainst != true }

    /// The place on a road; nil off the roads.
    public var road: MatchedPosition.RoadPosition? { match.road }
    /// The receiver's position.
    public var coordinate: Coordinate { fix.coordinate }
    public var stamp: Timestamp { fix.stamp }
    /// Metres per second, from the receiver or the last movement.
    public var speed: Double? { match.speed }
    /// Direction of travel, radians clockwise from north: the receiver's, else that of the road.
    public var course: Double? { fix.course.flatMap { $0.isFinite ? $0 : nil } ?? match.road?.bearing }
    /// Standard deviation of the position per axis, metres, above 0; nil when the receiver does not say.
    public var sigma: Double? { fix.horizontalSigma.flatMap { $0 > 0 && $0.isFinite ? $0 : nil } }
}

extension VehiclePosition {
    /// Makes a position that stands for a fix where there is none.
    init(_ predicted: PredictedPosition, like fix: Fix) {
        let estimate = predicted.estimate
        var fix = fix
        fix.coordinate = estimate.coordinate
        fix.horizontalSigma = predicted.road?.alongSigma ?? estimate.covariance.perAxis
        fix.speed = max(estimate.speed, 0)
        fix.course = predicted.road?.bearing ?? estimate.course
        fix.type = .deadReckoning
        self.init(
            fix: fix, match: MatchedPosition(predicted), directionProbability: predicted.road == nil ? 0 : 1,
            prediction: predicted.method,
            age: predicted.age, evidence: predicted.evidence)
    }
}
