import NavMap

/// A reader of conditional values, after the wiki's "Conditional restrictions", `value @ (condition); …`.
package enum ConditionalTags {
    /// A value and its condition; an unsupported condition leaves ``isUnderstood`` false.
    package struct Clause: Equatable, Sendable {
        package var value: String
        /// The time in the syntax of ``NavMap/TimeCondition``; empty for any time.
        package var time = ""
        /// The weights, tonnes, and sizes, metres, above which it applies; nil for any.
        package var weight: Float?, axleLoad: Float?, height: Float?, width: Float?, length: Float?
        package var isUnderstood = true

        /// Creates a value with a condition of time, of weight (tonnes), or without one.
        package init(value: String, time: String = "", weight: Float? = nil, isUnderstood: Bool = true) {
            self.value = value
            self.time = time
            self.weight = weight
            self.isUnderstood = isUnderstood
        }

        /// Whether it applies only to vehicles above some size or weight.
        package var hasSizes: Bool {
            weight != nil || axleLoad != nil || height != nil || width != nil || length != nil
        }
    }

    /// Returns the clauses of a value, at most 16, in order; of the applicable ones the last counts.
    package static func clauses(_ text: String) -> [Clause] {
        guard text.utf8.count <= TimeCondition.longestText else {
            return text.isEmpty ? [] : [Clause(value: "", isUnderstood: false)]
        }
        var clauses: [(value: String, condition: String)] = []
        for part in split(text) {
            if let at = part.firstIndex(of: "@") {
                clauses.append((trimmed(part[..<at]), trimmed(part[part.index(after: at)...])))
            } else if !clauses.isEmpty {
                // Without brackets, text after a semicolon belongs to the same opening hours.
                clauses[clauses.count - 1].condition += "; " + trimmed(part)
            }
            if clauses.count >= 16 { break }
        }
        return clauses.map { clause($0.value, $0.condition) }
    }

    /// Splits a text at semicolons outside brackets.
    private static func split(_ text: String) -> [Substring] {
        var parts: [Substring] = []
        var depth = 0
        var start = text.startIndex
        for index in text.indices {
            switch text[index] {
            case "(": depth += 1
            case ")": depth = max(depth - 1, 0)
            case ";" where depth == 0:
                parts.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        parts.append(text[start...])
        return parts
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var text = text[...]
        while text.first == " " { text = text.dropFirst() }
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }

    private static func clause(_ value: String, _ condition: String) -> Clause {
        var result = Clause(value: value)
        var condition = condition[...]
        if condition.first == "(", condition.last == ")" { condition = condition.dropFirst().dropLast() }
        var terms: [String] = [""]
        for word in condition.split(separator: " ") {
            if word == "AND" || word == "and" {
                terms.append("")
            } else {
                terms[terms.count - 1] += terms[terms.count - 1].isEmpty ? String(word) : " " + word
            }
        }
        for term in terms where !read(term, &result) { result.isUnderstood = false }
        return result
    }

    /// Reads one term of a condition; all terms must hold.
    private static func read(_ term: String, _ result: inout Clause) -> Bool {
        if let sign = term.firstIndex(of: ">") {
            let name = trimmed(term[..<sign])
            var rest = term[term.index(after: sign)...]
            if rest.first == "=" { rest = rest.dropFirst() }
            var text = trimmed(rest)
            let (metres, tonnes) = text.withUTF8 { bytes in
                (Quantity.metres(UnsafeRawBufferPointer(bytes)), Quantity.tonnes(UnsafeRawBufferPointer(bytes)))
            }
            switch name {
            case "weight", "maxweight", "weightrating", "maxweightrating": result.weight = tonnes
            case "axleload": result.axleLoad = tonnes
            case "height": result.height = metres
            case "width": result.width = metres
            case "length": result.length = metres
            default: return false
            }
            return result.hasSizes
        }
        guard result.time.isEmpty, TimeCondition(term) != nil else { return false }
        result.time = term
        return true
    }
}

/// The effect of a way's conditional tags on one of its directions.
struct ConditionalRoad {
    let tags: TagSet
    let strings: StringTable
    private(set) var unknown = 0

    init(_ tags: TagSet, _ strings: StringTable) {
        self.tags = tags
        self.strings = strings
    }

    /// The conditional access tags and their vehicles, least specific first.
    private static let accessKeys: [(key: TagKey, vehicles: VehicleAccess)] = [
        (.access__conditional, [.car, .truck, .bus, .taxi]), (.vehicle__conditional, [.car, .truck, .bus, .taxi]),
        (.motor_vehicle__conditional, [.car, .truck, .bus, .taxi]),
        (.motor_vehicle__forward__conditional, [.car, .truck, .bus, .taxi]),
        (.motor_vehicle__backward__conditional, [.car, .truck, .bus, .taxi]), (.motorcar__conditional, .car),
        (.hgv__conditional, .truck),
    ]

    /// Adds conditions and limits to a direction; a limit on size alone always applies and becomes the road's limit.
    ///
    /// - Parameter general: Whether `access:conditional` applies to vehicles; not where vehicles need a permission of their own, as on a
    ///   footpath in a park with opening hours.
    mutating func apply(to road: inout RoadDirection, _ direction: AccessTags.Direction, general: Bool) {
        // A conditional tag does not apply to vehicles with a more specific plain tag.
        var ownTags: VehicleAccess = []
        if tags.has(.motorcar) { ownTags.insert(.car) }
        if tags.has(.hgv) { ownTags.insert(.truck) }
        if tags.has(.bus) || tags.has(.psv) { ownTags.insert(.bus) }
        if tags.has(.taxi) || tags.has(.psv) { ownTags.insert(.taxi) }
        let hasMotorVehicle = AccessTags.level(AccessTags.motorVehicle, tags, strings, direction) != nil
        let hasVehicle = AccessTags.level(AccessTags.vehicle, tags, strings, direction) != nil
        let other: TagKey =
            direction == .forward ? .motor_vehicle__backward__conditional : .motor_vehicle__forward__conditional
        for (key, vehicles) in ConditionalRoad.accessKeys where tags.has(key) && key != other {
            let concerned: VehicleAccess
            switch key {
            case .motorcar__conditional, .hgv__conditional: concerned = vehicles
            case .access__conditional where !general || hasVehicle || hasMotorVehicle: concerned = []
            case .vehicle__conditional where hasMotorVehicle: concerned = []
            default: concerned = vehicles.subtracting(ownTags)
            }
            for clause in ConditionalTags.clauses(strings[tags[key]]) { access(clause, concerned, &road) }
        }
        oneway(direction, &road)
        let own: TagKey = direction == .forward ? .maxspeed__forward__conditional : .maxspeed__backward__conditional
        for key in [.maxspeed__conditional, own, .maxspeed__hgv__conditional] as [TagKey] where tags.has(key) {
            let vehicles: VehicleAccess = key == .maxspeed__hgv__conditional ? .truck : .all
            for clause in ConditionalTags.clauses(strings[tags[key]]) { speed(clause, vehicles, &road) }
        }
        if !road.conditions.isEmpty { road.flags.insert(.conditional) }
    }

    private mutating func access(
        _ clause: ConditionalTags.Clause, _ vehicles: VehicleAccess, _ road: inout RoadDirection
    ) {
        var value = clause.value
        let level = value.withUTF8 { bytes in AccessTags.level(UnsafeRawBufferPointer(bytes)) }
        guard clause.isUnderstood, let level else {
            unknown += 1
            return
        }
        if clause.hasSizes && clause.time.isEmpty {
            limit(level, clause, vehicles, &road)
            return
        }
        add(.access(level.published), clause, vehicles, &road)
    }

    /// Applies an access condition on size alone, which holds at all times.
    private mutating func limit(
        _ level: AccessTags.Level, _ clause: ConditionalTags.Clause, _ vehicles: VehicleAccess,
        _ road: inout RoadDirection
    ) {
        switch level {
        case .no:
            RoadDirection.lower(&road.maximumWeight, to: clause.weight)
            RoadDirection.lower(&road.maximumAxleLoad, to: clause.axleLoad)
            RoadDirection.lower(&road.maximumHeight, to: clause.height)
            RoadDirection.lower(&road.maximumWidth, to: clause.width)
            RoadDirection.lower(&road.maximumLength, to: clause.length)
        // Tiles cannot represent a ban of through traffic by size, so it applies to all goods vehicles.
        case .destination, .private:
            if vehicles.contains(.truck) { road.flags.insert(.truckDestinationOnly) }
        case .yes: unknown += 1
        }
    }

    /// Applies `oneway:conditional=yes @ …`, which closes the direction against the way's nodes, or with `-1` the one along them.
    private mutating func oneway(_ direction: AccessTags.Direction, _ road: inout RoadDirection) {
        guard tags.has(.oneway__conditional) else { return }
        for clause in ConditionalTags.clauses(strings[tags[.oneway__conditional]]) {
            let closes: Bool
            switch clause.value {
            case "yes": closes = direction == .backward
            case "-1": closes = direction == .forward
            case "no": closes = false
            default: closes = false
            }
            guard clause.isUnderstood, !clause.time.isEmpty else {
                unknown += 1
                continue
            }
            if closes { add(.access(.none), clause, .all.subtracting(.emergency), &road) }
        }
    }

    private mutating func speed(
        _ clause: ConditionalTags.Clause, _ vehicles: VehicleAccess, _ road: inout RoadDirection
    ) {
        var value = clause.value
        let parsed = value.withUTF8 { SpeedTags.parse(UnsafeRawBufferPointer($0)) }
        guard clause.isUnderstood, case .speed(let limit)? = parsed else {
            unknown += 1
            return
        }
        if clause.time.isEmpty {
            if clause.hasSizes { RoadDirection.lower(&road.truckSpeedLimit, to: limit / 3.6) }
            return
        }
        add(.speedLimit(limit / 3.6), clause, vehicles, &road)
    }

    private func add(
        _ effect: RoadCondition.Effect, _ clause: ConditionalTags.Clause, _ vehicles: VehicleAccess,
        _ road: inout RoadDirection
    ) {
        // A condition on size applies to goods vehicles.
        let vehicles = clause.hasSizes ? vehicles.intersection(.truck) : vehicles
        guard !clause.time.isEmpty, !vehicles.isEmpty, road.conditions.count < Int(UInt8.max) else { return }
        road.conditions.append(RoadCondition(effect, vehicles: vehicles, time: clause.time))
    }
}

extension AccessTags.Level {
    var published: AccessLevel {
        switch self {
        case .no: .none
        case .private: .privateGround
        case .destination: .destination
        case .yes: .open
        }
    }
}
