import NavGuidance
import NavMap
public import NavGeo
public import NavMatching
import NavRouting

/// The navigation core: events in, effects out.
///
/// It knows no clock, no socket and no file. Nothing but ``handle(_:)`` changes it, so the same events give the same effects. What needs
/// time, such as finding a route, is an effect that comes back as an event with an id; no step waits.
public struct Navigator {
    private var config: NavigatorConfig
    private var map: MapSnapshot
    private var positioning: Positioning
    private var search: RouteSearch
    private var lastPosition: Sighting?
    private var trip: Trip?
    private var session = Session()
    private var eventSequence: UInt64 = 0
    private var publishedState: NavigatorState?
    private var effects: [Effect] = []

    /// The numbers of a trip and its routes.
    private struct Session {
        /// The trip; 0 when there is none.
        var id: UInt64 = 0
        /// The last trip's.
        var lastID: UInt64 = 0
        var routes: UInt64 = 0

        mutating func begin(at stamp: Timestamp) {
            // Two trips that start at one moment are still two.
            id = max(UInt64(max(stamp.nanoseconds, 1)), lastID &+ 1)
            lastID = id
            routes = 0
        }

        mutating func end() { id = 0 }
    }

    /// A navigator on a map, without a position.
    public init(map: MapSnapshot, config: NavigatorConfig = NavigatorConfig(), matcher: MatcherConfig = MatcherConfig())
    {
        self.config = config
        self.map = map
        positioning = Positioning(metric: map.metric, config: config, matcher: matcher)
        search = RouteSearch(config)
    }

    /// Takes one event in and returns what is to be done, in order.
    public mutating func handle(_ event: NavigatorEvent) -> [Effect] {
        effects = []
        switch event.kind {
        case .fix(let fix): follow(positioning.take(fix, at: event.stamp, map.metric, prior), event)
        case .odometry(let odometry):
            follow(positioning.take(odometry, at: event.stamp, map.metric, prior), event)
        case .timer: follow(positioning.advance(to: event.stamp, map.metric, prior), event)
        case .command(let command): handle(command, event)
        case .routeAnswer(let id, let answer): handle(answer, id, event)
        case .mapChanged(let snapshot): adopt(snapshot, event)
        case .configured(let config): adopt(config)
        }
        publishStateIfChanged(event)
        return effects
    }

    private mutating func adopt(_ snapshot: MapSnapshot, _ event: NavigatorEvent) {
        let old = map.graph
        map = snapshot
        positioning.adopt(snapshot.metric)
        search.noteTiles(at: event.stamp)
        if old !== snapshot.graph, trip?.noteMap(from: old, to: snapshot.graph) == true, let plan = trip?.plan {
            publish(.route(plan, .mapChanged), event)
        }
        trip?.noteClosures(snapshot)
    }

    private mutating func adopt(_ config: NavigatorConfig) {
        self.config = config
        positioning.adopt(config)
        search.config = config
        trip?.config = config
    }

    // MARK: Positions

    /// When to send ``NavigatorEvent/Kind/timer``, if nothing else happens before; nil for never.
    public var due: Timestamp? { positioning.due }

    private mutating func follow(_ happenings: [Positioning.Happening], _ event: NavigatorEvent) {
        for happening in happenings {
            switch happening {
            case .rejected(let fix, let rejection): publish(.fixRejected(fix, rejection), event)
            case .clockSet(let stamp):
                trip?.noteClockSet(to: stamp)
                search.noteClockSet(to: event.stamp)
            case .receiver(let old, let new): publish(.receiver(from: old, to: new), event)
            case .simulation(let simulation): publish(.simulation(simulation), event)
            case .position(let position): follow(position, event)
            }
        }
    }

    private var prior: RoutePrior? { trip.flatMap { $0.isComplete ? nil : $0.prior } }

    /// Goes on from a position of a fix or of a prediction.
    private mutating func follow(_ position: Sighting, _ event: NavigatorEvent) {
        lastPosition = position
        publish(.position(position), event)
        giveUpOverdueRequest(event)
        if let waypoints = search.startDue(at: event.stamp, isPrecise: canStart(at: position)) {
            request(.start(waypoints), waypoints, from: position, event)
        }
        followTrip(position, event)
    }

    private mutating func followTrip(_ position: Sighting, _ event: NavigatorEvent) {
        guard let happenings = trip?.follow(position, on: map.graph) else { return }
        for happening in happenings {
            switch happening {
            case .progress(let progress): publish(.progress(progress), event)
            case .instruction(.visual(let visual), let distance, let duration):
                publish(.visual(visual, distance: distance, duration: duration), event)
            case .instruction(.spoken(let spoken), let distance, let duration):
                publish(.spoken(spoken, distance: distance, duration: duration), event)
            case .arrival(let arrival): publish(.arrival(arrival), event)
            }
        }
        considerReroute(position, event)
    }

    // MARK: Commands

    private mutating func handle(_ command: NavigatorCommand, _ event: NavigatorEvent) {
        switch command {
        case .navigate(let waypoints):
            cancelSearch(event)
            if let lastPosition, canStart(at: lastPosition) {
                request(.start(waypoints), waypoints, from: lastPosition, event)
            } else {
                search.awaitPosition(for: waypoints)
            }
        case .setRoute(let plan):
            if let failure = RouteFailure(defectOf: plan) {
                publish(.reroute(event: .failed(failure, nextAttempt: nil), .manual, nil, lastPosition), event)
                return
            }
            cancelSearch(event)
            start(plan, origin: nil, .set, event)
        case .stop:
            cancelSearch(event)
            guard trip != nil else { return }
            publish(.visual(nil, distance: 0, duration: 0), event)
            trip = nil
            publish(.route(nil, .stopped), event)
            session.end()
        case .reroute:
            guard let trip, !trip.isComplete, !trip.isHeld, let lastPosition, search.acceptsManualReroute else {
                return
            }
            reroute(trip, .manual, from: lastPosition, event)
        case .advanceLeg:
            guard let arrival = trip?.advanceLeg() else { return }
            publish(.arrival(arrival), event)
        }
    }

    // MARK: Asking for routes

    /// Whether a position is good enough to start a trip from.
    private func canStart(at position: Sighting) -> Bool { (position.sigma ?? 0) <= config.fixStartMaximumAccuracy }

    private mutating func considerReroute(_ position: Sighting, _ event: NavigatorEvent) {
        guard let trip else { return }
        if trip.isComplete {
            if search.isRerouting { cancelSearch(event) }
            return
        }
        let reason: RerouteEvent.Reason
        switch trip.deviation.state {
        case .offRoute: reason = .offRoute
        case .wrongWay: reason = .wrongWay
        case .onRoute, .offStep:
            guard trip.isBlocked else { return search.noteOnRoute() }
            reason = .routeInvalidated
        case .uncertain: return
        }
        // Where the vehicle is only thought to be, it cannot have left its route.
        guard position.prediction == nil, config.rerouteDetect, !trip.suppressesReroute(at: position),
            search.mayReroute(at: event.stamp, position.coordinate)
        else { return }
        reroute(trip, reason, from: position, event)
    }

    private mutating func reroute(
        _ trip: Trip, _ reason: RerouteEvent.Reason, from position: Sighting, _ event: NavigatorEvent
    ) {
        publish(.reroute(event: .willReroute, reason, nil, position), event)
        request(.reroute(reason), trip.remainingWaypoints, from: position, event)
    }

    private mutating func request(
        _ purpose: RouteSearch.Purpose, _ waypoints: [Waypoint], from position: Sighting, _ event: NavigatorEvent
    ) {
        let request = search.begin(purpose, at: event.stamp, from: position)
        if case .reroute(let reason) = purpose {
            publish(.reroute(event: .fetching(attempt: request.attempt), reason, request.id, position), event)
        }
        // A second attempt may turn round: perhaps no way leads on.
        let start = origin(position, keepsCourse: request.attempt == 1)
        effects.append(
            .requestRoute(
                RouteQuery(
                    requestID: request.id, request: RouteRequest(waypoints: [start] + waypoints),
                    deadline: event.stamp.advanced(bySeconds: config.rerouteDeadline))))
    }

    /// Where a route from here starts: on the matched road when there is one, in the direction that the vehicle points in.
    ///
    /// A vehicle that creeps or stands still points somewhere: the matcher's belief in the directions of the road tells, and the course
    /// where there is no road. Only a direction that is not known leaves the choice to the search.
    private func origin(_ position: Sighting, keepsCourse: Bool) -> Waypoint {
        let isMoving = (position.speed ?? 0) >= config.deviationCourseMinimumSpeed
        let isKnown = isMoving || position.directionProbability >= config.originDirectionProbability
        let course = isKnown ? (position.road?.bearing ?? position.course) : nil
        return Waypoint(position.road?.coordinate ?? position.coordinate, bearing: keepsCourse ? course : nil)
    }

    /// Gives up what is asked for; nobody is waiting for it any more.
    private mutating func cancelSearch(_ event: NavigatorEvent) {
        let pending = search.pending
        search.finish()
        guard let pending else { return }
        effects.append(.cancelRoute(requestID: pending.id))
        if case .reroute(let reason) = pending.purpose {
            publish(.reroute(event: .rejected(.superseded), reason, pending.id, lastPosition), event)
        }
    }

    private mutating func giveUpOverdueRequest(_ event: NavigatorEvent) {
        guard let request = search.overdue(at: event.stamp) else { return }
        effects.append(.cancelRoute(requestID: request.id))
        fail(
            request, RouteFailure(code: .deadlineExceeded, message: "no route within \(config.rerouteDeadline) s"),
            event)
    }

    // MARK: Answers

    private mutating func handle(_ answer: RouteAnswer, _ id: UInt64, _ event: NavigatorEvent) {
        giveUpOverdueRequest(event)
        guard let request = search.pending, request.id == id else { return }
        switch answer {
        case .failed(let failure): fail(request, failure, event)
        case .found(let plan):
            if let failure = RouteFailure(defectOf: plan) {
                fail(request, failure, event)
            } else if case .reroute(let reason) = request.purpose {
                take(plan, request, reason, event)
            } else {
                search.finish()
                start(plan, origin: request.origin, .started, event)
            }
        }
    }

    private mutating func fail(_ request: RouteSearch.Request, _ failure: RouteFailure, _ event: NavigatorEvent) {
        let next = search.fail(request, failure, at: event.stamp)
        publish(
            .reroute(event: .failed(failure, nextAttempt: next), request.reason, request.id, lastPosition), event)
        if !failure.missingTiles.isEmpty { effects.append(.needTiles(failure.missingTiles)) }
    }

    /// Takes another route for the trip, unless the vehicle has found back by itself.
    private mutating func take(
        _ plan: RoutePlan, _ request: RouteSearch.Request, _ reason: RerouteEvent.Reason, _ event: NavigatorEvent
    ) {
        publish(.reroute(event: .fetched, reason, request.id, lastPosition), event)
        search.finish()
        guard let old = trip else { return }
        let isOnRoute = old.deviation.state == .onRoute || old.deviation.state == .offStep
        if reason != .manual, isOnRoute, !old.isBlocked {
            publish(.reroute(event: .rejected(.backOnRoute), reason, request.id, lastPosition), event)
            return
        }
        apply(plan, origin: request.origin, isApproaching: old.isApproaching, event)
        publish(.route(plan, .rerouted), event)
        publish(.reroute(event: .applied(oldRouteID: old.routeID), reason, request.id, lastPosition), event)
    }

    private mutating func start(
        _ plan: RoutePlan, origin: Sighting?, _ change: RouteChange, _ event: NavigatorEvent
    ) {
        session.begin(at: event.stamp)
        search = search.forNewTrip
        apply(plan, origin: origin, isApproaching: false, event)
        publish(.route(plan, change), event)
    }

    private mutating func apply(
        _ plan: RoutePlan, origin: Sighting?, isApproaching: Bool, _ event: NavigatorEvent
    ) {
        session.routes += 1
        trip = Trip(
            plan, routeID: session.routes, graph: map.graph, config: config, at: event.stamp, origin: origin,
            isApproaching: isApproaching)
    }

    // MARK: Publishing

    private mutating func publish(_ publication: Publication, _ event: NavigatorEvent) {
        eventSequence += 1
        effects.append(
            .publish(
                EventContext(
                    stamp: event.stamp, sessionID: session.id, routeID: trip?.routeID ?? 0,
                    causeSequence: event.causeSequence, eventSequence: eventSequence), publication))
    }

    private mutating func publishStateIfChanged(_ event: NavigatorEvent) {
        let state = NavigatorState(
            phase: phase, isRerouting: search.isRerouting, leg: trip?.leg ?? 0,
            legCount: trip?.plan.route.legs.count ?? 0, isHeld: trip?.isHeld ?? false,
            destination: trip?.plan.route.waypoints.last?.waypoint, health: positioning.health)
        guard state != publishedState else { return }
        publishedState = state
        publish(.state(state), event)
    }

    private var phase: NavigatorState.Phase {
        guard let trip else { return lastPosition == nil ? .idle : .freeDrive }
        if trip.isComplete { return .guidance(.complete) }
        switch trip.deviation.state {
        case .offRoute, .wrongWay: return .guidance(.offRoute)
        case .uncertain: return .guidance(.uncertain)
        case .onRoute, .offStep: return .guidance(trip.wasSeenOnRoute ? .tracking : .initialized)
        }
    }
}

extension Publication {
    fileprivate static func reroute(
        event phase: RerouteEvent.Phase, _ reason: RerouteEvent.Reason, _ requestID: UInt64?, _ position: Sighting?
    ) -> Publication {
        .reroute(RerouteEvent(phase: phase, reason: reason, requestID: requestID, position: position?.coordinate))
    }
}

extension RouteFailure {
    /// Why a plan cannot be driven along; nil when it can.
    fileprivate init?(defectOf plan: RoutePlan) {
        guard let defect = plan.defect else { return nil }
        self.init(code: .internal, message: "the route cannot be used: \(defect)")
    }
}
