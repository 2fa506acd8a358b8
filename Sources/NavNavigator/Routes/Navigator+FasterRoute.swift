import NavGeo
import NavPositioning
import NavRouting

/// Faster routes: periodic searches until shortly before the destination, detection, approval and application.
extension Navigator {
    func considerFasterRoute(_ position: VehiclePosition, _ event: NavigatorEvent) {
        guard let trip else { return }
        if let offer = faster.offer, isTooLate(offer, trip) {
            withdraw(.acceptFasterRoute)
            _ = faster.take()
            report(.rejected(.tooLate), offer, event)
        }
        // A faster route would start the next leg, but a trip held at a stop continues only on AdvanceLeg.
        let isPossible = position.isSeenUnderWay && search.isIdle && !trip.isAtStop
        guard !routes.contains(\.isFasterRoute), faster.isDue(at: event.stamp, trip, isPossible: isPossible) else {
            return
        }
        faster.begin(at: event.stamp)
        request(
            query(
                routes.nextID(), .fasterRoute, [origin(position, keepsCourse: true)] + trip.remainingWaypoints,
                preferencesInForce, at: event.stamp),
            for: .fasterRoute(from: position, offset: trip.offset), cause: event.causeSequence, event)
    }

    /// The preferences of the route in force: a reroute may have its own preferences, which a faster route or an alternative must respect.
    var preferencesInForce: RoutePreferences {
        guard var preferences = trip?.plan.preferences else { return session.preferences }
        // These applied to the reroute only.
        let usual = session.preferences.options
        preferences.options.initialManeuverAvoidance = usual.initialManeuverAvoidance
        preferences.options.chosenRoute = usual.chosenRoute
        preferences.options.chosenRouteFactor = usual.chosenRouteFactor
        return preferences
    }

    /// Whether the fork is too near or already passed.
    private func isTooLate(_ offer: FasterRouteMonitor.Offer, _ trip: Trip) -> Bool {
        let state = trip.deviation.state
        return state == .offRoute || state == .wrongWay || offer.forkOffset - trip.offset < leastToFork
    }

    /// The least distance to a fork for the route to be offered, metres.
    var leastToFork: Double {
        max((lastPosition?.speed ?? 0) * config.rerouteMinimumCommitTime, config.cursorSlack)
    }

    /// Considers the answer to a request from the vehicle's position `origin`, `start` metres from the start of the route in force.
    func takeFasterRoute(
        _ answer: RouteAnswer, from origin: VehiclePosition, at start: Double, _ event: NavigatorEvent
    ) {
        guard let trip, !trip.isComplete, !trip.isAtStop, search.isIdle, trip.deviation.state == .onRoute,
            case .found(let found) = answer, found.main.defect == nil
        else { return }
        // Time both routes with the same traffic.
        if found.main.provider != .onBoard, found.main.provider == trip.plan.provider {
            refreshRoute(by: found.main.route, event)
        } else if !refresh.isFresh(at: event.stamp) {
            refreshRoute(event)
        }
        guard let trip = self.trip,
            let gain = faster.gain(of: found.main, over: trip, from: start, pricing(at: event.stamp))
        else {
            faster.counts.notWorthIt += 1
            return
        }
        faster.counts.detected += 1
        let approval = config.faster.approval
        var plan = found.main
        plan.preferences = preferencesInForce
        let offer = FasterRouteMonitor.Offer(
            id: session.nextRoute(), plan: plan, gain: gain, origin: origin,
            until: approval == .manual ? event.stamp.advanced(bySeconds: config.faster.acceptFor) : nil,
            forkOffset: FasterRouteMonitor.forkOffset(of: found.main.route, over: trip, from: start))
        faster.keep(offer)
        let isAsked = approval != .manual && isAsked(.acceptFasterRoute)
        let answerBy = isAsked ? event.stamp.advanced(bySeconds: config.policy.patience(.acceptFasterRoute)) : nil
        report(.detected(acceptUntil: offer.until ?? answerBy), offer, event)
        guard approval != .manual else { return }
        ask(.acceptFasterRoute(id: offer.id, offer.plan, gain), standard: approval == .automatic, event)
    }

    func decideFasterRoute(
        _ accepts: Bool, _ decider: PolicyDecider, reason: String = "", hold: Double = 0, _ event: NavigatorEvent
    ) {
        guard let offer = faster.take(), let old = trip else { return }
        guard accepts else {
            faster.hold(for: hold, at: event.stamp)
            let rejection: FasterRouteEvent.Rejection =
                switch decider {
                case .client, .recorded: .refused(reason)
                case .timeout, .unavailable: .notApproved
                case .standard: .nobodyAsked
                }
            return report(.rejected(rejection), offer, event)
        }
        if isTooLate(offer, old) { return report(.rejected(.tooLate), offer, event) }
        cancelSearch(event)
        replaceRoute(
            offer.plan, origin: offer.origin, .fasterRoute, as: offer.id,
            isChosen: decider == .client || decider == .recorded, event)
        publish(
            .reroute(
                RerouteEvent(
                    phase: .applied(oldRouteID: old.routeID), reason: .fasterRoute, requestID: routes.nextID(),
                    position: lastPosition, provider: offer.plan.provider)), event)
        report(.applied(oldRouteID: old.routeID), offer, event)
        instructAtOnce(event)
    }

    /// Applies a user's decision, even while the owner's decision is pending.
    func acceptFasterRoute(_ accepts: Bool, _ route: UInt64?, _ call: UInt64, _ event: NavigatorEvent) {
        guard let offer = faster.offer else { return refuse(call, "no faster route is offered", .notFound) }
        if let route, route != offer.id {
            return refuse(call, "route \(route) is not offered: the faster route is \(offer.id)", .notFound)
        }
        withdraw(.acceptFasterRoute)
        decideFasterRoute(accepts, .client, hold: config.policy.hold, event)
        reply(.following(sessionID: session.id, routeID: trip?.routeID ?? 0), to: call)
    }

    /// Refuses the offer that a user has not approved in time.
    func refuseOverdueFasterRoute(_ event: NavigatorEvent) {
        guard let until = faster.offer?.until, until <= event.stamp else { return }
        decideFasterRoute(false, .timeout, event)
    }

    func report(_ phase: FasterRouteEvent.Phase, _ offer: FasterRouteMonitor.Offer, _ event: NavigatorEvent) {
        publish(.fasterRoute(FasterRouteEvent(phase: phase, id: offer.id, plan: offer.plan, gain: offer.gain)), event)
    }
}
