package import NavMap

/// A reader of speed limits and expected speeds from OSM's tags.
package enum SpeedTags {
    package enum Limit: Equatable, Sendable {
        /// km/h.
        case speed(Float)
        /// `maxspeed=none`.
        case unlimited
    }

    /// Returns the limit in a direction: `maxspeed:forward` or `:backward`, else `maxspeed`, else the zone in `maxspeed:type`,
    /// `source:maxspeed` or `zone:maxspeed`; nil without any of them.
    package static func limit(
        _ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction
    ) -> Limit? {
        let directed: TagKey = direction == .forward ? .maxspeed__forward : .maxspeed__backward
        for key in [directed, .maxspeed, .maxspeed__type, .source__maxspeed, .zone__maxspeed, .zone__traffic]
        where tags.has(key) {
            if let limit = strings.withBytes(tags[key], { parse($0) }) { return limit }
        }
        return nil
    }

    /// Parses a value of `maxspeed`: a number with or without unit, `none`, `walk`, or a zone such as `DE:urban`.
    ///
    /// In a semicolon-separated list, the lowest counts. Nil for `signals`, `variable` and any other value without a number.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Limit? {
        if let speed = Quantity.kilometresPerHour(text) { return .speed(speed) }
        switch Vocabulary.shared.word(text) {
        case .none?: return .unlimited
        // Walking pace: 7 km/h is the upper bound in German case law.
        case .walk?: return .speed(7)
        case .some: return nil
        case nil: break
        }
        if text.contains(UInt8(ascii: ";")) {
            var lowest: Limit?
            for part in text.split(separator: UInt8(ascii: ";")) {
                switch (lowest, parse(UnsafeRawBufferPointer(rebasing: part))) {
                case (.speed(let old)?, .speed(let new)?): lowest = .speed(min(old, new))
                case (nil, let new?), (.unlimited?, let new?): lowest = new
                default: break
                }
            }
            return lowest
        }
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon >= 2 else { return nil }
        return zone(
            country: String(decoding: text[..<colon], as: UTF8.self),
            kind: String(decoding: text[(colon + 1)...], as: UTF8.self))
    }

    private static func zone(country: String, kind: String) -> Limit? {
        // National rules may name a region: "BE-VLG", "GB-WLS".
        if country == "UK" || country.hasPrefix("UK-") {
            return zone(country: "GB" + country.dropFirst(2), kind: kind)
        }
        let digits = kind.drop { !("0"..."9").contains($0) }
        if !digits.isEmpty, digits.count <= 3, let speed = Float(digits), speed >= 5, speed <= 130 {
            let isInMiles = country.hasPrefix("GB") || country.hasPrefix("US")
            return .speed(isInMiles ? speed * 1.609_344 : speed)
        }
        let rule = Countries.limits(country)
        switch kind {
        case "urban", "built_up", "nsl_restricted": return .speed(rule.urban)
        case "rural", "nsl_single": return .speed(rule.rural)
        case "trunk", "nsl_dual", "motorroad": return rule.trunk == 0 ? .unlimited : .speed(rule.trunk)
        case "motorway": return rule.motorway == 0 ? .unlimited : .speed(rule.motorway)
        case "living_street": return .speed(Countries.livingStreetLimit(country))
        case "pedestrian_zone", "walk": return .speed(7)
        case "bicycle_road": return .speed(30)
        default: return nil
        }
    }

    /// Returns the general limit of a country where its rules are unambiguous: on motorways, motorroads (`motorroad=yes`), residential and
    /// living streets.
    ///
    /// Elsewhere the limit depends on town signs, which only zone tags represent; nil there and in an unknown country.
    package static func implied(_ roadClass: RoadClass, isLink: Bool, _ flags: RoadFlags, country: String) -> Limit? {
        guard Countries.isKnown(country), !isLink else { return nil }
        let rule = Countries.limits(country)
        func limit(_ speed: Float) -> Limit { speed == 0 ? .unlimited : .speed(speed) }
        switch roadClass {
        case .motorway: return limit(rule.motorway)
        case .residential: return .speed(rule.urban)
        case .livingStreet: return .speed(Countries.livingStreetLimit(country))
        default: return flags.contains(.motorroad) ? limit(rule.trunk) : nil
        }
    }

    /// Returns the free-flow speed, km/h, above 0.
    ///
    /// With a limit, it is a share of the limit, because signals, bends and parked cars cost more on lower classes (95 % on motorways, 65 %
    /// on residential streets; OSRM takes 80 % everywhere). It is at most the class's highest speed, and at least 10 km/h or the limit if
    /// that is lower. Without a limit, it is the class's default, between those of OSRM's car profile and Valhalla's. It is then capped by
    /// surface, track type and service, with the values of OSRM's car profile.
    package static func freeFlow(
        _ tags: TagSet, roadClass: RoadClass, isLink: Bool, limit: Limit?
    ) -> Float {
        let habit = habit(roadClass, isLink: isLink)
        var speed = habit.speed
        if case .speed(let limit)? = limit {
            speed = min(max(limit * habit.share, min(limit, walkingPace)), habit.highest)
        }
        if limit == .unlimited { speed = max(habit.speed, roadClass == .motorway ? 120 : 90) }
        if let cap = surfaceCap(tags.word(.surface)) { speed = min(speed, cap) }
        if let cap = trackCap(tags.word(.tracktype)) { speed = min(speed, cap) }
        if let cap = smoothnessCap(tags.word(.smoothness)) { speed = min(speed, cap) }
        switch tags.word(.highway) {
        case .winter_road?: speed = min(speed, 20)
        case .ice_road?: speed = min(speed, 15)
        default: break
        }
        if limit == nil, RoadTags.isMovableBridge(tags) { speed = min(speed, movableBridgePace) }
        switch tags.word(.service) {
        case .parking_aisle?, .driveThrough?: speed = min(speed, 8)
        case .driveway?, .alley?: speed = min(speed, 12)
        default: break
        }
        return max(speed, 3)
    }

    /// The average speed over a movable bridge with neither a `duration` nor a posted limit, km/h, including the wait while it is open;
    /// from OSRM's car profile.
    private static let movableBridgePace: Float = 5

    /// The limit up to which traffic is assumed to drive at the limit, km/h.
    private static let walkingPace: Float = 10

    /// Returns the speed without a known limit, km/h, the share of a limit, and the highest speed with a limit, km/h, on a class.
    ///
    /// They lie between those of OSRM's car profile and Valhalla's auto costing, where these differ, so that durations agree with both.
    private static func habit(_ roadClass: RoadClass, isLink: Bool) -> (speed: Float, share: Float, highest: Float) {
        switch roadClass {
        case .motorway: isLink ? (55, 0.8, 90) : (100, 0.9, 125)
        case .trunk: isLink ? (50, 0.8, 80) : (85, 0.9, 115)
        case .primary: isLink ? (40, 0.8, 70) : (65, 0.85, 95)
        case .secondary: isLink ? (35, 0.8, 60) : (55, 0.82, 85)
        case .tertiary: isLink ? (30, 0.8, 50) : (42, 0.8, 80)
        case .unclassified: (31, 0.7, 70)
        case .residential: (26, 0.72, 40)
        case .livingStreet: (9, 0.8, 15)
        case .service: (14, 0.7, 30)
        case .track: (10, 0.7, 30)
        case .ferry: (15, 1, 60)
        }
    }

    private static func surfaceCap(_ surface: Word?) -> Float? {
        switch surface {
        case .compacted, .fine_gravel: 80
        case .paving_stones, .bricks, .metal: 60
        case .sett, .gravel, .unpaved, .ground, .dirt, .pebblestone, .grass, .grass_paver, .wood: 40
        case .cobblestone, .unhewn_cobblestone, .clay, .shells: 30
        case .earth, .stone, .rock, .sand: 20
        case .mud: 10
        default: nil
        }
    }

    private static func smoothnessCap(_ smoothness: Word?) -> Float? {
        switch smoothness {
        case .intermediate: 80
        case .bad: 40
        case .very_bad: 20
        case .horrible: 10
        case .very_horrible: 5
        default: nil
        }
    }

    private static func trackCap(_ type: Word?) -> Float? {
        switch type {
        case .grade1: 60
        case .grade2: 40
        case .grade3: 30
        case .grade4: 25
        case .grade5: 20
        default: nil
        }
    }

    /// Whether a road is unpaved, by its surface, else by its track type (grade 2 and worse) or by a smoothness that no paved
    /// road has.
    package static func isUnpaved(_ tags: TagSet, roadClass: RoadClass) -> Bool {
        switch tags.word(.surface) {
        case .asphalt, .concrete, .concrete__plates, .concrete__lanes, .paved, .paving_stones, .bricks, .metal,
            .chipseal,
            .sett, .cobblestone, .unhewn_cobblestone, .grass_paver, .wood:
            return false
        case .compacted, .fine_gravel, .gravel, .pebblestone, .unpaved, .ground, .dirt, .earth, .grass, .mud, .sand,
            .clay, .rock, .stone, .shells:
            return true
        default: break
        }
        switch tags.word(.tracktype) {
        case .grade1: return false
        case .grade2, .grade3, .grade4, .grade5: return true
        default: break
        }
        switch tags.word(.smoothness) {
        case .very_bad, .horrible, .very_horrible: return true
        default: return roadClass == .track
        }
    }
}
