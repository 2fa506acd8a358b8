internal import NavMap

/// A reader of the tags of a restriction relation: the wiki's "Relation:restriction" and
/// "Conditional restrictions".
enum RestrictionTags {
    /// A rule of a restriction relation.
    struct Rule: Sendable, Equatable {
        /// Whether the path is mandatory (`only_…`) instead of forbidden.
        var isOnly: Bool
        var vehicles: VehicleAccess
        /// The time in the syntax of ``NavMap/TimeCondition``; empty for always.
        var time = ""
    }

    /// Whether relations of a type restrict turns or prescribe their announcements.
    static func isAboutTurns(_ type: Word?) -> Bool { type == .restriction || type == .maneuver }

    private typealias Keys = (plain: TagKey, conditional: TagKey?, vehicles: VehicleAccess)
    private static let keys: [Keys] = [
        (.restriction, .restriction__conditional, .all),
        (.restriction__motor_vehicle, .restriction__motor_vehicle__conditional, .all),
        (.restriction__motorcar, .restriction__motorcar__conditional, .car),
        (.restriction__hgv, .restriction__hgv__conditional, .truck),
        (.restriction__psv, .restriction__psv__conditional, [.bus, .taxi]),
        (.restriction__bus, .restriction__bus__conditional, .bus), (.restriction__taxi, nil, .taxi),
    ]

    /// Returns the rules of a relation, at least one.
    ///
    /// `except` excludes vehicles from all rules. `day_on`, `hour_on` and similar tags, which were used for times before conditional tags,
    /// are read like conditional tags.
    static func rules(
        _ tags: TagLists, _ relation: Int, _ strings: StringTable
    ) throws(RestrictionProblem) -> [Rule] {
        let exempt = exempt(strings[tags.value(.except, of: relation)])
        var rules: [Rule] = []
        var problem: RestrictionProblem?
        let time = try oldTime(tags, relation, strings)
        for key in keys {
            let plain = strings[tags.value(key.plain, of: relation)]
            if !plain.isEmpty {
                if let isOnly = isOnly(plain) {
                    rules.append(Rule(isOnly: isOnly, vehicles: key.vehicles.subtracting(exempt), time: time))
                } else {
                    problem = problem ?? .unknownKind
                }
            }
            guard let conditional = key.conditional else { continue }
            for clause in ConditionalTags.clauses(strings[tags.value(conditional, of: relation)]) {
                guard clause.isUnderstood else {
                    problem = problem ?? .conditional
                    continue
                }
                guard let isOnly = isOnly(clause.value) else {
                    problem = problem ?? .unknownKind
                    continue
                }
                let concerned = clause.hasSizes ? key.vehicles.intersection(.truck) : key.vehicles
                rules.append(Rule(isOnly: isOnly, vehicles: concerned.subtracting(exempt), time: clause.time))
            }
        }
        rules.removeAll { $0.vehicles.isEmpty }
        if rules.isEmpty { throw problem ?? .otherVehicles }
        return rules
    }

    /// Whether a kind requires (`only_…`) or forbids (`no_…`); nil for a kind that does neither, such as `no_right_turn_on_red`.
    ///
    /// The members define the turn, so kinds that the wiki does not list, such as `no_uturn` and `only_left`, are accepted as well.
    private static func isOnly(_ value: String) -> Bool? {
        var result: Bool?
        for part in value.split(separator: ";") {
            let kind = part.split(separator: " ").joined()
            let isOnly = kind.hasPrefix("only_")
            guard isOnly || kind.hasPrefix("no_"), !kind.hasSuffix("_on_red"), !noTurns.contains(kind) else {
                return nil
            }
            if let result, result != isOnly { return nil }
            result = isOnly
        }
        return result
    }

    /// Prohibitions that are mapped as restrictions by mistake and forbid no turn.
    private static let noTurns: Set<String> = ["no_parking", "no_stopping", "no_standing", "no_overtaking"]

    private static func exempt(_ text: String) -> VehicleAccess {
        var result: VehicleAccess = []
        for part in text.split(separator: ";") {
            switch part.drop(while: { $0 == " " }) {
            case "motorcar": result.insert(.car)
            case "motor_vehicle", "vehicle": result = .all
            case "hgv", "goods": result.insert(.truck)
            case "psv": result.formUnion([.bus, .taxi])
            case "bus", "tourist_bus", "coach": result.insert(.bus)
            case "taxi": result.insert(.taxi)
            case "emergency": result.insert(.emergency)
            default: break
            }
        }
        return result
    }

    /// The time of `day_on`, `day_off`, `hour_on` and `hour_off`; empty without them.
    private static func oldTime(
        _ tags: TagLists, _ relation: Int, _ strings: StringTable
    ) throws(RestrictionProblem) -> String {
        func text(_ key: TagKey) -> String { strings[tags.value(key, of: relation)] }
        let days = (text(.day_on), text(.day_off))
        let hours = (text(.hour_on), text(.hour_off))
        var parts: [String] = []
        if !days.0.isEmpty || !days.1.isEmpty { parts.append("\(days.0.prefix(2))-\(days.1.prefix(2))") }
        if !hours.0.isEmpty || !hours.1.isEmpty { parts.append("\(hours.0)-\(hours.1)") }
        let time = parts.joined(separator: " ")
        if !time.isEmpty && TimeCondition(time) == nil { throw .conditional }
        return time
    }
}
