package import NavMap

/// A reader of OSM's access tags, after the wiki's "Key:access", hierarchy of land-based transport.
package enum AccessTags {
    /// The level of a permission, from least to most.
    package enum Level: UInt8, Comparable, Sendable {
        case no, `private`, destination, yes

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// A direction along or against a way's nodes.
    package enum Direction: Sendable {
        case forward, backward
    }

    typealias Keys = (any: TagKey, forward: TagKey?, backward: TagKey?)
    private static let access: Keys = (.access, .access__forward, .access__backward)
    static let vehicle: Keys = (.vehicle, .vehicle__forward, .vehicle__backward)
    static let motorVehicle: Keys = (.motor_vehicle, .motor_vehicle__forward, .motor_vehicle__backward)
    private static let motorcar: Keys = (.motorcar, .motorcar__forward, .motorcar__backward)
    private static let hgv: Keys = (.hgv, .hgv__forward, .hgv__backward)

    /// Returns the permission of a value, the highest of a semicolon-separated list.
    ///
    /// Nil for a value that has no meaning for access, which counts as untagged.
    package static func level(_ value: UInt32, _ strings: StringTable) -> Level? {
        if value == 0 { return nil }
        if let word = Word(rawValue: value) { return level(word) }
        return strings.withBytes(value) { level($0) }
    }

    /// Returns the permission of a value's bytes.
    package static func level(_ bytes: UnsafeRawBufferPointer) -> Level? {
        var best: Level?
        for part in bytes.split(separator: UInt8(ascii: ";")) {
            var part = part
            while part.first == 32 { part.removeFirst() }
            guard let word = Vocabulary.shared.word(UnsafeRawBufferPointer(rebasing: part)), let level = level(word)
            else { continue }
            best = max(best ?? level, level)
        }
        return best
    }

    private static func level(_ word: Word) -> Level? {
        switch word {
        case .yes, .permissive, .designated, .public, .designated_hov, .discouraged: .yes
        case .destination, .customers, .delivery, .local: .destination
        case .private, .permit, .residents, .resident, .employees, .staff, .license: .private
        case .no, .agricultural, .forestry, .emergency, .emergency_vehicle, .psv, .bus, .minibus, .taxi, .share_taxi,
            .foot, .bicycle, .military, .official, .restricted, .use_sidepath:
            .no
        default: nil
        }
    }

    /// Returns the permission of the most specific tag for passenger cars in a direction of a way or node; nil when none of `motorcar`,
    /// `motor_vehicle`, `vehicle` (and, with `general`, `access`) is tagged.
    package static func car(
        _ tags: TagSet, _ strings: StringTable, _ direction: Direction, general: Bool = true
    ) -> Level? {
        for keys in general ? [motorcar, motorVehicle, vehicle, access] : [motorcar, motorVehicle, vehicle] {
            if let level = level(keys, tags, strings, direction) { return level }
        }
        return nil
    }

    /// Returns the permission of the tags for goods vehicles alone in a direction; nil without such a tag.
    package static func truck(_ tags: TagSet, _ strings: StringTable, _ direction: Direction) -> Level? {
        level(hgv, tags, strings, direction)
    }

    /// Returns the permission for another kind of vehicle, like ``car(_:_:_:general:)``, by its specific keys.
    package static func vehicle(
        _ special: [TagKey], _ tags: TagSet, _ strings: StringTable, _ direction: Direction
    ) -> Level? {
        for key in special {
            if let level = level(tags[key], strings) { return level }
        }
        for keys in [motorVehicle, vehicle, access] {
            // With `access=psv`, `bus` and the like, the general tag admits exactly these vehicles.
            if special.contains(.bus) || special.contains(.taxi), tags.word(keys.any) == .psv { return .yes }
            if special.contains(.bus), tags.word(keys.any) == .bus { return .yes }
            if special.contains(.taxi), tags.word(keys.any) == .taxi { return .yes }
            if let level = level(keys, tags, strings, direction) { return level }
        }
        return nil
    }

    /// Returns the permission of a key in a direction; nil without a meaningful value.
    static func level(
        _ keys: Keys, _ tags: TagSet, _ strings: StringTable, _ direction: Direction
    ) -> Level? {
        let directed = direction == .forward ? keys.forward : keys.backward
        return directed.flatMap { level(tags[$0], strings) } ?? level(tags[keys.any], strings)
    }

    /// Returns the directions in which a way may be driven, after the wiki's "Key:oneway".
    ///
    /// `yes`, `true` and `1` mean along its nodes; `-1` and `reverse` against; `no`, `false` and `0` both; `reversible` neither, because no
    /// tag states when each direction applies. Motorways and roundabouts are one-way if untagged or `alternating`.
    ///
    /// - Parameter own: The key for the kind of vehicle, `oneway:motorcar` or `oneway:hgv`, which takes precedence over the
    ///   general ones.
    package static func directions(_ tags: TagSet, _ own: TagKey, roadClass: RoadClass, isLink: Bool) -> (
        forward: Bool, backward: Bool
    ) {
        let oneway =
            tags.word(own) ?? tags.word(.oneway__motor_vehicle) ?? tags.word(.oneway__vehicle) ?? tags.word(.oneway)
        switch oneway {
        case .yes, .isTrue, .one: return (true, false)
        case .minusOne, .reverse: return (false, true)
        case .reversible: return (false, false)
        case .no, .isFalse, .zero: return (true, true)
        default:
            let isRound = tags.word(.junction) == .roundabout || tags.word(.junction) == .circular
            return (true, !(isRound || (roadClass == .motorway && !isLink)))
        }
    }
}
