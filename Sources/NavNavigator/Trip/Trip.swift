import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavPositioning
import NavRouting

/// Guidance along one route: how far the vehicle is, what it was told, whether it follows.
///
/// It reports; whether another route is asked for is decided above.
final class Trip {
    /// An event on the way of one position along the route.
    indirect enum Update {
        case progress(RouteProgress)
        case instruction(Instruction, distance: Double, duration: Double)
        /// The shown instruction does not hold off the route.
        case noInstruction
        case arrival(ArrivalEvent)
    }

    enum Stage {
        /// On the way to the end of a leg.
        case driving(leg: Int, isApproaching: Bool)
        /// At the end of a leg: until it is decided whether the next one begins, then until it is started by hand.
        case atStop(leg: Int, isHeld: Bool)
        case complete
    }

    private(set) var plan: RoutePlan
    /// Counted from 1 over all sessions.
    let routeID: UInt64
    private(set) var wasSeenOnRoute = false
    private(set) var deviation: Deviation
    /// The route as a hint to the matcher.
    private(set) var prior: RoutePrior

    var config: NavigatorConfig {
        didSet {
            cursor.config = config
            monitor.config = config
        }
    }
    private(set) var times: RouteTimes
    /// The times of the route by the router on board, whoever timed it: other routes are compared with them.
    private(set) var routerTimes: RouteTimes
    var stage = Stage.driving(leg: 0, isApproaching: false)
    private(set) var cursor: RouteCursor
    private var monitor: DeviationMonitor
    private var trigger: InstructionTrigger
    /// Metres from the route's start to where each edge begins that does not exist in the map any more.
    private var gone: [Double] = []
    /// The same of edges that may not be driven, those that are gone included.
    private var blocked: [Double] = []
    /// The banner that is shown, and the last words.
    private var banner: VisualInstruction?
    private var spokenID: InstructionID?
    /// Whether a prediction led to the banner that is shown, and the one before it.
    private var foreseen: (isShown: Bool, instead: VisualInstruction?) = (false, nil)
    /// The last banner and the last words that were told: the owner may have been asked for them in between.
    private var told: (visual: InstructionID?, spoken: InstructionID?)
    /// Whether leaving the route so near to the stop leads to no new one; nil as long as it was not near.
    var preventsReroutes: Bool?
    /// Since when all that makes an arrival holds.
    var reachedSince: Timestamp?
    var standsSince: Timestamp?
    private(set) var placement: RoutePlacement?
    private(set) var progress: RouteProgress?

    /// A trip along a plan without defects, at its start.
    ///
    /// - Parameters:
    ///   - origin: where the vehicle was when the route was asked for.
    ///   - start: metres from the route's start that the vehicle is at least.
    ///   - isApproaching: whether the approach to the first stop has been announced already, on the route before.
    init(
        _ plan: RoutePlan, routeID: UInt64, graph: RoadGraph, config: NavigatorConfig, at stamp: Timestamp,
        origin: VehiclePosition?, start: Double = 0, isApproaching: Bool = false
    ) {
        self.plan = plan
        self.routeID = routeID
        self.config = config
        times = RouteTimes(plan.route)
        routerTimes = times
        stage = .driving(leg: 0, isApproaching: isApproaching)
        cursor = RouteCursor(plan.route, config: config, origin: origin)
        cursor.skip(to: min(start, plan.route.legs[0].length))
        monitor = DeviationMonitor(config, at: stamp)
        trigger = InstructionTrigger(plan.guidance)
        deviation = Deviation(state: .onRoute, distance: 0, probability: 0, courseDifference: nil, since: stamp)
        prior = Trip.prior(plan.route, in: graph)
    }

    // MARK: Questions

    /// The leg being driven, or at whose end the vehicle is; from 0.
    var leg: Int {
        switch stage {
        case .driving(let leg, _), .atStop(let leg, _): leg
        case .complete: route.legs.count - 1
        }
    }

    /// Whether the vehicle is at a stop and waits for the next leg to be started.
    var isHeld: Bool {
        if case .atStop(_, isHeld: true) = stage { return true }
        return false
    }

    var isComplete: Bool {
        if case .complete = stage { return true }
        return false
    }

    /// Whether the vehicle is at a stop or at the destination.
    var isThere: Bool {
        if case .driving = stage { return false }
        return true
    }

    /// Whether the approach to the next stop has been announced.
    var isApproaching: Bool {
        if case .driving(_, isApproaching: true) = stage { return true }
        return false
    }

    /// Stops and pass-through points that still lie ahead, the destination included.
    var remainingWaypoints: [Waypoint] { remainingIndices.map { route.waypoints[$0].waypoint } }

    /// The number of ``remainingWaypoints``.
    var remainingCount: Int { route.waypoints.indices.count(where: isAhead) }

    /// Metres from the route's start, and those that fixes or odometry tell of.
    var offset: Double { cursor.offset }
    var confirmedOffset: Double { cursor.confirmed }

    /// Seconds to the destination.
    var durationRemaining: Double {
        isComplete ? 0 : times.duration(from: offset, toEndOf: currentLeg) + times.duration(after: currentLeg)
    }

    /// The next stop's index in the route's waypoints.
    var nextStop: Int { currentLeg.destination }

    /// Stops and pass-through points that still lie ahead, as indices in the route's waypoints.
    var waypointsAhead: [Int] { remainingIndices }

    var route: Route { plan.route }
    var currentLeg: RouteLeg { route.legs[leg] }
    var legEnd: Double { currentLeg.routeOffset + currentLeg.length }
    var stop: RouteWaypoint { route.waypoints[currentLeg.destination] }

    private var remainingIndices: [Int] { route.waypoints.indices.filter(isAhead) }

    /// Whether a waypoint, by its index in the route, still lies ahead.
    private func isAhead(_ index: Int) -> Bool {
        let destination = currentLeg.destination
        let passed =
            switch stage {
            case .complete: route.waypoints.count - 1
            case .atStop: destination
            case .driving(let leg, _): leg == 0 ? 0 : route.legs[leg - 1].destination
            }
        return index > passed && (index >= destination || route.waypoints[index].routeOffset > cursor.confirmed)
    }

    // MARK: Changes

    /// Takes note that tiles came or went; whether the edges of the route have other names now, which they have in
    /// another version of the map.
    func noteMap(from old: RoadGraph, to new: RoadGraph) -> Bool {
        defer { prior = Trip.prior(route, in: new) }
        guard old.mapVersion != new.mapVersion else { return false }
        let translation = EdgeTranslation(from: old, to: new)
        var renamed = route
        renamed.mapVersion = new.mapVersion
        gone = []
        for (index, edge) in route.edges.enumerated() {
            let middle = route.line.coordinate(at: edge.routeOffset + edge.length / 2)
            let known = old.edge(edge.key)
            if let known, let middle, let now = translation.edge(known, at: middle) {
                renamed.edges[index].key = new.key(of: now)
            } else {
                // A name that no edge has: the old one may be another edge's.
                renamed.edges[index].key = EdgeKey(rawValue: .max)
                let isLoaded = new.tiles.contains { $0.id == edge.key.tile }
                if known != nil, isLoaded { gone.append(edge.routeOffset) }
            }
        }
        plan.route = renamed
        cursor.adopt(renamed)
        return true
    }

    /// Takes note of what may be driven now. A road that opens at times only was open when the route was found.
    func noteClosures(_ pricing: RoutePricing) {
        blocked = gone + route.edges.filter { pricing.isClosedNow($0.key) }.map(\.routeOffset)
    }

    /// Whether a part of the route that still lies ahead cannot be driven. The edge that the vehicle is on is left to
    /// it.
    var isBlocked: Bool { blocked.contains { $0 > cursor.offset } }

    /// Forgets what spoke against the route.
    func restartDeviation(at stamp: Timestamp) { monitor.restart(at: stamp) }

    /// Follows one position. Updates come in the order in which they are to be told; there are none after the arrival.
    func follow(_ position: VehiclePosition, on graph: RoadGraph) -> [Update] {
        guard !isComplete else { return [] }
        let placement = cursor.place(position, on: graph, leg: currentLeg, stop: stop.snapped)
        let hasPassedStop = cursor.hasPassedStop
        deviation = monitor.judge(placement, position)
        if advances(placement, position) {
            cursor.advance(to: placement, limit: legEnd, by: position)
        } else {
            let isWrong = cursor.isTakenBack(by: placement, position)
            cursor.stay(
                atMost: isWrong && placement.distance <= config.deviationMaximumDistance ? placement.offset : nil)
        }
        if placement.isFollowing, position.isDecisive { wasSeenOnRoute = true }
        self.placement = placement
        let due = instructions(position)
        let isCleared = isSilent && banner != nil
        if isCleared { banner = nil }
        var progress = progress(
            position, placement, offRoute: isSnapped ? nil : position.road.map { graph.attributes(of: $0.edge) })
        let isAtStop = hasPassedStop || placement.distance <= config.deviationMaximumDistance
        let arrivals = arrivals(position, isAtStop: isAtStop)
        var last: [Instruction] = []
        if let arrival = arrivals.last, arrival.phase == .arrived {
            // A driver who arrives by another road than the route's last has not heard them.
            last = trigger.arrive(leg: arrival.leg)
            note(last)
            (progress.visualInstruction, progress.spokenInstruction) = (banner?.id, spokenID)
        }
        self.progress = progress
        var updates: [Update] = [.progress(progress)]
        if isCleared { updates.append(.noInstruction) }
        updates += due.map {
            .instruction($0, distance: progress.stepDistanceRemaining, duration: progress.stepDurationRemaining)
        }
        updates += last.map { .instruction($0, distance: 0, duration: 0) }
        updates += arrivals.map { .arrival($0) }
        return updates
    }

    /// Goes on along the same way with other durations.
    func refresh(_ route: Route, _ pricing: RoutePricing) {
        plan.route = route
        plan.refreshCount += 1
        times = RouteTimes(route)
        price(pricing)
        renewProgress()
    }

    /// Takes note of what the router on board says that the route takes.
    func price(_ pricing: RoutePricing) {
        routerTimes = plan.provider == .onBoard ? times : pricing.priced(route).map { RouteTimes($0) } ?? times
    }

    /// Notes that an instruction is told; false for one that lies behind what was told already.
    func tells(_ id: InstructionID) -> Bool {
        let last = id.kind == .visual ? told.visual : told.spoken
        if let last, id.isBefore(last) { return false }
        if id.kind == .visual { told.visual = id } else { told.spoken = id }
        return true
    }

    /// Returns the words of the next maneuver once more, and the seconds to it; nil where none follows on the leg.
    func repeatedInstruction(speed: Double?) -> (SpokenInstruction, duration: Double)? {
        trigger.repeated(offset: cursor.offset, speed: speed, leg: leg).map {
            ($0, times.duration(from: cursor.offset, to: cursor.offset + $0.distance, in: currentLeg))
        }
    }

    /// Moves the cursor to where the vehicle is seen again after a while.
    func resumeCursor(at place: ResumePlace) {
        cursor.skip(to: place.offset)
        if let beyond = place.beyondStop { cursor.passStop(by: beyond) }
    }

    /// Moves the cursor on to where the next leg starts.
    func skipToLegStart() { cursor.skip(to: currentLeg.routeOffset) }

    private static func prior(_ route: Route, in graph: RoadGraph) -> RoutePrior {
        RoutePrior(edges: route.edges.compactMap { graph.edge($0.key) })
    }

    /// Whether the place on the route is where the vehicle is, and not only the nearest to it.
    private func advances(_ placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        switch (placement.kind, deviation.state) {
        case (.ahead, .offStep), (.takenBack, .onRoute): true
        case (.onEdge, .onRoute), (.onEdge, .offStep), (.nearby, .onRoute):
            // At a standstill only the noise moves; who creeps gets ahead in the end.
            (position.speed ?? .infinity) > config.deviationMinimumSpeed
                || placement.offset > cursor.offset + cursor.slack(of: position)
                || cursor.isTakenBack(by: placement, position)
        default: false
        }
    }

    private var isOff: Bool { deviation.state == .offRoute || deviation.state == .wrongWay }

    /// Whether no instruction is given: the vehicle has left the route, and is not at its destination.
    var isSilent: Bool { isOff && !isThere }

    /// Returns the instructions that are due. Off the route none is: what was right for the route is wrong for the driver.
    private func instructions(_ position: VehiclePosition) -> [Instruction] {
        guard deviation.state == .onRoute || deviation.state == .offStep else { return legBanner() }
        guard position.evidence != .expected else { return foresee() }
        var due = confirmed(trigger.update(offset: cursor.offset, speed: position.speed, leg: leg, at: position.stamp))
        let isShown = due.contains { if case .visual = $0 { true } else { false } }
        // Back on the route its banner is shown again.
        if banner == nil, !isShown, let visual = trigger.banner(offset: cursor.offset, leg: leg) {
            due.insert(.visual(visual), at: 0)
        }
        note(due)
        return due
    }

    /// The banner of a leg that was begun by decision, which does not wait until the vehicle is surely on its way.
    private func legBanner() -> [Instruction] {
        guard deviation.state == .uncertain, let banner, banner.id.leg < leg,
            let next = trigger.banner(offset: cursor.offset, leg: leg)
        else { return [] }
        note([.visual(next)])
        return [.visual(next)]
    }

    /// Notes what is shown and said from now on.
    private func note(_ due: [Instruction]) {
        for instruction in due {
            switch instruction {
            case .visual(let visual): banner = visual
            case .spoken(let spoken): spokenID = spoken.id
            }
        }
    }

    /// The banner of where the vehicle is only expected to be, when it is another one. Words are told once and wait for a fix.
    private func foresee() -> [Instruction] {
        guard let next = trigger.banner(offset: cursor.offset, leg: leg), next.id != banner?.id,
            banner.map({ !next.id.isBefore($0.id) }) ?? true
        else { return [] }
        if !foreseen.isShown { foreseen = (true, banner) }
        banner = next
        return [.visual(next)]
    }

    /// Returns the instructions that are due once the position is measured: a banner that is on the screen already, from a
    /// prediction or since its leg began, is not shown again, and one that a prediction led to is taken back where it was wrong.
    private func confirmed(_ due: [Instruction]) -> [Instruction] {
        var due = due
        due.removeAll { $0.id == banner?.id }
        guard foreseen.isShown else { return due }
        let before = foreseen.instead
        foreseen = (false, nil)
        let isDue = due.contains { if case .visual = $0 { true } else { false } }
        guard let banner, var right = trigger.banner(offset: cursor.offset, leg: leg) else { return due }
        if !isDue, let before, right.id.isBefore(before.id) { right = before }
        guard right.id.isBefore(banner.id) else { return due }
        told.visual = nil
        return isDue ? due : [.visual(right)] + due
    }

    // MARK: Progress

    /// Brings the progress up to date where the trip went on without a new position.
    func renewProgress() {
        guard let last = progress, let placement else { return }
        progress = progress(last.position, placement, offRoute: last.attributes)
    }

    /// Whether the vehicle is where the route is.
    private var isSnapped: Bool { deviation.state == .onRoute || deviation.state == .offStep }

    /// The progress of a position.
    ///
    /// - Parameter road: the road that the vehicle is on while it is not where the route is; nil off the roads.
    private func progress(
        _ position: VehiclePosition, _ placement: RoutePlacement, offRoute road: RoadAttributes?
    ) -> RouteProgress {
        let offset = cursor.offset
        // Off the route the way goes on from its nearest point.
        let detour = isOff ? placement.distance : 0
        let nearest = isOff ? min(placement.offset, legEnd) : offset
        let pace =
            currentLeg.length > 0
            ? times.duration(from: currentLeg.routeOffset, toEndOf: currentLeg) / currentLeg.length : 0
        let guidance = plan.guidance
        let steps = guidance.legs[leg]
        let step = guidance.step(at: offset, leg: leg) ?? steps.lowerBound
        let next = step + 1 < steps.upperBound ? guidance.steps[step + 1] : nil
        let stepEnd = min(next?.routeOffset ?? legEnd, legEnd)
        let legDuration = times.duration(from: nearest, toEndOf: currentLeg) + detour * pace
        let edge = isSnapped ? route.edges[times.edge(at: offset, in: currentLeg)] : nil
        let reach = max((position.speed ?? 0) * config.laneApproach, config.laneApproachDistance)
        let approach = isSnapped ? guidance.lanes(in: offset...max(min(offset + reach, legEnd), offset)) : nil
        return RouteProgress(
            offset: offset, leg: leg, legCount: route.legs.count, step: step - steps.lowerBound, stepCount: steps.count,
            point: route.line.segment(at: offset), distanceRemaining: max(route.length - nearest, 0) + detour,
            durationRemaining: legDuration + times.duration(after: currentLeg),
            legDistanceRemaining: max(legEnd - nearest, 0) + detour,
            legDurationRemaining: legDuration,
            stepDistanceRemaining: max(stepEnd - nearest, 0) + detour,
            stepDurationRemaining: next == nil
                ? legDuration : max(times.duration(from: nearest, to: stepEnd, in: currentLeg), 0) + detour * pace,
            deviation: deviation, trafficDelayRemaining: times.delay(from: nearest, in: currentLeg),
            edge: edge?.key ?? position.road?.edgeKey, attributes: edge?.attributes ?? road,
            nextManeuver: next?.maneuver, lanes: approach?.lanes ?? [],
            lanesDistance: approach.map { $0.routeOffset - offset },
            visualInstruction: isSilent ? nil : banner?.id, spokenInstruction: spokenID, position: position,
            isSnapped: isSnapped,
            snapped: (isSnapped ? route.line.coordinate(at: offset) : nil) ?? position.match.coordinate,
            snappedBearing: isSnapped ? route.line.bearing(at: offset) : position.road?.bearing ?? position.course,
            waypointsRemaining: remainingCount)
    }
}
