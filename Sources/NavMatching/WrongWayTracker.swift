import Glibc
import NavGeo
import NavMap
import NavRouting

/// A tracker of a vehicle that drives against a one-way road.
///
/// The belief has no state for such a vehicle: it would be matched off the roads or on another carriageway. This tracker therefore follows
/// the road from the vehicle's last known place on it, or from its end, while the course opposes the road and no road of the belief fits.
///
/// It changes the published position, never the belief.
struct WrongWayTracker {
    /// The last road that the vehicle was certain to be on, or the road that it drives against.
    private var edge: EdgeIndex?
    /// The number of steps in a row against it.
    private var steps = 0

    /// The number of steps that confirm wrong-way driving; a single step may be a turn.
    private static let leastSteps = 2
    /// Standard deviations within which a fix fits a road of the belief, and a road driven against; the latter is
    /// smaller because of car parks beside roads.
    private static let (fit, nearness) = (2.5, 1.5)
    /// Probability from which a road is certain.
    private static let sureness = 0.8
    /// The angle between course and road from which the vehicle drives against it, radians.
    private static let against = 0.75 * Double.pi

    mutating func reset() { self = WrongWayTracker() }

    /// Updates the tracker with a fix and its matched position, and moves the position onto a road that is driven against.
    ///
    /// - Parameter isStep: Whether the vehicle has moved enough for the fix to be new evidence.
    mutating func follow(
        _ position: inout MatchedPosition, _ prepared: PreparedFix, _ hits: ContiguousArray<RoadFinder.Hit>,
        isStep: Bool,
        _ config: MatcherConfig, _ metric: Metric
    ) {
        let graph = metric.turns.graph
        if let road = position.road, road.distance <= Self.fit * prepared.sigma,
            prepared.fix.usableCourse.map({ Angle.separation($0, road.bearing) < Self.against }) ?? true
        {
            steps = 0
            if position.confidence >= Self.sureness { edge = road.edge }
            return
        }
        guard let edge, let course = prepared.fix.usableCourse, (prepared.fix.usableSpeed ?? 0) >= config.courseSpeed
        else {
            return
        }
        var best: RoadFinder.Hit?
        for hit in hits where hit.distance <= min(Self.nearness * prepared.sigma, best?.distance ?? .infinity) {
            guard hit.opposite == RoadGraph.noEdge, metric.allows(hit.edge),
                leads(from: edge, backInto: hit.edge, graph),
                Angle.separation(course, atan2(hit.along.east, hit.along.north)) >= Self.against
            else { continue }
            best = hit
        }
        guard let best else {
            steps = 0
            return
        }
        if isStep { steps += 1 }
        if steps >= Self.leastSteps { put(&position, on: best, prepared, graph) }
        if isStep { self.edge = best.edge }
    }

    /// Whether a vehicle on one edge can enter another against its direction: it is the same edge, or it ends at a node
    /// of the first.
    private func leads(from edge: EdgeIndex, backInto other: EdgeIndex, _ graph: RoadGraph) -> Bool {
        edge == other || graph.edgeHeads[other.index] == graph.edgeTails[edge.index]
            || graph.edgeHeads[other.index] == graph.edgeHeads[edge.index]
    }

    private func put(
        _ position: inout MatchedPosition, on hit: RoadFinder.Hit, _ prepared: PreparedFix, _ graph: RoadGraph
    ) {
        var road = MatchedPosition.RoadPosition(
            hit.edge, at: hit.offset, on: graph, raw: prepared.fix.coordinate, alongSigma: prepared.sigma,
            crossSigma: Self.crossSigma)
        road.bearing = Angle.normalised(road.bearing + .pi)
        road.isAgainst = true
        // Alternatives are weighted by their distance from the fix.
        func likelihood(_ distance: Double) -> Double {
            exp(-distance * distance / (2 * prepared.sigma * prepared.sigma))
        }
        let own = likelihood(hit.distance)
        let other = position.road.map { min(likelihood($0.distance), own) } ?? 0
        let share = own / (own + other + Self.offRoad)
        var probability = share
        for index in position.candidates.indices { position.candidates[index].probability *= 1 - share }
        if let index = position.candidates.firstIndex(where: { $0.edge == hit.edge }) {
            probability += position.candidates.remove(at: index).probability
        }
        position.candidates.insert(
            MatchedPosition.Candidate(
                edge: hit.edge, offset: hit.offset, distance: hit.distance, bearing: road.bearing,
                probability: min(probability, 1)), at: 0)
        position.offRoadProbability *= 1 - share
        (position.state, position.road, position.isHeld) = (.onRoad, road, false)
        position.confidence = min(probability, 1)
    }

    /// Half a carriageway of two lanes, metres.
    private static let crossSigma = 2.5
    /// The weight of being off-road, relative to a place exactly at the fix.
    private static let offRoad = 0.05
}
