public import NavGeo
public import NavMatching

/// A fix and its match.
public struct VehiclePosition: Sendable, Hashable {
    public var fix: Fix
    /// The match on the road graph.
    public var match: MatchedPosition
    /// The share of the matcher's belief within 90° of the best match's direction; 0 off the roads.
    ///
    /// It is computed when the fix arrives, because the match's edges belong to the map at that moment.
    public var directionProbability = 0.0

    /// The method of prediction; nil for a position from a fix.
    ///
    /// For a prediction, `fix` is the predicted one.
    public var prediction: PredictionMethod?
    /// Seconds since the last accepted fix.
    public var age = 0.0
    /// The evidence for the position; a merely expected position triggers no lasting decision.
    public var evidence = PositionEvidence.measured
    /// Whether the position ends a prediction without continuing from it: the vehicle is elsewhere than predicted.
    public var isRestart = false

    /// Whether this position may mark waypoints as reached or passed: it is based on an accepted fix or on odometry.
    package var isDecisive: Bool { evidence == .measured }
    /// Whether the position is from a fix.
    package var isSeen: Bool { prediction == nil && evidence == .measured }
    /// Whether the position is from a fix and a route can continue from it; a vehicle driving against a one-way road is
    /// on no route.
    package var isSeenUnderWay: Bool { isSeen && road?.isAgainst != true }

    /// The place on a road; nil off the roads.
    public var road: MatchedPosition.RoadPosition? { match.road }
    /// The receiver's position.
    public var coordinate: Coordinate { fix.coordinate }
    public var stamp: Timestamp { fix.stamp }
    /// Speed, m/s, from the receiver or the last movement.
    public var speed: Double? { match.speed }
    /// Direction of travel, radians clockwise from north: the receiver's, otherwise the road's.
    public var course: Double? { fix.course.flatMap { $0.isFinite ? $0 : nil } ?? match.road?.bearing }
    /// Standard deviation of the position per axis, metres, above 0; nil when the receiver reports none.
    public var sigma: Double? { fix.horizontalSigma.flatMap { $0 > 0 && $0.isFinite ? $0 : nil } }
}

extension VehiclePosition {
    /// Creates a position with a predicted fix.
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
