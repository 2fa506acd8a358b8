import Glibc
internal import NavGeo
internal import NavMap
internal import NavRouting

/// A continuation from an edge that the vehicle may legally take.
struct PathArm {
    var state: TurnState
    var edge: EdgeIndex
    /// Radians, clockwise.
    var turnAngle: Double
    /// The probability; it sums to 1 over all arms of the junction.
    var probability: Double
    /// The weight of the most likely way through the arm; on a roundabout, the arm that stays on it leads to several exits.
    fileprivate var weight = 0.0
}

/// The place and the road by which a path came onto a roundabout.
struct RoundaboutEntry {
    fileprivate let node: NodeIndex
    /// The road before the roundabout, and the bearing at its end, radians; nil for a path that begins on the roundabout.
    fileprivate let approach: (road: RoadProfile, bearing: Double)?
}

/// A model of the road that a vehicle probably takes at a junction.
///
/// No published table of turning shares holds everywhere. The weights follow an order that traffic counts agree on: most vehicles go
/// straight on, more stay on their road than leave it, and more stay on roads of the same class than move to lesser ones. A roundabout
/// counts as one junction: its exits are compared with each other, by the road and the direction in which the path came onto it.
struct PathChoice {
    let junctions: JunctionModel
    private var graph: RoadGraph { junctions.graph }
    let metric: Metric

    /// The angle by which the weight of a turn falls to 1/e, radians. 45°: a right-angled turn counts a seventh of going straight on.
    private static let angleScale = Double.pi / 4
    /// The weight of staying on the road of the same name or number.
    private static let sameRoad = 3.0
    /// The weight for each road group by which the arm ranks lower.
    private static let lesserGroup = 0.4
    /// The weight of leaving a road by a link. Together with the angle, a motorway exit gets some 7 %.
    private static let ontoLink = 0.3
    /// The weight of leaving a road for one that only gives access.
    private static let access = 0.2
    /// The weight of a road that is private or open to destination traffic only.
    private static let restricted = 0.1
    /// The least weight of staying on a roundabout: not 0, because the weights are divided by their sum.
    private static let leastWeight = 1e-9
    /// The most edges of a roundabout that are examined, to bound the work on a wrongly mapped ring.
    private static let mostRoundaboutEdges = 64
    /// The probability that a driver follows the route at a junction. 0.95: about one of twenty maneuvers is missed.
    static let obedience = 0.95

    /// Returns the arms that continue from a state, in ascending order of edges; a U-turn is included only if the route makes it.
    ///
    /// - Parameters:
    ///   - next: the edge that the route takes next; nil without a route.
    ///   - entry: the entry to the current roundabout; nil elsewhere.
    func arms(from state: TurnState, next: EdgeIndex?, entry: RoundaboutEntry?) -> [PathArm] {
        let edge = metric.turns.edge(of: state)
        var arms = ways(from: state, next: next)
        perceive(&arms, from: edge)
        weigh(&arms, from: edge, next: next, entry)
        return arms
    }

    /// Returns the roundabout entry of a path after it has moved from one edge to another; nil off roundabouts.
    ///
    /// - Parameters:
    ///   - edge: the previous edge, if known.
    ///   - entry: the entry on the previous edge.
    func entry(from edge: EdgeIndex?, onto other: EdgeIndex, _ entry: RoundaboutEntry?) -> RoundaboutEntry? {
        guard isRoundabout(other) else { return nil }
        if let entry { return entry }
        let approach = edge.map { (road: profile($0), bearing: Double(graph.edgeEndBearings[$0.index])) }
        let node = edge.map { graph.edgeHeads[$0.index] } ?? graph.edgeTails[other.index]
        return RoundaboutEntry(node: node, approach: approach)
    }

    private func isRoundabout(_ edge: EdgeIndex) -> Bool { graph.traits(of: edge).flags.contains(.roundabout) }

    private func profile(_ edge: EdgeIndex) -> RoadProfile { junctions.profile(edge) }

    private func ways(from state: TurnState, next: EdgeIndex?) -> [PathArm] {
        let turns = metric.turns
        let edge = turns.edge(of: state)
        let arrival = Double(graph.edgeEndBearings[edge.index])
        var arms: [PathArm] = []
        for arc in turns.arcs(from: state) {
            let target = turns.target(of: arc)
            let onto = turns.edge(of: target)
            if onto != next {
                guard onto != graph.opposite(edge), metric.allows(onto), metric.cost(ofArc: arc) != Metric.forbidden
                else { continue }
            }
            let angle = Angle.difference(from: arrival, to: Double(graph.edgeStartBearings[onto.index]))
            arms.append(PathArm(state: target, edge: onto, turnAngle: angle, probability: 1))
        }
        arms.sort { $0.edge < $1.edge }
        return arms
    }

    /// Sets the angles of arms to those that drivers perceive, as in instructions: the first metres of a road may point elsewhere.
    private func perceive(_ arms: inout [PathArm], from edge: EdgeIndex) {
        guard arms.count > 1, let seen = junctions.intersection(after: edge) else { return }
        for index in arms.indices {
            guard let road = seen.roads.first(where: { $0.leaving == arms[index].edge }) else { continue }
            arms[index].turnAngle = Angle.radians(180 - road.angle)
        }
    }

    private func weigh(_ arms: inout [PathArm], from edge: EdgeIndex, next: EdgeIndex?, _ entry: RoundaboutEntry?) {
        guard arms.count > 1 else { return }
        let road = profile(edge)
        var sum = 0.0
        for index in arms.indices {
            let arm = arms[index]
            if let entry, isRoundabout(arm.edge) {
                (arms[index].probability, arms[index].weight) = weightAhead(
                    from: arm.state, after: graph.edgeHeads[edge.index], entry)
            } else {
                let weight =
                    entry.map { exitWeight(arm, from: edge, $0) } ?? Self.weight(road, profile(arm.edge), arm.turnAngle)
                (arms[index].probability, arms[index].weight) = (weight, weight)
            }
            if arm.edge != next { sum += arms[index].probability }
        }
        let isRouted = next != nil && arms.contains { $0.edge == next }
        for index in arms.indices {
            if isRouted, arms[index].edge == next {
                arms[index].probability = Self.obedience
            } else {
                arms[index].probability *= (isRouted ? 1 - Self.obedience : 1) / sum
            }
        }
    }

    /// Returns the weight of leaving a roundabout; without an approach the exit is compared with the roundabout's own edge.
    private func exitWeight(_ arm: PathArm, from edge: EdgeIndex, _ entry: RoundaboutEntry) -> Double {
        let angle = entry.approach.map {
            Angle.difference(from: $0.bearing, to: Double(graph.edgeStartBearings[arm.edge.index]))
        }
        return Self.weight(entry.approach?.road ?? profile(edge), profile(arm.edge), angle ?? 0)
    }

    /// Returns the weight of all exits of a roundabout behind a node, up to the place of entry, and the greatest of them.
    private func weightAhead(
        from state: TurnState, after node: NodeIndex, _ entry: RoundaboutEntry
    ) -> (sum: Double, greatest: Double) {
        var (state, seen): (TurnState, [EdgeIndex]) = (state, [])
        var (sum, greatest) = (Self.leastWeight, Self.leastWeight)
        // Back at the entry, the full circle is complete.
        var isOver = node == entry.node
        while !isOver, seen.count < Self.mostRoundaboutEdges {
            let edge = metric.turns.edge(of: state)
            guard graph.edgeHeads[edge.index] != node, !seen.contains(edge) else { break }
            seen.append(edge)
            var following: TurnState?
            for arm in ways(from: state, next: nil) {
                if isRoundabout(arm.edge) {
                    following = arm.state
                } else {
                    let weight = exitWeight(arm, from: edge, entry)
                    sum += weight
                    greatest = max(greatest, weight)
                }
            }
            guard let following else { break }
            state = following
            isOver = graph.edgeHeads[edge.index] == entry.node
        }
        return (sum, greatest)
    }

    private static func weight(_ road: RoadProfile, _ onto: RoadProfile, _ angle: Double) -> Double {
        var weight = exp(-abs(angle) / angleScale)
        // Turning back along a road does not count as staying on it.
        if road.sign.continues(as: onto.sign), abs(angle) < .pi * 3 / 4 { weight *= sameRoad }
        if onto.group > road.group { weight *= pow(lesserGroup, Double(onto.group - road.group)) }
        if onto.isLink, !road.isLink { weight *= ontoLink }
        if onto.isMinor, !road.isMinor { weight *= access }
        if onto.isRestricted, !road.isRestricted { weight *= restricted }
        return weight
    }

    /// Returns the arm that is taken: the route's, else the most probable one.
    static func best(_ arms: [PathArm], next: EdgeIndex?) -> PathArm? {
        if let next, let routed = arms.first(where: { $0.edge == next }) { return routed }
        return arms.max { ($0.weight, $1.edge.rawValue) < ($1.weight, $0.edge.rawValue) }
    }
}
