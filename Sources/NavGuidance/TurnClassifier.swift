internal import NavMap
internal import NavRouting

/// Decides what, if anything, a driver is told at a junction.
///
/// The question is whether the road taken is the one that a driver would follow without being told. It is, when every other road is
/// clearly more turned away or clearly less of a road. The angles below are judgement, tuned on Helsinki, Andorra and Porto, and start
/// from OSRM's guidance (obvious within 20° ahead, forks within 60°).
struct TurnClassifier {
    /// A road ahead may turn this much and be followed without a word when others are clearly off, degrees.
    static let silentTurn = 40.0
    /// The same for a road that keeps its name and is more important than all others.
    static let silentBend = 75.0
    /// By how much another road of the same class must be more turned away, degrees.
    static let margin = 30.0
    /// Branches of a fork lie within this of straight, degrees.
    static let forkReach = 60.0
    /// Turns from here on end a road, degrees.
    static let endOfRoadTurn = 45.0

    let roads: RouteRoads

    /// A decision.
    struct Decision {
        var type: ManeuverType
        var modifier: ManeuverModifier
    }

    /// What to say before the piece `index`, where some of its alternatives are relevant; nil for nothing. Roundabouts and ramps are
    /// decided elsewhere.
    func decide(before index: Int, _ relevant: [Branch]) -> Decision? {
        let previous = roads.kinds[index - 1]
        let next = roads.kinds[index]
        let turn = roads.turn(before: index)
        if roads.isUTurn(before: index) { return Decision(type: .continue, modifier: .uTurn) }
        if let ferry = ferryDecision(previous, next, turn) { return ferry }
        if let joining = joinDecision(before: index, turn, relevant) { return joining }
        if relevant.isEmpty || isObvious(before: index, turn, relevant) { return nil }

        if let modifier = forkModifier(turn, relevant, previous, next) {
            return Decision(type: .fork, modifier: modifier)
        }
        if isEndOfRoad(turn, relevant) {
            return Decision(type: .endOfRoad, modifier: ManeuverModifier(turnDegrees: turn))
        }
        return Decision(
            type: keepsName(before: index) ? .continue : .turn, modifier: ManeuverModifier(turnDegrees: turn))
    }

    private func keepsName(before index: Int) -> Bool { roads.label(index).sharesName(with: roads.label(index - 1)) }

    /// Roads that a driver could take for the right one: not the way back, and no driveways, aisles or private ways beside a real street.
    func relevantAlternatives(_ alternatives: [Branch], before index: Int) -> [Branch] {
        guard !alternatives.isEmpty else { return [] }
        let previous = roads.kinds[index - 1]
        let next = roads.kinds[index]
        let takesMinor = TurnClassifier.isMinor(next.flags)
        let leavesTrack = previous.roadClass == .track || next.roadClass == .track
        return alternatives.filter { branch in
            abs(branch.angle) <= 150
                && (takesMinor || !TurnClassifier.isMinor(branch.traits.flags))
                && (leavesTrack || branch.traits.roadClass != .track)
        }
    }

    static func isMinor(_ flags: RoadFlags) -> Bool {
        !flags.isDisjoint(with: [.driveway, .parkingAisle, .privateAccess])
    }

    /// A lower rank is a more important road; ramps rank two classes below their road.
    static func rank(_ roadClass: RoadClass, _ flags: RoadFlags) -> Int {
        roadClass == .ferry ? 2 : Int(roadClass.rawValue) + (flags.contains(.link) ? 2 : 0)
    }

    /// Whether a driver follows the road taken without being told.
    func isObvious(before index: Int, _ turn: Double, _ relevant: [Branch]) -> Bool {
        let next = roads.kinds[index]
        let from = roads.label(index - 1)
        let continuesRoad = roads.label(index).continues(from)
        let rank = TurnClassifier.rank(next.roadClass, next.flags)
        let deviation = abs(turn)
        let outranksAll = relevant.allSatisfy {
            TurnClassifier.rank($0.traits.roadClass, $0.traits.flags) > rank
        }
        let limit = continuesRoad && outranksAll ? TurnClassifier.silentBend : TurnClassifier.silentTurn
        guard deviation <= limit else { return false }
        return relevant.allSatisfy { branch in
            let advantage = TurnClassifier.rank(branch.traits.roadClass, branch.traits.flags) - rank
            // Where the main road bends away, going straight is leaving it.
            if advantage < 0, !continuesRoad, roads.continues(branch, from) { return false }
            var required = TurnClassifier.margin - 10 * Double(max(-3, min(advantage, 3)))
            if continuesRoad, !roads.continues(branch, from) { required -= 15 }
            // Staying on the carriageway is obvious beside an exit, whatever the angle.
            if branch.traits.flags.contains(.link), !next.flags.contains(.link) { required -= 20 }
            if next.flags.contains(.link), !branch.traits.flags.contains(.link) { required += 20 }
            return abs(branch.angle) - deviation >= required
        }
    }

    private func ferryDecision(_ previous: RoadKind, _ next: RoadKind, _ turn: Double) -> Decision? {
        switch (previous.roadClass == .ferry, next.roadClass == .ferry) {
        case (false, true): Decision(type: .turn, modifier: ManeuverModifier(turnDegrees: turn))
        case (true, false): Decision(type: .notification, modifier: .straight)
        default: nil
        }
    }

    /// One-way roads that come together leave no choice, but a driver who turns into a road that others follow is told so.
    private func joinDecision(before index: Int, _ turn: Double, _ relevant: [Branch]) -> Decision? {
        guard relevant.isEmpty, abs(turn) >= TurnClassifier.endOfRoadTurn else { return nil }
        let straighter = roads.turnsOfOthers(into: index).contains { abs($0) < abs(turn) - 20 && abs($0) < 45 }
        guard straighter else { return nil }
        return Decision(
            type: keepsName(before: index) ? .continue : .turn, modifier: ManeuverModifier(turnDegrees: turn))
    }

    /// The side of a fork that is taken; nil when the junction is none.
    private func forkModifier(
        _ turn: Double, _ relevant: [Branch], _ previous: RoadKind, _ next: RoadKind
    ) -> ManeuverModifier? {
        guard abs(turn) <= TurnClassifier.forkReach else { return nil }
        let rank = TurnClassifier.rank(next.roadClass, next.flags)
        let fastRoad = previous.roadClass == .motorway || previous.flags.contains(.link)
        let branches = relevant.filter { branch in
            let difference = abs(TurnClassifier.rank(branch.traits.roadClass, branch.traits.flags) - rank)
            // Ramps part from motorways at a degree or two.
            guard abs(branch.angle) <= TurnClassifier.forkReach, abs(branch.angle - turn) >= (fastRoad ? 1 : 5)
            else { return false }
            return fastRoad || difference <= 2 && abs(abs(branch.angle) - abs(turn)) < 30
        }
        guard !branches.isEmpty else { return nil }
        let left = branches.contains { $0.angle < turn }
        let right = branches.contains { $0.angle > turn }
        // Two arms: one keeps to a side even when one of them is straight ahead.
        return left && right ? .straight : (left ? .slightRight : .slightLeft)
    }

    /// Whether the road ends at a crossing one: nothing ahead, and a way to the other side too.
    private func isEndOfRoad(_ turn: Double, _ relevant: [Branch]) -> Bool {
        abs(turn) >= TurnClassifier.endOfRoadTurn
            && relevant.allSatisfy { abs($0.angle) >= TurnClassifier.endOfRoadTurn }
            && relevant.contains { ($0.angle > 0) != (turn > 0) }
    }
}
