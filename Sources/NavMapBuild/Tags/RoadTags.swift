public import NavMap

/// Interprets the tags of ways: a pure function of them.
public enum RoadTags {
    /// The attributes of a way with these tags, along its nodes and against them; nil in a direction that neither
    /// cars nor trucks may drive.
    public static func attributes(
        of tags: [String: String]
    ) -> (forward: RoadAttributes?, backward: RoadAttributes?) {
        var builder = OSMDataBuilder()
        builder.addWay(id: 1, nodes: [], tags: tags)
        let data = builder.build()
        var set = TagSet()
        set.load(data.ways.tags, 0)
        let road = interpret(set, data.strings)
        return (road?.forward?.attributes(data.strings), road?.backward?.attributes(data.strings))
    }

    /// Whether a way may turn out to be a road, from little of it; the reader leaves out the others.
    package static func mayBeRoad(highway: Word?, route: Word?, namesVehicles: Bool) -> Bool {
        if let highway, roadClass(highway) != nil { return true }
        if route == .ferry || route == .shuttle_train { return true }
        return highway == .pedestrian || highway == .busway || namesVehicles
    }

    /// The class of a `highway` value that is a road for vehicles, and whether it is a link.
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
        // `road` is a road of a class that nobody has looked up yet.
        case .unclassified, .road: (.unclassified, false)
        case .residential: (.residential, false)
        case .living_street: (.livingStreet, false)
        case .service: (.service, false)
        case .track: (.track, false)
        default: nil
        }
    }

    /// The road that a way is; nil when it is none.
    ///
    /// No roads are: areas, `impassable=yes`, `service=emergency_access|slipway`, and ways whose `highway` is not for
    /// vehicles (`construction`, `footway`, …). Pedestrian streets, busways and other paths count where a tag for
    /// motor vehicles permits them; tracks where one does, or where their `tracktype` is grade 1 or 2, since most
    /// others are barred to the public without a tag.
    package static func interpret(_ tags: TagSet, _ strings: StringTable) -> Road? {
        guard tags.word(.area) != .yes, tags.word(.impassable) != .yes else { return nil }
        switch tags.word(.service) {
        case .emergency_access?, .slipway?: return nil
        default: break
        }
        let kind: (roadClass: RoadClass, isLink: Bool)
        var needsPermission = false
        if let highway = tags.word(.highway), let known = roadClass(highway) {
            kind = known
            let track = tags.word(.tracktype)
            needsPermission = known.roadClass == .track && track != .grade1 && track != .grade2
        } else if tags.word(.route) == .ferry || tags.word(.route) == .shuttle_train {
            kind = (.ferry, false)
        } else if tags.has(.highway), tags.word(.highway) != .no {
            kind = (.service, false)
            needsPermission = true
        } else {
            return nil
        }
        let directions = AccessTags.directions(tags, roadClass: kind.roadClass, isLink: kind.isLink)
        let base = common(tags, strings, kind)
        var road = Road(exitReference: tags[.junction__ref])
        if directions.forward {
            road.forward = direction(.forward, base, tags, strings, kind, needsPermission: needsPermission)
        }
        if directions.backward {
            road.backward = direction(.backward, base, tags, strings, kind, needsPermission: needsPermission)
        }
        if road.forward == nil && road.backward == nil { return nil }
        if road.forward == nil || road.backward == nil {
            road.forward?.flags.insert(.oneway)
            road.backward?.flags.insert(.oneway)
        }
        return road
    }

    /// What both directions share.
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
        if SpeedTags.isUnpaved(tags, roadClass: kind.roadClass) { flags.insert(.unpaved) }
        switch tags.word(.service) {
        case .parking_aisle?: flags.insert(.parkingAisle)
        case .driveway?: flags.insert(.driveway)
        case .alley?: flags.insert(.alley)
        default: break
        }
        if tags.word(.hov) == .designated { flags.insert(.highOccupancy) }
        if tags.word(.driving_side) == .left { flags.insert(.leftHandTraffic) }
        var road = RoadDirection(roadClass: kind.roadClass, flags: flags, access: [], freeFlowSpeed: 1)
        road.maximumHeight = strings.withBytes(tags[.maxheight]) { Quantity.metres($0) } ?? 0
        road.maximumWidth = strings.withBytes(tags[.maxwidth]) { Quantity.metres($0) } ?? 0
        road.maximumLength = strings.withBytes(tags[.maxlength]) { Quantity.metres($0) } ?? 0
        road.maximumWeight = strings.withBytes(tags[.maxweight]) { Quantity.tonnes($0) } ?? 0
        if kind.roadClass == .ferry {
            road.crossingTime = strings.withBytes(tags[.duration]) { Quantity.seconds($0) } ?? 0
        }
        road.name = tags[.name]
        road.reference = tags[.ref]
        return road
    }

    /// Any value but `no` counts, such as `tunnel=building_passage` or `bridge=viaduct`.
    private static func isPresent(_ word: Word?, _ has: Bool) -> Bool { has && word != .no && word != .isFalse }

    /// What trucks may do: what `hgv` says, else what the tags for all vehicles say, and no more than cars may, as
    /// `motorcar=no` alone stands for the sign that bars everything with two tracks.
    private static func truck(
        _ car: AccessTags.Level?, _ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction
    ) -> AccessTags.Level? {
        if let own = AccessTags.level(tags[.hgv], strings) { return own }
        let general = AccessTags.vehicle([], tags, strings, direction)
        guard let car else { return general }
        return min(car, general ?? .yes)
    }

    private static func direction(
        _ direction: AccessTags.Direction, _ common: RoadDirection, _ tags: TagSet, _ strings: StringTable,
        _ kind: (roadClass: RoadClass, isLink: Bool), needsPermission: Bool
    ) -> RoadDirection? {
        let isForward = direction == .forward
        let car = AccessTags.car(tags, strings, direction, general: !needsPermission)
        let unsaid: AccessTags.Level = needsPermission ? .no : .yes
        let truck = needsPermission ? car : truck(car, tags, strings, direction)
        var road = common
        if (car ?? unsaid) != .no { road.access.insert(.car) }
        if (truck ?? unsaid) != .no { road.access.insert(.truck) }
        guard !road.access.isEmpty else { return nil }
        if (AccessTags.vehicle([.bus, .psv], tags, strings, direction) ?? unsaid) != .no { road.access.insert(.bus) }
        if (AccessTags.vehicle([.taxi, .psv], tags, strings, direction) ?? unsaid) != .no { road.access.insert(.taxi) }
        if tags.word(.emergency) != .no { road.access.insert(.emergency) }
        // The flags are those of cars where cars may go at all.
        switch road.access.contains(.car) ? car ?? unsaid : truck ?? unsaid {
        case .destination: road.flags.insert(.destinationOnly)
        case .private: road.flags.insert(.privateAccess)
        case .yes, .no: break
        }

        let limit = SpeedTags.limit(tags, strings, direction)
        switch limit {
        case .speed(let speed)?:
            road.speedLimit = speed / 3.6
            road.flags.insert(.taggedSpeedLimit)
        case .unlimited?: road.flags.formUnion([.taggedSpeedLimit, .unlimitedSpeed])
        case nil: break
        }
        road.freeFlowSpeed =
            SpeedTags.freeFlow(tags, roadClass: kind.roadClass, isLink: kind.isLink, limit: limit) / 3.6
        road.lanes = LaneTags.count(tags, strings, direction)
        road.turnLanes = LaneTags.turns(tags, direction)
        let destination: TagKey = isForward ? .destination__forward : .destination__backward
        let reference: TagKey = isForward ? .destination__ref__forward : .destination__ref__backward
        // A sign without a direction can only be meant for the one direction of a one-way road.
        let isOneWay = LaneTags.isOneWay(tags)
        road.destination = tags.has(destination) ? tags[destination] : isOneWay ? tags[.destination] : 0
        road.destinationReference = tags.has(reference) ? tags[reference] : isOneWay ? tags[.destination__ref] : 0
        return road
    }
}

/// Lanes and their arrows: the wiki's "Key:lanes" and "Key:turn".
package enum LaneTags {
    /// Whether a way is tagged for one direction only.
    package static func isOneWay(_ tags: TagSet) -> Bool {
        switch tags.word(.oneway) {
        case .yes?, .isTrue?, .one?, .minusOne?, .reverse?: return true
        case .no?, .isFalse?, .zero?: return false
        default: break
        }
        let junction = tags.word(.junction)
        return tags.word(.highway) == .motorway || junction == .roundabout || junction == .circular
    }

    /// The lanes of a direction: tagged for it; else all lanes of a one-way road; else all but those tagged for the
    /// other direction; else half of an even number. 0 when unknown.
    package static func count(
        _ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction
    ) -> UInt8 {
        func lanes(_ key: TagKey) -> UInt8? { strings.withBytes(tags[key]) { Quantity.lanes($0) } }
        let (own, other): (TagKey, TagKey) =
            direction == .forward ? (.lanes__forward, .lanes__backward) : (.lanes__backward, .lanes__forward)
        if let own = lanes(own) { return own }
        guard let all = lanes(.lanes) else { return 0 }
        if isOneWay(tags) { return all }
        if let other = lanes(other), other < all { return all - other }
        return all % 2 == 0 ? all / 2 : all == 1 ? 1 : 0
    }

    /// The text number of a direction's `turn:lanes`, 0 without.
    package static func turns(_ tags: TagSet, _ direction: AccessTags.Direction) -> UInt32 {
        let own: TagKey = direction == .forward ? .turn__lanes__forward : .turn__lanes__backward
        if tags.has(own) { return tags[own] }
        return isOneWay(tags) ? tags[.turn__lanes] : 0
    }
}
