import NavGeo
import NavMatching
import NavPositioning
import NavRouting

/// Trips that survive a restart of the process: storing and resuming them.
extension Navigator {
    /// Stores the trip if any of its stored parts has changed.
    func keepTripIfChanged() {
        let mark = tripMark
        guard mark != keptMark else { return }
        keptMark = mark
        perform(.keepTrip(mark.map { _ in snapshot }))
    }

    /// The digest of the trip to store; nil without a trip, after its end, and during a simulated drive.
    private var tripMark: TripDigest? {
        if let trip, session.id != 0 {
            guard !trip.isComplete, simulation == nil else { return nil }
            return .driven(
                sessionID: session.id, routeID: trip.routeID, leg: trip.leg, isAtStop: trip.isAtStop,
                isHeld: trip.isHeld, waypointsAhead: trip.remainingCount, mapVersion: trip.plan.route.mapVersion)
        }
        guard let wanted = search.wanted, wanted.simulation == nil else { return nil }
        return .ordered(sessionID: wanted.resumed?.sessionID ?? 0, wanted.order)
    }

    private var snapshot: TripSnapshot {
        guard let trip else {
            return search.wanted?.resumed ?? TripSnapshot(order: search.wanted?.order ?? RouteOrder(waypoints: []))
        }
        return TripSnapshot(
            sessionID: session.id, routeID: trip.routeID, chosenRouteID: session.chosenRouteID,
            chosenRoute: session.chosenRoute, leg: trip.leg, isAtStop: trip.isAtStop, isHeld: trip.isHeld,
            plan: trip.plan, order: RouteOrder(waypoints: trip.remainingWaypoints, preferences: session.preferences))
    }

    /// Resumes a trip of the previous process, from the first sufficiently accurate position.
    func resume(_ trip: TripSnapshot, _ event: NavigatorEvent) {
        guard !trip.order.waypoints.isEmpty else { return }
        cancelSearch(event)
        let wanted = RouteSearch.PendingTrip(
            order: trip.order, simulation: nil, call: 0, resumed: trip.sessionID == 0 ? nil : trip)
        guard trip.sessionID == 0, trip.order.origin != nil else { return search.awaitPosition(for: wanted) }
        requestStart(wanted, from: lastPosition, event)
    }

    /// Starts a requested trip: along its previous route if that is still suitable, else along a new one.
    func begin(_ wanted: RouteSearch.PendingTrip, from position: VehiclePosition, _ event: NavigatorEvent) {
        guard let kept = wanted.resumed, var plan = kept.plan, RouteFailure(defectOf: plan) == nil,
            plan.route.legs.indices.contains(kept.isAtStop ? kept.leg + 1 : kept.leg), kept.leg >= 0,
            let place = Trip.place(of: position, on: plan.route, from: kept, config)
        else { return requestStart(wanted, from: position, event) }
        endPreview(event)
        search = RouteSearch(config)
        session.resume(kept, alongSameRoute: true)
        // The previous process's traffic is outdated.
        if plan.provider == .onBoard, let priced = pricing(at: event.stamp).priced(plan.route) { plan.route = priced }
        put(plan, origin: position, start: 0, isApproaching: false, event)
        trip?.resume(kept, at: place)
        // The chosen route was on another map version.
        if session.chosenRoute.isEmpty, let trip { session.choose(plan.route, id: trip.routeID) }
        report(self.trip?.plan ?? plan, .resumed, event)
        if kept.isAtStop, !kept.isHeld, let trip {
            ask(.shouldAdvanceLeg(waypoint: trip.nextStop, trip.stop), standard: config.legsAutoAdvance, event)
        }
    }
}

extension Trip {
    /// The place on a route at which a trip resumes.
    struct ResumePlace {
        /// Metres from the route's start.
        var offset: Double
        /// Metres past the stop at the leg's end if the vehicle passed it while the process was down or while it was held there; nil before
        /// the stop, or elsewhere.
        var beyondStop: Double?
    }

    /// The distance past a stop within which the vehicle is assumed to have passed it while the process was down, metres: some seconds of
    /// driving. A vehicle further away may not have been there.
    private static let longestPassage = 300.0

    /// Returns the vehicle's place on the rest of its previous route; nil when the vehicle is elsewhere.
    static func place(
        of position: VehiclePosition, on route: Route, from kept: TripSnapshot, _ config: NavigatorConfig
    ) -> ResumePlace? {
        let leg = route.legs[kept.leg]
        let end = leg.routeOffset + leg.length
        func offset(within range: ClosedRange<Double>) -> Double? {
            guard let road = position.road else { return nil }
            for edge in route.edges where edge.key == road.edgeKey {
                let along = min(max(road.offset - edge.startOffset, 0), max(edge.length, 0))
                if range.contains(edge.routeOffset + along) { return edge.routeOffset + along }
            }
            return nil
        }
        // At a stop, the trip waits for the next leg regardless of the vehicle's position, which may be further along the route. The route
        // may use the road at the stop again much later.
        if kept.isAtStop {
            let stop = route.waypoints[leg.destination].snapped
            let hasLeft = Geodesy.distance(position.coordinate, stop) > config.deviationMaximumDistance
            return ResumePlace(
                offset: end,
                beyondStop: hasLeft ? offset(within: end...max(route.length, end)).map { $0 - end } : nil)
        }
        if let offset = offset(within: leg.routeOffset...max(end, leg.routeOffset)) {
            return ResumePlace(offset: offset)
        }
        if config.arrivalMaximumSpeed == nil, config.arrivalDwell == 0,
            let offset = offset(within: end...(end + longestPassage))
        {
            return ResumePlace(offset: end, beyondStop: offset - end)
        }
        let tolerance = min(
            max(config.deviationMinimumDistance, config.deviationBaseDistance + 2 * (position.sigma ?? 0)),
            config.deviationMaximumDistance)
        guard let near = route.line.project(position.coordinate, within: leg.routeOffset...max(end, leg.routeOffset)),
            near.distance <= tolerance
        else { return nil }
        return ResumePlace(offset: near.offset)
    }

    /// Restores the stage of a resumed trip.
    func resume(_ kept: TripSnapshot, at place: ResumePlace) {
        stage =
            kept.isAtStop
            ? .atStop(leg: kept.leg, isHeld: kept.isHeld) : .driving(leg: kept.leg, isApproaching: false)
        resumeCursor(at: place)
    }

    /// Whether the vehicle is at the end of a leg.
    var isAtStop: Bool {
        if case .atStop = stage { return true }
        return false
    }
}
