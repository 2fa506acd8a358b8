import Glibc
import NavGeo
import NavMatching
import NavPositioning
import NavRouting

/// Arrivals at stops, and departures from them.
extension Trip {
    /// Whether the vehicle is so close to the stop, along the route and in a straight line, that a reroute would only lead back to it.
    func isNearStop(_ position: VehiclePosition) -> Bool {
        guard case .driving = stage else { return false }
        return legEnd - offset < config.arrivalSuppressReroute
            && Geodesy.distance(stop.snapped, position.coordinate) < config.arrivalSuppressReroute
    }

    /// Whether a deviation leads to no reroute here.
    func suppressesReroute(at position: VehiclePosition) -> Bool {
        switch stage {
        case .atStop, .complete: true
        case .driving: isNearStop(position) && preventsReroutes ?? config.arrivalSuppresses
        }
    }

    /// Whether the vehicle has driven past a mandatory stop along the route and is out of its reach, both along the route and in a straight
    /// line.
    func hasMissedStop(_ position: VehiclePosition) -> Bool {
        guard let requiredStop, let placement, placement.isFollowing, !hasJumped(position) else { return false }
        let reach = max(config.arrivalSuppressReroute, config.arrivalRadius + cursor.slack(of: position))
        return placement.offset > requiredStop + reach && Geodesy.distance(stop.snapped, position.coordinate) > reach
    }

    /// Returns the arrival phases that a position triggers. The navigator decides whether the next leg begins at a stop.
    func arrivals(_ position: VehiclePosition, isAtStop: Bool) -> [ArrivalEvent] {
        // A predicted position neither approaches nor reaches a waypoint.
        guard case .driving(let leg, let wasApproaching) = stage, position.isDecisive else { return [] }
        if position.match.isTeleport { (jumpedAt, stationarySince) = (position.stamp, nil) }
        let isStationary = (position.speed ?? 0) <= config.deviationMinimumSpeed
        stationarySince = isStationary ? stationarySince ?? position.stamp : nil
        let remaining = max(legEnd - cursor.confirmed, 0)
        let duration = times.duration(from: cursor.confirmed, toEndOf: currentLeg)
        let isReached = isReached(position, remaining, isAtStop: isAtStop)
        let isOff = deviation.state == .offRoute || deviation.state == .wrongWay
        guard isReached || !isOff && duration <= config.arrivalApproach else { return [] }
        var events = [event(.approaching(isFirst: !wasApproaching), remaining, duration)]
        stage = .driving(leg: leg, isApproaching: true)
        guard isReached else { return events }
        // Beside the end of the route, the vehicle may not drive the rest of it, so the shorter distance counts.
        let metres = min(remaining, distanceToStop(position))
        events.append(event(.arrived, metres, remaining > 0 ? duration * metres / remaining : 0))
        stage = leg == route.legs.count - 1 ? .complete : .atStop(leg: leg, isHeld: false)
        return events
    }

    /// Holds the vehicle at the stop until the next leg is started by a command; returns nil when it is not at a stop.
    func hold() -> ArrivalEvent? {
        guard case .atStop(let leg, isHeld: false) = stage else { return nil }
        stage = .atStop(leg: leg, isHeld: true)
        return event(.held, max(legEnd - offset, 0), times.duration(from: offset, toEndOf: currentLeg))
    }

    /// Starts the next leg from a stop; returns nil when the vehicle is not at a stop.
    func advanceLeg() -> ArrivalEvent? {
        guard case .atStop(let leg, _) = stage else { return nil }
        stage = .driving(leg: leg + 1, isApproaching: false)
        preventsReroutes = nil
        reachedSince = nil
        skipToLegStart()
        renewProgress()
        return legStart
    }

    /// The start of the current leg.
    var legStart: ArrivalEvent {
        event(.legStarted, legEnd - offset, times.duration(from: offset, toEndOf: currentLeg))
    }

    /// Whether the stop is reached: the conditions of distance, speed and course hold for long enough.
    private func isReached(_ position: VehiclePosition, _ remaining: Double, isAtStop: Bool) -> Bool {
        guard !hasJumped(position), isThere(position, remaining, isAtStop: isAtStop),
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
            // Passing the stop between two fixes is enough, unless the vehicle has to stop there.
            let isNear = !hasToStop || distance <= config.arrivalRadius + cursor.slack(of: position)
            if isAtStop, isNear, remaining + beyondRoad <= config.arrivalRadius { return true }
        case .offRoute, .wrongWay: break
        }
        // A vehicle parked beside the destination has arrived, regardless of the road that the destination was snapped to.
        let parked = stationarySince.map { position.stamp.seconds(since: $0) >= Trip.parkingTime } ?? false
        if parked, Geodesy.distance(position.coordinate, stop.waypoint.coordinate) <= Trip.parkingReach { return true }
        // The stop may be near in a straight line while the route still leads around a corner.
        let isOnItsWay = deviation.state == .onRoute && placement?.isFollowing ?? false
        let reach = max(config.arrivalSuppressReroute, config.arrivalRadius)
        return remaining <= reach && distance <= config.arrivalRadius && (parked || !isOnItsWay)
    }

    /// The distance of the stop beyond its place on the road in the direction of travel, as past a dead end, metres; at most half of the
    /// arrival radius, so that a vehicle at the end of the road has arrived.
    private var beyondRoad: Double {
        guard let way = route.line.bearing(arrivingAt: legEnd) else { return 0 }
        let distance = Geodesy.distance(stop.snapped, stop.waypoint.coordinate)
        let direction = Geodesy.bearing(from: stop.snapped, to: stop.waypoint.coordinate)
        return min(max(distance * cos(direction - way), 0), config.arrivalRadius / 2)
    }

    /// Returns the straight-line distance to the stop or to its place on the road, whichever is less, metres.
    private func distanceToStop(_ position: VehiclePosition) -> Double {
        min(
            Geodesy.distance(position.coordinate, stop.waypoint.coordinate),
            Geodesy.distance(position.coordinate, stop.snapped))
    }

    /// Whether the measured position has just jumped: wrong positions for a few seconds must neither end the trip nor cause a reroute back
    /// to a stop.
    private func hasJumped(_ position: VehiclePosition) -> Bool {
        jumpedAt.map { position.stamp.seconds(since: $0) < Trip.jumpConfirmation } ?? false
    }

    /// The time after a jump of the measured position during which no stop can be reached or missed, seconds: most reflections end earlier,
    /// and a vehicle that has arrived stays longer.
    private static let jumpConfirmation = 10.0

    /// The time after which a stationary vehicle is parked, seconds, and its distance from the stop, metres: a car's length and the
    /// receiver's error.
    private static let (parkingTime, parkingReach) = (3.0, 10.0)

    /// Whether driving past a stop does not count as reaching it.
    private var hasToStop: Bool { config.arrivalMaximumSpeed != nil || config.arrivalDwell > 0 }

    /// Metres before a stop at which the arrival is announced; nil when the arrival has other conditions than distance.
    var announcedRadius: Double? { hasToStop || config.arrivalCourse != nil ? nil : config.arrivalRadius }

    /// The place where the vehicle still has to stop, metres from the route's start; nil where driving past is enough.
    var requiredStop: Double? {
        guard hasToStop, case .driving = stage else { return nil }
        return legEnd
    }

    /// Whether the vehicle's course matches the direction of the route's end, if that is required.
    private func pointsTheWay(_ position: VehiclePosition) -> Bool {
        guard let greatest = config.arrivalCourse, let course = position.course,
            let way = route.line.bearing(arrivingAt: legEnd)
        else { return true }
        return Angle.separation(course, way) <= greatest * .pi / 180
    }

    private func event(_ phase: ArrivalEvent.Phase, _ remaining: Double, _ duration: Double) -> ArrivalEvent {
        ArrivalEvent(
            phase: phase, leg: leg, waypoint: currentLeg.destination, isDestination: leg == route.legs.count - 1,
            distanceRemaining: max(remaining, 0), durationRemaining: duration)
    }
}
