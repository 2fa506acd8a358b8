import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavPositioning
import NavRouting

/// Guidance along one route: progress, instructions, and deviation.
///
/// It only reports; the navigator decides about reroutes.
final class Trip {
    /// A result of following one position along the route.
    indirect enum Update {
        case progress(RouteProgress)
        case instruction(Instruction, distance: Double, duration: Double)
        /// The displayed instruction does not apply off the route.
        case noInstruction
        case arrival(ArrivalEvent)
    }

    enum Stage {
        /// On the way to the end of a leg.
        case driving(leg: Int, isApproaching: Bool)
        /// At the end of a leg, until the navigator decides whether the next one begins; while held, until a command starts it.
        case atStop(leg: Int, isHeld: Bool)
        case complete
    }

    private(set) var plan: RoutePlan
    /// The route's number, counted from 1 across all sessions.
    let routeID: UInt64
    private(set) var wasSeenOnRoute = false
    private(set) var deviation: Deviation
    /// The route as a prior for the matcher.
    private(set) var prior: RoutePrior

    var config: NavigatorConfig {
        didSet {
            cursor.config = config
            monitor.config = config
            trigger.arrivalRadius = announcedRadius
        }
    }
    private(set) var times: RouteTimes
    /// The route's times by the on-board router, regardless of its provider, for comparison with other routes.
    private(set) var routerTimes: RouteTimes
    var stage = Stage.driving(leg: 0, isApproaching: false)
    private(set) var cursor: RouteCursor
    private var monitor: DeviationMonitor
    private var trigger: InstructionTrigger
    /// The start of each edge that no longer exists in the map, metres from the route's start.
    private var removed: [Double] = []
    /// The start of each edge that may not be driven, including those that the map no longer has, metres from the route's start.
    private var blocked: [Double] = []
    /// The banner that is due; the owner's policy may delay or suppress its publication.
    private var banner: VisualInstruction?
    /// The displayed banner and the last spoken instruction, as published.
    private var given: (visual: InstructionID?, spoken: InstructionID?)
    /// Whether a prediction led to the displayed banner, and the banner before it.
    private var predictedBanner: (isShown: Bool, instead: VisualInstruction?) = (false, nil)
    /// The last banner and the last spoken instruction that were published, possibly delayed by the owner's policy.
    private var reported: (visual: InstructionID?, spoken: InstructionID?)
    /// Whether reroutes are suppressed near the stop; nil until the vehicle was near it.
    var preventsReroutes: Bool?
    /// The moment since which all conditions of an arrival have held.
    var reachedSince: Timestamp?
    var stationarySince: Timestamp?
    /// The time of the last jump of the measured position.
    var jumpedAt: Timestamp?
    private(set) var placement: RoutePlacement?
    private(set) var progress: RouteProgress?

    /// Creates a trip at the start of a plan without defects.
    ///
    /// - Parameters:
    ///   - origin: The vehicle's position when the route was requested.
    ///   - start: The vehicle's least distance from the route's start, metres.
    ///   - isApproaching: Whether the approach to the first stop was already announced on the previous route.
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
        trigger.arrivalRadius = announcedRadius
    }

    // MARK: Questions

    /// The current leg, or the completed one while the vehicle is at its stop; from 0.
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

    /// The stops and pass-through points that still lie ahead, including the destination.
    var remainingWaypoints: [Waypoint] { remainingIndices.map { route.waypoints[$0].waypoint } }

    /// The number of ``remainingWaypoints``.
    var remainingCount: Int { route.waypoints.indices.count(where: isAhead) }

    /// The number of ``remainingWaypoints`` that are stops.
    var remainingStopCount: Int { route.legs.count { isAhead($0.destination) } }

    /// Metres from the route's start; ``confirmedOffset`` is the part confirmed by fixes or odometry.
    var offset: Double { cursor.offset }
    var confirmedOffset: Double { cursor.confirmed }

    /// Seconds to the destination.
    var durationRemaining: Double {
        isComplete ? 0 : times.duration(from: offset, toEndOf: currentLeg) + times.duration(after: currentLeg)
    }

    /// The next stop's index in the route's waypoints.
    var nextStop: Int { currentLeg.destination }

    /// The stops and pass-through points that still lie ahead, as indices in the route's waypoints.
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

    /// Adopts another set of tiles; returns whether the ids of the route's edges have changed, as in another map version.
    func noteMap(from old: RoadGraph, to new: RoadGraph) -> Bool {
        defer { prior = Trip.prior(route, in: new) }
        guard old.mapVersion != new.mapVersion else { return false }
        // Edges removed earlier remain removed, because their positions are no longer known.
        removed += plan.route.adopt(from: old, to: new)
        cursor.adopt(route)
        return true
    }

    /// Records which edges are closed now. A road with opening hours was open when the route was found.
    func noteClosures(_ pricing: RoutePricing) {
        blocked = removed + route.edges.filter { pricing.isClosedNow($0.key) }.map(\.routeOffset)
    }

    /// Whether a part of the route ahead cannot be driven; the vehicle's current edge does not count.
    var isBlocked: Bool { blocked.contains { $0 > cursor.offset } }

    /// Discards the evidence against the route.
    func restartDeviation(at stamp: Timestamp) { monitor.restart(at: stamp) }

    /// Follows one position and returns the updates in the order of publication; there are none after the arrival.
    ///
    /// - Parameter isRevised: Whether the owner's policy decides on each instruction before it is published.
    func follow(_ position: VehiclePosition, on graph: RoadGraph, isRevised: Bool) -> [Update] {
        guard !isComplete else { return [] }
        let placement = cursor.place(position, on: graph, leg: currentLeg, stop: stop.snapped)
        let hasPassedStop = cursor.hasPassedStop
        deviation = monitor.classify(placement, position)
        if advances(placement, position) {
            cursor.advance(to: placement, limit: legEnd, by: position)
        } else {
            let isWrong = cursor.isBehindPrediction(by: placement, position)
            cursor.stay(
                atMost: isWrong && placement.distance <= config.deviationMaximumDistance ? placement.offset : nil)
        }
        if placement.isFollowing, position.isDecisive { wasSeenOnRoute = true }
        self.placement = placement
        var due = instructions(position)
        if !isRevised { give(due) }
        let isCleared = isSilent && banner != nil
        if isCleared { (banner, given.visual) = (nil, nil) }
        let isOnLeg = isSnapped && placement.offset <= legEnd
        var progress = progress(
            position, placement, offLeg: isOnLeg ? nil : position.road.map { graph.attributes(of: $0.edge) })
        let isAtStop = hasPassedStop || placement.distance <= config.deviationMaximumDistance
        let arrivals = arrivals(position, isAtStop: isAtStop)
        var last: [Instruction] = []
        if let arrival = arrivals.last, arrival.phase == .arrived {
            // A driver who arrives by another road than the route's last one has not received these instructions.
            last = trigger.arrive(leg: arrival.leg)
            note(last)
            // "You will arrive" is redundant directly before "You have arrived".
            due.removeAll { given in
                given.id.kind == .near
                    && last.contains { $0.id.kind == .now && ($0.id.leg, $0.id.step) == (given.id.leg, given.id.step) }
            }
            if !isRevised { give(last) }
            (progress.visualInstruction, progress.spokenInstruction) = given
        }
        self.progress = progress
        var updates: [Update] = [.progress(progress)]
        if isCleared { updates.append(.noInstruction) }
        updates += due.map { update($0, at: progress) }
        updates += last.map { .instruction($0, distance: 0, duration: 0) }
        updates += arrivals.map { .arrival($0) }
        return updates
    }

    /// Advances to a position before the trip follows the first one, and returns the instructions that are due there, if the vehicle is on
    /// the route and its next maneuver is at most `reach` metres ahead; otherwise does nothing.
    ///
    /// - Parameter isRevised: Whether the owner's policy decides on each instruction before it is published.
    func begin(at position: VehiclePosition, within reach: Double, on graph: RoadGraph, isRevised: Bool) -> [Update] {
        // The next position is placed from the same origin, so only the offset changes.
        var trial = cursor
        let placement = trial.place(position, on: graph, leg: currentLeg, stop: stop.snapped)
        guard placement.kind == .onEdge, placement.offset <= legEnd else { return [] }
        let start = cursor
        cursor.skip(to: placement.offset)
        let progress = progress(position, placement, offLeg: nil)
        guard progress.stepDistanceRemaining <= reach else {
            cursor = start
            return []
        }
        let due = instructions(position)
        if !isRevised { give(due) }
        return due.map { update($0, at: progress) }
    }

    private func update(_ instruction: Instruction, at progress: RouteProgress) -> Update {
        guard case .spoken(let spoken) = instruction, spoken.id.kind == .notice else {
            return .instruction(
                instruction, distance: progress.stepDistanceRemaining, duration: progress.stepDurationRemaining)
        }
        let place = cursor.offset + spoken.distance
        return .instruction(
            instruction, distance: spoken.distance,
            duration: times.duration(from: cursor.offset, to: place, in: currentLeg))
    }

    /// Continues on the same route with new durations.
    func refresh(_ route: Route, _ pricing: RoutePricing) {
        plan.route = route
        plan.refreshCount += 1
        times = RouteTimes(route)
        price(pricing)
        renewProgress()
    }

    /// Updates the on-board router's times for the route.
    func price(_ pricing: RoutePricing) {
        routerTimes =
            plan.provider == .onBoard ? times : pricing.priced(route, from: offset).map { RouteTimes($0) } ?? times
    }

    /// Records that an instruction is published; returns false when a later one already was.
    func isNew(_ id: InstructionID) -> Bool {
        let last = id.kind == .visual ? reported.visual : reported.spoken
        if let last, id.isBefore(last) { return false }
        if id.kind == .visual {
            (reported.visual, given.visual) = (id, id)
        } else {
            (reported.spoken, given.spoken) = (id, id)
        }
        return true
    }

    /// Clears a banner earlier than one that the owner suppresses; returns whether there was one.
    func clearBanner(before id: InstructionID) -> Bool {
        guard let shown = given.visual, shown.isBefore(id) else { return false }
        given.visual = nil
        return true
    }

    /// Whether a requested repeat is still useful: no later maneuver has been announced.
    func repeats(_ id: InstructionID) -> Bool {
        !isComplete && !(reported.spoken.map { (id.leg, id.step) < ($0.leg, $0.step) } ?? false)
    }

    /// Returns the next maneuver's spoken instruction for a repeat, with the seconds to the maneuver; nil when no maneuver follows on the
    /// leg.
    func repeatedInstruction(speed: Double?) -> (SpokenInstruction, duration: Double)? {
        trigger.repeated(offset: cursor.offset, speed: speed, leg: leg).map {
            ($0, times.duration(from: cursor.offset, to: cursor.offset + $0.distance, in: currentLeg))
        }
    }

    /// Moves the cursor to the place where the vehicle is seen again after an interruption.
    func resumeCursor(at place: ResumePlace) {
        cursor.skip(to: place.offset)
        if let beyond = place.beyondStop { cursor.passStop(by: beyond) }
    }

    /// Moves the cursor's moments when the clock is set.
    func moveCursorClock(by nanoseconds: Int64) { cursor.moveClock(by: nanoseconds) }

    /// Moves the cursor to the start of the next leg.
    func skipToLegStart() { cursor.skip(to: currentLeg.routeOffset) }

    private static func prior(_ route: Route, in graph: RoadGraph) -> RoutePrior {
        RoutePrior(edges: route.edges.compactMap { graph.edge($0.key) })
    }

    /// Whether the cursor may move to the place on the route: the place is the vehicle's own, not merely the nearest.
    private func advances(_ placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        switch (placement.kind, deviation.state) {
        case (.ahead, .offStep), (.behindPrediction, .onRoute): true
        case (.onEdge, .onRoute), (.onEdge, .offStep), (.nearby, .onRoute):
            // At a standstill only noise moves the position; a creeping vehicle still advances eventually.
            (position.speed ?? .infinity) > config.deviationMinimumSpeed
                || placement.offset > cursor.offset + cursor.slack(of: position)
                || cursor.isBehindPrediction(by: placement, position)
        default: false
        }
    }

    private var isOff: Bool { deviation.state == .offRoute || deviation.state == .wrongWay }

    /// Whether instructions are suppressed: the vehicle is off-route and not at its destination.
    var isSilent: Bool { isOff && !isThere }

    /// Returns the instructions that are due. None are due off-route, where they would mislead the driver.
    private func instructions(_ position: VehiclePosition) -> [Instruction] {
        guard deviation.state == .onRoute || deviation.state == .offStep else { return legBanner() }
        guard position.evidence != .expected else { return foresee() }
        var due = confirmed(trigger.update(offset: cursor.offset, speed: position.speed, leg: leg, at: position.stamp))
        let isShown = due.contains { if case .visual = $0 { true } else { false } }
        // Show the route's banner again on return to the route.
        if banner == nil, !isShown, let visual = trigger.banner(offset: cursor.offset, leg: leg) {
            due.insert(.visual(visual), at: 0)
        }
        note(due)
        return due
    }

    /// Returns the banner of a leg started by a decision, without waiting for evidence of departure.
    private func legBanner() -> [Instruction] {
        guard deviation.state == .uncertain, let banner, banner.id.leg < leg,
            let next = trigger.banner(offset: cursor.offset, leg: leg)
        else { return [] }
        note([.visual(next)])
        return [.visual(next)]
    }

    /// Records the banner that is due.
    private func note(_ due: [Instruction]) {
        for case .visual(let visual) in due { banner = visual }
    }

    /// Records instructions that are published with the progress.
    private func give(_ due: [Instruction]) {
        for instruction in due {
            if instruction.id.kind == .visual { given.visual = instruction.id } else { given.spoken = instruction.id }
        }
    }

    /// Returns the banner at a predicted position if it changed. Spoken instructions are given only once, so they wait for a fix.
    private func foresee() -> [Instruction] {
        guard let next = trigger.banner(offset: cursor.offset, leg: leg), next.id != banner?.id,
            banner.map({ !next.id.isBefore($0.id) }) ?? true
        else { return [] }
        if !predictedBanner.isShown { predictedBanner = (true, banner) }
        banner = next
        return [.visual(next)]
    }

    /// Returns the instructions that are due at a measured position.
    ///
    /// A banner already displayed, by a prediction or since the leg's start, is not repeated. A wrong banner from a prediction is replaced.
    private func confirmed(_ due: [Instruction]) -> [Instruction] {
        var due = due
        due.removeAll { $0.id == banner?.id }
        guard predictedBanner.isShown else { return due }
        let before = predictedBanner.instead
        predictedBanner = (false, nil)
        let isDue = due.contains { if case .visual = $0 { true } else { false } }
        guard let banner, var right = trigger.banner(offset: cursor.offset, leg: leg) else { return due }
        if !isDue, let before, right.id.isBefore(before.id) { right = before }
        guard right.id.isBefore(banner.id) else { return due }
        reported.visual = nil
        return isDue ? due : [.visual(right)] + due
    }

    // MARK: Progress

    /// Updates the progress after a change without a new position.
    func renewProgress() {
        guard let last = progress, let placement else { return }
        progress = progress(last.position, placement, offLeg: last.attributes)
    }

    /// Whether the vehicle is displayed on the route.
    private var isSnapped: Bool { deviation.state == .onRoute || deviation.state == .offStep }

    /// Returns the progress at a position.
    ///
    /// - Parameter road: The vehicle's road when it is not on the current leg; nil off the roads.
    private func progress(
        _ position: VehiclePosition, _ placement: RoutePlacement, offLeg road: RoadAttributes?
    ) -> RouteProgress {
        let offset = cursor.offset
        // The cursor stays at the stop until the next leg begins, even if the vehicle continues along the route.
        let isBeyondStop = isSnapped && placement.offset > legEnd
        let shown = isBeyondStop ? placement.offset : offset
        // Off-route, the remaining distance is counted from the nearest point of the route.
        let detour = isOff ? placement.distance : 0
        let nearest = isOff ? min(placement.offset, legEnd) : offset
        let length = offset + max(route.length - offset, 0)
        let pace =
            currentLeg.length > 0
            ? times.duration(from: currentLeg.routeOffset, toEndOf: currentLeg) / currentLeg.length : 0
        let guidance = plan.guidance
        let steps = guidance.legs[leg]
        let step = guidance.step(at: offset, leg: leg) ?? steps.lowerBound
        let next = step + 1 < steps.upperBound ? guidance.steps[step + 1] : nil
        let stepEnd = min(next?.routeOffset ?? legEnd, legEnd)
        let legDuration = times.duration(from: nearest, toEndOf: currentLeg) + detour * pace
        let edge = isSnapped && !isBeyondStop ? route.edges[times.edge(at: offset, in: currentLeg)] : nil
        let reach = max((position.speed ?? 0) * config.laneApproach, config.laneApproachDistance)
        let approach = isSnapped ? guidance.lanes(in: offset...max(min(offset + reach, legEnd), offset)) : nil
        return RouteProgress(
            offset: offset, leg: leg, legCount: route.legs.count, step: step - steps.lowerBound, stepCount: steps.count,
            point: route.line.segment(at: offset), distanceRemaining: max(route.length - nearest, 0) + detour,
            fraction: length > 0 ? offset / length : 1,
            durationRemaining: legDuration + times.duration(after: currentLeg),
            legDistanceRemaining: max(legEnd - nearest, 0) + detour,
            legDurationRemaining: legDuration,
            stepDistanceRemaining: max(stepEnd - nearest, 0) + detour,
            stepDurationRemaining: next == nil
                ? legDuration : max(times.duration(from: nearest, to: stepEnd, in: currentLeg), 0) + detour * pace,
            deviation: deviation, trafficDelayRemaining: times.delay(from: nearest, in: currentLeg),
            trafficStamp: route.trafficStamp,
            edge: edge?.key ?? position.road?.edgeKey, attributes: edge?.attributes ?? road,
            nextManeuver: next?.maneuver, lanes: approach?.lanes ?? [],
            lanesDistance: approach.map { $0.routeOffset - offset },
            visualInstruction: isSilent ? nil : given.visual, spokenInstruction: given.spoken, position: position,
            isSnapped: isSnapped,
            snapped: (isSnapped ? route.line.coordinate(at: shown) : nil) ?? position.match.coordinate,
            snappedBearing: isSnapped ? route.line.bearing(at: shown) : position.road?.bearing ?? position.course,
            waypointsRemaining: remainingCount, stopsRemaining: remainingStopCount)
    }
}

extension Route {
    /// Translates the edges to another map version.
    ///
    /// - Returns: The start of each edge that the map no longer has, metres from the route's start.
    mutating func adopt(from old: RoadGraph, to new: RoadGraph) -> [Double] {
        let translation = EdgeTranslation(from: old, to: new)
        var removed: [Double] = []
        mapVersion = new.mapVersion
        for (index, edge) in edges.enumerated() {
            let middle = line.coordinate(at: edge.routeOffset + edge.length / 2)
            let known = old.edge(edge.key)
            if let known, let middle, let now = translation.edge(known, at: middle) {
                edges[index].key = new.key(of: now)
            } else {
                // An invalid key, because the old key may now belong to another edge.
                edges[index].key = EdgeKey(rawValue: .max)
                let isLoaded = new.tiles.contains { $0.id == edge.key.tile }
                if known != nil, isLoaded { removed.append(edge.routeOffset) }
            }
        }
        return removed
    }
}
