package import NavGeo
import NavGuidance
package import NavMap
package import NavMatching
package import NavPositioning
import NavRouting

/// The navigation core, a deterministic state machine with events in and effects out.
///
/// It uses no clock, socket or file. Only events change it, so the same events give the same effects. Slow work, such as a route search, is
/// an effect whose result returns as an event with an id; nothing blocks.
///
/// Each concern has a type that holds its state and an extension of the navigator that uses it: positioning, reroutes, alternatives, faster
/// routes, preview, refresh, legs, simulation and policy. Concerns with kilobytes of state used at each fix are classes, because calling a
/// struct's method copies it.
package final class Navigator {
    var config: NavigatorConfig
    var map: MapSnapshot
    // Positioning.
    var positioning: Positioning
    var lastPosition: VehiclePosition?
    /// Whether the prediction of positions has been abandoned since.
    var isLost = false
    var simulation: DriveAlong?
    // The trip.
    var session = Session()
    var trip: Trip?
    // Features that may change its route.
    var search: RouteSearch
    var alternatives: AlternativesTracker
    var faster: FasterRouteMonitor
    var refresh: RefreshSchedule
    var preview = PreviewState()
    /// Whether the online provider is paused after failures.
    var providerRests = false
    // Pending requests.
    var routes = PendingRequests<PendingRoute>()
    var questions = PendingRequests<PolicyRequest>()

    var keptMark: TripDigest?

    /// The moment of the last position, or of a later timer; before the first fix, of the latest event.
    var now: Timestamp?
    private var eventSequence: UInt64 = 0
    private var publishedState: (state: NavigatorState, sessionID: UInt64, routeID: UInt64)?
    private var missingTiles = MissingTileCounter()
    private var effects: [Effect] = []

    package init(
        map: MapSnapshot, config: NavigatorConfig = NavigatorConfig(), matcher: MatcherConfig = MatcherConfig()
    ) {
        self.config = config
        self.map = map
        positioning = Positioning(metric: map.metric, config: config.positioning, matcher: matcher)
        search = RouteSearch(config)
        alternatives = AlternativesTracker(config)
        faster = FasterRouteMonitor(config)
        refresh = RefreshSchedule(config.refresh)
    }

    /// Handles one event and returns the effects, in order.
    package func handle(_ event: NavigatorEvent) -> [Effect] {
        effects = []
        var event = event
        switch event.kind {
        case .routeAnswer(let id, _): event.causeSequence = routes[id]?.cause ?? event.causeSequence
        case .policyAnswer(let id, _): event.causeSequence = questions[id]?.cause ?? event.causeSequence
        default: break
        }
        var isPresent = true
        switch event.kind {
        // A discarded fix may have any stamp.
        case .fix(let fix): isPresent = position(.fix(fix), event)
        case .odometry(let odometry): position(.odometry(odometry), event)
        case .timer: break
        case .command(let command, let call): handle(command, call, event)
        case .callEnded(let call): callEnded(call, event)
        case .routeAnswer(let id, let answer): handle(answer, id, event)
        case .policyAnswer(let id, let answer): handle(answer, id, event)
        case .mapChanged(let snapshot): adopt(snapshot, event)
        case .configured(let config): adopt(config)
        case .provider(let rests): providerRests = rests
        }
        if isPresent { passTime(event) }
        publishStateIfChanged(event)
        keepTripIfChanged()
        return effects
    }

    /// Ends the drive after its last event and returns the effects. No further answers can arrive, so calls that wait for routes fail and
    /// questions to the owner are withdrawn.
    package func endDrive() -> [Effect] {
        effects = []
        for calculation in cancelRequests(for: { _ in true }) {
            reply(.failed(RouteFailure(code: .cancelled, message: "the drive has ended")), to: calculation.call)
        }
        for request in questions.take(for: { _ in true }) { perform(.withdrawPolicy(requestID: request.id)) }
        return effects
    }

    /// The moment at which to send ``NavigatorEvent/Kind/timer`` unless another event arrives first; nil for never.
    package var due: Timestamp? {
        func earlier(_ one: Timestamp?, _ other: Timestamp?) -> Timestamp? {
            guard let one, let other else { return one ?? other }
            return min(one, other)
        }
        let waited = earlier(routes.due, questions.due)
        return earlier(earlier(positioning.due, simulation?.due), earlier(waited, faster.offer?.until))
    }

    /// The stamp of the last accepted fix; nil before the first.
    package var lastFix: Timestamp? { positioning.timing.lastFix }

    package var fasterRoutes: FasterRouteCounts { faster.counts }

    /// The missing tiles that prevent the requested route; empty without a request, or when it fails for other reasons.
    package var routeMissingTiles: [RoadTileID] { search.missingTiles }

    /// Whether the position comes from fixes, is on no road, and has no tile of the map around it, loaded or missing.
    package var isOutsideMap: Bool {
        guard let position = lastPosition, !isLost, position.isSeen, position.road == nil, position.coordinate.isValid
        else { return false }
        let place = position.coordinate
        // Neighbouring highway tiles reach as far as a thousand kilometres.
        let tiles =
            [RoadTileID(layer: .highway, containing: place)]
            + MapSurroundings.tiles(around: place, in: [.arterial, .local])
        return tiles.allSatisfy { map.graph.hasLoaded($0) == nil }
    }

    /// Seconds by which odometry is ahead of the fixes (negative when behind) while it is unused for that reason; nil while it is used.
    package var odometryLead: Double? { positioning.odometryLead }

    /// Whether odometry is consistent with the clock of the fixes; other odometry must not become an event.
    package func admits(_ odometry: Odometry) -> Bool { positioning.admits(odometry) }

    /// Returns the current time implied by a fix's arrival and the usual delay of fixes; nil when it cannot be derived.
    package func time(reportedBy fix: Fix) -> Timestamp? { positioning.timing.time(reportedBy: fix) }

    /// Performs all actions that are due by an event's time.
    private func passTime(_ event: NavigatorEvent) {
        if case .timer = event.kind {
            now = event.stamp
            position(.timer, event)
        }
        // Their stamps may come from several clocks; with the latest, no deadline is overdue.
        if lastFix == nil { now = max(now ?? event.stamp, event.stamp) }
        simulate(at: event.stamp, event)
        decideOverdue(event)
        refuseOverdueFasterRoute(event)
        failOverdueRequests(event)
    }

    private func adopt(_ snapshot: MapSnapshot, _ event: NavigatorEvent) {
        let old = map.graph
        map = snapshot
        positioning.adopt(snapshot.metric)
        simulation?.positioning.adopt(snapshot.metric)
        if old !== snapshot.graph {
            search.noteTiles(at: event.stamp)
            missingTiles = MissingTileCounter()
            if old.mapVersion != snapshot.graph.mapVersion { adoptRoutes(from: old, to: snapshot.graph, event) }
            session.adopt(from: old, to: snapshot.graph)
            if trip?.noteMap(from: old, to: snapshot.graph) == true, let plan = trip?.plan {
                report(alternatives.clear(.invalidated, at: event.stamp), event)
                report(plan, .refreshed, event)
            }
        }
        noteTraffic(event)
    }

    /// Translates the previewed routes to another map version, and withdraws proposed routes, because better ones will be found on the new
    /// map.
    private func adoptRoutes(from old: RoadGraph, to new: RoadGraph, _ event: NavigatorEvent) {
        supersedeOffers(event)
        if search.proposal != nil { cancelSearch(event) }
        if preview.adopt(from: old, to: new), let shown = preview.shown { publish(.preview(shown.preview), event) }
    }

    private func adopt(_ config: NavigatorConfig) {
        self.config = config
        positioning.adopt(config.positioning)
        simulation?.positioning.adopt(config.positioning)
        search.config = config
        alternatives.config = config
        faster.config = config
        refresh.config = config.refresh
        trip?.config = config
        routes.wait(config.rerouteDeadline) { $0.calculation == nil }
    }

    /// Advances the trip and considers changes to its route.
    func followTrip(_ position: VehiclePosition, _ event: NavigatorEvent) {
        guard trip != nil else { return }
        report(trip?.follow(position, on: map.graph, isRevised: isAsked(.reviseInstruction)) ?? [], event)
        guard trip?.isComplete == false else { return endOfTrip(event) }
        askWhetherNearStop(position, event)
        considerAlternatives(position, event)
        considerReroute(position, event)
        considerFasterRoute(position, event)
        noteRules(event)
        refreshIfDue(event)
    }

    /// Gives the instructions of a route that has just come into force at the vehicle's last position, if its next maneuver is near: at the
    /// next fix it may be too late for them.
    func instructAtOnce(_ event: NavigatorEvent) {
        guard let trip, !isLost, let position = lastPosition, position.isSeen, let speed = position.speed,
            speed > config.deviationMinimumSpeed
        else { return }
        report(
            trip.begin(
                at: position, within: Self.nearManeuver * speed, on: map.graph, isRevised: isAsked(.reviseInstruction)),
            event)
    }

    /// The time before a maneuver within which its instruction does not wait for the next fix, seconds: the longest announcements begin
    /// about eight seconds before the maneuver, and the next fix may be two seconds away.
    private static let nearManeuver = 10.0

    private func report(_ updates: [Trip.Update], _ event: NavigatorEvent) {
        for update in updates {
            switch update {
            case .progress(let progress): publish(.progress(progress), event)
            case .instruction(let instruction, let distance, let duration):
                ask(
                    .reviseInstruction(instruction, distance: distance, duration: duration), standard: true, event)
            case .noInstruction: publish(.visual(nil, distance: 0, duration: 0), event)
            case .arrival(let arrival): report(arrival, event)
            }
        }
    }

    // MARK: Effects

    func perform(_ effect: Effect) { effects.append(effect) }

    /// Replies to a call; does nothing for 0.
    func reply(_ reply: CommandReply, to call: UInt64) {
        if call != 0 { effects.append(.reply(call: call, reply)) }
    }

    func publish(_ publication: Publication, _ event: NavigatorEvent) {
        eventSequence += 1
        effects.append(.publish(context(of: event), publication))
    }

    /// Counts an event that the shell derives from a publication, and returns its context.
    package func countEvent(after event: NavigatorEvent) -> EventContext {
        eventSequence += 1
        return context(of: event)
    }

    /// Returns the context of an answer or a publication.
    package func context(of event: NavigatorEvent) -> EventContext {
        EventContext(
            stamp: event.stamp, sessionID: session.id, routeID: trip?.routeID ?? 0,
            causeSequence: event.causeSequence, eventSequence: eventSequence)
    }

    private func publishStateIfChanged(_ event: NavigatorEvent) {
        let state = NavigatorState(
            phase: phase, isRerouting: search.isRerouting, leg: trip?.leg ?? 0,
            legCount: trip?.plan.route.legs.count ?? 0, isHeld: trip?.isHeld ?? false,
            destination: trip?.plan.route.waypoints.last?.waypoint, health: positioning.health,
            positions: positionKind, missingTiles: missingTiles.count(around: lastPosition?.coordinate, in: map.graph),
            mapVersion: map.graph.mapVersion)
        // The message contains the session and the route, so it is published again when either changes.
        let reported = (state: state, sessionID: session.id, routeID: trip?.routeID ?? 0)
        if let publishedState, publishedState == reported { return }
        publishedState = reported
        publish(.state(state), event)
    }

    private var positionKind: NavigatorState.PositionKind? {
        if simulation != nil { return .simulated }
        guard let lastPosition, !isLost else { return nil }
        if positioning.predictionReason != nil { return .predicted }
        return lastPosition.fix.type == .simulated ? .simulated : .measured
    }

    private var phase: NavigatorState.Phase {
        if preview.isActive, trip?.isComplete ?? true { return .preview }
        guard let trip else { return lastPosition == nil ? .idle : .freeDrive }
        if trip.isComplete { return .guidance(.complete) }
        switch trip.deviation.state {
        case .offRoute, .wrongWay: return .guidance(.offRoute)
        case .uncertain: return .guidance(.uncertain)
        case .onRoute, .offStep:
            return .guidance(isLost ? .uncertain : trip.wasSeenOnRoute ? .tracking : .initialized)
        }
    }
}
