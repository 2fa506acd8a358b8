import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting

struct RoutesAreNumbered: Invariant {
    static let rule =
        "session and route ids increase, and every publication has those in force"
    private var session: UInt64 = 0
    private var route: UInt64 = 0
    private var last: UInt64 = 0

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(let context, let what) = effect else { continue }
            switch what {
            case .route(nil, let change):
                if change != .stopped || context.sessionID != session { return "a route ends as \(change)" }
                route = 0
            case .route(_?, .refreshed):
                if (context.sessionID, context.routeID) != (session, route) {
                    return "a refreshed route has another id"
                }
            case .route(_?, let change):
                let isNew = change == .started || change == .set
                if isNew ? context.sessionID <= session : context.sessionID != session {
                    return "trip \(context.sessionID) after \(session) as \(change)"
                }
                // An offered faster route that was not taken has also used an id.
                if context.routeID <= last { return "route \(context.routeID) after \(last) as \(change)" }
                (session, route, last) = (context.sessionID, context.routeID, context.routeID)
            case .progress, .arrival, .spoken:
                if (context.sessionID, context.routeID) != (session, route) || route == 0 {
                    return "route \(context.routeID) is published while \(route) is in force"
                }
            default: break
            }
        }
        return nil
    }
}

struct DestinationIsKept: Invariant {
    static let rule =
        "the stops ahead remain until they are reached, skipped or changed by the owner, or the trip is stopped"
    private var goals: [Waypoint]?
    private var arrived: Set<Coordinate> = []
    private var queries: [UInt64: [Waypoint]] = [:]
    private var isChanged: Set<UInt64> = []
    /// The reroute whose options were requested.
    private var announced: UInt64?
    private var waypoints: [Coordinate] = []

    mutating func violation(_ step: SimStep) -> String? {
        if case .policyAnswer(_, let answer) = step.event.kind, case .reroute(_, let list) = answer.content,
            !list.isEmpty,
            let announced
        {
            isChanged.insert(announced)
        }
        for effect in step.effects {
            switch effect {
            case .requestRoute(let query):
                guard query.purpose == .reroute else { continue }
                queries = [query.requestID: Array(query.request.waypoints.dropFirst())]
            case .publish(_, .reroute(let event)):
                if case .willReroute = event.phase {
                    announced = event.requestID
                    if event.reason == .waypoint, let id = event.requestID { isChanged.insert(id) }
                }
            case .publish(_, .arrival(let event)):
                if event.phase == .arrived, waypoints.indices.contains(event.waypoint) {
                    arrived.insert(waypoints[event.waypoint])
                }
            case .publish(_, .route(let plan, let change)):
                if let what = take(plan, change, step) { return what }
            default: break
            }
        }
        return nil
    }

    private mutating func take(_ plan: RoutePlan?, _ change: RouteChange, _ step: SimStep) -> String? {
        guard let plan else {
            goals = nil
            guard case .command(.stop, _) = step.event.kind else { return "the trip ended without a stop command" }
            return nil
        }
        let ahead = Array(plan.route.waypoints.dropFirst().map(\.waypoint))
        waypoints = plan.route.waypoints.map(\.waypoint.coordinate)
        switch change {
        case .started, .set, .resumed: arrived = []
        case .stopped: return "a route is published with the end of the trip"
        case .refreshed: if ahead != goals { return "a refreshed route leads elsewhere" }
        case .rerouted, .waypointSkipped:
            guard let id = queries.keys.first, let asked = queries[id] else {
                return "a reroute without a request"
            }
            if ahead.map(\.coordinate) != asked.map(\.coordinate) { return "a reroute leads elsewhere than requested" }
            if !isChanged.contains(id), let what = differs(ahead) { return what }
        case .alternativeTaken, .fasterRoute: if let what = differs(ahead) { return what }
        }
        goals = ahead
        return nil
    }

    private func differs(_ ahead: [Waypoint]) -> String? {
        func stops(_ list: [Waypoint]) -> [Coordinate] {
            list.filter { $0.isStop }.map(\.coordinate).filter { !arrived.contains($0) }
        }
        guard let goals else { return "there was no trip" }
        if ahead.last?.coordinate != goals.last?.coordinate { return "the destination differs" }
        if stops(ahead) != stops(goals) {
            return "\(stops(ahead).count) stops are ahead instead of \(stops(goals).count)"
        }
        if let again = ahead.first(where: { arrived.contains($0.coordinate) && $0.isStop }) {
            return "the route leads back to the stop at \(again.coordinate), which was reached"
        }
        return nil
    }
}

struct RemainingNeverGrows: Invariant {
    static let rule =
        "the remaining distance never grows, except on a new route, off route, or when a fix corrects a prediction"
    private var last: RouteProgress?
    /// The remaining distance at the last measured position, metres.
    private var seen = 0.0
    /// The rounding error of a difference, metres.
    private static let rounding = 1e-6

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(_, .refreshed): break
            case .route:
                last = nil
                // No position has been measured on this route yet.
                seen = .infinity
            case .progress(let progress):
                // Off route, the remaining distance depends on the vehicle.
                guard progress.deviation.state != .offRoute, progress.deviation.state != .wrongWay else { continue }
                defer { last = progress }
                if let last, let what = compare(progress, last) { return what }
                note(progress)
            default: break
            }
        }
        return nil
    }

    private func compare(_ progress: RouteProgress, _ last: RouteProgress) -> String? {
        if progress.leg < last.leg { return "leg \(progress.leg) after \(last.leg)" }
        if progress.distanceRemaining > last.distanceRemaining {
            // A fix corrects a prediction, possibly only by rounding, as from a stop to just before it.
            let least = max(seen, last.distanceRemaining)
            guard progress.distanceRemaining > least + RemainingNeverGrows.rounding else { return nil }
            return "\(last.distanceRemaining) m grow to \(progress.distanceRemaining) m, measured \(seen) m"
        }
        if progress.leg == last.leg {
            if progress.step < last.step { return "step \(progress.step) after \(last.step)" }
            if progress.legDistanceRemaining > last.legDistanceRemaining + RemainingNeverGrows.rounding {
                return "\(last.legDistanceRemaining) m of the leg grow to \(progress.legDistanceRemaining) m"
            }
        }
        return progress.waypointsRemaining > last.waypointsRemaining ? "the number of waypoints ahead grows" : nil
    }

    /// Notes a fix that moves the position, forward or back, and thereby confirms it: a prediction is corrected once,
    /// not step by step.
    private mutating func note(_ progress: RouteProgress) {
        guard progress.position.prediction == nil, progress.position.evidence == .measured else { return }
        if last?.distanceRemaining != progress.distanceRemaining { seen = progress.distanceRemaining }
    }
}

struct ProgressKeepsComing: Invariant {
    static let rule = "every position on a trip has a progress"
    private var isUnderWay = false

    mutating func violation(_ step: SimStep) -> String? {
        var isDue = false
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .position: isDue = isUnderWay
            case .progress:
                if !isDue { return "a progress without a position, or without a trip" }
                isDue = false
            case .route(let plan, let change): if change != .refreshed { isUnderWay = plan != nil }
            case .arrival(let event): if event.phase == .arrived, event.isDestination { isUnderWay = false }
            default: break
            }
        }
        return isDue && isUnderWay ? "a position without a progress" : nil
    }
}

struct ArrivalsOncePerStop: Invariant {
    static let rule =
        "each stop is approached, reached once and left by the next leg; no arrival event follows the destination"
    private enum Stage { case driving, atStop, held, beginning, complete, none }

    private var stage = Stage.none
    private var waypoints: [Coordinate] = []
    private var leg = 0
    private var approached: Set<Coordinate> = []
    private var arrived: Set<Coordinate> = []

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(_, let what) = effect else { continue }
            switch what {
            case .route(let plan, let change):
                if change == .refreshed { continue }
                if change == .started || change == .set { (approached, arrived) = ([], []) }
                waypoints = plan?.route.waypoints.map(\.waypoint.coordinate) ?? []
                // A new route of the same trip at a stop begins with the next leg.
                let isFromStop = (stage == .atStop || stage == .held) && change != .started && change != .set
                (stage, leg) = (plan == nil ? .none : isFromStop ? .beginning : .driving, 0)
            case .arrival(let event): if let what = take(event) { return what }
            case .progress(let progress):
                if stage == .complete || stage == .none { return "a progress without a trip" }
                if stage == .beginning { return "a progress before its leg starts" }
                if progress.leg != leg { return "leg \(progress.leg) instead of \(leg)" }
            default: break
            }
        }
        return nil
    }

    private mutating func take(_ event: ArrivalEvent) -> String? {
        guard waypoints.indices.contains(event.waypoint) else { return "waypoint \(event.waypoint) does not exist" }
        let place = waypoints[event.waypoint]
        switch event.phase {
        case .approaching(let isFirst):
            if stage != .driving { return "an approach in stage \(stage)" }
            if isFirst != approached.insert(place).inserted {
                return isFirst ? "the approach begins twice" : "the approach has no beginning"
            }
        case .arrived:
            if stage != .driving { return "an arrival in stage \(stage)" }
            if !arrived.insert(place).inserted { return "waypoint \(event.waypoint) is reached twice" }
            if event.isDestination != (event.waypoint == waypoints.count - 1) {
                return "isDestination does not match the waypoint"
            }
            stage = event.isDestination ? .complete : .atStop
        case .held:
            if stage != .atStop { return "held in stage \(stage)" }
            stage = .held
        case .legStarted:
            if stage == .beginning {
                leg = -1
            } else if stage != .atStop && stage != .held {
                return "a leg starts in stage \(stage)"
            }
            leg += 1
            if event.leg != leg { return "leg \(event.leg) starts instead of \(leg)" }
            stage = .driving
        }
        return nil
    }
}

struct StateTellsTheTruth: Invariant {
    static let rule = "the state is published on change and agrees with the events"
    private var told: (state: NavigatorState, session: UInt64, route: UInt64)?
    private var (hasPosition, hasPreview, isComplete, isHeld) = (false, false, false, false)
    /// Whether the prediction of positions has ended without fixes.
    private var isLost = false
    private var reroute: UInt64?
    private var plan: RoutePlan?
    private var leg = 0
    private var deviation = DeviationState.onRoute

    mutating func violation(_ step: SimStep) -> String? {
        for effect in step.effects {
            guard case .publish(let context, let what) = effect else { continue }
            switch what {
            case .state(let state):
                let now = (state: state, session: context.sessionID, route: context.routeID)
                if let told, told == now { return "the same state twice" }
                told = now
            case .position: (hasPosition, isLost) = (true, false)
            case .simulation(let event): if event.phase == .ended { isLost = event.end == .gaveUp }
            case .preview(let preview): hasPreview = !preview.routes.isEmpty
            case .route(let plan, let change):
                self.plan = plan
                if change != .refreshed { (isComplete, isHeld, leg, deviation) = (false, false, 0, .onRoute) }
            case .progress(let progress): deviation = progress.deviation.state
            case .arrival(let event):
                switch event.phase {
                case .approaching: break
                case .arrived: if event.isDestination { isComplete = true }
                case .held: isHeld = true
                case .legStarted: (isHeld, leg) = (false, event.leg)
                }
            case .reroute(let event):
                switch event.phase {
                case .willReroute: reroute = event.requestID
                case .applied, .failed, .rejected: if event.requestID == reroute { reroute = nil }
                case .fetching, .fetched: break
                }
            default: break
            }
        }
        guard let told = told?.state else { return "no state was published" }
        if !phases.contains(told.phase) { return "\(told.phase) instead of \(phases)" }
        if told.isRerouting != (reroute != nil) { return "isRerouting is \(told.isRerouting)" }
        if told.isHeld != isHeld { return "isHeld is \(told.isHeld)" }
        if told.leg != leg || told.legCount != plan?.route.legs.count ?? 0 {
            return "leg \(told.leg) instead of \(leg)"
        }
        if told.destination != plan?.route.waypoints.last?.waypoint { return "the destination differs" }
        return nil
    }

    /// The possible phases, more than one where the publications do not show whether the vehicle was seen on its route.
    private var phases: [NavigatorState.Phase] {
        if hasPreview, plan == nil || isComplete { return [.preview] }
        guard plan != nil else { return [hasPosition ? .freeDrive : .idle] }
        if isComplete { return [.guidance(.complete)] }
        switch deviation {
        case .offRoute, .wrongWay: return [.guidance(.offRoute)]
        case .uncertain: return [.guidance(.uncertain)]
        case .onRoute, .offStep:
            return isLost ? [.guidance(.uncertain)] : [.guidance(.tracking), .guidance(.initialized)]
        }
    }
}

struct NothingFinalIsExpected: Invariant {
    static let rule =
        "an expected position reaches and passes no waypoint, starts no leg and triggers no instruction"
    private var evidence = PositionEvidence.measured
    private var prediction: PredictionMethod?
    private var waypoints: Int?
    /// The number of waypoints of the route, including the start.
    private var count = 0

    mutating func violation(_ step: SimStep) -> String? {
        // An owner's decision may arrive after the position has changed.
        var isOwners = false
        if case .policyAnswer = step.event.kind { isOwners = true }
        for (_, what) in step.publications {
            switch what {
            case .position(let position): (evidence, prediction) = (position.evidence, position.prediction)
            case .route(let plan, _): (waypoints, count) = (nil, plan?.route.waypoints.count ?? 0)
            // A requested repetition is spoken at any position.
            case .spoken(let spoken, _, _) where !spoken.isRepeat:
                if evidence == .expected, !isOwners, !isOverdue(step) { return "\(spoken.id) is spoken" }
            case .arrival(let event):
                guard event.phase == .arrived else { continue }
                if evidence != .measured { return "waypoint \(event.waypoint) is reached" }
                // The waypoint is behind the vehicle from now on, whatever the evidence of the next progress.
                waypoints = waypoints.map { min($0, count - 1 - event.waypoint) }
            case .progress(let progress):
                if prediction != nil, evidence != .measured, let waypoints, progress.waypointsRemaining < waypoints {
                    return "\(progress.waypointsRemaining) waypoints are ahead instead of \(waypoints)"
                }
                waypoints = progress.waypointsRemaining
            default: break
            }
        }
        return nil
    }

    /// Whether a question to the owner was decided in this step, since it was asked at an earlier position.
    private func isOverdue(_ step: SimStep) -> Bool {
        step.publications.contains { if case .policyDecision = $0.what { true } else { false } }
    }
}

struct ArrivalsAreThere: Invariant {
    static let rule = "no stop is reached by a prediction while the vehicle is 150 m from it"
    private var places: [RouteWaypoint] = []
    private var last: VehiclePosition?
    /// The error of the last accepted fix, metres, which predictions inherit.
    private var error = 0.0

    mutating func violation(_ step: SimStep) -> String? {
        for (_, what) in step.publications {
            switch what {
            case .position(let position):
                last = position
                if position.prediction == nil { error = Geodesy.distance(step.truth, position.coordinate) }
            case .route(let plan, _): places = plan?.route.waypoints ?? []
            case .arrival(let event):
                guard event.phase == .arrived, let last, last.prediction != nil, places.indices.contains(event.waypoint)
                else { continue }
                let place = places[event.waypoint]
                let distance = min(
                    Geodesy.distance(step.truth, place.snapped),
                    Geodesy.distance(step.truth, place.waypoint.coordinate))
                // The odometry error grows with the distance.
                if error < 100, distance > max(150, 3 * (last.sigma ?? 0)) {
                    return "waypoint \(event.waypoint) is reached from \(Int(distance)) m"
                }
            default: break
            }
        }
        return nil
    }
}
