import NavGeo
import NavPositioning
import NavRouting

/// Alternatives to the route in force: search, updates, and switches by a call or by driving onto one.
extension Navigator {
    func considerAlternatives(_ position: VehiclePosition, _ event: NavigatorEvent) {
        guard let trip else { return }
        // A trip held at a stop continues only on AdvanceLeg, as with a faster route.
        if !trip.isAtStop, let offered = alternatives.follow(position, on: trip), policyIsOpen(offered) {
            // Do not repeat a pending question.
            alternatives.refuse(
                offered.id, until: event.stamp.advanced(bySeconds: config.policy.longestWait(.shouldTakeAlternative)))
            ask(.shouldTakeAlternative(offered), standard: true, event)
        }
        guard let trip = self.trip else { return }
        report(alternatives.pass(trip, at: event.stamp), event)
        guard trip.deviation.state == .onRoute, trip.wasSeenOnRoute, !search.isRerouting, position.isSeenUnderWay,
            map.router.isHierarchical, !routes.contains(\.isAlternatives), alternatives.isDue(at: event.stamp, position)
        else { return }
        alternatives.begin(at: event.stamp, from: position)
        request(
            query(
                routes.nextID(), .alternatives, [origin(position, keepsCourse: true)] + trip.remainingWaypoints,
                preferencesInForce, at: event.stamp, alternatives: config.alternatives.limit, to: trip.plan.route),
            for: .alternatives, cause: event.causeSequence, event)
    }

    /// Whether a decision on an alternative may be requested: not while the decision on a proposed route is pending.
    private func policyIsOpen(_ offered: OfferedAlternative) -> Bool { search.proposal == nil }

    func takeAlternatives(_ answer: RouteAnswer, _ event: NavigatorEvent) {
        guard let trip else { return }
        switch answer {
        case .found(let found):
            report(
                alternatives.take(
                    found, with: preferencesInForce, for: trip, leastToFork: leastToFork, at: event.stamp), event)
        case .failed(let failure): report(alternatives.fail(failure, for: trip), event)
        }
    }

    /// Publishes an update; does nothing for nil.
    func report(_ update: AlternativesUpdate?, _ event: NavigatorEvent) {
        if let update { publish(.alternatives(update), event) }
    }

    // MARK: Switching to one

    func decideAlternative(_ offered: OfferedAlternative, _ decision: PolicyDecision, _ event: NavigatorEvent) {
        // Do not retry an alternative that cannot be driven.
        let pause = decision.verdict ? Self.longestHold : hold(decision)
        alternatives.refuse(offered.id, until: event.stamp.advanced(bySeconds: pause))
        guard decision.verdict, let trip, alternatives.offered(offered.id, to: trip) != nil else { return }
        take(offered, isByDriving: true, call: 0, event)
    }

    func selectAlternative(_ id: UInt64, _ call: UInt64, _ event: NavigatorEvent) {
        guard let trip, !trip.isComplete else { return refuse(call, "there is no trip under way") }
        guard let offered = alternatives.offered(id, to: trip) else {
            return refuse(call, "alternative \(id) is not offered", .notFound)
        }
        guard offered.distanceToFork > 0 else {
            return refuse(call, "the vehicle has passed the fork to alternative \(id)", .wrongState)
        }
        take(offered, isByDriving: false, call: call, event)
    }

    private func take(
        _ offered: OfferedAlternative, isByDriving: Bool, call: UInt64, _ event: NavigatorEvent
    ) {
        guard let old = trip else { return }
        func step(_ phase: AlternativeSwitch.Phase) -> Publication {
            .alternativeSwitch(
                AlternativeSwitch(
                    phase: phase, id: offered.id, isByDriving: isByDriving, position: lastPosition))
        }
        publish(step(.willTake), event)
        let plan = offered.plan.plan
        let start = alternatives.offset(of: offered, isByDriving ? lastPosition : nil)
        if let failure = RouteFailure(defectOf: plan) ?? obstacle(on: plan, from: start, event) {
            publish(step(.failed(failure)), event)
            return reply(.failed(failure), to: call)
        }
        // Only one route change at a time: a search started when the vehicle left its route is obsolete.
        cancelSearch(event)
        replaceRoute(
            plan, origin: lastPosition, start: start, .alternativeTaken, taking: offered.id, isChosen: true, event)
        publish(step(.taken(oldRouteID: old.routeID)), event)
        instructAtOnce(event)
        reply(.following(sessionID: session.id, routeID: trip?.routeID ?? 0), to: call)
    }

    /// Returns the reason why an alternative found earlier can no longer be driven; nil when it can.
    private func obstacle(on plan: RoutePlan, from offset: Double, _ event: NavigatorEvent) -> RouteFailure? {
        let pricing = pricing(at: event.stamp)
        guard let closed = plan.route.pieces(from: offset).first(where: { pricing.isClosed($0.key) }) else {
            return nil
        }
        return RouteFailure(code: .noRoute, message: "way \(closed.wayID) of the alternative is closed or not loaded")
    }
}
