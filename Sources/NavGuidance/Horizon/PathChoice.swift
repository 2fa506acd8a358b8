import Glibc
internal import NavGeo
internal import NavMap
internal import NavRouting

/// A way on from an edge that the law leaves to the vehicle.
struct PathArm {
    var state: TurnState
    var edge: EdgeIndex
    /// Radians, clockwise.
    var turnAngle: Double
    /// Of all arms of the junction they add up to 1.
    var probability: Double
}

/// A model of the road that a vehicle probably takes at a junction.
///
/// There is no published table of turning shares that holds everywhere. The weights keep an order that traffic counts agree on: most go straight
/// on, more stay on their road than leave it, and more stay on roads of a class than go down to lesser ones.
struct PathChoice {
    let graph: RoadGraph
    let metric: Metric

    /// The angle by which the weight of a turn falls to 1/e, radians. 45°: a right-angled turn counts a seventh of going straight on.
    private static let angleScale = Double.pi / 4
    /// The weight of staying on the road of the same name or number.
    private static let sameRoad = 3.0
    /// The weight of each group of roads that the arm is lower.
    private static let lesserGroup = 0.4
    /// The weight of leaving a road by a link. With the angle an exit of a motorway gets some 7 %.
    private static let ontoLink = 0.3
    /// The weight of leaving a road for one that only gives access.
    private static let access = 0.2
    /// The weight of a road that is only for those whose destination lies on it, or private.
    private static let restricted = 0.1
    /// The probability that a driver follows the route at a junction. 0.95: of twenty maneuvers about one is missed.
    static let obedience = 0.95

    /// Returns the ways on from a state, by ascending edge. A U-turn is among them only where the route makes it.
    ///
    /// - Parameter next: The edge that the route takes next; nil without a route.
    func arms(from state: TurnState, next: EdgeIndex?) -> [PathArm] {
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
        weigh(&arms, from: edge, next: next)
        return arms
    }

    private func weigh(_ arms: inout [PathArm], from edge: EdgeIndex, next: EdgeIndex?) {
        guard arms.count > 1 else { return }
        let road = RoadProfile(graph.attributes(of: edge), lanes: 0)
        var sum = 0.0
        for index in arms.indices {
            let onto = RoadProfile(graph.attributes(of: arms[index].edge), lanes: 0)
            arms[index].probability = Self.weight(road, onto, arms[index].turnAngle)
            if arms[index].edge != next { sum += arms[index].probability }
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

    private static func weight(_ road: RoadProfile, _ onto: RoadProfile, _ angle: Double) -> Double {
        var weight = exp(-abs(angle) / angleScale)
        if road.sign.continues(as: onto.sign) { weight *= sameRoad }
        if onto.group > road.group { weight *= pow(lesserGroup, Double(onto.group - road.group)) }
        if onto.isLink, !road.isLink { weight *= ontoLink }
        if onto.isMinor, !road.isMinor { weight *= access }
        if onto.isRestricted, !road.isRestricted { weight *= restricted }
        return weight
    }

    /// Returns the arm that is taken: the route's, else the most probable one.
    static func best(_ arms: [PathArm], next: EdgeIndex?) -> PathArm? {
        if let next, let routed = arms.first(where: { $0.edge == next }) { return routed }
        return arms.max { ($0.probability, $1.edge.rawValue) < ($1.probability, $0.edge.rawValue) }
    }
}
