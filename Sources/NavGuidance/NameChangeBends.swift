internal import NavMap

/// Name changes at bends: those that may mislead a driver are announced as turns.
extension TurnClassifier {
    /// Announces a name change at a bend as a turn if another road might be taken instead: a straighter one, or any road at a sharp bend,
    /// including a bend that sharpens after the junction.
    func announceBends(_ intersection: inout Intersection, after edge: EdgeIndex) {
        let roads = intersection.roads
        guard roads.dropFirst().contains(where: { $0.turn.type == .newName }) else { return }
        let seen = roads.map { 180 - $0.angle }
        // The common direction of two carriageways may hide a bend that is drawn.
        for angles in [seen, drawnAngles(intersection, after: edge)] {
            for (index, road) in intersection.roads.enumerated() where index > 0 && road.turn.type == .newName {
                let bend = abs(angles[index])
                // Going from one unnamed road to another cannot mislead.
                let mayMislead = bend >= TurnAngles.narrow && intersection.approach.sign.changes(to: road.road.sign)
                let isTurn = roads.indices.dropFirst().contains { other in
                    other != index && roads[other].isEntry
                        && (bend > TurnAngles.group || mayMislead && abs(angles[other]) < bend)
                }
                if isTurn { intersection.roads[index].turn = Turn(.turn, ManeuverModifier(turnDegrees: angles[index])) }
            }
        }
        for (index, road) in intersection.roads.enumerated() where index > 0 && road.turn.type == .newName {
            if bendsOn(intersection, index) { intersection.roads[index].turn.kind = .maneuver(.turn) }
        }
    }

    /// Whether a road with another name leaves at a small angle and soon bends into a turn, while the driver might take another street
    /// instead. That street must have nearly the same class, since drivers follow a main road past lesser ones.
    ///
    /// The instruction names the side of the road's first metres, which distinguishes it from a road that turns off at once.
    private func bendsOn(_ intersection: Intersection, _ index: Int) -> Bool {
        let road = intersection.roads[index]
        let mayMislead = intersection.roads.indices.dropFirst().contains { other in
            let rival = intersection.roads[other]
            return other != index && rival.isEntry && !rival.road.isMinor
                && rival.road.priority <= road.road.priority + 2 && rival.deviation <= TurnAngles.backward
        }
        guard mayMislead, road.deviation >= TurnAngles.fuzzy, intersection.approach.sign.changes(to: road.road.sign),
            let later = road.leaving.flatMap(model.laterBearing(of:))
        else { return false }
        let seen = 180 - road.angle
        let bend = seen + difference(road.bearing, later)
        return abs(bend) > TurnAngles.group && bend.sign == seen.sign
    }

    /// Returns the angles of a junction's roads as they are drawn, degrees clockwise from straight on.
    private func drawnAngles(_ intersection: Intersection, after edge: EdgeIndex) -> [Double] {
        let arms = model.arms(at: intersection.node)
        let own = arms.first { $0.arriving == edge }
        return intersection.roads.map { road in
            guard let own, let arm = arms.first(where: { $0.leaving != nil && $0.leaving == road.leaving }) else {
                return 180 - road.angle
            }
            return difference(circle(own.bearing + 180), arm.bearing)
        }
    }
}
