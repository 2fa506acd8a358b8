import NavGeo
import NavGuidance
import NavMap
public import NavMatching
import NavRouting

/// The navigation core: events in, effects out.
///
/// It knows no clock, no socket and no file. Nothing but ``handle(_:)`` changes it, so the same events give the same effects. What needs
/// time, such as finding a route, is an effect that comes back as an event with an id; no step waits.
public struct Navigator {
    private let config: NavigatorConfig
    private var map: MapSnapshot
    private var matcher: StreamingMatcher
    private var filter: FixFilter
    private var lastPosition: Sighting?

    private var session = Session()
    private var trip: Trip?
    private var reroute: RerouteControl
    private var awaited: [Waypoint]?
    private var requestID: UInt64 = 0
    private var startRequest: (id: UInt64, waypoints: [Waypoint])?
    private var startAttempt: (failures: Int, next: Timestamp?) = (0, nil)
    private var eventSequence: UInt64 = 0
    private var publishedState: NavigatorState?
    private var effects: [Effect] = []

    /// The trip's numbers.
    private struct Session {
        var id: UInt64 = 0
        var routes: UInt64 = 0
    }

    /// A navigator on a map, without a position.
    public init(map: MapSnapshot, config: NavigatorConfig = NavigatorConfig(), matcher: MatcherConfig = MatcherConfig())
    {
        self.config = config
        self.map = map
        self.matcher = StreamingMatcher(metric: map.metric, config: matcher)
        filter = FixFilter(config)
        reroute = RerouteControl(config)
    }

    /// Takes one event in and returns what is to be done, in order.
    public mutating func handle(_ event: NavigatorEvent) -> [Effect] {
        effects.removeAll(keepingCapacity: true)
        switch event.kind {
        case .fix(let fix): handle(fix, event)
        case .command(let command): handle(command, event)
        case .routeAnswer(let id, let answer): handle(answer, id, event)
        case .mapChanged(let snapshot):
            map = snapshot
            matcher.adopt(snapshot.metric)
            trip?.resolve(in: snapshot.graph)
        }
        publishStateIfChanged(event)
        return effects
    }

    // MARK: Fixes

    private mutating func handle(_ fix: Fix, _ event: NavigatorEvent) {
        if let rejection = filter.check(fix) {
            publish(.fixRejected(fix, rejection), event)
            return
        }
        let position = Sighting(fix: fix, match: matcher.match(fix, routePrior: routePrior))
        lastPosition = position
        publish(.position(position), event)
        if let waypoints = awaited {
            awaited = nil
            requestStart(waypoints, event)
        } else if startRequest == nil, let (_, waypoints) = retry(at: event.stamp) {
            requestStart(waypoints, event)
        }
        followTrip(position, event)
    }

    private var routePrior: RoutePrior? {
        guard let trip, !trip.isComplete else { return nil }
        return trip.prior
    }

    private mutating func followTrip(_ position: Sighting, _ event: NavigatorEvent) {
        guard var trip else { return }
        let opposite = position.road.flatMap { map.graph.opposite($0.edge) }.map { map.graph.key(of: $0) }
        let happenings = trip.follow(position, opposite: opposite)
        self.trip = trip
        tell(happenings, event)
        if trip.isComplete {
            cancelReroute(event)
        } else {
            considerReroute(position, event)
        }
    }

    private mutating func tell(_ happenings: [Trip.Happening], _ event: NavigatorEvent) {
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
    }

    // MARK: Rerouting

    private mutating func considerReroute(_ position: Sighting, _ event: NavigatorEvent) {
        guard let trip else { return }
        if let (id, reason) = reroute.overdue(at: event.stamp) {
            effects.append(.cancelRoute(requestID: id))
            fail(
                RouteFailure(code: .deadlineExceeded, message: "no route within \(config.rerouteDeadline) s"), id,
                reason,
                event)
        }
        let reason: RerouteEvent.Reason
        switch trip.deviation.state {
        case .offRoute: reason = .offRoute
        case .wrongWay: reason = .wrongWay
        case .onRoute, .uncertain, .offStep: return
        }
        guard config.rerouteDetect, !trip.suppressesReroute,
            reroute.mayStart(at: event.stamp, position.coordinate)
        else { return }
        startReroute(reason, position, event)
    }

    private mutating func startReroute(_ reason: RerouteEvent.Reason, _ position: Sighting, _ event: NavigatorEvent) {
        guard let trip else { return }
        let attempt = reroute.attempt
        publish(
            .reroute(RerouteEvent(phase: .willReroute, reason: reason, position: position.coordinate)), event)
        requestID += 1
        reroute.start(requestID, reason, at: event.stamp, position.coordinate)
        publish(
            .reroute(
                RerouteEvent(
                    phase: .fetching(attempt: attempt), reason: reason, requestID: requestID,
                    position: position.coordinate)), event)
        request(trip.remainingWaypoints, from: position, keepsCourse: attempt == 1, event)
    }

    private mutating func request(
        _ waypoints: [Waypoint], from position: Sighting, keepsCourse: Bool, _ event: NavigatorEvent
    ) {
        effects.append(
            .requestRoute(
                RouteQuery(
                    requestID: requestID,
                    request: RouteRequest(waypoints: [origin(position, keepsCourse: keepsCourse)] + waypoints),
                    deadline: event.stamp.advanced(bySeconds: config.rerouteDeadline))))
    }

    /// Where a route from here starts: on the matched road when there is one, in the direction of travel unless the vehicle stands.
    private func origin(_ position: Sighting, keepsCourse: Bool) -> Waypoint {
        let moving = (position.speed ?? 0) >= config.deviationCourseMinimumSpeed
        let course = moving ? (position.road?.bearing ?? position.course) : nil
        return Waypoint(
            position.road?.coordinate ?? position.coordinate, bearing: keepsCourse ? course : nil)
    }

    private mutating func handle(_ answer: RouteAnswer, _ id: UInt64, _ event: NavigatorEvent) {
        if let startRequest, startRequest.id == id {
            self.startRequest = nil
            answerStart(answer, id, startRequest.waypoints, event)
        } else if let reason = reroute.pending(id) {
            answerReroute(answer, id, reason, event)
        }
    }

    private mutating func answerReroute(
        _ answer: RouteAnswer, _ id: UInt64, _ reason: RerouteEvent.Reason, _ event: NavigatorEvent
    ) {
        switch answer {
        case .failed(let failure): fail(failure, id, reason, event)
        case .found(let plan):
            publish(rerouteEvent(.fetched, reason, id), event)
            if reason != .manual, let state = trip?.deviation.state, state == .onRoute || state == .offStep {
                reroute.finish()
                publish(rerouteEvent(.rejected(.backOnRoute), reason, id), event)
                return
            }
            let old = trip?.routeID ?? 0
            apply(plan, event)
            reroute.finish()
            publish(.route(plan, .rerouted), event)
            publish(rerouteEvent(.applied(oldRouteID: old), reason, id), event)
        }
    }

    private mutating func fail(
        _ failure: RouteFailure, _ id: UInt64, _ reason: RerouteEvent.Reason, _ event: NavigatorEvent
    ) {
        let next = reroute.fail(reason, at: event.stamp)
        publish(rerouteEvent(.failed(failure, nextAttempt: failure.isRetryable ? next : nil), reason, id), event)
        if !failure.missingTiles.isEmpty { effects.append(.needTiles(failure.missingTiles)) }
    }

    private mutating func cancelReroute(_ event: NavigatorEvent) {
        guard let (id, reason) = reroute.current else { return }
        reroute.finish()
        effects.append(.cancelRoute(requestID: id))
        publish(rerouteEvent(.rejected(.superseded), reason, id), event)
    }

    private func rerouteEvent(_ phase: RerouteEvent.Phase, _ reason: RerouteEvent.Reason, _ id: UInt64) -> Publication {
        .reroute(
            RerouteEvent(phase: phase, reason: reason, requestID: id, position: lastPosition?.coordinate))
    }

    // MARK: Commands

    private mutating func handle(_ command: NavigatorCommand, _ event: NavigatorEvent) {
        switch command {
        case .navigate(let waypoints):
            cancelReroute(event)
            startAttempt = (0, nil)
            guard lastPosition != nil else {
                awaited = waypoints
                return
            }
            requestStart(waypoints, event)
        case .setRoute(let plan):
            cancelReroute(event)
            cancelStart()
            beginSession(event)
            apply(plan, event)
            publish(.route(plan, .set), event)
        case .stop:
            cancelReroute(event)
            cancelStart()
            guard trip != nil else { return }
            publish(.visual(nil, distance: 0, duration: 0), event)
            trip = nil
            publish(.route(nil, .stopped), event)
            session.id = 0
        case .reroute:
            guard trip != nil, let lastPosition, !reroute.isWaiting else { return }
            startReroute(.manual, lastPosition, event)
        case .advanceLeg:
            guard var trip, let happenings = trip.advanceLeg() else { return }
            self.trip = trip
            tell(happenings, event)
        }
    }

    private mutating func requestStart(_ waypoints: [Waypoint], _ event: NavigatorEvent) {
        guard let lastPosition else { return }
        cancelStart()
        requestID += 1
        startRequest = (requestID, waypoints)
        request(waypoints, from: lastPosition, keepsCourse: startAttempt.failures == 0, event)
    }

    private mutating func cancelStart() {
        awaited = nil
        pendingStart = nil
        guard let (id, _) = startRequest else { return }
        startRequest = nil
        effects.append(.cancelRoute(requestID: id))
    }

    private mutating func answerStart(
        _ answer: RouteAnswer, _ id: UInt64, _ waypoints: [Waypoint], _ event: NavigatorEvent
    ) {
        switch answer {
        case .found(let plan):
            beginSession(event)
            apply(plan, event)
            publish(.route(plan, .started), event)
        case .failed(let failure):
            var pause = config.rerouteBackoffFirst
            for _ in 0..<min(startAttempt.failures, 30) { pause = min(pause * 2, config.rerouteBackoffLongest) }
            let next = failure.isRetryable ? event.stamp.advanced(bySeconds: pause) : nil
            startAttempt = (startAttempt.failures + 1, next)
            pendingStart = next == nil ? nil : waypoints
            publish(rerouteEvent(.failed(failure, nextAttempt: next), .manual, id), event)
            if !failure.missingTiles.isEmpty { effects.append(.needTiles(failure.missingTiles)) }
        }
    }

    private var pendingStart: [Waypoint]?

    private func retry(at stamp: Timestamp) -> (Timestamp, [Waypoint])? {
        guard let pendingStart, let next = startAttempt.next, stamp >= next else { return nil }
        return (next, pendingStart)
    }

    private mutating func beginSession(_ event: NavigatorEvent) {
        session = Session(id: UInt64(bitPattern: event.stamp.nanoseconds), routes: 0)
        pendingStart = nil
        reroute = RerouteControl(config)
    }

    private mutating func apply(_ plan: RoutePlan, _ event: NavigatorEvent) {
        session.routes += 1
        var trip = Trip(plan, routeID: session.routes, config: config, at: event.stamp)
        trip.resolve(in: map.graph)
        self.trip = trip
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
            phase: phase, isRerouting: reroute.isWaiting, leg: trip?.leg ?? 0,
            legCount: trip?.plan.route.legs.count ?? 0, isHeld: trip?.isHeld ?? false,
            destination: trip?.plan.route.waypoints.last?.waypoint)
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
