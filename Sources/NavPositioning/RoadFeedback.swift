import Glibc
import NavGeo
public import NavMap
public import NavMatching

/// Feedback from the matched road to the position filter where the road is certain, which in turn corrects the place along the road.
///
/// The distance from a road's centreline reveals the receiver's lasting error in that direction; after a bend, this is an error along the
/// road. The road contributes only once per ``distance``, because a vehicle tends to keep its lane.
///
/// The feedback never reaches the matcher, so a wrong road can neither confirm itself nor hold the vehicle. An uncertain road contributes
/// nothing. If the place on the matched line moves differently from the vehicle, or the uncertainty lasts, all contributions are discarded.
public struct RoadFeedback: Sendable {
    /// The last place at which the road was certain.
    private struct Trail: Sendable {
        /// The position on the road's line; `seen` is the position from the fixes alone.
        var coordinate: Coordinate
        var bearing: Double
        var seen: Coordinate
        /// Metres driven along certain roads.
        var metres: Double
        /// Metres driven since the road last contributed.
        var uncounted: Double
    }

    private var trail: Trail?

    /// Probability of being on the road's line from which the road is certain.
    private static let sureness = 0.95
    /// Metres to drive on a certain road before it contributes; by then, parallel roads and ramps can be distinguished.
    private static let settling = 60.0
    /// Metres by which the movement of the place on the line may differ from the vehicle's without being on another line.
    private static let sideways = 6.0
    /// The same limit at a corner, per radian: the filter continues straight on for a moment.
    private static let cornering = 6.0
    /// Metres that may be driven while the road is uncertain.
    private static let longestDoubt = 100.0
    /// Standard deviation between a vehicle and its road's centreline, metres: a lane to the right, and the accuracy of maps.
    private static let crossSigma = 3.0
    /// Standard deviation between the directions of a vehicle and of its road's centreline, radians.
    private static let bearingSigma = 0.1
    /// Metres after which both errors are independent: drivers keep their lane from one junction to the next.
    private static let distance = 150.0
    /// The largest distance of a vehicle from its road, in standard deviations.
    private static let deviations = 3.0

    public init() {}

    /// Updates the filter with the matched road of the last fix, and corrects the match's place along the road.
    public mutating func follow(_ match: inout MatchedPosition, _ tracker: inout PositionTracker, _ graph: RoadGraph) {
        guard let road = match.road, !road.isAgainst, !match.isTeleport, let free = tracker.estimate else {
            return forget(&tracker)
        }
        let frame = LocalFrame(origin: road.coordinate)
        guard !match.isHeld, match.lineProbability(graph) >= RoadFeedback.sureness else {
            // At a corner, both roads are likely for a moment: neither contribute nor discard yet.
            guard let trail, Geodesy.distance(trail.seen, free.coordinate) < RoadFeedback.longestDoubt else {
                return forget(&tracker)
            }
            if !match.isHeld { place(&match, road, tracker, frame, graph) }
            return
        }
        let beside = frame.point(free.coordinate)
        let across = beside.east * cos(road.bearing) - beside.north * sin(road.bearing)
        let sigma = free.covariance.sigma(across: road.bearing)
        let limit =
            RoadFeedback.deviations * (sigma * sigma + RoadFeedback.crossSigma * RoadFeedback.crossSigma).squareRoot()
        guard abs(across) <= limit else { return forget(&tracker) }
        var trail =
            trail
            ?? Trail(
                coordinate: road.coordinate, bearing: road.bearing, seen: free.coordinate, metres: 0, uncounted: 0)
        // The place on the line and the vehicle move equally unless the match has switched to another line.
        let moved = beside - frame.point(trail.seen)
        let line = LocalPoint(east: 0, north: 0) - frame.point(trail.coordinate)
        let metres = line.length
        let turned = min(Angle.separation(trail.bearing, road.bearing), 1)
        let slack = RoadFeedback.sideways + min(0.1 * metres, RoadFeedback.sideways) + RoadFeedback.cornering * turned
        guard (line - moved).length <= slack else { return forget(&tracker) }
        trail.metres += metres
        trail.uncounted += metres
        (trail.coordinate, trail.bearing, trail.seen) = (road.coordinate, road.bearing, free.coordinate)
        if trail.metres >= RoadFeedback.settling, trail.uncounted > 0.5 {
            let growth = max(RoadFeedback.distance / trail.uncounted, 1).squareRoot()
            tracker.constrain(
                RoadConstraint(
                    coordinate: road.coordinate, bearing: road.bearing, crossSigma: RoadFeedback.crossSigma * growth,
                    bearingSigma: RoadFeedback.bearingSigma * growth))
            trail.uncounted = 0
        }
        self.trail = trail
        place(&match, road, tracker, frame, graph)
    }

    public mutating func forget(_ tracker: inout PositionTracker) {
        trail = nil
        tracker.release()
    }

    /// Moves the place along its edge to the road-aided position of the filter.
    private func place(
        _ match: inout MatchedPosition, _ road: MatchedPosition.RoadPosition, _ tracker: PositionTracker,
        _ frame: LocalFrame, _ graph: RoadGraph
    ) {
        guard let aided = tracker.roadEstimate else { return }
        let point = frame.point(aided.coordinate)
        let along = point.east * sin(road.bearing) + point.north * cos(road.bearing)
        let offset = min(max(road.offset + along, 0), Double(graph.edgeLengths[road.edge.index]))
        match.road = MatchedPosition.RoadPosition(
            road.edge, at: offset, on: graph, raw: match.raw, alongSigma: road.alongSigma, crossSigma: road.crossSigma)
    }
}

extension MatchedPosition {
    /// The largest distance between two lines of the same road, metres.
    private static let lineWidth = 4.0
    /// The largest angle between the directions of one line, radians.
    private static let lineAngle = 0.5

    /// Returns the probability of being on the matched road's line: on its edge, or on an edge that continues it or
    /// leads to it.
    func lineProbability(_ graph: RoadGraph) -> Double {
        guard let road else { return 0 }
        let frame = LocalFrame(origin: road.coordinate)
        let (sine, cosine) = (sin(road.bearing), cos(road.bearing))
        var sum = 0.0
        for candidate in candidates {
            if candidate.edge == road.edge {
                sum += candidate.probability
            } else if candidate.probability > 0.01,
                Angle.separation(candidate.bearing, road.bearing) < MatchedPosition.lineAngle
            {
                let point = frame.point(graph.position(at: candidate.offset, of: candidate.edge).coordinate)
                if abs(point.east * cosine - point.north * sine) < MatchedPosition.lineWidth {
                    sum += candidate.probability
                }
            }
        }
        return min(sum, 1)
    }
}
