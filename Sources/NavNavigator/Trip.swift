import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavRouting

/// Guidance along one route: how far the vehicle is, what it was told, whether it follows.
struct Trip {
    let plan: RoutePlan
    /// Counted from 1 in each session.
    let routeID: UInt64
    private(set) var leg = 0
    private(set) var isHeld = false
    private(set) var isComplete = false
    private(set) var wasSeenOnRoute = false
    private(set) var deviation: Deviation
    private(set) var visualID: InstructionID?
    private(set) var spokenID: InstructionID?

    /// The route as a hint to the matcher; nil when the graph does not hold it.
    private(set) var prior: RoutePrior?

    private let config: NavigatorConfig
    private var cursor: RouteCursor
    private var monitor: DeviationMonitor
    private var trigger: InstructionTrigger
    private var isApproaching = false

    /// What happened on the way of one position along the route.
    enum Happening {
        case progress(RouteProgress)
        case instruction(Instruction, distance: Double, duration: Double)
        case arrival(ArrivalEvent)
    }

    init(_ plan: RoutePlan, routeID: UInt64, config: NavigatorConfig, at stamp: Timestamp) {
        self.plan = plan
        self.routeID = routeID
        self.config = config
        cursor = RouteCursor(plan.route)
        monitor = DeviationMonitor(config, at: stamp)
        trigger = InstructionTrigger(plan.guidance)
        deviation = Deviation(state: .onRoute, distance: 0, courseDifference: nil, since: stamp)
    }

    /// Finds the route's edges in a graph: at the start, and whenever tiles came or went.
    mutating func resolve(in graph: RoadGraph) {
        prior = RoutePrior(edges: plan.route.edges.compactMap { graph.edge($0.key) })
    }

    private var route: Route { plan.route }
    private var currentLeg: RouteLeg { route.legs[leg] }

    /// Stops and pass-through points that still lie ahead, the destination included.
    var remainingWaypoints: [Waypoint] {
        let arrived = isHeld || isComplete
        let first = leg == 0 ? 1 : route.legs[leg - 1].destination + 1
        let candidates = route.waypoints.indices[
            min(arrived ? currentLeg.destination + 1 : first, route.waypoints.count)...]
        return candidates.filter { index in
            index >= currentLeg.destination || route.waypoints[index].routeOffset > cursor.offset
        }.map { route.waypoints[$0].waypoint }
    }

    /// Whether a reroute would only lead back to a waypoint that is as good as reached.
    var suppressesReroute: Bool {
        isComplete || isHeld
            || currentLeg.routeOffset + currentLeg.length - cursor.offset < config.arrivalSuppressReroute
    }

    /// Follows one position. Happenings come in the order in which they are to be told.
    mutating func follow(_ position: Sighting, opposite: EdgeKey?) -> [Happening] {
        guard !isComplete else { return [] }
        guard let placement = cursor.place(position, opposite: opposite, leg: currentLeg) else {
            cursor.stay(at: position.stamp)
            return []
        }
        deviation = monitor.judge(placement, position)
        switch deviation.state {
        case .onRoute, .offStep: cursor.advance(to: placement, at: position.stamp)
        case .uncertain where placement.isOnEdge && !placement.isAhead:
            cursor.advance(to: placement, at: position.stamp)
        case .uncertain, .offRoute, .wrongWay: cursor.stay(at: position.stamp)
        }
        if placement.isOnEdge { wasSeenOnRoute = true }
        // Off the route nothing is announced: what was right for the route is wrong for the driver.
        let due =
            deviation.state == .onRoute || deviation.state == .offStep
            ? trigger.update(offset: cursor.offset, speed: position.speed, leg: leg) : []
        for instruction in due {
            switch instruction {
            case .visual(let visual): visualID = visual.id
            case .spoken(let spoken): spokenID = spoken.id
            }
        }
        let progress = progress(placement, position)
        var happenings: [Happening] = [.progress(progress)]
        happenings += due.map {
            .instruction($0, distance: progress.stepDistanceRemaining, duration: progress.stepDurationRemaining)
        }
        happenings += arrivals(placement)
        return happenings
    }

    /// Starts the next leg where the vehicle is held; nil when it is not.
    mutating func advanceLeg() -> [Happening]? {
        guard isHeld else { return nil }
        return [.arrival(startNextLeg())]
    }

    private mutating func arrivals(_ placement: RoutePlacement) -> [Happening] {
        guard !isHeld else { return [] }
        let legEnd = currentLeg.routeOffset + currentLeg.length
        let remaining = max(legEnd - cursor.offset, 0)
        let duration = duration(from: cursor.offset, to: legEnd)
        let isReached = remaining <= config.arrivalRadius && placement.distance <= config.deviationMaximumDistance
        var happenings: [Happening] = []
        if isReached || duration <= config.arrivalApproach {
            happenings.append(.arrival(event(.approaching(isFirst: !isApproaching), remaining, duration)))
            isApproaching = true
        }
        guard isReached else { return happenings }
        happenings.append(.arrival(event(.arrived, remaining, duration)))
        if leg == route.legs.count - 1 {
            isComplete = true
        } else if config.legsAutoAdvance {
            happenings.append(.arrival(startNextLeg()))
        } else {
            isHeld = true
            happenings.append(.arrival(event(.held, remaining, duration)))
        }
        return happenings
    }

    private mutating func startNextLeg() -> ArrivalEvent {
        isHeld = false
        isApproaching = false
        leg += 1
        let legEnd = currentLeg.routeOffset + currentLeg.length
        return event(.legStarted, legEnd - cursor.offset, duration(from: cursor.offset, to: legEnd))
    }

    private func event(_ phase: ArrivalEvent.Phase, _ distance: Double, _ duration: Double) -> ArrivalEvent {
        ArrivalEvent(
            phase: phase, leg: leg, waypoint: currentLeg.destination, isDestination: leg == route.legs.count - 1,
            distanceRemaining: distance, durationRemaining: duration)
    }

    private func progress(_ placement: RoutePlacement, _ position: Sighting) -> RouteProgress {
        let offset = cursor.offset
        let legEnd = currentLeg.routeOffset + currentLeg.length
        let guidance = plan.guidance
        let step = guidance.step(at: offset, leg: leg) ?? 0
        let steps = guidance.legs[leg]
        let next = step + 1 < steps.upperBound ? guidance.steps[step + 1] : nil
        let stepEnd = min(next?.routeOffset ?? legEnd, legEnd)
        let edge = route.edges[edgeIndex(at: offset)]
        return RouteProgress(
            offset: offset, leg: leg, legCount: route.legs.count, step: step - steps.lowerBound, stepCount: steps.count,
            point: route.line.segment(at: offset), distanceRemaining: max(route.length - offset, 0),
            durationRemaining: duration(from: offset, to: route.length), legDistanceRemaining: max(legEnd - offset, 0),
            legDurationRemaining: duration(from: offset, to: legEnd), stepDistanceRemaining: max(stepEnd - offset, 0),
            stepDurationRemaining: duration(from: offset, to: stepEnd), deviation: deviation,
            attributes: edge.attributes, nextManeuver: next?.maneuver, visualInstruction: visualID,
            spokenInstruction: spokenID, position: position,
            snapped: route.line.coordinate(at: offset) ?? placement.snapped,
            snappedBearing: route.line.bearing(at: offset) ?? placement.bearing,
            waypointsRemaining: route.waypoints.indices.dropFirst()
                .filter { route.waypoints[$0].routeOffset > offset || $0 >= currentLeg.destination }.count)
    }

    private func edgeIndex(at offset: Double) -> Int {
        var low = 0
        var high = route.edges.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if route.edges[middle].routeOffset <= offset { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Seconds between two distances from the route's start; a turn counts where its edge begins.
    private func duration(from start: Double, to end: Double) -> Double {
        guard end > start else { return 0 }
        var sum = 0.0
        var index = edgeIndex(at: start)
        while index < route.edges.count, route.edges[index].routeOffset < end {
            let edge = route.edges[index]
            let from = max(start, edge.routeOffset)
            let to = min(end, edge.routeOffset + edge.length)
            if edge.length > 0 { sum += edge.duration * max(to - from, 0) / edge.length }
            if edge.routeOffset > start { sum += edge.turnDuration }
            index += 1
        }
        return sum
    }
}
