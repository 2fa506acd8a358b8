import Glibc
import NavGeo
import NavMap

/// The conversion of a belief into the published position.
struct Conclusion {
    let graph: RoadGraph
    let belief: Belief
    let prepared: PreparedFix

    /// Standard deviation across the road, metres: half a carriageway of two lanes.
    private static let lateralSigma = 2.5
    /// The distance from the road that the fix's error explains, in standard deviations.
    private static let explained = 3.0

    func position(speed: Double?, isTeleport: Bool) -> MatchedPosition {
        var candidates: [MatchedPosition.Candidate] = []
        candidates.reserveCapacity(belief.places.count)
        var onRoad = 0.0
        // Iterating by index avoids copying whole places, which are large.
        for index in belief.places.indices {
            onRoad += belief.places[index].probability
            candidates.append(candidate(index))
            moveUp(index, of: &candidates)
        }
        merge(&candidates)
        let offRoad = min(belief.offRoadProbability, 1)
        var result = MatchedPosition(
            stamp: prepared.fix.stamp, raw: prepared.fix.coordinate, state: .noCandidates, road: nil, confidence: 0,
            candidates: candidates, offRoadProbability: offRoad, speed: speed, isTeleport: isTeleport)
        guard let best = candidates.first, let place = mostProbablePlace(on: best.edge) else { return result }
        result.confidence = best.probability
        guard onRoad >= offRoad else {
            result.state = .offRoad
            return result
        }
        result.state = .onRoad
        result.isHeld = belief.places[place].holds > 0
        result.road = road(belief.places[place])
        return result
    }

    private func candidate(_ index: Int) -> MatchedPosition.Candidate {
        MatchedPosition.Candidate(
            edge: belief.places[index].edge, offset: belief.places[index].offset,
            distance: belief.places[index].distance, bearing: belief.places[index].bearing,
            probability: min(belief.places[index].probability, 1))
    }

    /// Moves a candidate before all less probable ones that precede it; equal candidates keep their order.
    private func moveUp(_ index: Int, of candidates: inout [MatchedPosition.Candidate]) {
        let candidate = candidates[index]
        var hole = index
        while hole > 0, candidates[hole - 1].probability < candidate.probability {
            candidates[hole] = candidates[hole - 1]
            hole -= 1
        }
        candidates[hole] = candidate
    }

    /// Merges the candidates of each edge into its most probable place, with the sum of their probabilities.
    private func merge(_ candidates: inout [MatchedPosition.Candidate]) {
        var count = 0
        for index in candidates.indices {
            let candidate = candidates[index]
            var place = 0
            while place < count, candidates[place].edge != candidate.edge { place += 1 }
            if place < count {
                candidates[place].probability = min(candidates[place].probability + candidate.probability, 1)
            } else {
                candidates[count] = candidate
                count += 1
            }
        }
        guard count < candidates.count else { return }
        candidates.removeLast(candidates.count - count)
        for index in candidates.indices.dropFirst() { moveUp(index, of: &candidates) }
    }

    /// Returns the index of the most probable place on an edge; the first of equal ones.
    private func mostProbablePlace(on edge: EdgeIndex) -> Int? {
        let places = belief.places
        var best: Int?
        for index in places.indices where places[index].edge == edge {
            if best.map({ places[index].probability > places[$0].probability }) ?? true { best = index }
        }
        return best
    }

    private func road(_ place: Place) -> MatchedPosition.RoadPosition {
        let shape = graph.shape(of: place.edge)
        let segment = min(max(Int(place.segment), 0), shape.count - 2)
        let (along, cross) = spread(around: place)
        return MatchedPosition.RoadPosition(
            coordinate: place.coordinate, edge: place.edge, edgeKey: graph.key(of: place.edge),
            wayID: graph.wayID(of: place.edge), fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1),
            offset: place.offset, segmentOffset: prepared.frame.distance(shape[segment].coordinate, place.coordinate),
            bearing: place.bearing, distance: place.distance, alongSigma: along, crossSigma: cross)
    }

    /// Returns the standard deviations along and across the road: the fix's along and the carriageway's across, both
    /// increased by the distances of the other candidates, weighted by probability.
    private func spread(around place: Place) -> (along: Double, cross: Double) {
        let (sine, cosine) = (sin(place.bearing), cos(place.bearing))
        let origin = prepared.frame.point(place.coordinate)
        var along = prepared.sigma * prepared.sigma
        var cross = Conclusion.lateralSigma * Conclusion.lateralSigma
        for index in belief.places.indices where belief.places[index].edge != place.edge {
            let point = prepared.frame.point(belief.places[index].coordinate) - origin
            let forward = point.east * sine + point.north * cosine
            let right = point.east * cosine - point.north * sine
            along += belief.places[index].probability * forward * forward
            cross += belief.places[index].probability * right * right
        }
        // The distance that the receiver's error does not explain.
        let excess = max(place.distance - Conclusion.explained * prepared.sigma, 0)
        cross += excess * excess
        cross += belief.offRoadProbability * (place.distance * place.distance + prepared.sigma * prepared.sigma)
        return (along.squareRoot(), cross.squareRoot())
    }
}
