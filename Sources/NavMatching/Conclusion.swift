import Glibc
import NavGeo
import NavMap

/// Turns a belief into the position that is given out.
struct Conclusion {
    let graph: RoadGraph
    let belief: Belief
    let sigma: Double

    /// Standard deviation across the road of a vehicle on it, metres: half a carriageway of two lanes.
    private static let lateralSigma = 2.5

    func position(_ fix: Fix, speed: Double?, isTeleport: Bool) -> MatchedPosition {
        let order = belief.places.indices.sorted {
            (belief.places[$1].forward, $0) < (belief.places[$0].forward, $1)
        }
        let offRoad = min(belief.offRoadProbability, 1)
        var result = MatchedPosition(
            stamp: fix.stamp, raw: fix.coordinate, state: .noCandidates, road: nil, confidence: 0,
            candidates: order.map { index in
                let place = belief.places[index]
                return MatchedPosition.Candidate(
                    edge: place.edge, offset: place.offset, distance: place.distance,
                    probability: min(exp(place.forward), 1))
            }, offRoadProbability: offRoad, speed: speed, isTeleport: isTeleport,
            isHeld: false)
        guard let best = order.first else { return result }
        let place = belief.places[best]
        result.confidence = min(exp(place.forward), 1)
        guard onRoadProbability >= offRoad else {
            result.state = .offRoad
            return result
        }
        result.state = .onRoad
        result.isHeld = place.holds > 0
        result.road = road(place)
        return result
    }

    private var onRoadProbability: Double { belief.places.reduce(0) { $0 + exp($1.forward) } }

    private func road(_ place: Place) -> MatchedPosition.RoadPosition {
        let shape = graph.shape(of: place.edge)
        let segment = min(max(place.segment, 0), shape.count - 2)
        let (along, cross) = spread(around: place)
        return MatchedPosition.RoadPosition(
            coordinate: place.coordinate, edge: place.edge, edgeKey: graph.key(of: place.edge),
            wayID: graph.wayID(of: place.edge), fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1),
            offset: place.offset, segmentOffset: Geodesy.distance(shape[segment].coordinate, place.coordinate),
            bearing: place.bearing, distance: place.distance, alongSigma: along, crossSigma: cross)
    }

    /// Standard deviations along and across the road: the fix's own along, the carriageway's across, and of both what the other candidates
    /// lie away, by their probability.
    private func spread(around place: Place) -> (along: Double, cross: Double) {
        let frame = LocalFrame(origin: place.coordinate)
        let (sine, cosine) = (sin(place.bearing), cos(place.bearing))
        var along = sigma * sigma
        var cross = Conclusion.lateralSigma * Conclusion.lateralSigma
        for other in belief.places {
            let point = frame.point(other.coordinate)
            let forward = point.east * sine + point.north * cosine
            let right = point.east * cosine - point.north * sine
            let probability = exp(other.forward)
            along += probability * forward * forward
            cross += probability * right * right
        }
        cross += belief.offRoadProbability * (place.distance * place.distance + sigma * sigma)
        return (along.squareRoot(), cross.squareRoot())
    }
}
