internal import NavGeo
internal import NavMap
internal import NavRouting

/// A junction of a route that may matter to the driver, alone or together with its neighbours.
struct RouteTurn {
    /// The first route edge after it.
    var piece: Int
    /// The route edge after the last junction that belongs to it.
    var lastPiece: Int
    var turn: Turn
    /// Metres from the route's start.
    var offset: Double
    /// Metres to the next one.
    var distance = 0.0
    /// The number of roads at the junction, and of those that may be entered.
    var roads: Int
    var entries: Int
    /// The same counts of later junctions that belong to it or are passed after it.
    var passed: [(roads: Int, entries: Int)] = []
    /// Direction of travel before and after, degrees clockwise from north, as ``JunctionArm/bearing``.
    var bearingIn: Double
    var bearingOut: Double
    /// Degrees clockwise from straight on of the road taken, and of the others that may be entered there instead.
    var deviation = 0.0
    var alternatives: [Double] = []
    /// Name and number of the road after it.
    var sign: RoadSign
    var isOnFerry: Bool
    /// Whether a leg starts or ends there.
    var isStop = false
    /// Whether the route enters or leaves a roundabout there.
    var isRoundabout = false
    /// Whether the map prescribes its type or direction, so that it is announced unchanged.
    var isPrescribed = false
    /// Whether it is never joined to another one.
    var isIndependent: Bool { isRoundabout || isPrescribed }
    /// Whether a long road without other junctions ends there.
    var endsLongRoad = false
    /// Whether it has been joined to another turn.
    var isRemoved = false
    /// The lanes before it, from left to right.
    var lanes: [Lane] = []
    /// The destinations on signs over the lanes that serve only this turn.
    var laneDestinations: [String] = []

    /// The lanes that serve it, from the first to the last; nil when unknown.
    var servedLanes: Range<Int>? {
        guard let first = lanes.firstIndex(where: \.isValid), let last = lanes.lastIndex(where: \.isValid) else {
            return nil
        }
        return first..<last + 1
    }

    /// Whether lanes before it have arrows.
    var hasArrows: Bool { lanes.contains { !$0.indications.isEmpty } }

    /// Marks lanes as unsuitable for the turns that follow; if no valid lane remains, all other lanes that lead to the turn become valid.
    mutating func exclude(_ excluded: [Int]) {
        guard !excluded.isEmpty else { return }
        for lane in excluded { lanes[lane].exclude() }
        guard servedLanes == nil else { return }
        for lane in lanes.indices where lanes[lane].isPossible && !excluded.contains(lane) {
            (lanes[lane].isValid, lanes[lane].isRecommended) = (true, true)
        }
    }

    /// Degrees counterclockwise from the way back.
    var angle: Double { intersectionAngle(bearingIn, bearingOut) }
}

/// A joiner of turns that a driver perceives as one: across the halves of a divided road, over short connections, and past short-lived
/// names.
///
/// The rules and lengths for joining are those of OSRM's guidance.
struct TurnJoiner {
    /// The length up to which route edges belong to a junction, metres.
    static let reach = 30.5
    /// The length up to which a road's name is not announced, metres.
    static let shortName = 105.0
    /// The least length of a road whose end is announced although no junction is passed on it, metres.
    static let longRoad = 150.0
    /// The largest offset of a crossing that is driven straight over, metres. 7: the opposite road begins within the width of two lanes.
    static let offsetCrossing = 7.0
    /// The largest offset that drivers do not notice, metres.
    static let hiddenOffset = 3.0

    private(set) var turns: [RouteTurn]

    /// - Parameter turns: The turns of a leg, including its start and end.
    init(_ turns: [RouteTurn]) { self.turns = turns }

    /// Returns the turns that need an instruction, and the lanes of every turn by the index of the route edge after it.
    static func joined(
        _ turns: consuming [RouteTurn], on roads: RouteRoads
    ) -> (turns: [RouteTurn], lanes: [Int: [Lane]]) {
        guard turns.count > 2 else { return (turns, [:]) }
        var joiner = TurnJoiner(turns)
        joiner.join()
        LaneAnticipation(roads: roads).apply(to: &joiner.turns)
        var lanes: [Int: [Lane]] = [:]
        for index in joiner.turns.indices where !joiner.turns[index].lanes.isEmpty {
            lanes[joiner.turns[index].piece] = joiner.turns[index].lanes
        }
        joiner.passSilentOnes()
        joiner.dropShortNames()
        return (joiner.turns.indices.compactMap { joiner.turns[$0].isRemoved ? nil : joiner.turns[$0] }, lanes)
    }

    private func next(_ index: Int) -> Int {
        var index = index + 1
        while turns[index].isRemoved { index += 1 }
        return index
    }

    private func previous(_ index: Int) -> Int {
        var index = index - 1
        while turns[index].isRemoved { index -= 1 }
        return index
    }

    private mutating func join() {
        var current = 1
        while current < turns.count - 1 {
            defer { current += 1 }
            if turns[current].isRemoved || turns[current].isIndependent { continue }
            if turns[current].turn.kind == .slipLane {
                endSlipLane(current)
                continue
            }
            let next = next(current)
            if turns[next].isStop { break }
            let previous = previous(current)
            guard turns[current].isOnFerry == turns[next].isOnFerry else { continue }
            joinThree(previous, current, next)
            let after = turns[current].isRemoved ? next : self.next(current)
            if !turns[current].isRemoved, !turns[after].isStop, isDoublyWithoutChoice(current, after) {
                absorb(after, into: current, combining: previous)
            }
            if !turns[current].isRemoved, !turns[previous].isStop {
                let before = self.previous(previous)
                if isUTurn(before, previous, current) { turnRound(previous, current) }
            }
        }
    }

    private mutating func joinThree(_ previous: Int, _ current: Int, _ next: Int) {
        if isOffsetCrossing(previous, current, next) {
            let isHidden = turns[current].distance < Self.hiddenOffset
            turns[current].turn = Turn(
                isSame(previous, next) ? .silent : .maneuver(isHidden ? .newName : .turn), .straight)
            append(next, to: current, signs: true)
        } else if isUTurn(previous, current, next) {
            turnRound(current, next)
        } else if isJog(previous, current, next) {
            append(next, to: current, signs: true)
            if turns[current].turn.isType(.turn) { turns[current].turn.kind = .maneuver(.continue) }
        } else if isPassingName(previous, current, next) {
            append(next, to: current)
            append(current, to: previous)
        } else if isNameBeforeManeuver(previous, current, next) || isSilentBeforeManeuver(current, next) {
            combine(next, with: current, first: current, from: previous)
            append(current, to: previous)
        } else if isNameAfterManeuver(current, next) || isNameAfterSilent(current, next)
            || isSilentAfterManeuver(current, next) || isTurnWithoutChoice(current, next)
            || isStraightBeforeNoChoice(current, next)
        {
            absorb(next, into: current, combining: previous)
        } else if isStraightBetweenTurns(previous, current, next), previous > 0 {
            let before = self.previous(previous)
            append(current, to: previous)
            absorb(next, into: previous, combining: before)
        }
    }

    // MARK: Joining

    /// Extends a turn by the one after it.
    private mutating func append(_ next: Int, to index: Int, signs: Bool = false) {
        turns[index].distance += turns[next].distance
        turns[index].passed.append((turns[next].roads, turns[next].entries))
        turns[index].passed += turns[next].passed
        if signs {
            turns[index].sign = turns[next].sign
            turns[index].isOnFerry = turns[next].isOnFerry
            turns[index].lastPiece = turns[next].lastPiece
        }
        turns[next].isRemoved = true
    }

    private mutating func absorb(_ next: Int, into index: Int, combining previous: Int) {
        combine(index, with: next, first: index, from: previous)
        append(next, to: index, signs: true)
    }

    private mutating func turnRound(_ index: Int, _ next: Int) {
        turns[index].turn = Turn(.continue, .uTurn)
        append(next, to: index, signs: true)
    }

    /// Gives a turn the combined type and direction of two joined turns.
    ///
    /// - Parameters:
    ///   - first: The turn that is driven first.
    ///   - previous: The turn before both.
    private mutating func combine(_ index: Int, with other: Int, first: Int, from previous: Int) {
        let angle =
            first == index
            ? joinedAngle(index, other, announcedAt: index) : joinedAngle(other, index, announcedAt: index)
        let keeps = turns[index].turn.isType(.fork) || turns[index].turn.isType(.merge)
        // Two turns that both look straight on are a bend, not a turn.
        let goesAhead = turns[index].turn.modifier == .straight && turns[other].turn.modifier == .straight
        let own = turns[index].turn.modifier
        let modifier = keeps || goesAhead ? own : angle.map { ManeuverModifier(angle: $0) } ?? own
        let isSame = isSame(previous, other)
        if turns[other].turn.continuesAhead || turns[index].turn.continuesAhead || turns[index].turn.isSilent {
            if turns[index].turn.isSilent {
                turns[index].turn.kind = .maneuver(modifier == .straight ? .newName : isSame ? .continue : .turn)
            } else if turns[index].turn.isType(.continue), !isSame {
                turns[index].turn.kind = .maneuver(.turn)
            } else if turns[index].turn.isType(.turn), isSame {
                turns[index].turn.kind = .maneuver(.continue)
            }
        } else if turns[other].turn.isType(.onRamp) {
            turns[index].turn.kind = .maneuver(.onRamp)
        } else if turns[index].turn.isType(.turn), turns[other].turn.isType(.turn), isSame {
            turns[index].turn.kind = .maneuver(.continue)
        } else if turns[index].turn.isType(.continue), turns[other].turn.isType(.turn), !isSame {
            turns[index].turn.kind = .maneuver(.turn)
        }
        turns[index].turn.modifier = modifier
    }

    private mutating func endSlipLane(_ index: Int) {
        let next = next(index)
        guard !turns[next].isStop, !turns[next].isPrescribed, let angle = joinedAngle(index, next, announcedAt: index)
        else {
            turns[index].turn.kind = .maneuver(.turn)
            return
        }
        turns[index].turn.kind = .maneuver(isSame(previous(index), next) ? .continue : .turn)
        turns[index].turn.modifier = ManeuverModifier(angle: angle)
        if turns[index].lanes.isEmpty {
            turns[index].lanes = turns[next].lanes
            turns[index].laneDestinations = turns[next].laneDestinations
        }
        append(next, to: index, signs: true)
    }

    /// Returns the angle of two turns together; for turns to opposite sides the angle of the first.
    private func totalAngle(_ entry: Int, _ exit: Int) -> Double {
        let total = intersectionAngle(turns[entry].bearingIn, turns[exit].bearingOut)
        guard abs(total - 180) >= 0.5 * TurnAngles.narrow else { return turns[entry].angle }
        if turns[entry].distance < Self.reach { return total }
        let (first, second) = (turns[entry].angle, turns[exit].angle)
        return first <= 185 && second <= 185 || first >= 175 && second >= 175 ? total : first
    }

    /// Returns the angle of two turns joined into one; nil when it would mislead the driver at the junction `place`, whose instruction
    /// announces it.
    ///
    /// The driver sees only the roads of that junction. The angle must be closer to the road taken than to any other and on the same side,
    /// and the sum of both turns must not exceed 180°, which would look like a turn to the other side.
    private func joinedAngle(_ entry: Int, _ exit: Int, announcedAt place: Int) -> Double? {
        let angle = totalAngle(entry, exit)
        let announced = 180 - angle
        let sum = turns[entry].deviation + turns[exit].deviation
        if abs(sum) > 180, announced.sign != sum.sign { return nil }
        let (own, others) = (turns[place].deviation, turns[place].alternatives)
        guard !others.isEmpty else { return angle }
        if ManeuverModifier(turnDegrees: own) != .straight,
            ManeuverModifier(turnDegrees: announced) == .straight || announced.sign != own.sign
        {
            return nil
        }
        // A side that distinguishes the road from a straighter one is kept; forks and merges keep theirs anyway.
        if !turns[place].turn.isType(.fork), !turns[place].turn.isType(.merge),
            let side = turns[place].turn.modifier.side,
            ManeuverModifier(turnDegrees: announced).side != side
        {
            return nil
        }
        return others.contains { abs($0 - announced) < abs(own - announced) } ? nil : angle
    }

    // MARK: Conditions for joining

    /// Whether both roads have a name or number, and going from one to the other is not a change.
    private func isSame(_ one: Int, _ other: Int) -> Bool { turns[one].sign.continues(as: turns[other].sign) }

    private func isUndisturbed(_ index: Int) -> Bool { turns[index].passed.allSatisfy { $0.roads == 2 } }
    private func isShort(_ index: Int) -> Bool { turns[index].distance <= Self.reach && isUndisturbed(index) }

    private func mayJoin(_ one: Int, _ other: Int) -> Bool {
        areAlike(one, other) && !turns[one].isStop && !turns[other].isStop && !isBad(one, other)
    }

    private func mayJoin(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        areAlike(previous, current) && areAlike(current, next) && !(isBad(previous, current) && isBad(current, next))
    }

    private func areAlike(_ one: Int, _ other: Int) -> Bool {
        !turns[one].isIndependent && !turns[other].isIndependent && turns[one].isOnFerry == turns[other].isOnFerry
    }

    /// Whether one of two turns is a U-turn and the other is more than a change of name.
    private func isBad(_ one: Int, _ other: Int) -> Bool {
        let (first, second) = (turns[one].turn, turns[other].turn)
        guard first.modifier == .uTurn || second.modifier == .uTurn else { return false }
        return
            !(first.type == .newName && second.modifier == .uTurn
            || second.type == .newName && first.modifier == .uTurn)
    }

    /// Whether the route turns right then left, or left then right, within the width of a road that goes on beyond, and no other road leads
    /// straight on.
    private func isOffsetCrossing(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        guard !turns[next].isIndependent, turns[current].distance < Self.offsetCrossing, isUndisturbed(current),
            turns[previous].isOnFerry == turns[current].isOnFerry,
            turns[current].alternatives.allSatisfy({ abs($0) > TurnAngles.narrow }),
            turns[current].distance < Self.hiddenOffset
                || turns[next].alternatives.contains(where: { abs($0) < TurnAngles.narrow })
        else { return false }
        func isRight(_ angle: Double) -> Bool { angle > 45 && angle < 135 }
        func isLeft(_ angle: Double) -> Bool { angle > 225 && angle < 315 }
        let (first, second) = (turns[current].angle, turns[next].angle)
        return isRight(first) && isLeft(second) || isLeft(first) && isRight(second)
    }

    /// Whether the route follows one road over a short, nameless offset to the side, where no other arm is straighter than that road.
    private func isJog(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        guard mayJoin(previous, current, next), isShort(current), turns[current].sign.isEmpty, isSame(previous, next),
            isBranch(current), isBranch(next),
            let first = turns[current].turn.modifier.side, let second = turns[next].turn.modifier.side, first != second
        else { return false }
        return angularGap(turns[current].bearingIn, turns[next].bearingOut) < TurnAngles.fuzzy
            && turns[next].alternatives.allSatisfy { abs($0) > abs(turns[next].deviation) }
    }

    /// Whether a turn deviates only slightly.
    private func isBranch(_ index: Int) -> Bool {
        (turns[index].turn.isType(.fork) || turns[index].turn.isType(.turn) || turns[index].turn.isType(.continue))
            && (turns[index].turn.modifier == .slightLeft || turns[index].turn.modifier == .slightRight)
    }

    private func isUTurn(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        let turn = turns[current].turn
        // The road at a roundabout's exit may be left again immediately.
        guard turn.isType(.turn) || turn.isType(.continue) || turn.isType(.endOfRoad),
            mayJoin(previous, current, next) || turns[previous].isRoundabout && mayJoin(current, next),
            turns[previous].isOnFerry == turns[current].isOnFerry, !turns[next].isStop,
            angularGap(turns[current].bearingIn + 180, turns[next].bearingOut) <= 35,
            isSame(previous, next)
        else { return false }
        let isLink =
            turns[current].distance <= 2 * Self.reach && turns[current].sign.name.isEmpty
            && !turns[previous].sign.name.isEmpty && !turns[next].sign.name.isEmpty && isUndisturbed(current)
        return isShort(current) || isLink || turns[next].entries == 1 && isUndisturbed(current)
    }

    /// Whether a road has another name, or none, only over a short distance.
    private func isPassingName(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        func isAhead(_ index: Int) -> Bool {
            turns[index].turn.isType(.newName)
                || turns[index].turn.isType(.turn) && turns[index].turn.modifier == .straight
                    && ManeuverModifier(turnDegrees: turns[index].deviation) == .straight
        }
        guard mayJoin(previous, current, next), isAhead(current),
            isAhead(next) || turns[next].turn.isSilent && turns[next].sign.isEmpty
        else { return false }
        return turns[previous].sign == turns[next].sign || isSame(previous, next)
    }

    /// Whether a turn and the next one can be announced as one at the first: the second needs no announcement, or the joined direction is
    /// correct.
    private func isOneTurn(_ current: Int, _ next: Int) -> Bool {
        turns[next].turn.continuesAhead || turns[next].turn.isSilent
            || joinedAngle(current, next, announcedAt: current) != nil
    }

    private func isNameBeforeManeuver(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        mayJoin(previous, current, next) && isShort(current) && turns[current].turn.continuesAhead
            && turns[next].turn.isManeuver
    }

    private func isSilentBeforeManeuver(_ current: Int, _ next: Int) -> Bool {
        mayJoin(current, next) && isShort(current) && turns[current].entries > 1 && turns[current].turn.isSilent
            && turns[current].turn.modifier != .straight && turns[next].turn.isManeuver && isToOneSide(current, next)
    }

    private func isToOneSide(_ one: Int, _ other: Int) -> Bool {
        let (first, second) = (turns[one].turn.modifier, turns[other].turn.modifier)
        func leads(_ side: RoadSide, _ modifier: ManeuverModifier) -> Bool {
            modifier == .straight || modifier.side == side
        }
        return leads(.left, first) && leads(.left, second) || leads(.right, first) && leads(.right, second)
    }

    private func isNameAfterManeuver(_ current: Int, _ next: Int) -> Bool {
        guard mayJoin(current, next), turns[current].turn.isManeuver, turns[next].turn.continuesAhead else {
            return false
        }
        let isNear = turns[current].distance <= 1.5 * Self.reach && turns[next].turn.isType(.newName)
        return isShort(current) || isNear && (turns[next].turn.modifier == .straight || turns[next].entries == 1)
    }

    private func isSilentAfterManeuver(_ current: Int, _ next: Int) -> Bool {
        mayJoin(current, next) && isShort(current) && turns[next].turn.isSilent
            && turns[next].turn.modifier != .straight
            && turns[current].turn.isManeuver && isToOneSide(current, next)
    }

    private func isNameAfterSilent(_ current: Int, _ next: Int) -> Bool {
        mayJoin(current, next) && turns[current].distance < 0.25 * Self.reach && turns[current].turn.isSilent
            && turns[next].turn.isType(.newName)
    }

    private func isTurnWithoutChoice(_ current: Int, _ next: Int) -> Bool {
        mayJoin(current, next) && isShort(current) && turns[current].turn.modifier != .straight
            && turns[next].entries == 1 && !turns[next].turn.isSilent && isOneTurn(current, next)
    }

    private func isDoublyWithoutChoice(_ current: Int, _ next: Int) -> Bool {
        mayJoin(current, next) && turns[next].entries == 1 && turns[current].passed.count == 1
            && turns[current].passed[0].entries == 1 && turns[current].distance < 1.5 * Self.reach
            && isOneTurn(current, next)
    }

    private func isStraightBeforeNoChoice(_ current: Int, _ next: Int) -> Bool {
        mayJoin(current, next) && turns[current].distance <= 2 * Self.reach && turns[current].turn.isTurnAhead
            && turns[next].entries == 1 && isUndisturbed(current) && isOneTurn(current, next)
    }

    private func isStraightBetweenTurns(_ previous: Int, _ current: Int, _ next: Int) -> Bool {
        guard mayJoin(previous, current, next), turns[current].turn.isSilent, turns[current].turn.modifier == .straight,
            turns[previous].turn.isType(.turn) || turns[previous].turn.isType(.continue),
            turns[next].turn.isType(.turn) || turns[next].turn.isType(.continue) || turns[next].turn.isType(.onRamp)
        else { return false }
        let (first, second) = (turns[previous].distance, turns[current].distance)
        guard first < 0.8 * Self.reach, second < 0.8 * Self.reach else { return false }
        guard first < 5 && second < 5 || min(first, second) / max(first, second) > 0.75 else { return false }
        let total = intersectionAngle(turns[previous].bearingIn, turns[next].bearingOut)
        return total > TurnAngles.narrow && total < 360 - TurnAngles.narrow && isOneTurn(previous, next)
    }

    // MARK: Selection

    /// Removes turns that are not announced. As in OSRM, the end of a road is its own type of maneuver only after another junction.
    private mutating func passSilentOnes() {
        var last = 0
        for index in turns.indices.dropFirst() where !turns[index].isRemoved {
            if turns[index].isStop {
                last = index
            } else if !turns[index].turn.isManeuver {
                append(index, to: last)
            } else {
                let isPrescribed = turns[index].isPrescribed
                if !isPrescribed, leavesNoChoice(index, after: last) { turns[index].turn.kind = .maneuver(.newName) }
                if !isPrescribed, turns[index].turn.isType(.endOfRoad), turns[last].passed.isEmpty {
                    turns[index].turn.kind = .maneuver(isSame(last, index) ? .continue : .turn)
                    turns[index].endsLongRoad = turns[index].offset - turns[last].offset >= Self.longRoad
                }
                last = index
            }
        }
    }

    /// Whether a slight turn has no alternative: no other road may be entered, or it follows shortly after another turn and all other roads
    /// lead backwards.
    private func leavesNoChoice(_ index: Int, after last: Int) -> Bool {
        let direction = turns[index].turn.modifier
        guard turns[index].turn.isType(.turn), direction == .slightLeft || direction == .slightRight else {
            return false
        }
        let turn = turns[index]
        if !turn.passed.isEmpty { return turn.entries == 1 && turn.passed.allSatisfy { $0.entries == 1 } }
        return !turns[last].isStop && turns[last].distance <= Self.reach
            && turn.alternatives.allSatisfy { abs($0) > TurnAngles.backward }
    }

    /// Whether the route bends at a junction other than the last before a stop.
    private func isBend(_ index: Int) -> Bool {
        turns[index].turn.modifier != .straight && turns[index].roads > 2 && !turns[next(index)].isStop
    }

    /// Removes changes to a name that is already known, or that lasts only some metres and does not begin where the road bends at a
    /// junction.
    private mutating func dropShortNames() {
        var last = 0
        for index in turns.indices.dropFirst().dropLast() where !turns[index].isRemoved {
            if turns[index].turn.isType(.newName), !turns[index].isPrescribed,
                turns[last].isOnFerry == turns[index].isOnFerry, !turns[index].hasArrows,
                isSame(last, index) || turns[index].distance < Self.shortName && !isBend(index)
            {
                append(index, to: last)
                continue
            }
            last = index
        }
    }
}
