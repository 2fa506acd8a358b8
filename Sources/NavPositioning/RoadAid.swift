import Glibc
import NavGeo
public import NavMap
public import NavMatching

/// Gives the matched road back to the position filter, where it is sure, and takes from it what that makes of the place on the road.
///
/// A road tells how far the vehicle is beside its line, and so what of the receiver's error lasts in that direction; behind a bend that is an
/// error along the road. It tells so once in a while only: a lane stays the same lane. Nothing of it reaches the matcher, so a wrong road can
/// neither confirm itself nor hold the vehicle. While a road is not sure nothing is learned from it; when the line that is matched moves
/// otherwise than the vehicle, or the doubt lasts, what roads told is forgotten.
public struct RoadAid: Sendable {
    /// The last place at which the road was sure.
    private struct Trail: Sendable {
        /// On the line, and by the fixes alone.
        var coordinate: Coordinate
        var bearing: Double
        var seen: Coordinate
        /// Metres driven along a road that was sure.
        var metres: Double
        /// Metres driven since the road last told something.
        var untold: Double
    }

    private var trail: Trail?

    /// Probability that the vehicle is on the line of the road, from which it is sure.
    private static let sureness = 0.95
    /// Metres that must be driven on a sure road before it tells anything: parallel roads and ramps are told apart by then.
    private static let settling = 60.0
    /// Metres by which the place on the line may move otherwise than the vehicle without being on another line.
    private static let sideways = 6.0
    /// The same at a corner, per radian: a filter goes straight on for a moment.
    private static let cornering = 6.0
    /// Metres that may be driven while the road is not sure.
    private static let longestDoubt = 100.0
    /// Standard deviation between a vehicle and its road's line, metres: a lane to the right, and how exact maps are drawn.
    private static let crossSigma = 3.0
    /// Standard deviation between the direction of a vehicle and that of its road's line, radians.
    private static let bearingSigma = 0.1
    /// Metres after which both are others: who keeps to a lane keeps to it from one junction to the next.
    private static let distance = 150.0
    /// Standard deviations that a vehicle can be beside its road.
    private static let deviations = 3.0

    public init() {}

    /// Takes in what the matcher made of the last fix, and corrects its place along the road.
    public mutating func follow(_ match: inout MatchedPosition, _ tracker: inout PositionTracker, _ graph: RoadGraph) {
        guard let road = match.road, !road.isAgainst, !match.isTeleport, let free = tracker.estimate else {
            return forget(&tracker)
        }
        let frame = LocalFrame(origin: road.coordinate)
        guard !match.isHeld, match.lineProbability(graph) >= RoadAid.sureness else {
            // At a corner both roads are likely for a moment: nothing is learned, and nothing forgotten as yet.
            guard let trail, Geodesy.distance(trail.seen, free.coordinate) < RoadAid.longestDoubt else {
                return forget(&tracker)
            }
            if !match.isHeld { place(&match, road, tracker, frame, graph) }
            return
        }
        let beside = frame.point(free.coordinate)
        let across = beside.east * cos(road.bearing) - beside.north * sin(road.bearing)
        let sigma = free.covariance.sigma(across: road.bearing)
        let limit = RoadAid.deviations * (sigma * sigma + RoadAid.crossSigma * RoadAid.crossSigma).squareRoot()
        guard abs(across) <= limit else { return forget(&tracker) }
        var trail =
            trail
            ?? Trail(
                coordinate: road.coordinate, bearing: road.bearing, seen: free.coordinate, metres: 0, untold: 0)
        // The place on the line and the vehicle moved alike, unless it is another line.
        let moved = beside - frame.point(trail.seen)
        let line = LocalPoint(east: 0, north: 0) - frame.point(trail.coordinate)
        let metres = line.length
        let turned = min(Angle.separation(trail.bearing, road.bearing), 1)
        let slack = RoadAid.sideways + min(0.1 * metres, RoadAid.sideways) + RoadAid.cornering * turned
        guard (line - moved).length <= slack else { return forget(&tracker) }
        trail.metres += metres
        trail.untold += metres
        (trail.coordinate, trail.bearing, trail.seen) = (road.coordinate, road.bearing, free.coordinate)
        if trail.metres >= RoadAid.settling, trail.untold > 0.5 {
            let growth = max(RoadAid.distance / trail.untold, 1).squareRoot()
            tracker.constrain(
                RoadConstraint(
                    coordinate: road.coordinate, bearing: road.bearing, crossSigma: RoadAid.crossSigma * growth,
                    bearingSigma: RoadAid.bearingSigma * growth))
            trail.untold = 0
        }
        self.trail = trail
        place(&match, road, tracker, frame, graph)
    }

    public mutating func forget(_ tracker: inout PositionTracker) {
        trail = nil
        tracker.release()
    }

    /// Moves the place along its edge to where the filter has it, with what roads told.
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
    /// Metres between lines that are one.
    private static let lineWidth = 4.0
    /// Angle between the directions of one line, radians.
    private static let lineAngle = 0.5

    /// Probability that the vehicle is on the line of the matched road: on its edge, or on one that goes on from it or leads to it.
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
