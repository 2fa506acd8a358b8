internal import NavMap

/// A reader of the tags of a maneuver relation, `maneuver` and `direction`, with the values of OSRM.
enum ManeuverTags {
    /// Returns the announcement that a relation prescribes, at the first junction of its path.
    ///
    /// An unknown kind is derived from the roads if the direction is known, and vice versa.
    static func maneuver(
        _ tags: TagLists, _ relation: Int, _ strings: StringTable
    ) throws(RestrictionProblem) -> PrescribedManeuver {
        func text(_ key: TagKey) -> String {
            String(strings[tags.value(key, of: relation)].map { $0 == "_" || $0 == "-" ? " " : $0 }).lowercased()
        }
        let kind = text(.maneuver)
        let maneuver =
            turnsRound.contains(kind)
            ? PrescribedManeuver(.continue, .uTurn)
            : PrescribedManeuver(kinds[kind], directions[text(.direction)])
        guard maneuver.kind != nil || maneuver.direction != nil else { throw .unknownKind }
        return maneuver
    }

    private static let turnsRound: Set<String> = ["uturn", "u turn"]

    private static let kinds: [String: PrescribedManeuver.Kind] = [
        "suppress": .suppressed, "suppressed": .suppressed, "turn": .turn, "continue": .continue,
        "new name": .newName, "merge": .merge, "on ramp": .onRamp, "off ramp": .offRamp, "fork": .fork,
        "end of road": .endOfRoad,
    ]

    private static let directions: [String: PrescribedManeuver.Direction] = [
        "uturn": .uTurn, "u turn": .uTurn, "sharp right": .sharpRight, "right": .right, "slight right": .slightRight,
        "straight": .straight, "slight left": .slightLeft, "left": .left, "sharp left": .sharpLeft,
    ]
}
