package import NavGeo
package import NavMessages
package import NavNavigator
import NavRouting

extension NavMessages.RoutePreview {
    /// Creates the message of a preview's routes.
    package init(_ preview: NavNavigator.RoutePreview, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session,
            routeId: preview.routes.isEmpty ? nil : preview.routes[preview.active].id,
            causeSequence: context.cause, eventSequence: context.eventSequence,
            routes: preview.routes.map { NavMessages.Route($0, at: context.stamp) },
            activeIndex: preview.routes.isEmpty ? nil : UInt32(preview.active),
            error: preview.failure.map { ErrorInfo($0) })
    }
}

extension NavMessages.Route {
    /// Creates a selectable route, with its arrival for a departure at a given moment.
    package init(_ previewed: PreviewedRoute, at stamp: NavGeo.Timestamp) {
        self.init(previewed.plan)
        stampNs = stamp.nanoseconds
        routeId = previewed.id
        if !previewed.via.isEmpty { summary?.names = previewed.via }
        let departure = max(previewed.plan.preferences?.departure ?? stamp, stamp)
        summary?.etaNs = departure.advanced(bySeconds: previewed.plan.route.duration).nanoseconds
    }
}

extension NavMessages.Route {
    /// Creates a route offered during guidance, with its arrival if it is taken now.
    ///
    /// - Parameters:
    ///   - id: Its number among the offered routes; nil when it is numbered only when it comes into force.
    ///   - duration: The time from the vehicle to the destination, seconds; nil for the plan's duration.
    package init(offered plan: RoutePlan, id: UInt64?, in context: EventContext, duration: Double? = nil) {
        self.init(plan)
        (stampNs, sessionId, routeId, causeSequence) = (context.stamp.nanoseconds, context.session, id, context.cause)
        let duration = duration ?? plan.route.rest(from: plan.offset).duration
        summary?.etaNs = context.stamp.advanced(bySeconds: duration).nanoseconds
    }
}

extension NavMessages.Alternatives {
    /// Creates the message of the alternatives to the route in force.
    package init(_ update: AlternativesUpdate, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence,
            alternatives: update.alternatives.map { NavMessages.Alternative($0, in: context) }, added: update.added,
            removed: update.removed.map {
                RemovedAlternative(routeId: $0.id, reason: AlternativeRemovalReason($0.reason))
            }, error: update.failure.map { ErrorInfo($0) })
    }
}

extension NavMessages.Alternative {
    package init(_ offered: OfferedAlternative, in context: EventContext) {
        let alternative = offered.plan.alternative
        var route = NavMessages.Route(
            offered: offered.plan.plan, id: offered.id, in: context, duration: offered.duration)
        if !alternative.via.isEmpty { route.summary?.names = alternative.via }
        self.init(
            route: route, fork: NavMessages.Coordinate(alternative.fork.coordinate), forkOffsetM: offered.forkOffset,
            distanceToForkM: offered.distanceToFork, forkPointMain: UInt32(clamping: offered.forkPoint),
            forkPoint: UInt32(clamping: alternative.route.line.index(nearest: alternative.fork.routeOffset)),
            join: offered.join.map { NavMessages.Coordinate($0) },
            distanceFromForkM: alternative.lengthFromFork, durationFromForkS: alternative.durationFromFork,
            distanceFromHereM: offered.distance, durationFromHereS: offered.duration,
            distanceDeltaM: alternative.lengthDelta, durationDeltaS: offered.durationDelta)
    }
}

extension NavMessages.Coordinate {
    package init(_ coordinate: NavGeo.Coordinate) {
        self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
    }
}

extension NavMessages.AlternativeSwitch {
    /// Creates the message of a phase of switching to an alternative.
    package init(_ event: NavNavigator.AlternativeSwitch, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, alternativeRouteId: event.id,
            byDriving: event.isByDriving,
            pose: event.position.map { Pose($0) })
        switch event.phase {
        case .willTake: phase = .willTake
        case .taken(let old):
            phase = .taken
            oldRouteId = old
        case .failed(let failure):
            phase = .failed
            error = ErrorInfo(failure)
        }
    }
}

extension NavMessages.FasterRoute {
    /// Creates the message of a phase in the handling of a faster route.
    package init(_ event: FasterRouteEvent, context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, gainS: event.gain.seconds,
            gainRatio: event.gain.share, fasterRouteId: event.id,
            pricing: NavMessages.RouteProvider(event.gain.pricing),
            trafficStampNs: event.gain.trafficStamp?.nanoseconds)
        switch event.phase {
        case .detected(let until):
            phase = .detected
            route = NavMessages.Route(offered: event.plan, id: event.id, in: context)
            acceptUntilNs = until?.nanoseconds
        case .applied: phase = .applied
        case .rejected(let why):
            phase = .rejected
            reason =
                switch why {
                case .refused(let reason): reason.isEmpty ? "refused" : reason
                case .notApproved: "not approved in time"
                case .nobodyAsked:
                    "no approval was requested: policy.ask lacks accept_faster_route, or too many requests are pending"
                case .tooLate: "too close to the fork"
                case .superseded: "superseded by another route"
                case .ended: "navigation ended"
                }
        }
    }
}

extension NavMessages.RouteSummary {
    /// Creates the summary of the rest of a refreshed route.
    package init(_ event: RefreshEvent, at stamp: NavGeo.Timestamp) {
        self.init(event.plan.route, from: event.plan.offset)
        etaNs = stamp.advanced(bySeconds: durationS ?? 0).nanoseconds
    }
}

extension NavMessages.RouteRefresh {
    /// Creates the message of refreshed durations.
    package init(_ event: RefreshEvent, context: EventContext, progress: NavMessages.RouteProgress?) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence)
        switch event.phase {
        case .refreshing: phase = .refreshing
        case .refreshed(let changed):
            phase = .refreshed
            changedSegmentCount = UInt32(clamping: changed)
            etaDeltaS = event.delta
            let rest = NavMessages.RouteSummary(event, at: context.stamp)
            (summary, trafficStampNs, self.progress) = (rest, rest.trafficStampNs, progress)
        case .failed(let failure):
            phase = .failed
            error = ErrorInfo(failure)
        case .invalidated:
            phase = .invalidated
            error = ErrorInfo(
                code: .noRoute, message: "a road ahead on the route is closed, or no longer in the map",
                retryable: false)
        }
    }
}
