internal import NavGeo
internal import NavMap

/// The meaning of a junction to a driver, before short edges between junctions are joined.
struct Turn: Equatable {
    enum Kind: Equatable {
        /// Nothing to announce, and the junction does not count as passed.
        case none
        /// Nothing to announce, but the junction counts as passed.
        case silent
        case maneuver(ManeuverType)
        /// A turn by a slip lane, including the lane's end.
        case slipLane
    }

    var kind: Kind
    var modifier: ManeuverModifier

    init(_ kind: Kind, _ modifier: ManeuverModifier) {
        self.kind = kind
        self.modifier = modifier
    }

    init(_ type: ManeuverType, _ modifier: ManeuverModifier) { self.init(.maneuver(type), modifier) }

    var type: ManeuverType? {
        if case .maneuver(let type) = kind { type } else { nil }
    }

    func isType(_ type: ManeuverType) -> Bool { self.type == type }
    var isSilent: Bool { kind == .silent }
    /// Whether the road simply continues: under another name, or straight on.
    var continuesAhead: Bool { isType(.newName) || isTurnAhead }
    var isTurnAhead: Bool { (isType(.turn) || isType(.continue)) && modifier == .straight }
    /// Whether it requires an action of the driver.
    var isManeuver: Bool { kind != .none && kind != .silent }
    /// Whether the driver follows the road without an instruction other than its new name.
    var isFollowed: Bool { kind == .none || kind == .silent || type == .newName }
}

extension ManeuverModifier {
    /// Returns the modifier for the angle of a road at an ``Intersection``.
    init(angle: Double) { self.init(turnDegrees: 180 - angle) }
}

/// A classifier that decides the announcement at a junction for each road that may be taken.
///
/// It determines which road, if any, a driver follows without an instruction. That road is announced only by its new name, if it has one;
/// any other road is announced as a turn, a fork or a ramp. The rules are those of OSRM's guidance, which were tuned on maps of the whole
/// world.
struct TurnClassifier {
    /// The angle within which a driver who joins a road goes straight on, degrees. OSRM uses 40, which looks like a turn.
    private static let joining = 30.0

    let model: JunctionModel

    /// Whether a road is for its owners only.
    static func isClosed(_ flags: RoadFlags) -> Bool {
        !flags.isDisjoint(with: [.driveway, .parkingAisle, .privateAccess])
    }

    /// Returns the junction at the end of an edge with the turn of each of its roads; nil when the edge is not open.
    func classified(after edge: EdgeIndex) -> Intersection? {
        model.classified(after: edge) { classify(&$0, after: edge) }
    }

    /// Returns the junction with the turn of each of its roads.
    func classified(_ intersection: Intersection, after edge: EdgeIndex) -> Intersection {
        var result = intersection
        classify(&result, after: edge)
        return result
    }

    /// Finds the turn of each road of a junction.
    private func classify(_ result: inout Intersection, after edge: EdgeIndex) {
        result.isClassified = true
        for index in result.roads.indices {
            result.roads[index].turn =
                !result.roads[index].isEntry
                ? Turn(.none, .straight)
                : index == 0
                    ? Turn(.continue, .uTurn) : Turn(.turn, ManeuverModifier(angle: result.roads[index].angle))
        }
        if result.approach.isFerry, result.roads.allSatisfy(\.road.isFerry) {
            for index in result.roads.indices { result.roads[index].turn.kind = .none }
            return
        }
        if passRing(&result) { return }
        let count = result.roads.count
        let passesDriveways =
            count > 2 && !result.approach.isMinor
            && result.roads.indices.count { result.roads[$0].road.isMinor } + 2 == count
        // Where only driveways branch off, the street needs no comparison with them, and none is a slip lane.
        let isStreetAlone = passesDriveways && !result.roads[0].road.isMinor
        let obvious = count > 2 && !isStreetAlone ? obviousRoad(result) : nil
        if passesDriveways {
            passDriveways(&result)
        } else if isMotorwayJunction(result) {
            passMotorwayJunction(&result)
        } else {
            passStreetJunction(&result, obvious)
        }
        branchByLanes(&result)
        announceBends(&result, after: edge)
        if result.roads.count > 2 { SlipLanes(classifier: self).mark(&result, obvious) }
        nameSides(&result)
        if result.approach.isMotorway {
            for index in result.roads.indices where result.roads[index].turn.type == .onRamp {
                result.roads[index].turn.kind = .maneuver(.offRamp)
            }
        }
    }

    /// Adds a side to a road that looks straight where a driver who goes straight on would take another road.
    private func nameSides(_ intersection: inout Intersection) {
        // A driver who leaves a ferry is not following a road.
        if intersection.approach.isFerry { return }
        guard
            intersection.roads.contains(where: {
                $0.isEntry && $0.turn.modifier == .straight && !$0.turn.isFollowed
            })
        else { return }
        let roads = intersection.roads
        let ahead = roads.indices.dropFirst().filter { roads[$0].isEntry && roads[$0].turn.modifier == .straight }
        for index in ahead where !roads[index].turn.isFollowed {
            func isPreferred(_ other: Int) -> Bool {
                roads[other].turn.isFollowed
                    || roads[other].deviation < roads[index].deviation + TurnAngles.straight
                        && (roads[index].road.isMinor || !roads[other].road.isMinor)
            }
            let preferred = ahead.filter { $0 != index && isPreferred($0) }
            guard let other = preferred.min(by: { roads[$0].deviation < roads[$1].deviation }) else { continue }
            intersection.roads[index].turn.modifier = index < other ? .slightRight : .slightLeft
        }
    }

    /// Classifies a road as a fork if it looks straight on but has separate turn lanes beside the lanes of the followed road.
    ///
    /// A branch of a few metres belongs to the turn at its end.
    private func branchByLanes(_ intersection: inout Intersection) {
        let seen = intersection
        let ahead = seen.roads.indices.dropFirst().filter {
            seen.roads[$0].isEntry && seen.roads[$0].turn.modifier == .straight
        }
        guard ahead.count > 1 else { return }
        let tag = laneTag(before: seen)
        if tag.isEmpty { return }
        func arrows(_ index: Int) -> Set<LaneIndication> {
            Set(LaneGuidance.lanes(tag, at: seen, onto: index, for: model.access).compactMap(\.active))
        }
        guard let main = ahead.first(where: { seen.roads[$0].turn.isFollowed }), arrows(main) == [.straight] else {
            return
        }
        for index in ahead where [.turn, .continue].contains(seen.roads[index].turn.type) {
            let side: RoadSide = index > main ? .left : .right
            let own = arrows(index)
            guard !own.isEmpty, own.allSatisfy({ $0.side == side }), isLong(seen.roads[index], from: seen.node) else {
                continue
            }
            intersection.roads[index].turn = Turn(.fork, side == .left ? .slightLeft : .slightRight)
        }
    }

    /// Whether a road to the next junction is too long to belong to a turn there.
    private func isLong(_ road: Intersection.Road, from node: NodeIndex) -> Bool {
        guard let arm = model.arms(at: node).first(where: { $0.leaving != nil && $0.leaving == road.leaving }) else {
            return false
        }
        return model.distance(node, model.farEnd(of: arm, from: node).node) > 2 * TurnJoiner.reach
    }

    // MARK: Kinds of turns

    /// Returns the type of a turn by its two roads alone, regardless of others.
    func basicType(_ from: RoadProfile, _ to: RoadProfile) -> ManeuverType {
        if !from.isRamp, to.isRamp { return .onRamp }
        return !from.sign.name.isEmpty && !to.sign.name.isEmpty && !from.sign.changes(to: to.sign) ? .continue : .turn
    }

    private func basicTurn(_ intersection: Intersection, _ index: Int) -> Turn {
        let road = intersection.roads[index]
        return Turn(basicType(intersection.approach, road.road), ManeuverModifier(angle: road.angle))
    }

    /// Returns the turn for a road that a driver follows without an instruction.
    ///
    /// - Parameter joins: Whether the road comes straight through from another arm.
    func obviousTurn(_ intersection: Intersection, _ index: Int, joins: Bool, count: Int? = nil) -> Turn {
        let (from, road) = (intersection.approach, intersection.roads[index])
        let to = road.road
        let modifier = ManeuverModifier(angle: road.angle)
        let type = basicType(from, to)
        if type == .onRamp { return Turn(.onRamp, modifier) }
        if angularGap(road.angle, 0) < 0.01 { return Turn(.continue, .uTurn) }
        let changesMode = from.isFerry != to.isFerry
        let alike: RoadFlags = [.toll, .tunnel, .destinationOnly, .privateAccess]
        let isAlike =
            from.flags.intersection(alike) == to.flags.intersection(alike)
            && (from.roadClass == .motorway) == (to.roadClass == .motorway)
        if changesMode, type == .continue || !joins { return Turn(.notification, modifier) }
        if type == .turn, from.sign.changes(to: to.sign) {
            guard joins else { return Turn(.newName, modifier) }
            if to.isMotorway { return Turn(.merge, road.angle > 180 ? .slightRight : .slightLeft) }
            if from.isRamp, to.isRamp { return Turn(.silent, modifier) }
            let isLong = model.distance(intersection.node, road.end) > 60
            return Turn(.turn, road.deviation < Self.joining && isLong ? .straight : modifier)
        }
        return Turn((count ?? intersection.roads.count) == 2 && isAlike ? .none : .silent, modifier)
    }

    // MARK: Roundabouts

    /// Classifies a roundabout that is crossed straight or left where it is entered. Longer passages are ``RoundaboutPassage``s.
    private func passRing(_ intersection: inout Intersection) -> Bool {
        guard !intersection.approach.isRoundabout,
            intersection.roads.contains(where: { $0.road.isRoundabout && $0.isEntry })
        else { return false }
        var isAcross = false
        let order = intersection.roads.indices
        for index in intersection.roads[0].road.flags.contains(.leftHandTraffic)
            ? Array(order.reversed()) : Array(order)
        {
            let road = intersection.roads[index]
            if road.road.isRoundabout { isAcross.toggle() }
            guard road.isEntry, index > 0 else { continue }
            if road.road.isRoundabout {
                intersection.roads[index].turn = Turn(.roundabout, ManeuverModifier(angle: road.angle))
            } else if road.deviation < TurnAngles.fuzzy, isAcross {
                intersection.roads[index].turn = obviousTurn(
                    intersection, index, joins: intersection.isThroughStreet(index))
            } else {
                intersection.roads[index].turn = Turn(.roundabout, ManeuverModifier(angle: road.angle))
            }
        }
        return true
    }

    // MARK: Driveways

    /// Keeps a street obvious when only driveways branch off.
    private func passDriveways(_ intersection: inout Intersection) {
        guard let main = intersection.roads.indices.dropFirst().first(where: { !intersection.roads[$0].road.isMinor }),
            intersection.roads[main].isEntry
        else { return }
        let isSame = intersection.approach.sign.continues(as: intersection.roads[main].road.sign)
        intersection.roads[main].turn.kind = isSame ? .none : .maneuver(.newName)
        guard intersection.roads[main].turn.modifier == .straight else { return }
        for index in intersection.roads.indices.dropFirst()
        where index != main && intersection.roads[index].turn.modifier == .straight {
            intersection.roads[index].turn.modifier = index < main ? .slightRight : .slightLeft
        }
    }

    // MARK: Motorways

    /// Whether only motorways and their ramps meet, all leading ahead.
    private func isMotorwayJunction(_ intersection: Intersection) -> Bool {
        let from = intersection.approach.isMotorway
        var hasMotorway = false
        for road in intersection.roads {
            if road.isEntry, road.deviation > 60 { return false }
            if road.road.isMotorway {
                if road.isEntry { hasMotorway = true }
            } else if !(road.road.isRamp || from && road.road.isLink) {
                return false
            }
        }
        return hasMotorway || from
    }

    private func passMotorwayJunction(_ intersection: inout Intersection) {
        if intersection.approach.isMotorway { leaveMotorway(&intersection) } else { enterMotorway(&intersection) }
    }

    private func leaveMotorway(_ intersection: inout Intersection) {
        let roads = intersection.roads
        let count = roads.count
        let named = roads.indices.first {
            $0 > 0 && roads[$0].isEntry && roads[$0].road.isMotorway && !roads[$0].road.isUnlabelled
                && !intersection.approach.isUnlabelled && !intersection.approach.sign.changes(to: roads[$0].road.sign)
        }
        let straightest = intersection.nearest(to: 180) { $0.road.isMotorway && $0.deviation < 180 }
        guard let main = named ?? straightest, main > 0 else {
            // The motorway ends here.
            if count == 2 {
                intersection.roads[1].turn.kind = .none
            } else if count == 3, roads[1].isEntry, roads[2].isEntry {
                fork(&intersection, left: 2, right: 1)
            } else if count == 3 {
                intersection.roads[roads[1].isEntry ? 1 : 2].turn.kind = .none
            } else if count == 4, roads[1].road.hasSameClass(as: roads[2].road),
                roads[2].road.hasSameClass(as: roads[3].road)
            {
                fork(&intersection, left: 3, middle: 2, right: 1)
            } else {
                fallBack(&intersection)
            }
            return
        }
        let motorways = roads.indices.filter { roads[$0].isEntry && roads[$0].road.isMotorway }
        if motorways.isEmpty {
            for index in roads.indices where roads[index].isEntry { intersection.roads[index].turn.kind = .silent }
        } else if motorways.count == 1 || motorways.count != intersection.entries {
            if count == 2 {
                intersection.roads[1].turn = obviousTurn(intersection, 1, joins: intersection.isThroughStreet(1))
                return
            }
            for index in roads.indices where roads[index].isEntry {
                let isExit = roads[index].road.isRamp || roads[index].road.isLink
                let angle = roads[index].angle
                if index == main {
                    intersection.roads[index].turn = obviousTurn(
                        intersection, index, joins: intersection.isThroughStreet(1))
                } else if index < main {
                    intersection.roads[index].turn = Turn(
                        isExit ? .offRamp : .turn, angle < 145 ? .right : .slightRight)
                } else {
                    intersection.roads[index].turn = Turn(isExit ? .offRamp : .turn, angle > 215 ? .left : .slightLeft)
                }
            }
        } else if motorways.count == 2 {
            fork(&intersection, left: motorways[1], right: motorways[0])
        } else if motorways.count == 3 {
            fork(&intersection, left: motorways[2], middle: motorways[1], right: motorways[0])
        } else {
            fallBack(&intersection)
        }
    }

    private func enterMotorway(_ intersection: inout Intersection) {
        let roads = intersection.roads
        if roads.count == 2, intersection.entries == 1 {
            intersection.roads[1].turn = obviousTurn(intersection, 1, joins: intersection.isThroughStreet(1))
        } else if roads.count == 3, intersection.entries == 1 {
            guard let onto = roads.indices.first(where: { $0 > 0 && roads[$0].isEntry }) else { return }
            let passes = !roads[1].road.sign.name.isEmpty && roads[2].road.sign.continues(as: roads[1].road.sign)
            if roads[onto].road.isMotorway, passes {
                let modifier: ManeuverModifier = onto == 1 ? .slightLeft : .slightRight
                intersection.roads[onto].turn = Turn(
                    .merge,
                    roads[onto].deviation < 2 * TurnAngles.narrow
                        ? modifier : ManeuverModifier(angle: roads[onto].angle))
            } else {
                intersection.roads[onto].turn = obviousTurn(
                    intersection, onto, joins: intersection.isThroughStreet(onto))
            }
        } else if roads.count == 3, roads[1].isEntry, roads[2].isEntry {
            if roads[1].road.isMotorway, !roads[2].road.isMotorway {
                intersection.roads[1].turn = Turn(.turn, .slightRight)
                intersection.roads[2].turn = Turn(.continue, .slightLeft)
            } else {
                fork(&intersection, left: 2, right: 1)
            }
        } else if roads.count == 4 {
            var hasPassed = false
            for index in roads.indices {
                if roads[index].road.isMotorway {
                    if roads[index].isEntry {
                        intersection.roads[index].turn = Turn(.merge, hasPassed ? .slightRight : .slightLeft)
                    } else {
                        hasPassed = true
                    }
                } else if roads[index].isEntry {
                    intersection.roads[index].turn = Turn(.offRamp, ManeuverModifier(angle: roads[index].angle))
                }
            }
        } else {
            fallBack(&intersection)
        }
    }

    private func fallBack(_ intersection: inout Intersection) {
        for index in intersection.roads.indices where intersection.roads[index].isEntry {
            let road = intersection.roads[index]
            if road.road.isMotorway {
                intersection.roads[index].turn = Turn(.merge, road.angle < 180 ? .slightLeft : .slightRight)
            } else if road.deviation < TurnAngles.fuzzy {
                intersection.roads[index].turn = Turn(.turn, .straight)
            } else {
                intersection.roads[index].turn = Turn(.turn, road.angle > 180 ? .slightLeft : .slightRight)
            }
        }
    }

    // MARK: Streets

    private func passStreetJunction(_ intersection: inout Intersection, _ obvious: Int?) {
        let count = intersection.roads.count
        guard count > 1 else { return }
        if intersection.roads[0].isEntry {
            intersection.roads[0].turn = Turn(basicType(intersection.approach, intersection.roads[0].road), .uTurn)
        }
        if count == 2 {
            intersection.roads[1].turn = obviousTurn(intersection, 1, joins: false)
            return
        }
        let mayFork = obvious == nil || count == 3 && intersection.roads.allSatisfy(\.road.isLink)
        let fork = mayFork ? findFork(intersection) : nil
        if count == 3 {
            passThreeWays(&intersection, obvious, fork)
        } else {
            passManyWays(&intersection, obvious, fork)
        }
    }

    private func passThreeWays(_ intersection: inout Intersection, _ obvious: Int?, _ fork: ClosedRange<Int>?) {
        let roads = intersection.roads
        if fork != nil, obvious == nil || roads.allSatisfy(\.road.isLink) {
            self.fork(&intersection, left: 2, right: 1)
            return
        }
        if intersection.isTee, obvious == nil {
            for (index, modifier) in [(1, ManeuverModifier.right), (2, .left)] where roads[index].isEntry {
                let isRamp = basicType(intersection.approach, roads[index].road) == .onRamp
                intersection.roads[index].turn = Turn(isRamp ? .onRamp : .endOfRoad, modifier)
            }
            return
        }
        let areAhead =
            ManeuverModifier(angle: roads[1].angle) == .straight && ManeuverModifier(angle: roads[2].angle) == .straight
        for index in 1...2 { intersection.roads[index].turn = basicTurn(intersection, index) }
        guard let obvious else { return }
        intersection.roads[obvious].turn = obviousTurn(
            intersection, obvious, joins: intersection.isThroughStreet(obvious))
        let other = 3 - obvious
        if areAhead {
            intersection.roads[other].turn.modifier = other == 2 ? .slightLeft : .slightRight
        }
    }

    private func passManyWays(_ intersection: inout Intersection, _ obvious: Int?, _ fork: ClosedRange<Int>?) {
        let roads = intersection.roads
        guard let straightest = intersection.nearest(to: 180) else { return }
        if let obvious {
            intersection.roads[obvious].turn = obviousTurn(
                intersection, obvious, joins: intersection.isThroughStreet(obvious))
            turnSides(&intersection, right: obvious, left: obvious)
        } else if let fork {
            let (right, left) = (fork.lowerBound, fork.upperBound)
            if fork.count == 3 {
                self.fork(&intersection, left: left, middle: right + 1, right: right)
            } else if abs(roads[left].road.priority - roads[right].road.priority) <= 1 {
                self.fork(&intersection, left: left, right: right)
            } else if roads[left].road.priority > roads[right].road.priority {
                intersection.roads[right].turn = obviousTurn(intersection, right, joins: false)
                intersection.roads[left].turn = basicTurn(intersection, left)
                intersection.roads[left].turn.modifier = .slightLeft
            } else {
                intersection.roads[left].turn = obviousTurn(intersection, left, joins: false)
                intersection.roads[right].turn = basicTurn(intersection, right)
                intersection.roads[right].turn.modifier = .slightRight
            }
            turnSides(&intersection, right: right, left: left)
        } else if roads[straightest].deviation < TurnAngles.fuzzy, !roads[straightest].isEntry {
            turnSides(&intersection, right: straightest, left: straightest)
        } else if roads[straightest].angle > 180 {
            turnSides(&intersection, right: straightest, left: straightest - 1)
        } else if roads[straightest].angle < 180 {
            turnSides(&intersection, right: straightest + 1, left: straightest)
        } else {
            for index in roads.indices.dropFirst() where roads[index].isEntry {
                intersection.roads[index].turn = basicTurn(intersection, index)
            }
        }
    }

    /// Classifies the turns to the roads before `right` and after `left`.
    private func turnSides(_ intersection: inout Intersection, right: Int, left: Int) {
        turnRight(&intersection, before: right)
        let count = intersection.roads.count
        mirror(&intersection)
        turnRight(&intersection, before: count - left)
        mirror(&intersection)
    }

    private func mirror(_ intersection: inout Intersection) {
        intersection.roads[1...].reverse()
        for index in intersection.roads.indices {
            if intersection.roads[index].angle > 0 {
                intersection.roads[index].angle = 360 - intersection.roads[index].angle
            }
            intersection.roads[index].turn.modifier = intersection.roads[index].turn.modifier.mirrored
        }
    }

    /// Classifies the turns onto the roads on the right, and distinguishes two of the same direction.
    private func turnRight(_ intersection: inout Intersection, before end: Int) {
        let roads = intersection.roads
        guard end > 1, (1..<end).contains(where: { roads[$0].isEntry }) else { return }
        func trivial(_ range: Range<Int>) {
            for index in range where roads[index].isEntry {
                intersection.roads[index].turn = basicTurn(intersection, index)
            }
        }
        func direction(_ index: Int) -> ManeuverModifier { ManeuverModifier(angle: roads[index].angle) }
        switch end {
        case 3 where direction(1) == direction(2):
            distinguish(&intersection, left: 2, right: 1)
        case 4:
            let entries = (1...3).filter { roads[$0].isEntry }
            let gaps = (
                angularGap(roads[1].angle, roads[2].angle), angularGap(roads[2].angle, roads[3].angle)
            )
            if direction(1) != direction(2), direction(2) != direction(3) {
                trivial(1..<4)
            } else if entries.count <= 2 {
                let (left, right) = !roads[3].isEntry ? (2, 1) : !roads[1].isEntry ? (3, 2) : (3, 1)
                distinguish(&intersection, left: left, right: right)
            } else if gaps.0 >= TurnAngles.narrow, gaps.1 >= TurnAngles.narrow {
                for (index, modifier) in [(1, ManeuverModifier.sharpRight), (2, .right), (3, .slightRight)] {
                    intersection.roads[index].turn = basicTurn(intersection, index)
                    intersection.roads[index].turn.modifier = modifier
                }
            } else if direction(1) == direction(2), direction(2) != direction(3), gaps.1 >= TurnAngles.group {
                distinguish(&intersection, left: 2, right: 1)
                trivial(3..<4)
            } else if direction(2) == direction(3), direction(1) != direction(2), gaps.0 >= TurnAngles.group {
                trivial(1..<2)
                distinguish(&intersection, left: 3, right: 2)
            } else {
                trivial(1..<4)
            }
        default:
            trivial(1..<end)
        }
    }

    /// Distinguishes two roads of the same direction: one gets another modifier, or is followed without an instruction.
    private func distinguish(_ intersection: inout Intersection, left: Int, right: Int) {
        let (one, other) = (intersection.roads[left], intersection.roads[right])
        func assign(_ index: Int, _ modifier: ManeuverModifier) {
            intersection.roads[index].turn = basicTurn(intersection, index)
            intersection.roads[index].turn.modifier = modifier
        }
        let (leftward, rightward) = (ManeuverModifier(angle: one.angle), ManeuverModifier(angle: other.angle))
        guard one.isEntry, other.isEntry, one.angle != other.angle else {
            if one.isEntry { assign(left, leftward) }
            if other.isEntry { assign(right, rightward) }
            return
        }
        if leftward == .straight || leftward == .slightLeft || rightward == .slightRight {
            if one.road.priority > other.road.priority {
                intersection.roads[right].turn = obviousTurn(intersection, right, joins: false, count: 4)
                assign(left, .slightLeft)
            } else {
                intersection.roads[left].turn = obviousTurn(intersection, left, joins: false, count: 4)
                assign(right, .slightRight)
            }
        } else if angularGap(one.angle, 90) < TurnAngles.straight {
            assign(left, .right)
            assign(right, .sharpRight)
        } else if angularGap(other.angle, 90) < TurnAngles.straight {
            assign(left, .slightRight)
            assign(right, .right)
        } else if angularGap(one.angle, 270) < TurnAngles.straight {
            assign(left, .left)
            assign(right, .slightLeft)
        } else if angularGap(other.angle, 270) < TurnAngles.straight {
            assign(left, .sharpLeft)
            assign(right, .left)
        } else if leftward == .sharpLeft {
            assign(left, .sharpLeft)
            assign(right, .left)
        } else if rightward == .sharpRight {
            assign(left, .right)
            assign(right, .sharpRight)
        } else if angularGap(one.angle, 85) >= angularGap(other.angle, 85) {
            assign(left, .slightRight)
            assign(right, .right)
        } else {
            assign(left, .right)
            assign(right, .sharpRight)
        }
    }

    // MARK: Forks

    /// Returns the roads of a fork, the rightmost first; nil when there is none.
    private func findFork(_ intersection: Intersection) -> ClosedRange<Int>? {
        let roads = intersection.roads
        guard let straightest = intersection.nearest(to: 180), roads[straightest].deviation <= TurnAngles.narrow else {
            return nil
        }
        func isOutermost(_ road: Intersection.Road, _ next: Intersection.Road) -> Bool {
            next.deviation > TurnAngles.narrow
                && (angularGap(road.angle, next.angle) > TurnAngles.narrow || road.deviation > TurnAngles.group)
        }
        var (right, left) = (straightest, straightest)
        while right > 0, !isOutermost(roads[right], roads[right - 1]) { right -= 1 }
        while left + 1 < roads.count, !isOutermost(roads[left], roads[left + 1]) { left += 1 }
        guard right > 0, right < left, left - right < 3 else { return nil }
        let arms = right...left
        let next = left + 1 == roads.count ? 0 : left + 1
        guard angularGap(roads[left].angle, roads[next].angle) >= TurnAngles.group,
            angularGap(roads[right].angle, roads[right - 1].angle) >= TurnAngles.group,
            arms.allSatisfy({ roads[$0].isEntry && roads[$0].road.isFerry == intersection.approach.isFerry }),
            arms.allSatisfy({ roads[$0].road.isLink == roads[right].road.isLink })
        else { return nil }
        for index in right..<left {
            if isClearlyAhead(intersection, index, of: index + 1) || isClearlyAhead(intersection, index + 1, of: index)
            {
                return nil
            }
        }
        for one in arms {
            for other in arms where one != other {
                if intersection.approach.leads(onto: roads[one].road, beside: roads[other].road) { return nil }
            }
        }
        return arms
    }

    /// Whether signs or lane markings announce the choice between two of a junction's roads.
    private func isSigned(_ intersection: Intersection, _ one: Int, _ other: Int) -> Bool {
        if !laneTag(before: intersection).isEmpty { return true }
        return [one, other].contains { index in
            guard let leaving = intersection.roads[index].leaving else { return false }
            return model.graph.reading(of: leaving).hasDestination
        }
    }

    /// Whether a driver follows one of two roads without considering the other.
    private func isClearlyAhead(_ intersection: Intersection, _ index: Int, of other: Int) -> Bool {
        let (via, road, rival) = (intersection.approach, intersection.roads[index], intersection.roads[other])
        if via.leads(onto: road.road, beside: rival.road) { return true }
        if via.leads(onto: rival.road, beside: road.road) { return false }
        if hasTheStraightLanes(intersection, index, beside: other) { return true }
        if !via.sign.name.isEmpty, road.deviation < 1e-6, !via.sign.changes(to: road.road.sign) { return true }
        let gap = rival.deviation - road.deviation
        if via.sign.continues(as: road.road.sign), rival.deviation > Self.distinctRatio * road.deviation,
            gap > TurnAngles.fuzzy / 2, !isSigned(intersection, index, other)
        {
            return true
        }
        return rival.deviation > 1.4 * road.deviation && gap > TurnAngles.fuzzy
    }

    private func fork(_ intersection: inout Intersection, left: Int, right: Int) {
        let (one, other) = (intersection.roads[left], intersection.roads[right])
        func quiet(_ index: Int) -> Turn.Kind {
            intersection.roads[index].road.isFerry == intersection.approach.isFerry ? .silent : .maneuver(.notification)
        }
        let (minorLeft, minorRight) = (one.road.isMinor && !other.road.isMinor, other.road.isMinor && !one.road.isMinor)
        // The main arm of a fork with a minor road is not announced.
        intersection.roads[left].turn =
            minorRight
            ? Turn(quiet(left), .slightLeft) : Turn(minorLeft ? .turn : .fork, .slightLeft)
        intersection.roads[right].turn =
            minorLeft
            ? Turn(quiet(right), .slightRight) : Turn(minorRight ? .turn : .fork, .slightRight)
    }

    private func fork(_ intersection: inout Intersection, left: Int, middle: Int, right: Int) {
        let entries = [right, middle, left].filter { intersection.roads[$0].isEntry }
        if entries.count == 2 {
            fork(&intersection, left: entries[1], right: entries[0])
        } else if entries.count == 1 {
            intersection.roads[entries[0]].turn = basicTurn(intersection, entries[0])
        } else if entries.count == 3 {
            intersection.roads[left].turn = Turn(.fork, .slightLeft)
            intersection.roads[right].turn = Turn(.fork, .slightRight)
            let center = intersection.roads[middle]
            let continuesAhead =
                center.deviation < TurnAngles.straight && center.road.hasSameClass(as: intersection.approach)
                && !intersection.approach.sign.changes(to: center.road.sign)
            intersection.roads[middle].turn =
                continuesAhead ? Turn(.silent, .straight) : Turn(.fork, .straight)
        }
    }
}

extension ManeuverModifier {
    /// The same turn to the other side.
    var mirrored: ManeuverModifier {
        switch self {
        case .uTurn, .straight: self
        case .sharpRight: .sharpLeft
        case .right: .left
        case .slightRight: .slightLeft
        case .slightLeft: .slightRight
        case .left: .right
        case .sharpLeft: .sharpRight
        }
    }
}
