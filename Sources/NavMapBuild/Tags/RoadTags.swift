import NavMap

/// A pure interpreter of the tags of ways.
package enum RoadTags {
    /// Whether a way may be a road, judged by a few tags; readers omit other ways.
    package static func mayBeRoad(highway: Word?, route: Word?, namesVehicles: Bool) -> Bool {
        if let highway, roadClass(highway) != nil { return true }
        if route == .ferry || route == .shuttle_train { return true }
        return highway == .pedestrian || highway == .busway || namesVehicles
    }

    /// Whether a key is a vehicle tag, conditional or not, that can permit vehicles on a way that is normally not a road.
    ///
    /// Of the keys for one direction, only the conditional ones of `motor_vehicle` count.
    package static func namesVehicles(_ key: TagKey) -> Bool {
        switch key {
        case .vehicle, .motor_vehicle, .motorcar, .hgv, .vehicle__conditional, .motor_vehicle__conditional,
            .motor_vehicle__forward__conditional, .motor_vehicle__backward__conditional, .motorcar__conditional,
            .hgv__conditional:
            true
        default: false
        }
    }

    /// Returns the class of a `highway` value for vehicles, and whether it is a link; nil for other values.
    private static func roadClass(_ highway: Word) -> (roadClass: RoadClass, isLink: Bool)? {
        switch highway {
        case .motorway: (.motorway, false)
        case .motorway_link: (.motorway, true)
        case .trunk: (.trunk, false)
        case .trunk_link: (.trunk, true)
        case .primary: (.primary, false)
        case .primary_link: (.primary, true)
        case .secondary: (.secondary, false)
        case .secondary_link: (.secondary, true)
        case .tertiary: (.tertiary, false)
        case .tertiary_link: (.tertiary, true)
        // `road` is a road whose class has not been surveyed yet.
        case .unclassified, .road: (.unclassified, false)
        case .residential: (.residential, false)
        case .living_street: (.livingStreet, false)
        case .service: (.service, false)
        case .track: (.track, false)
        // Roads over frozen ground and water.
        case .winter_road, .ice_road: (.unclassified, false)
        default: nil
        }
    }

    /// Returns the road of a way; nil when it is not a road.
    ///
    /// The following are not roads: areas (also `rest_area` and `services`), `impassable=yes`, `smoothness=impassable`,
    /// `service=emergency_access|slipway`, ways not yet built or no longer there (`construction`, `proposed`, …) whatever other tags they
    /// have, and ways whose `highway` is not for vehicles (`footway`, …). Pedestrian streets, busways and other paths count only if a tag
    /// permits motor vehicles, at least at certain times. Tracks count if a tag permits vehicles, or only at the ends of a trip if their
    /// `tracktype` is grade 1 or 2, because most are closed to the public without being tagged.
    ///
    /// - Parameters:
    ///   - country: The way's country, two letters; empty when unknown.
    ///   - presumed: The country to assume if neither `country` nor the way's own tags give one.
    package static func interpret(
        _ tags: TagSet, _ strings: StringTable, country: String = "", presumed: String = ""
    ) -> Road? {
        guard tags.word(.area) != .yes, tags.word(.impassable) != .yes, tags.word(.smoothness) != .impassable,
            !isUnderConstruction(tags)
        else { return nil }
        switch tags.word(.service) {
        case .emergency_access?, .slipway?: return nil
        default: break
        }
        let kind: (roadClass: RoadClass, isLink: Bool)
        var needsPermission = false
        let isFerry = tags.word(.route) == .ferry || tags.word(.route) == .shuttle_train
        if let highway = tags.word(.highway), let known = roadClass(highway) {
            // A road on a ferry is crossed on board.
            kind = isFerry ? (.ferry, false) : known
            let track = tags.word(.tracktype)
            needsPermission = known.roadClass == .track && track != .grade1 && track != .grade2
        } else if isNeverRoad(tags.word(.highway)) {
            return nil
        } else if isFerry {
            kind = (.ferry, false)
            needsPermission = isPassengerFerry(tags)
        } else if tags.has(.highway), tags.word(.highway) != .no {
            kind = (.service, false)
            needsPermission = true
        } else {
            return nil
        }
        let car = AccessTags.directions(tags, .oneway__motorcar, roadClass: kind.roadClass, isLink: kind.isLink)
        let truck = AccessTags.directions(tags, .oneway__hgv, roadClass: kind.roadClass, isLink: kind.isLink)
        let named = country.isEmpty ? CountryCode.text(Countries.named(by: tags, strings)) : country
        let country = named.isEmpty ? presumed : named
        var base = common(tags, strings, kind)
        base.country = CountryCode.packed(country)
        let reader = DirectionReader(
            tags: tags, strings: strings, roadClass: kind.roadClass, isLink: kind.isLink,
            needsPermission: needsPermission, country: country)
        var road = Road(exitReference: tags[.junction__ref])
        road.forward = reader.read(.forward, base, car: car.forward, truck: truck.forward, &road.unknownConditions)
        road.backward = reader.read(.backward, base, car: car.backward, truck: truck.backward, &road.unknownConditions)
        if road.forward == nil && road.backward == nil { return nil }
        if road.forward == nil || road.backward == nil {
            road.forward?.flags.insert(.oneway)
            road.backward?.flags.insert(.oneway)
        }
        return road
    }

    /// Whether a road is under construction and closed to traffic; `minor` and `widening` leave it open.
    private static func isUnderConstruction(_ tags: TagSet) -> Bool {
        guard tags.has(.construction) else { return false }
        switch tags.word(.construction) {
        case .no?, .isFalse?, .minor?, .widening?: return false
        default: return true
        }
    }

    /// Whether the way is never a road, regardless of permissions: not built, abandoned, not for driving, or the outline of an area.
    private static func isNeverRoad(_ highway: Word?) -> Bool {
        switch highway {
        case .construction?, .proposed?, .planned?, .abandoned?, .disused?, .razed?, .raceway?, .escape?, .steps?,
            .corridor?, .platform?, .elevator?, .bus_guideway?, .via_ferrata?, .rest_area?, .services?:
            true
        default: false
        }
    }

    /// Whether a ferry has tags for pedestrians or bicycles and none for vehicles: such a ferry takes no cars.
    private static func isPassengerFerry(_ tags: TagSet) -> Bool {
        guard tags.word(.route) == .ferry, tags.has(.foot) || tags.has(.bicycle) else { return false }
        return !tags.has(.motor_vehicle) && !tags.has(.motorcar) && !tags.has(.vehicle) && !tags.has(.hgv)
            && tags.word(.access) != .yes
    }

    /// Returns the attributes that both directions share.
    private static func common(
        _ tags: TagSet, _ strings: StringTable, _ kind: (roadClass: RoadClass, isLink: Bool)
    ) -> RoadDirection {
        var flags: RoadFlags = []
        if kind.isLink { flags.insert(.link) }
        if tags.word(.junction) == .roundabout || tags.word(.junction) == .circular { flags.insert(.roundabout) }
        if isPresent(tags.word(.tunnel), tags.has(.tunnel)) || tags.word(.covered) == .yes { flags.insert(.tunnel) }
        if isPresent(tags.word(.bridge), tags.has(.bridge)) { flags.insert(.bridge) }
        if tags.word(.toll) == .yes { flags.formUnion([.toll, .truckToll]) }
        if tags.word(.toll__hgv) == .yes { flags.insert(.truckToll) }
        if tags.word(.toll__hgv) == .no { flags.remove(.truckToll) }
        if tags.word(.toll__motorcar) == .yes { flags.insert(.toll) }
        if tags.word(.toll__motorcar) == .no { flags.remove(.toll) }
        if SpeedTags.isUnpaved(tags, roadClass: kind.roadClass) { flags.insert(.unpaved) }
        switch tags.word(.service) {
        case .parking_aisle?: flags.insert(.parkingAisle)
        case .driveway?: flags.insert(.driveway)
        case .alley?: flags.insert(.alley)
        default: break
        }
        if tags.word(.hov) == .designated { flags.insert(.highOccupancy) }
        if tags.word(.motorroad) == .yes { flags.insert(.motorroad) }
        if tags.word(.hazmat) == .no { flags.insert(.noDangerousGoods) }
        if tags.word(.bicycle_road) == .yes || tags.word(.cyclestreet) == .yes { flags.insert(.bicycleRoad) }
        if tags.word(.oneway) == .alternating { flags.insert(.alternatingTraffic) }
        if tags.word(.driving_side) == .left { flags.insert(.leftHandTraffic) }
        var road = RoadDirection(roadClass: kind.roadClass, flags: flags, access: [], freeFlowSpeed: 1)
        let limits = SizeTags.limits(tags, strings)
        road.maximumHeight = limits.height ?? 0
        road.maximumWidth = limits.width ?? 0
        // The width of a road hardly wider than a car limits vehicles; the width of a wider road does not.
        if let width = SizeTags.least([.width, .est_width], tags, strings, Quantity.metres), width <= 2.2 {
            RoadDirection.lower(&road.maximumWidth, to: max(width - 0.1, 0.1))
        }
        road.maximumLength = limits.length ?? 0
        road.maximumWeight = limits.weight ?? 0
        road.maximumAxleLoad = limits.axleLoad ?? 0
        if kind.roadClass == .ferry || isMovableBridge(tags) {
            road.crossingTime = strings.withBytes(tags[.duration]) { Quantity.seconds($0) } ?? 0
        }
        road.name = tags[.name]
        if road.name != 0 { road.localNames = NameTags.read(tags) }
        road.reference = tags[.ref]
        return road
    }

    /// Whether the way crosses a movable bridge, after the wiki's "Key:bridge:movable".
    static func isMovableBridge(_ tags: TagSet) -> Bool {
        tags.word(.bridge) == .movable
            || isPresent(tags.word(.bridge), tags.has(.bridge))
                && isPresent(tags.word(.bridge__movable), tags.has(.bridge__movable))
    }

    /// Whether a feature is tagged with any value except `no`, such as `tunnel=building_passage` or `bridge=viaduct`.
    private static func isPresent(_ word: Word?, _ has: Bool) -> Bool { has && word != .no && word != .isFalse }
}

/// The names other than the signposted one, after the wiki's "Multilingual names", "Key:int_name" and "Key:name:pronunciation".
package enum NameTags {
    /// The kept keys and their counterparts in ``LocalNames``: those of the languages that guidance supports.
    static let keys: [(tag: TagKey, key: String)] = [
        (.name__en, "en"), (.name__de, "de"), (.name__fr, "fr"), (.name__es, "es"), (.name__fi, "fi"),
        (.name__zhHans, "zh-Hans"), (.name__zh, "zh"), (.int_name, LocalNames.international),
        (.name__pronunciation, LocalNames.pronunciation),
    ]

    /// Returns the text numbers of a road's names in the order of ``keys``; empty when none differs from the signposted one.
    static func read(_ tags: TagSet) -> [UInt32] {
        let name = tags[.name]
        // A name equal to the signposted one is kept only to take precedence over the international name.
        guard keys.contains(where: { tags.has($0.tag) && tags[$0.tag] != name }) else { return [] }
        return keys.map { tags[$0.tag] }
    }

    static func names(_ numbers: [UInt32], _ strings: StringTable) -> LocalNames {
        numbers.isEmpty ? .none : LocalNames(zip(keys, numbers).map { ($0.key, strings[$1]) })
    }
}
