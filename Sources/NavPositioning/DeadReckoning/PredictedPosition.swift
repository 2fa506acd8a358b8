public import NavMatching

public enum PredictionMethod: UInt8, Sendable, CaseIterable {
    /// By the vehicle's odometry.
    case odometry
    /// Along the route with the speed that is usual there.
    case alongRoute
    /// Along the most probable road in the same way.
    case alongRoad
    /// Straight on, away from all roads.
    case straightOn
}

public enum PositionEvidence: UInt8, Sendable, CaseIterable {
    /// A fix, or the vehicle's own odometry since the last one.
    case measured
    /// A fix; the position is still being led over to it and is near.
    case blended
    /// Nothing that was measured since the last fix: how vehicles usually drive. It may move what is shown and decides nothing.
    case expected
}

/// A position without a fix of its own.
public struct PredictedPosition: Sendable, Hashable {
    public var estimate: MotionEstimate
    /// The place on the road graph; nil away from all roads.
    public var road: MatchedPosition.RoadPosition?
    public var method: PredictionMethod
    public var evidence: PositionEvidence
    /// Probability that it is on this road.
    public var probability: Double
    /// Seconds since the last fix that counted.
    public var age: Double
    /// The roads that it may be on, the most probable first: where roads parted there is more than one.
    public var candidates: [MatchedPosition.Candidate]
}

extension MatchedPosition {
    public init(_ predicted: PredictedPosition) {
        let estimate = predicted.estimate
        self.init(
            stamp: estimate.stamp, raw: estimate.coordinate, state: predicted.road == nil ? .noCandidates : .onRoad,
            road: predicted.road, confidence: predicted.road == nil ? 0 : predicted.probability,
            candidates: predicted.candidates,
            offRoadProbability: min(max(1 - predicted.candidates.reduce(0) { $0 + $1.probability }, 0), 1),
            speed: max(estimate.speed, 0), isTeleport: false, isHeld: false)
    }

    /// Puts the filter's uncertainty along the road in the place of the fix's, next to what other candidates lie away.
    ///
    /// The matcher takes each fix for itself; the filter knows what lasts in a receiver's error.
    public mutating func calibrate(_ estimate: MotionEstimate, stated sigma: Double) {
        guard let road else { return }
        let along = estimate.covariance.sigma(along: road.bearing)
        let spread = max(road.alongSigma * road.alongSigma - sigma * sigma, 0)
        self.road?.alongSigma = (along * along + spread).squareRoot()
    }
}
