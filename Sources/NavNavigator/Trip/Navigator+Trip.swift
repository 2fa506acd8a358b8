import NavGeo
import NavGuidance
import NavPositioning
import NavRouting

/// Trips: start, route changes, legs, and end.
extension Navigator {
    // MARK: Commands

    func handle(_ command: NavigatorCommand, _ call: UInt64, _ event: NavigatorEvent) {
        switch command {
        case .calculate(let order, let isPreview): calculate(order, isPreview: isPreview, call, event)
        case .selectPreview(let choice): selectPreview(choice, call, event)
        case .start(let choice, let drive): startPreview(choice, drive, call, event)
        case .navigate(let order, let drive): navigate(order, drive, call, event)
        case .setRoute(let plan, let drive): setRoute(plan, drive, call, event)
        case .stop: stop(call, event)
        case .reroute(let preferences): rerouteByHand(.manual, preferences: preferences, call: call, event)
        case .selectAlternative(let id): selectAlternative(id, call, event)
        case .acceptFasterRoute(let accepts, let route): acceptFasterRoute(accepts, route, call, event)
        case .advanceLeg(let leg): advanceLeg(leg, call, event)
        case .skipWaypoint(let index): skipWaypoint(index, call, event)
        case .refreshRoute: refreshByHand(call, event)
        case .repeatInstruction: repeatInstruction(call, event)
        case .resume(let trip): resume(trip, event)
        }
    }

    func callEnded(_ call: UInt64, _ event: NavigatorEvent) {
        if search.wanted?.call == call, call != 0 {
            cancelRequests { $0.isSearch }
            search.failCall()
        }
        cancelRequests { $0.calculation?.call == call }
    }

    private func repeatInstruction(_ call: UInt64, _ event: NavigatorEvent) {
        guard let trip, !trip.isComplete else { return refuse(call, "there is no trip under way") }
        guard !trip.isSilent else { return refuse(call, "no instruction while off-route: wait for the reroute") }
        guard let (spoken, duration) = trip.repeatedInstruction(speed: lastPosition?.speed) else {
            return refuse(call, "the leg has no further instruction")
        }
        ask(
            .reviseInstruction(.spoken(spoken), distance: spoken.distance, duration: duration), standard: true, event)
        reply(.repeated(spoken, distance: spoken.distance, duration: duration, context(of: event)), to: call)
    }

    private func navigate(
        _ order: RouteOrder, _ drive: SimulatedDrive?, _ call: UInt64, _ event: NavigatorEvent
    ) {
        let displaced = call == 0 ? nil : search.displaceable
        cancelSearch(event)
        search.displace(displaced)
        let wanted = RouteSearch.PendingTrip(order: order, simulation: drive, call: call)
        if order.origin != nil || drive != nil && vehiclePosition == nil && config.originFallback != nil {
            requestStart(wanted, from: vehiclePosition, event)
        } else if let vehiclePosition, canStart(at: vehiclePosition) || trip?.isComplete == false {
            // A running trip can be rerouted only while no other trip waits for a position.
            requestStart(wanted, from: vehiclePosition, event)
        } else {
            awaitPosition(for: wanted)
        }
    }

    /// Defers a trip until there is a position. The requesting call is answered immediately, because the time to a first fix is unknown.
    private func awaitPosition(for wanted: RouteSearch.PendingTrip) {
        reply(.awaitingPosition, to: wanted.call)
        var waiting = wanted
        waiting.call = 0
        search.awaitPosition(for: waiting)
    }

    func requestStart(
        _ wanted: RouteSearch.PendingTrip, from position: VehiclePosition?, _ event: NavigatorEvent
    ) {
        let start =
            wanted.order.origin ?? position.map { origin($0, keepsCourse: true) }
            ?? config.originFallback.map { Waypoint($0) }
        guard let start else { return awaitPosition(for: wanted) }
        let id = routes.nextID()
        let request = search.begin(.start(wanted), id: id, at: event.stamp, from: position)
        // A second attempt may start with a U-turn, in case no road leads ahead.
        var first = start
        if request.attempt > 1, wanted.order.origin == nil { first.bearing = nil }
        self.request(
            query(
                id, .start, [first] + wanted.order.waypoints, wanted.order.preferences, at: event.stamp,
                startsHere: wanted.order.origin == nil && position != nil),
            for: .search, cause: event.causeSequence, event)
    }

    private func setRoute(
        _ plan: RoutePlan, _ drive: SimulatedDrive?, _ call: UInt64, _ event: NavigatorEvent
    ) {
        if let failure = RouteFailure(defectOf: plan) { return reply(.failed(failure), to: call) }
        cancelSearch(event)
        let order = RouteOrder(
            waypoints: plan.route.waypoints.dropFirst().map(\.waypoint),
            preferences: plan.preferences ?? RoutePreferences())
        start(
            plan, RouteSearch.PendingTrip(order: order, simulation: drive, call: call), origin: nil, .set, event)
    }

    private func stop(_ call: UInt64, _ event: NavigatorEvent) {
        cancelSearch(event)
        endPreview(event)
        let stopped = session.id
        if trip != nil {
            endSimulation(.stopped, event)
            supersedeOffers(by: .ended, event)
            report(alternatives.clear(.stopped, at: event.stamp), event)
            for request in questions.take(for: { _ in true }) { perform(.withdrawPolicy(requestID: request.id)) }
            publish(.visual(nil, distance: 0, duration: 0), event)
            trip = nil
            publish(.route(nil, .stopped), event)
            session.end()
        }
        reply(.stopped(sessionID: stopped), to: call)
    }

    // MARK: Routes

    func start(
        _ plan: RoutePlan, _ wanted: RouteSearch.PendingTrip, origin: VehiclePosition?, _ change: RouteChange,
        _ event: NavigatorEvent
    ) {
        endPreview(event)
        endSimulation(.stopped, event)
        supersedeOffers(event)
        report(alternatives.clear(.routeChanged, at: event.stamp), event)
        withdraw(.shouldAdvanceLeg, .shouldPreventReroutesWhenArriving, .reviseInstruction)
        if let kept = wanted.resumed {
            session.resume(kept, alongSameRoute: false)
        } else {
            session.begin(wanted.order.preferences, at: event.stamp)
        }
        search = RouteSearch(config)
        put(plan, origin: origin, start: 0, isApproaching: false, event)
        if let trip, wanted.resumed == nil || session.chosenRoute.isEmpty {
            session.choose(plan.route, id: trip.routeID)
        }
        report(trip?.plan ?? plan, wanted.resumed == nil ? change : .resumed, event)
        reply(.following(sessionID: session.id, routeID: trip?.routeID ?? 0), to: wanted.call)
        if let drive = wanted.simulation { simulate(drive, event) } else { instructAtOnce(event) }
    }

    /// Continues along another route of the same trip.
    ///
    /// - Parameter isChosen: Whether the driver or the owner chose this route, so that later reroutes prefer it.
    func replaceRoute(
        _ plan: RoutePlan, origin: VehiclePosition?, start: Double = 0, _ change: RouteChange,
        taking alternative: UInt64? = nil, as id: UInt64? = nil, isChosen: Bool = false,
        _ event: NavigatorEvent
    ) {
        supersedeOffers(event)
        report(alternatives.clear(.routeChanged, at: event.stamp, except: alternative), event)
        let isUndecided = questions.contains { $0.question.kind == .shouldPreventReroutesWhenArriving }
        withdraw(.shouldAdvanceLeg, .shouldPreventReroutesWhenArriving, .reviseInstruction)
        // Announcements and decisions about the next stop remain valid as long as the stop is the same.
        let isSameStop = trip?.stop.waypoint.coordinate == plan.firstStop?.waypoint.coordinate
        let isApproaching = isSameStop && trip?.isApproaching ?? false
        let prevents = isApproaching && !isUndecided ? trip?.preventsReroutes : nil
        let isAtStop = trip?.isAtStop ?? false
        put(plan, origin: origin, start: start, isApproaching: isApproaching, id: id, event)
        trip?.preventsReroutes = prevents
        if isChosen, let trip { session.choose(plan.route, id: trip.routeID) }
        report(trip?.plan ?? plan, change, event)
        // At a stop, the replacing route begins with the next leg.
        if isAtStop, let trip { publish(.arrival(trip.legStart), event) }
    }

    func report(_ plan: RoutePlan, _ change: RouteChange, _ event: NavigatorEvent) {
        var plan = plan
        plan.chosenRouteID = session.chosenRouteID
        plan.offset = trip?.offset ?? 0
        publish(.route(plan, change), event)
    }

    func put(
        _ plan: RoutePlan, origin: VehiclePosition?, start: Double, isApproaching: Bool, id: UInt64? = nil,
        _ event: NavigatorEvent
    ) {
        var plan = plan
        plan.preferences = plan.preferences ?? session.preferences
        let jumpedAt = trip?.jumpedAt
        trip = Trip(
            plan, routeID: id ?? session.nextRoute(), graph: map.graph, config: config, at: event.stamp, origin: origin,
            start: start, isApproaching: isApproaching)
        trip?.jumpedAt = jumpedAt
        let pricing = pricing(at: event.stamp)
        trip?.noteClosures(pricing)
        trip?.price(pricing)
        faster.restart(at: event.stamp)
        refresh.restart(at: event.stamp)
    }

    /// Withdraws offers made for the previous route: a faster route, and questions about alternatives.
    func supersedeOffers(by rejection: FasterRouteEvent.Rejection = .superseded, _ event: NavigatorEvent) {
        withdraw(.shouldTakeAlternative, .acceptFasterRoute)
        cancelRequests { $0.isAlternatives }
        cancelRequests { $0.isFasterRoute }
        if let offer = faster.take() { report(.rejected(rejection), offer, event) }
    }

    /// Handles the arrival at the destination, after which the route no longer changes.
    func endOfTrip(_ event: NavigatorEvent) {
        if search.isRerouting || search.draft != nil { cancelSearch(event) }
        withdraw(.shouldAdvanceLeg, .shouldPreventReroutesWhenArriving)
        endSimulation(.arrived, event)
        supersedeOffers(by: .ended, event)
        report(alternatives.clear(.routeChanged, at: event.stamp), event)
    }

    // MARK: Legs

    private func advanceLeg(_ leg: Int?, _ call: UInt64, _ event: NavigatorEvent) {
        guard let trip, trip.isAtStop else { return refuse(call, "the vehicle is not waiting at a waypoint") }
        if let leg, leg != trip.leg + 1 {
            return refuse(call, "leg \(leg) does not start here: the next leg is \(trip.leg + 1)", .notFound)
        }
        guard let arrival = self.trip?.advanceLeg() else { return }
        withdraw(.shouldAdvanceLeg)
        publish(.arrival(arrival), event)
        reply(.legStarted(self.trip?.progress, context(of: event)), to: call)
    }

    func report(_ arrival: ArrivalEvent, _ event: NavigatorEvent) {
        publish(.arrival(arrival), event)
        guard arrival.phase == .arrived, !arrival.isDestination, let waypoint = trip?.stop else { return }
        leaveBehind(event)
        ask(.shouldAdvanceLeg(waypoint: arrival.waypoint, waypoint), standard: config.legsAutoAdvance, event)
    }

    /// Handles the arrival at a stop. Routes requested earlier lead through the stop and would lead back to it. Alternatives to the rest of
    /// the route are searched for again, because those found before are for the whole route.
    private func leaveBehind(_ event: NavigatorEvent) {
        if search.isRerouting || search.draft != nil { cancelSearch(event) }
        supersedeOffers(event)
        report(alternatives.clear(.routeChanged, at: event.stamp), event)
    }

    func decideLeg(_ waypoint: Int, _ advances: Bool, _ event: NavigatorEvent) {
        guard trip?.nextStop == waypoint, let arrival = advances ? trip?.advanceLeg() : trip?.hold() else { return }
        publish(.arrival(arrival), event)
    }

    /// Requests once per stop the decision whether a deviation near it leads to a reroute.
    func askWhetherNearStop(_ position: VehiclePosition, _ event: NavigatorEvent) {
        guard let trip, trip.preventsReroutes == nil, position.isDecisive, trip.isNearStop(position) else { return }
        self.trip?.preventsReroutes = config.arrivalSuppresses
        ask(
            .shouldPreventReroutesWhenArriving(waypoint: trip.nextStop, trip.stop), standard: config.arrivalSuppresses,
            event)
    }

    private func skipWaypoint(_ index: Int?, _ call: UInt64, _ event: NavigatorEvent) {
        guard let trip, !trip.isComplete else { return refuse(call, "there is no trip under way") }
        let ahead = trip.waypointsAhead
        let skipped = index ?? ahead.first ?? trip.nextStop
        guard let place = ahead.firstIndex(of: skipped) else {
            return refuse(call, "waypoint \(skipped) is not ahead", .notFound)
        }
        guard place < ahead.count - 1 else {
            return refuse(call, "waypoint \(skipped) is the destination: stop instead")
        }
        var waypoints = trip.remainingWaypoints
        waypoints.remove(at: place)
        rerouteByHand(.waypoint, waypoints: waypoints, skipping: skipped, call: call, event)
    }
}
