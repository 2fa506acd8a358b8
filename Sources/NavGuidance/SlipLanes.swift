internal import NavGeo
internal import NavMap

/// A finder of slip lanes: roads that leave shortly before a crossing and join the crossing road beyond it.
///
///     a --- b ----- c ---
///            \      |
///              \    |
///                \  |
///                   d
///
/// `bd` is the turn from `ab` into `cd`, however long it is; a triangle of roads with their own names is not a slip lane.
struct SlipLanes {
    let classifier: TurnClassifier
    private var model: JunctionModel { classifier.model }

    /// Marks the slip lanes among the roads of a junction.
    ///
    /// - Parameter obvious: The junction's obvious road, if there is one.
    func mark(_ intersection: inout Intersection, _ obvious: Int?) {
        let roads = intersection.roads
        guard let main = continuedRoad(intersection, besides: obvious) ?? obvious ?? forkedRoad(intersection) else {
            return
        }
        let road = roads[main]
        guard road.road.hasSameClass(as: intersection.approach), road.road.isFerry == intersection.approach.isFerry,
            intersection.approach.sign.continues(as: road.road.sign)
        else { return }
        let candidates = [main - 1, main + 1].filter { $0 > 0 && $0 < roads.count && mayBe(roads[$0], beside: road) }
        guard !candidates.isEmpty, let leaving = road.leaving,
            let crossing = next(leaving, within: reach(road.road)), crossing.intersection.roads.count > 2,
            crossing.intersection.node != intersection.node
        else { return }
        var isFound = false
        for index in candidates where serves(intersection, index, isLeft: index > main, crossing, main: road) {
            intersection.roads[index].turn.kind = .slipLane
            isFound = true
        }
        guard isFound, road.turn.type == .fork else { return }
        // Beside a slip lane, the main road is not an arm of a fork.
        intersection.roads[main].turn = Turn(
            road.deviation < 5 ? .silent : .maneuver(.continue), ManeuverModifier(angle: road.angle))
    }

    /// Returns the road that keeps the approach's name where a nameless lane is straighter and is the obvious road.
    private func continuedRoad(_ intersection: Intersection, besides obvious: Int?) -> Int? {
        let (via, roads) = (intersection.approach, intersection.roads)
        guard let obvious, !via.sign.continues(as: roads[obvious].road.sign) else { return nil }
        return [obvious - 1, obvious + 1].first { index in
            index > 0 && index < roads.count && roads[index].isEntry && via.sign.continues(as: roads[index].road.sign)
        }
    }

    /// Returns the arm of a fork beside which the other arm is a slip lane.
    private func forkedRoad(_ intersection: Intersection) -> Int? {
        let roads = intersection.roads
        guard roads.count == 3, roads[1].turn.type == .fork, roads[2].turn.type == .fork,
            let first = roads[1].leaving.flatMap(next), let second = roads[2].leaving.flatMap(next)
        else { return nil }
        func isTarget(_ place: Intersection) -> Bool {
            place.roads.count == 3 && !place.roads[0].isEntry && !(place.roads[1].isEntry && place.roads[2].isEntry)
        }
        if isTarget(first.intersection), second.intersection.node != intersection.node { return 2 }
        if isTarget(second.intersection), first.intersection.node != intersection.node { return 1 }
        return nil
    }

    private func mayBe(_ road: Intersection.Road, beside main: Intersection.Road) -> Bool {
        road.isEntry && road.deviation <= 2 * TurnAngles.narrow && road.angle != main.angle && !road.road.isRoundabout
            && !road.road.isMinor
    }

    /// Returns the next junction of a road, past nodes where no other road meets it; nil when it is farther than `reach` metres.
    private func next(_ edge: EdgeIndex, within reach: Double) -> (
        intersection: Intersection, edge: EdgeIndex, length: Double
    )? {
        var current = edge
        var length = Double(model.graph.edgeLengths[edge.index])
        for _ in 0..<10 where length <= reach {
            guard let place = model.intersection(after: current) else { return nil }
            guard place.roads.count == 2, place.roads[1].isEntry, let on = place.roads[1].leaving else {
                return (place, current, length)
            }
            current = on
            length += Double(model.graph.edgeLengths[on.index])
        }
        return nil
    }

    private func next(_ edge: EdgeIndex) -> (intersection: Intersection, edge: EdgeIndex, length: Double)? {
        next(edge, within: .infinity)
    }

    /// Returns the greatest distance from the start of a road's slip lane to the crossing, metres.
    private func reach(_ road: RoadProfile) -> Double {
        if road.isLink { return 75 }
        switch road.roadClass {
        case .motorway: return 250
        case .trunk, .primary: return 200
        case .secondary: return 150
        case .tertiary: return 125
        case .livingStreet: return 100
        case .unclassified, .residential: return 75
        case .service, .track, .ferry: return 25
        }
    }

    private func serves(
        _ intersection: Intersection, _ index: Int, isLeft: Bool,
        _ crossing: (intersection: Intersection, edge: EdgeIndex, length: Double), main: Intersection.Road
    ) -> Bool {
        let lane = intersection.roads[index]
        let there = crossing.intersection
        let cross = there.roads[isLeft ? there.roads.count - 1 : 1]
        guard cross.leaving != nil, let edge = lane.leaving else { return false }
        if crossing.length >= 3 {
            guard curves(edge, isLeft: isLeft) else { return false }
            if cross.deviation > 140, !lane.road.isLink { return false }
        }
        guard let target = next(edge) else { return false }
        let end = target.intersection
        guard end.roads.count == 3 || end.roads.count == 4, end.node != intersection.node, end.node != there.node,
            let entered = end.roads.first(where: { $0.isEntry }),
            entered.road.isFerry == lane.road.isFerry, lane.road.isFerry == intersection.approach.isFerry
        else { return false }
        if end.roads.count == 4 {
            guard end.node == cross.end else { return false }
            let beside = there.roads[isLeft ? there.roads.count - 2 : 2]
            guard end.roads.contains(where: { $0.end == beside.end && isSharp($0) }) else { return false }
        }
        if let own = end.roads.firstIndex(where: { $0.arriving == target.edge }), own > 0, end.isThroughStreet(own) {
            return false
        }
        guard let onto = classifier.obviousRoad(end), end.roads[onto].deviation <= 2 * TurnAngles.narrow,
            !end.roads[onto].road.isRoundabout
        else { return false }
        let position = { (node: NodeIndex) in model.graph.nodePositions[node.index].coordinate }
        let area =
            Geodesy.distance(position(intersection.node), position(there.node))
            * Geodesy.distance(position(there.node), position(end.node)) / 2
        guard area >= 3, area <= reach(lane.road) * reach(lane.road) else { return false }
        return end.roads.contains { joins($0, lane, cross, there, main) }
    }

    private func isSharp(_ road: Intersection.Road) -> Bool {
        let direction = ManeuverModifier(angle: road.angle)
        return direction == .sharpLeft || direction == .sharpRight
    }

    /// Whether a road at the end of the lane is the crossing one.
    private func joins(
        _ road: Intersection.Road, _ lane: Intersection.Road, _ cross: Intersection.Road, _ crossing: Intersection,
        _ main: Intersection.Road
    ) -> Bool {
        guard crossing.roads.contains(where: { !$0.road.sign.changes(to: road.road.sign) }) else { return false }
        let (first, own, last) = (main.road.sign, lane.road.sign, road.road.sign)
        if !lane.road.isLink, !first.name.isEmpty, !own.name.isEmpty, !last.name.isEmpty, first.changes(to: own),
            own.changes(to: last)
        {
            return false
        }
        if lane.road.isLink, road.road.isLink { return false }
        if road.end == crossing.node { return true }
        if let leaving = road.leaving, let on = next(leaving), on.intersection.node == crossing.node { return true }
        return road.end == cross.end && difference(road.bearing, cross.bearing) > -TurnAngles.fuzzy
            && difference(road.bearing, cross.bearing) < TurnAngles.fuzzy && isSharp(road)
    }

    /// Whether a lane bends around the corner that it cuts, and not away from it.
    private func curves(_ edge: EdgeIndex, isLeft: Bool) -> Bool {
        let shape = model.graph.reading(of: edge).shape
        guard shape.count > 2 else { return true }
        let frame = LocalFrame(origin: shape[0].coordinate)
        let end = frame.point(shape[shape.count - 1].coordinate)
        return (1..<shape.count - 1).allSatisfy { index in
            let point = frame.point(shape[index].coordinate)
            let side = end.east * point.north - end.north * point.east
            return isLeft ? side <= 0 : side >= 0
        }
    }
}
