import Glibc
import NavGeo
import NavMap
import NavMatching
import NavRouting

extension RoadReckoner {
    /// Standard deviation across the road of a vehicle on it, metres: half a carriageway of two lanes.
    private static let crossSigma = 2.5
    /// Nodes of the quadrature with three of them, in standard deviations, and their weight.
    private static let (nodeReach, nodeWeight) = (3.0.squareRoot(), 1.0 / 6)

    /// The ways that are still possible, the likeliest first.
    func candidates(_ graph: RoadGraph) -> [MatchedPosition.Candidate] {
        let candidates = branches.map {
            MatchedPosition.Candidate(
                edge: $0.place.edge, offset: $0.place.offset, distance: 0,
                bearing: graph.position(at: $0.place.offset, of: $0.place.edge).bearing, probability: $0.probability)
        }
        return candidates.sorted { $0.probability > $1.probability }
    }

    /// Returns the published place, with its uncertainty along and across the road; and the part of that along the road
    /// lies ahead of the place and behind it, metres: where the road bends, the rest is beside.
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
        // A vehicle round a bend from here is beside the road here: the mean square over a normal distribution along the
        // road, by the quadrature of Gauss and Hermite.
        let reach = RoadReckoner.nodeReach * place.alongSigma
        var bend = 0.0
        for far in [ahead.place(reach, from: here), self.place(before: reach, graph)] {
            let point = frame.point(graph.position(at: far.offset, of: far.edge).coordinate)
            let beside = point.east * cosine - point.north * sine
            bend += RoadReckoner.nodeWeight * beside * beside
        }
        cross += bend
        // The other ways lie elsewhere, each with its probability.
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
