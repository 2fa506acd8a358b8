public import NavMatching

public enum PredictionMethod: UInt8, Sendable, CaseIterable {
    /// The vehicle's odometry.
    case odometry
    /// The route, at the speed usual there.
    case alongRoute
    /// The most probable road, at the speed usual there.
    case alongRoad
    /// A straight line, away from all roads.
    case straightOn
}

public enum PositionEvidence: UInt8, Sendable, CaseIterable {
    /// A fix, or the vehicle's odometry since the last fix.
    case measured
    /// A fix towards which the position is still blended, and which it is already near.
    case blended
    /// Usual driving behaviour only, with no measurement since the last fix.
    ///
    /// It may move the displayed position but never triggers decisions.
    case expected
}

/// A position without a fix of its own.
public struct PredictedPosition: Sendable, Hashable {
    public var estimate: MotionEstimate
    /// The place on the road graph; nil off the roads.
    public var road: MatchedPosition.RoadPosition?
    public var method: PredictionMethod
    public var evidence: PositionEvidence
    /// Probability that the vehicle is on this road.
    public var probability: Double
    /// Seconds since the last accepted fix.
    public var age: Double
    /// The possible roads, the most probable first; more than one after a fork.
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
            speed: max(estimate.speed, 0), isTeleport: false)
    }

    /// Replaces the fix's uncertainty along the road by the filter's, and keeps the spread of the other candidates.
    ///
    /// The matcher treats each fix separately; the filter also models the lasting part of a receiver's error.
    public mutating func calibrate(_ estimate: MotionEstimate, stated sigma: Double) {
        guard let road else { return }
        let along = estimate.covariance.sigma(along: road.bearing)
        let spread = max(road.alongSigma * road.alongSigma - sigma * sigma, 0)
        self.road?.alongSigma = (along * along + spread).squareRoot()
    }
}
