import Glibc
import NavGeo
import NavMap
import NavMatching
import NavRouting

extension RoadReckoner {
    /// Standard deviation across the road, metres: half a carriageway of two lanes.
    private static let crossSigma = 2.5
    /// The outer nodes of the three-point quadrature, in standard deviations, and their weight.
    private static let (nodeReach, nodeWeight) = (3.0.squareRoot(), 1.0 / 6)

    /// Returns the remaining branches as candidates, the likeliest first.
    func candidates(_ graph: RoadGraph) -> [MatchedPosition.Candidate] {
        let candidates = branches.map {
            MatchedPosition.Candidate(
                edge: $0.place.edge, offset: $0.place.offset, distance: 0,
                bearing: graph.position(at: $0.place.offset, of: $0.place.edge).bearing, probability: $0.probability)
        }
        return candidates.sorted { $0.probability > $1.probability }
    }

    /// Returns the published place with its uncertainty along and across the road.
    ///
    /// Also returns the part of the along-road σ that lies straight ahead and behind, metres; where the road bends, the
    /// rest is lateral.
    func position(_ ahead: RoadAhead) -> (road: MatchedPosition.RoadPosition, straightSigma: Double) {
        let graph = ahead.metric.turns.graph
        let here = self.place
        var place = MatchedPosition.RoadPosition(
            here.edge, at: here.offset, on: graph, raw: nil, alongSigma: alongSigma,
            crossSigma: RoadReckoner.crossSigma)
        let frame = LocalFrame(origin: place.coordinate)
        let (sine, cosine) = (sin(place.bearing), cos(place.bearing))
        var along = place.alongSigma * place.alongSigma
        var cross = place.crossSigma * place.crossSigma
        // Beyond a bend, an error along the road is lateral here: its mean square over a normal distribution along the
        // road, by Gauss-Hermite quadrature.
        let reach = RoadReckoner.nodeReach * place.alongSigma
        var bend = 0.0
        for far in [ahead.place(reach, from: here), self.place(before: reach, graph)] {
            let point = frame.point(graph.position(at: far.offset, of: far.edge).coordinate)
            let beside = point.east * cosine - point.north * sine
            bend += RoadReckoner.nodeWeight * beside * beside
        }
        cross += bend
        // The other branches are elsewhere; each is weighted by its probability.
        for branch in branches.dropFirst() {
            let point = frame.point(graph.position(at: branch.place.offset, of: branch.place.edge).coordinate)
            let (far, beside) = (point.east * sine + point.north * cosine, point.east * cosine - point.north * sine)
            along += branch.probability * far * far
            cross += branch.probability * beside * beside
        }
        (place.alongSigma, place.crossSigma) = (along.squareRoot(), cross.squareRoot())
        let straight = max(along - bend, 0).squareRoot()
        return (place, max(straight, min(place.alongSigma, RoadReckoner.crossSigma)))
    }
}
