import NavGeo
import NavGuidance
import NavMatching
import NavPositioning
import NavRouting

/// Reroutes, from the first consideration to the route in force: decision, request, answer, application.
extension Navigator {
    /// Whether a position is accurate enough to start a trip from.
    func canStart(at position: VehiclePosition) -> Bool {
        (position.sigma ?? 0) <= config.positioning.fixes.startMaximumAccuracy
    }

    // MARK: Deciding

    func considerReroute(_ position: VehiclePosition, _ event: NavigatorEvent) {
        guard let trip else { return }
        if trip.wasSeenOnRoute { search.noteSeenOnRoute() }
        let reason: RerouteEvent.Reason
        switch trip.deviation.state {
        case .offRoute: reason = .offRoute
        case .wrongWay: reason = .wrongWay
        case .onRoute, .offStep:
            if trip.isBlocked {
                reason = .routeInvalidated
            } else if trip.hasMissedStop(position) {
                reason = .waypoint
            } else {
                if let draft = search.draft, !draft.isAnnounced { withdraw(.shouldReroute) }
                return search.noteOnRoute()
            }
        case .uncertain: return
        }
        // A predicted position cannot be off-route.
        guard position.isSeen, config.rerouteDetect, !trip.suppressesReroute(at: position),
            search.mayReroute(reason, at: event.stamp, position)
        else { return }
        search.consider(draft(reason, from: position, event))
        ask(.shouldReroute(reason, trip.deviation.state), standard: true, event)
    }

    private func draft(
        _ reason: RerouteEvent.Reason, from position: VehiclePosition, preferences: RoutePreferences? = nil,
        waypoints: [Waypoint]? = nil, isByHand: Bool = false, _ event: NavigatorEvent
    ) -> RouteSearch.Draft {
        RouteSearch.Draft(
            id: routes.nextID(), cause: event.causeSequence, reason: reason,
            preferences: preferences ?? session.preferences,
            waypoints: waypoints ?? trip?.remainingWaypoints ?? [], origin: position, isByHand: isByHand)
    }

    func decideReroute(_ decision: PolicyDecision, _ event: NavigatorEvent) {
        guard let draft = search.draft, !draft.isAnnounced else { return }
        guard decision.verdict else { return search.deny(for: hold(decision), at: event.stamp) }
        announce(draft, event)
    }

    /// Handles a user's request to reroute or to skip a waypoint.
    func rerouteByHand(
        _ reason: RerouteEvent.Reason, preferences: RoutePreferences? = nil, waypoints: [Waypoint]? = nil,
        skipping skipped: Int? = nil, call: UInt64, _ event: NavigatorEvent
    ) {
        guard let trip, !trip.isComplete else { return refuse(call, "there is no trip under way") }
        guard let lastPosition else { return refuse(call, "the vehicle's position is unknown", .noPosition) }
        guard search.acceptsManualReroute else { return refuse(call, "a route request is already pending") }
        if let fault = preferences?.options.fault { return refuse(call, fault, .invalidRequest) }
        withdraw(.shouldReroute)
        let draft = draft(
            reason, from: lastPosition, preferences: preferences, waypoints: waypoints, isByHand: true, event)
        reply(.requested(requestID: draft.id, skipped: skipped), to: call)
        announce(draft, event)
    }

    /// Replies to a call with a failure.
    func refuse(_ call: UInt64, _ message: String, _ code: RouteFailure.Code = .wrongState) {
        reply(.failed(RouteFailure(code: code, message: message)), to: call)
    }

    private func announce(_ draft: RouteSearch.Draft, _ event: NavigatorEvent) {
        supersedeOffers(event)
        var draft = draft
        draft.isAnnounced = true
        search.consider(draft)
        report(.willReroute, draft, event)
        ask(.rerouteOptions(draft.reason, draft.preferences, draft.waypoints), standard: true, event)
    }

    /// Repeats a failed search without the owner's options.
    private func fetchWithoutOptions(_ failed: RouteSearch.Draft, _ own: RouteOrder, _ event: NavigatorEvent) {
        var draft = failed
        (draft.id, draft.preferences, draft.waypoints) = (routes.nextID(), own.preferences, own.waypoints)
        (draft.replaced, draft.attempt) = (nil, nil)
        report(.willReroute, draft, event)
        fetch(draft, event, isRepeat: true)
    }

    // MARK: Requesting

    func fetchReroute(_ decision: PolicyDecision, _ event: NavigatorEvent) {
        guard var draft = search.draft, draft.isAnnounced else { return }
        let position = lastPosition ?? draft.origin
        if case .reroute(let preferences, var waypoints) = decision.answer.content {
            // The owner may list the vehicle's position as the first waypoint; as a stop it would already be behind.
            if waypoints.count > 1, let first = waypoints.first?.coordinate, first.isValid,
                first != draft.waypoints.first?.coordinate,
                [draft.origin, position].contains(where: {
                    Geodesy.distance(first, $0.match.raw) <= Self.vehicleWaypointDistance
                })
            {
                waypoints.removeFirst()
            }
            let own = RouteOrder(waypoints: draft.waypoints, preferences: draft.preferences)
            // Invalid preferences would end the search.
            if let preferences, preferences.options.fault == nil { draft.preferences = preferences }
            if !waypoints.isEmpty, waypoints.allSatisfy(\.coordinate.isValid) { draft.waypoints = waypoints }
            if (draft.waypoints, draft.preferences) != (own.waypoints, own.preferences) { draft.replaced = own }
        }
        fetch(draft, event)
    }

    private func fetch(_ draft: RouteSearch.Draft, _ event: NavigatorEvent, isRepeat: Bool = false) {
        var draft = draft
        let position = lastPosition ?? draft.origin
        draft.origin = position
        var options = draft.preferences.options
        if options.initialManeuverAvoidance == 0 {
            options.initialManeuverAvoidance = maneuverAvoidance(at: position, refusals: search.refusals)
        }
        if options.chosenRoute.isEmpty, !draft.skipsWaypoint {
            options.chosenRoute = session.chosenRoute
            options.chosenRouteFactor = config.chosenRouteFactor
        }
        draft.preferences.options = options
        draft.attempt = search.attempt(for: .reroute(draft))
        let request = search.begin(.reroute(draft), id: draft.id, at: event.stamp, from: position, isRepeat: isRepeat)
        // A second attempt may start with a U-turn, in case no road leads ahead.
        let start = origin(position, keepsCourse: search.failures == 0)
        var query = self.query(request.id, .reroute, [start] + draft.waypoints, draft.preferences, at: event.stamp)
        query.allowsOnline = query.allowsOnline && !providerRests
        report(
            .fetching(attempt: request.attempt), draft, event,
            config.hasOnlineProvider && query.allowsOnline && query.usesTraffic ? .online : .onBoard)
        self.request(query, for: .search, cause: draft.cause, event)
    }

    /// The distance within which the first of several waypoints counts as the vehicle's own position, metres.
    private static let vehicleWaypointDistance = 50.0

    /// Returns the distance within which a new route avoids maneuvers, metres.
    private func maneuverAvoidance(at position: VehiclePosition, refusals: Int) -> Double {
        let distance =
            config.rerouteManeuverAvoidanceDistance ?? config.rerouteManeuverAvoidance * (position.speed ?? 0)
        let committed = config.rerouteMinimumCommitTime * (position.speed ?? 0)
        let wanted = max(distance, refusals > 0 ? committed * Double(refusals) * 1.5 : 0)
        return wanted.isFinite ? min(max(wanted, 0), RouteOptions.greatestInitialRadius) : 0
    }

    func query(
        _ id: UInt64, _ purpose: RoutePurpose, _ waypoints: [Waypoint], _ preferences: RoutePreferences,
        at stamp: Timestamp, startsHere: Bool = true, alternatives: Int = 0, to current: Route? = nil
    ) -> RouteQuery {
        RouteQuery(
            requestID: id, purpose: purpose,
            request: RouteRequest(
                waypoints: waypoints, snapRadius: config.snapRadius,
                positionSnapRadius: startsHere ? config.positionSnapRadius : nil, options: preferences.options),
            vehicle: preferences.vehicle, allowsOnline: preferences.allowsOnline, usesTraffic: preferences.usesTraffic,
            wording: preferences.wording(config.wording), alternatives: alternatives, current: current,
            deadline: stamp.advanced(bySeconds: config.rerouteDeadline))
    }

    // MARK: The answer

    func take(_ answer: RouteAnswer, _ request: RouteSearch.Request, _ event: NavigatorEvent) {
        switch answer {
        case .failed(let failure): fail(request, failure, event)
        case .found(let found):
            if let failure = RouteFailure(defectOf: found.main) { return fail(request, failure, event) }
            switch request.purpose {
            case .start(let order):
                search.finish()
                start(found.main, order, origin: request.origin, .started, event)
            case .reroute(let draft): take(found.main, request, draft, event)
            }
        }
    }

    func fail(_ request: RouteSearch.Request, _ failure: RouteFailure, _ event: NavigatorEvent) {
        defer { if !failure.missingTiles.isEmpty { perform(.needTiles(failure.missingTiles)) } }
        if case .reroute(let draft) = request.purpose, let own = draft.replaced, failure.isOfRequest {
            var failure = failure
            failure.message += "; searching again without the options of RerouteOptions"
            report(.failed(failure, nextAttempt: event.stamp), draft, event)
            return fetchWithoutOptions(draft, own, event)
        }
        let next = search.fail(request, failure, at: event.stamp)
        switch request.purpose {
        case .reroute(let draft): report(.failed(failure, nextAttempt: next), draft, event)
        case .start(let order):
            reply(.failed(failure), to: order.call)
            // A waiting caller has received the failure, and the current route is unchanged: publish it only without a caller.
            guard order.call == 0 else { break }
            publish(
                .reroute(
                    RerouteEvent(
                        phase: .failed(failure, nextAttempt: next), reason: .manual, requestID: request.id,
                        attempt: request.attempt, position: lastPosition)), event)
        }
    }

    /// Replaces the trip's route, unless the vehicle has returned to its route or has moved elsewhere.
    private func take(
        _ plan: RoutePlan, _ request: RouteSearch.Request, _ draft: RouteSearch.Draft, _ event: NavigatorEvent
    ) {
        var plan = plan
        plan.preferences = draft.preferences
        report(.fetched, draft, event, plan.provider)
        if let rejection = objection(to: plan, draft) {
            search.finish()
            if rejection == .stale { search.refuse(request, for: config.rerouteBackoffFirst, at: event.stamp) }
            return report(.rejected(rejection), draft, event, plan.provider)
        }
        let seconds = secondsToManeuver(of: plan)
        // A user's reroute is not retried after a refusal, so refusing it here would lose it.
        guard config.rerouteMinimumCommitTime > 0, !draft.isByHand, seconds < config.rerouteMinimumCommitTime
        else { return apply(plan, request, draft, event) }
        search.propose(request)
        ask(
            .acceptReroute(plan, draft.reason, maneuverIn: seconds),
            standard: search.refusals >= config.rerouteGreatestRefusals, event)
    }

    /// Returns the reason why a found route is no longer useful; nil when it is.
    private func objection(to plan: RoutePlan, _ draft: RouteSearch.Draft) -> RerouteEvent.Rejection? {
        guard let trip else { return .superseded }
        let isOnRoute = trip.deviation.state == .onRoute || trip.deviation.state == .offStep
        switch draft.reason {
        case .offRoute, .wrongWay, .routeInvalidated: if isOnRoute, !trip.isBlocked { return .backOnRoute }
        case .waypoint where !draft.isByHand:
            if isOnRoute, let lastPosition, !trip.hasMissedStop(lastPosition) { return .backOnRoute }
        case .manual, .fasterRoute, .waypoint: break
        }
        guard let lastPosition, lastPosition.stamp > draft.origin.stamp else { return nil }
        // The vehicle has moved since the request: along the new route, or elsewhere.
        let driven = Geodesy.distance(lastPosition.coordinate, draft.origin.coordinate)
        let reach = min(driven * 2 + config.cursorForwardReach, plan.route.length)
        guard let place = plan.route.line.project(lastPosition.coordinate, within: 0...max(reach, 0)) else {
            return nil
        }
        let slack = config.deviationMaximumDistance + 2 * (lastPosition.sigma ?? config.deviationUnknownSigma)
        let snap = plan.route.waypoints.first?.snapDistance ?? 0
        return place.distance > slack + snap ? .stale : nil
    }

    /// Returns the seconds to a route's first maneuver at the current speed; infinite for a stationary vehicle.
    private func secondsToManeuver(of plan: RoutePlan) -> Double {
        guard let speed = lastPosition?.speed, speed > config.deviationMinimumSpeed,
            let steps = plan.guidance.legs.first, steps.count >= 2
        else { return .infinity }
        return plan.guidance.steps[steps.lowerBound + 1].routeOffset / speed
    }

    func decideProposal(_ plan: RoutePlan, _ decision: PolicyDecision, _ event: NavigatorEvent) {
        guard let request = search.proposal, case .reroute(let draft) = request.purpose else { return }
        if decision.verdict {
            if let rejection = objection(to: plan, draft) {
                search.finish()
                return report(.rejected(rejection), draft, event, plan.provider)
            }
            return apply(plan, request, draft, event)
        }
        let isOwners = decision.answer.decider == .client || decision.answer.decider == .recorded
        search.refuse(request, for: isOwners ? hold(decision) : config.rerouteBackoffFirst, at: event.stamp)
        report(.rejected(isOwners ? .policy : .tooNear), draft, event, plan.provider)
    }

    private func apply(
        _ plan: RoutePlan, _ request: RouteSearch.Request, _ draft: RouteSearch.Draft, _ event: NavigatorEvent
    ) {
        guard let old = trip else { return }
        search.finish()
        replaceRoute(
            plan, origin: request.origin, draft.skipsWaypoint ? .waypointSkipped : .rerouted, event)
        report(.applied(oldRouteID: old.routeID), draft, event, plan.provider)
        instructAtOnce(event)
    }

    // MARK: Ending

    /// Cancels the current search, which has become obsolete.
    func cancelSearch(_ event: NavigatorEvent) {
        let (pending, draft, proposal, wanted) = (search.pending, search.draft, search.proposal, search.wanted)
        search.finish()
        withdraw(.shouldReroute, .rerouteOptions, .acceptReroute)
        cancelRequests { $0.isSearch }
        if let wanted {
            reply(.failed(RouteFailure(code: .cancelled, message: "superseded by another command")), to: wanted.call)
        }
        if let draft, draft.isAnnounced { report(.rejected(.superseded), draft, event) }
        if case .reroute(let draft) = (pending ?? proposal)?.purpose { report(.rejected(.superseded), draft, event) }
    }

    private func report(
        _ phase: RerouteEvent.Phase, _ draft: RouteSearch.Draft, _ event: NavigatorEvent,
        _ provider: RouteProvider? = nil
    ) {
        publish(
            .reroute(
                RerouteEvent(
                    phase: phase, reason: draft.reason, requestID: draft.id, attempt: draft.attempt,
                    position: lastPosition,
                    maneuverAvoidance: draft.preferences.options.initialManeuverAvoidance, provider: provider)), event)
    }
}

extension RouteFailure {
    /// Creates the failure for a plan that cannot be driven; nil when it can.
    init?(defectOf plan: RoutePlan) {
        guard let defect = plan.defect else { return nil }
        self.init(code: .internal, message: "the route is unusable: \(defect)")
    }

    /// Whether another request from the same place may have a route now.
    fileprivate var isOfRequest: Bool { [.noRoute, .noRoadNearby, .invalidRequest].contains(code) }
}
