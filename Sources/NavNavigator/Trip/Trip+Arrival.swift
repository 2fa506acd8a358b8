import NavGeo
import NavPositioning
import NavRouting

/// Arriving at stops, and going on from them.
extension Trip {
    /// Whether the vehicle is so near to the stop, along the route and in a straight line, that another route would only lead back to it.
    func isNearStop(_ position: VehiclePosition) -> Bool {
        guard case .driving = stage else { return false }
        return legEnd - offset < config.arrivalSuppressReroute
            && Geodesy.distance(stop.snapped, position.coordinate) < config.arrivalSuppressReroute
    }

    /// Whether leaving the route leads to no new one here.
    func suppressesReroute(at position: VehiclePosition) -> Bool {
        switch stage {
        case .atStop, .complete: true
        case .driving: isNearStop(position) && preventsReroutes ?? config.arrivalSuppresses
        }
    }

    /// The steps of arriving that a position makes. Whether the next leg begins at a stop is decided above.
    func arrivals(_ position: VehiclePosition, isAtStop: Bool) -> [ArrivalEvent] {
        // A predicted position neither approaches nor reaches a waypoint.
        guard case .driving(let leg, let wasApproaching) = stage, position.isDecisive else { return [] }
        let isStanding = (position.speed ?? 0) <= config.deviationMinimumSpeed
        standsSince = isStanding ? standsSince ?? position.stamp : nil
        let remaining = max(legEnd - cursor.confirmed, 0)
        let duration = times.duration(from: cursor.confirmed, toEndOf: currentLeg)
        let isReached = isReached(position, remaining, isAtStop: isAtStop)
        let isOff = deviation.state == .offRoute || deviation.state == .wrongWay
        guard isReached || !isOff && duration <= config.arrivalApproach else { return [] }
        var events = [event(.approaching(isFirst: !wasApproaching), remaining, duration)]
        stage = .driving(leg: leg, isApproaching: true)
        guard isReached else { return events }
        // Beside the route's end the way along it is none that anybody drives.
        let metres = min(remaining, distanceToStop(position))
        events.append(event(.arrived, metres, remaining > 0 ? duration * metres / remaining : 0))
        stage = leg == route.legs.count - 1 ? .complete : .atStop(leg: leg, isHeld: false)
        return events
    }

    /// Stays at the stop until the next leg is started by hand; nil when the vehicle is at none.
    func hold() -> ArrivalEvent? {
        guard case .atStop(let leg, isHeld: false) = stage else { return nil }
        stage = .atStop(leg: leg, isHeld: true)
        return event(.held, max(legEnd - offset, 0), times.duration(from: offset, toEndOf: currentLeg))
    }

    /// Starts the next leg where the vehicle is at a stop; nil when it is at none.
    func advanceLeg() -> ArrivalEvent? {
        guard case .atStop(let leg, _) = stage else { return nil }
        stage = .driving(leg: leg + 1, isApproaching: false)
        preventsReroutes = nil
        reachedSince = nil
        skipToLegStart()
        renewProgress()
        return event(.legStarted, legEnd - offset, times.duration(from: offset, toEndOf: currentLeg))
    }

    /// Whether the stop is reached: near enough, slow enough, pointing the right way, for long enough.
    private func isReached(_ position: VehiclePosition, _ remaining: Double, isAtStop: Bool) -> Bool {
        guard isThere(position, remaining, isAtStop: isAtStop),
            (position.speed ?? 0) <= config.arrivalMaximumSpeed ?? .infinity,
            pointsTheWay(position)
        else {
            reachedSince = nil
            return false
        }
        let since = reachedSince ?? position.stamp
        reachedSince = since
        return position.stamp.seconds(since: since) >= config.arrivalDwell
    }

    /// Whether the stop is near: along the route, or beside it, as in a car park.
    private func isThere(_ position: VehiclePosition, _ remaining: Double, isAtStop: Bool) -> Bool {
        let distance = distanceToStop(position)
        switch deviation.state {
        case .onRoute, .offStep, .uncertain:
            // To have come by is enough between two fixes, but not where the vehicle has to stand there.
            let isNear = !hasToStop || distance <= config.arrivalRadius + cursor.slack(of: position)
            if isAtStop, isNear, remaining <= config.arrivalRadius { return true }
        case .offRoute, .wrongWay: break
        }
        // A vehicle that parks beside the destination has arrived, whichever road the destination was matched to.
        let parked = standsSince.map { position.stamp.seconds(since: $0) >= Trip.parkingTime } ?? false
        if parked, Geodesy.distance(position.coordinate, stop.waypoint.coordinate) <= Trip.parkingReach { return true }
        // The place may be near across a corner that the route still leads round.
        let isOnItsWay = deviation.state == .onRoute && placement?.isFollowing ?? false
        return remaining <= config.arrivalSuppressReroute && distance <= config.arrivalRadius && (parked || !isOnItsWay)
    }

    /// Metres in a straight line to the stop, or to where it lies on the road.
    private func distanceToStop(_ position: VehiclePosition) -> Double {
        min(
            Geodesy.distance(position.coordinate, stop.waypoint.coordinate),
            Geodesy.distance(position.coordinate, stop.snapped))
    }

    /// The time that a parked vehicle stands, seconds, and its distance from the place, metres: a car and the receiver's error.
    private static let (parkingTime, parkingReach) = (3.0, 10.0)

    /// Whether a vehicle that drives by a stop has not been there.
    private var hasToStop: Bool { config.arrivalMaximumSpeed != nil || config.arrivalDwell > 0 }

    /// Whether the vehicle points along the route's end, where that matters.
    private func pointsTheWay(_ position: VehiclePosition) -> Bool {
        guard let greatest = config.arrivalCourse, let course = position.course,
            let way = route.line.bearing(at: legEnd)
        else { return true }
        return Angle.separation(course, way) <= greatest * .pi / 180
    }

    private func event(_ phase: ArrivalEvent.Phase, _ remaining: Double, _ duration: Double) -> ArrivalEvent {
        ArrivalEvent(
            phase: phase, leg: leg, waypoint: currentLeg.destination, isDestination: leg == route.legs.count - 1,
            distanceRemaining: max(remaining, 0), durationRemaining: duration)
    }
}
