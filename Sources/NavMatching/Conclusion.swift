import Glibc
import NavGeo
import NavMap

/// The conversion of a belief into the published position.
struct Conclusion {
    let graph: RoadGraph
    let belief: Belief
    let sight: FixSight

    /// Standard deviation across the road, metres: half a carriageway of two lanes.
    private static let lateralSigma = 2.5
    /// The distance from the road that the fix's error explains, in standard deviations.
    private static let explained = 3.0

    func position(speed: Double?, isTeleport: Bool) -> MatchedPosition {
        var candidates: [MatchedPosition.Candidate] = []
        candidates.reserveCapacity(belief.places.count)
        var onRoad = 0.0
        for place in belief.places {
            onRoad += place.probability
            insert(
                MatchedPosition.Candidate(
                    edge: place.edge, offset: place.offset, distance: place.distance, bearing: place.bearing,
                    probability: min(place.probability, 1)), into: &candidates)
        }
        merge(&candidates)
        let offRoad = min(belief.offRoadProbability, 1)
        var result = MatchedPosition(
            stamp: sight.fix.stamp, raw: sight.fix.coordinate, state: .noCandidates, road: nil, confidence: 0,
            candidates: candidates, offRoadProbability: offRoad, speed: speed, isTeleport: isTeleport, isHeld: false)
        guard let best = candidates.first, let place = mostProbablePlace(on: best.edge) else { return result }
        result.confidence = best.probability
        guard onRoad >= offRoad else {
            result.state = .offRoad
            return result
        }
        result.state = .onRoad
        result.isHeld = place.holds > 0
        result.road = road(place, candidates)
        return result
    }

    /// Inserts by descending probability; equal candidates keep their order.
    private func insert(_ candidate: MatchedPosition.Candidate, into candidates: inout [MatchedPosition.Candidate]) {
        candidates.append(candidate)
        var hole = candidates.count - 1
        while hole > 0, candidates[hole - 1].probability < candidate.probability {
            candidates[hole] = candidates[hole - 1]
            hole -= 1
        }
        candidates[hole] = candidate
    }

    /// Merges the candidates of each edge into its most probable place, with the sum of their probabilities.
    private func merge(_ candidates: inout [MatchedPosition.Candidate]) {
        var merged: [MatchedPosition.Candidate] = []
        for candidate in candidates {
            if let index = merged.firstIndex(where: { $0.edge == candidate.edge }) {
                merged[index].probability = min(merged[index].probability + candidate.probability, 1)
            } else {
                merged.append(candidate)
            }
        }
        guard merged.count < candidates.count else { return }
        candidates.removeAll(keepingCapacity: true)
        for candidate in merged { insert(candidate, into: &candidates) }
    }

    private func mostProbablePlace(on edge: EdgeIndex) -> Place? {
        var best: Place?
        for place in belief.places where place.edge == edge {
            if best.map({ place.probability > $0.probability }) ?? true { best = place }
        }
        return best
    }

    private func road(_ place: Place, _ candidates: [MatchedPosition.Candidate]) -> MatchedPosition.RoadPosition {
        let shape = graph.shape(of: place.edge)
        let segment = min(max(Int(place.segment), 0), shape.count - 2)
        let (along, cross) = spread(around: place)
        return MatchedPosition.RoadPosition(
            coordinate: place.coordinate, edge: place.edge, edgeKey: graph.key(of: place.edge),
            wayID: graph.wayID(of: place.edge), fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1),
            offset: place.offset, segmentOffset: sight.frame.distance(shape[segment].coordinate, place.coordinate),
            bearing: place.bearing, distance: place.distance, alongSigma: along, crossSigma: cross)
    }

    /// Returns the standard deviations along and across the road: the fix's along and the carriageway's across, both
    /// increased by the distances of the other candidates, weighted by probability.
    private func spread(around place: Place) -> (along: Double, cross: Double) {
        let (sine, cosine) = (sin(place.bearing), cos(place.bearing))
        let origin = sight.frame.point(place.coordinate)
        var along = sight.sigma * sight.sigma
        var cross = Conclusion.lateralSigma * Conclusion.lateralSigma
        for other in belief.places where other.edge != place.edge {
            let point = sight.frame.point(other.coordinate) - origin
            let forward = point.east * sine + point.north * cosine
            let right = point.east * cosine - point.north * sine
            along += other.probability * forward * forward
            cross += other.probability * right * right
        }
        // The distance that the receiver's error does not explain.
        let excess = max(place.distance - Conclusion.explained * sight.sigma, 0)
        cross += excess * excess
        cross += belief.offRoadProbability * (place.distance * place.distance + sight.sigma * sight.sigma)
        return (along.squareRoot(), cross.squareRoot())
    }
}
