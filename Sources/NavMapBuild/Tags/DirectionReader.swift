internal import NavMap

/// An interpreter of a way's tags for one of its directions.
struct DirectionReader {
    let tags: TagSet
    let strings: StringTable
    let roadClass: RoadClass
    let isLink: Bool
    /// Whether the way is a road only if a tag permits vehicles.
    let needsPermission: Bool
    /// The country whose general limits apply; empty when unknown.
    let country: String

    /// Returns the road's attributes in a direction; nil when neither cars nor trucks may ever use it.
    ///
    /// - Parameters:
    ///   - common: The attributes that both directions share.
    ///   - car: Whether one-way tags allow cars in that direction.
    ///   - truck: Whether one-way tags allow trucks in that direction.
    ///   - unknownConditions: Counts unsupported conditions.
    func read(
        _ direction: AccessTags.Direction, _ common: RoadDirection, car carMayEnter: Bool, truck truckMayEnter: Bool,
        _ unknownConditions: inout Int
    ) -> RoadDirection? {
        guard carMayEnter || truckMayEnter else { return nil }
        var road = common
        // Farm and forest tracks without access tags admit no through traffic, because most are closed to the public.
        let isForResidents =
            common.flags.contains(.bicycleRoad) || roadClass == .track
            || roadClass == .livingStreet && Countries.barsThroughTrafficInLivingStreets(country)
        let untagged: AccessTags.Level = needsPermission ? .no : isForResidents ? .destination : .yes
        let tagged = AccessTags.car(tags, strings, direction, general: !needsPermission)
        var car = carMayEnter ? tagged ?? untagged : .no
        // The number of occupants is unknown, so `hov=designated` roads are used only at the ends of a trip, as in OSRM's profile.
        if common.flags.contains(.highOccupancy) { car = min(car, .destination) }
        // Where nothing permits vehicles, `access` and `hgv` alone do not permit goods vehicles either.
        let isUnpermitted = needsPermission && tagged == nil
        let truck = truckMayEnter && !isUnpermitted ? self.truck(tagged, direction) ?? untagged : .no
        if car != .no { road.access.insert(.car) }
        if truck != .no { road.access.insert(.truck) }
        var conditional = ConditionalRoad(tags, strings)
        conditional.apply(to: &road, direction, general: !needsPermission || !road.access.isEmpty)
        unknownConditions += conditional.unknown
        guard !road.access.isEmpty || opensAtTimes(road) else { return nil }
        if (AccessTags.vehicle([.bus, .psv], tags, strings, direction) ?? untagged) != .no { road.access.insert(.bus) }
        if (AccessTags.vehicle([.taxi, .psv], tags, strings, direction) ?? untagged) != .no {
            road.access.insert(.taxi)
        }
        if tags.word(.emergency) != .no { road.access.insert(.emergency) }
        // The flags follow the access of cars, if cars may use the road.
        switch road.access.contains(.car) ? car : truck {
        case .destination: road.flags.insert(.destinationOnly)
        case .private: road.flags.insert(.privateAccess)
        case .yes, .no: break
        }
        if truck == .destination || truck == .private { road.flags.insert(.truckDestinationOnly) }
        readSpeeds(&road, direction)
        readSigns(&road, direction)
        return road
    }

    /// Returns the access of trucks: from `hgv`, else from the tags for all vehicles, but no more than that of cars, because
    /// `motorcar=no` alone represents the sign that bars all two-track vehicles.
    private func truck(_ car: AccessTags.Level?, _ direction: AccessTags.Direction) -> AccessTags.Level? {
        if let own = AccessTags.truck(tags, strings, direction) { return own }
        let general = AccessTags.vehicle([], tags, strings, direction)
        guard let car else { return general }
        return min(car, general ?? .yes)
    }

    /// Whether a road that is closed by default opens to cars or trucks at certain times.
    private func opensAtTimes(_ road: RoadDirection) -> Bool {
        road.conditions.contains { condition in
            guard case .access(let level) = condition.effect else { return false }
            return level != .none && !condition.vehicles.isDisjoint(with: [.car, .truck])
        }
    }

    private func readSpeeds(_ road: inout RoadDirection, _ direction: AccessTags.Direction) {
        let limit = SpeedTags.limit(tags, strings, direction)
        let implied = limit == nil ? SpeedTags.implied(roadClass, isLink: isLink, road.flags, country: country) : nil
        switch limit ?? implied {
        case .speed(let speed)?: road.speedLimit = speed / 3.6
        case .unlimited?: road.flags.insert(.unlimitedSpeed)
        case nil: break
        }
        if limit != nil { road.flags.insert(.taggedSpeedLimit) }
        let own: TagKey = direction == .forward ? .maxspeed__hgv__forward : .maxspeed__hgv__backward
        for key in [own, .maxspeed__hgv] where tags.has(key) {
            if case .speed(let speed)? = strings.withBytes(tags[key], SpeedTags.parse) {
                // A condition may have set a lower limit.
                RoadDirection.lower(&road.truckSpeedLimit, to: speed / 3.6)
                break
            }
        }
        var speed = SpeedTags.freeFlow(tags, roadClass: roadClass, isLink: isLink, limit: limit)
        if case .speed(let implied)? = implied { speed = max(min(speed, implied), 3) }
        road.freeFlowSpeed = speed / 3.6
    }

    private func readSigns(_ road: inout RoadDirection, _ direction: AccessTags.Direction) {
        let isForward = direction == .forward
        road.lanes = LaneTags.count(tags, strings, direction)
        road.turnLanes = LaneTags.turns(tags, direction)
        if road.turnLanes != 0 || road.lanes > 1 {
            road.lanesClosedToCars = LaneTags.closed(LaneTags.carKeys, tags, strings, direction)
            road.lanesClosedToTrucks = LaneTags.closed(LaneTags.truckKeys, tags, strings, direction)
            road.busLanes = LaneTags.reserved(tags, strings, direction)
            (road.laneWidths, road.laneWidthLimits) = LaneTags.narrow(tags, strings, direction)
            if road.turnLanes == 0, road.hasLaneLimits {
                road.taggedLanes = LaneTags.positions(tags, strings, direction)
            }
            road.laneChanges = LaneTags.changes(tags, strings, direction)
        }
        // A sign without a direction is unambiguous only on a one-way road.
        let isOneWay = LaneTags.isOneWay(tags)
        func sign(_ own: TagKey, _ undirected: TagKey) -> UInt32 {
            tags.has(own) ? tags[own] : isOneWay ? tags[undirected] : 0
        }
        road.destination = sign(isForward ? .destination__forward : .destination__backward, .destination)
        if road.destination == 0 && isOneWay { road.destination = tags[.destination__street] }
        road.destinationReference = sign(
            isForward ? .destination__ref__forward : .destination__ref__backward, .destination__ref)
        road.destinationLanes = sign(
            isForward ? .destination__lanes__forward : .destination__lanes__backward, .destination__lanes)
        if isOneWay { road.destinationReferenceTo = tags[.destination__ref__to] }
    }
}
