internal import NavGeo
internal import NavMap
internal import NavRouting

/// Joins maneuvers that are one to a driver: turns over a median, and corners drawn as two.
enum ManeuverJoiner {
    /// Two turns no further apart than this are driven as one, metres: the width of a dual carriageway's crossing.
    static let reach = 30.0
    /// A crossing that is offset by no more than this is driven straight over, metres.
    static let offsetCrossing = 15.0

    static func joined(_ maneuvers: [Maneuver], _ roads: RouteRoads) -> [Maneuver] {
        // Most stand alone, and none needs to be moved.
        guard let first = maneuvers.indices.dropFirst().first(where: { mayJoin(maneuvers[$0 - 1], maneuvers[$0]) })
        else { return maneuvers }
        var result = Array(maneuvers[..<first])
        result.reserveCapacity(maneuvers.count)
        for index in first..<maneuvers.count {
            if mayJoin(result[result.count - 1], maneuvers[index]),
                let both = join(result[result.count - 1], maneuvers[index], roads)
            {
                result[result.count - 1] = both
            } else {
                result.append(maneuvers[index])
            }
        }
        return result
    }

    @inline(__always)
    private static func mayJoin(_ first: borrowing Maneuver, _ second: borrowing Maneuver) -> Bool {
        isTurn(first.type, first.modifier, first.notes) && isTurn(second.type, second.modifier, second.notes)
            && second.routeOffset - first.endOffset < reach
    }

    private static func join(_ first: Maneuver, _ second: Maneuver, _ roads: RouteRoads) -> Maneuver? {
        let before = degrees(from: first.bearingBefore, to: first.bearingAfter)
        let after = degrees(from: second.bearingBefore, to: second.bearingAfter)
        let total = degrees(from: first.bearingBefore, to: second.bearingAfter)
        let from = roads.label(max(first.edge - 1, 0))
        let between = roads.label(first.edge)
        var joined = first
        joined.endOffset = second.endOffset
        joined.bearingAfter = second.bearingAfter
        joined.road = second.road
        joined.notes = first.notes.union(second.notes)

        if before * after > 0 {
            if abs(before + after) >= 150, abs(before + after) <= 210,
                second.road.continues(from) || bothUnnamed(second.road, from)
            {
                joined.type = .continue
                joined.modifier = .uTurn
                return joined
            }
            let connects =
                between.isUnnamed || roads.kinds[first.edge].flags.contains(.link)
                || between.sharesName(with: second.road)
            guard connects, abs(before + after) < 150 else { return nil }
            joined.modifier = ManeuverModifier(turnDegrees: total)
            return joined
        }
        guard second.routeOffset - first.endOffset < offsetCrossing, abs(total) < 25 else { return nil }
        joined.type = second.road.sharesName(with: from) ? .continue : .turn
        joined.modifier = .straight
        joined.lanes = []
        return joined
    }

    private static func bothUnnamed(_ first: RoadLabel, _ second: RoadLabel) -> Bool {
        first.isUnnamed && second.isUnnamed
    }

    private static func isTurn(_ type: ManeuverType, _ modifier: ManeuverModifier?, _ notes: RoadNotes) -> Bool {
        switch type {
        case .turn, .continue, .endOfRoad:
            modifier != .uTurn && notes.isDisjoint(with: [.boardsFerry])
        default: false
        }
    }
}
