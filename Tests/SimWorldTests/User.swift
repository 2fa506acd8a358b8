import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation

/// The user's view of the trip, on which the commands depend.
struct UserView {
    var route: RoutePlan?
    var isComplete = false
    var isHeld = false
    var isRerouting = false
    var previews = 0
    var alternatives: [UInt64] = []
    var isFasterOffered = false
    var waypoints = 0
}

/// A user who sends commands at odd moments, some of them invalid.
struct SimUser {
    private var random: SeededRandom
    private let map: SimMap
    /// The mean interval between two commands during a trip, seconds.
    private let patience: Double
    private var config: NavigatorConfig

    init(_ map: SimMap, seed: UInt64) {
        random = SeededRandom(seed: seed)
        self.map = map
        patience = random.uniform() < 0.4 ? 200 : 20 + 60 * random.uniform()
        config = NavigatorConfig()
        config = changedConfig(isLive: false)
    }

    /// The initial thresholds.
    var firstConfig: NavigatorConfig { config }

    private mutating func chance(_ share: Double) -> Bool { random.uniform() < share }
    private mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }

    /// Returns the seconds until the next command.
    mutating func pause(_ view: UserView) -> Double {
        let mean = view.route == nil || view.isComplete ? 8 : view.isHeld ? 15 : patience
        return 0.2 + mean * 2 * random.uniform()
    }

    /// Returns the seconds after which the caller disconnects before the answer; nil for never.
    mutating func goesAway() -> Double? { chance(0.1) ? 0.5 + 8 * random.uniform() : nil }

    /// Returns whether a caller waits for the answer.
    mutating func waits() -> Bool { chance(0.8) }

    mutating func command(_ view: UserView, _ planner: SimPlanner) -> NavigatorCommand {
        if chance(0.06) { return nonsense(view, planner) }
        if view.previews > 0, chance(0.7) {
            return chance(0.4)
                ? .selectPreview(.index(Int(random.next() % UInt64(view.previews))))
                : .start(preview: chance(0.5) ? nil : .index(Int(random.next() % UInt64(view.previews))), drive())
        }
        guard view.route != nil, !view.isComplete else { return begin(planner) }
        if view.isHeld, chance(0.6) { return .advanceLeg() }
        if view.isFasterOffered, chance(0.6) { return .acceptFasterRoute(chance(0.7)) }
        if let id = view.alternatives.first, chance(0.35) {
            return .selectAlternative(chance(0.7) ? id : pick(view.alternatives))
        }
        switch random.uniform() {
        case ..<0.28: return .reroute(chance(0.3) ? preferences() : nil)
        case ..<0.46: return .skipWaypoint(chance(0.6) ? nil : 1 + Int(random.next() % UInt64(max(view.waypoints, 1))))
        case ..<0.56: return .refreshRoute
        case ..<0.64: return .stop
        case ..<0.72: return .calculate(order(), isPreview: chance(0.3))
        case ..<0.78: return .advanceLeg()
        case ..<0.84: return .repeatInstruction
        default: return begin(planner)
        }
    }

    private mutating func begin(_ planner: SimPlanner) -> NavigatorCommand {
        switch random.uniform() {
        case ..<0.6: return .navigate(order(), drive())
        case ..<0.75:
            let order = order()
            let places = [Waypoint(map.coordinate(&random))] + order.waypoints
            guard let plan = planner.plan(places, map.roads) else { return .navigate(order, nil) }
            return .setRoute(plan, drive())
        default: return .calculate(order(), isPreview: true)
        }
    }

    private mutating func drive() -> SimulatedDrive? {
        chance(0.06) ? SimulatedDrive(speedFactor: 0.5 + 3 * random.uniform()) : nil
    }

    private mutating func order() -> RouteOrder {
        let count = chance(0.5) ? 1 : chance(0.6) ? 2 : 3 + Int(random.next() % 3)
        return RouteOrder(
            origin: chance(0.06) ? Waypoint(map.coordinate(&random)) : nil,
            waypoints: (0..<count).map { _ in
                Waypoint(map.coordinate(&random, beside: chance(0.3) ? 60 : 0), isStop: chance(0.75))
            }, preferences: chance(0.1) ? preferences() : RoutePreferences(), alternatives: chance(0.5) ? 2 : 0)
    }

    private mutating func preferences() -> RoutePreferences {
        var preferences = RoutePreferences()
        if chance(0.3) { preferences.options.initialManeuverAvoidance = 300 * random.uniform() }
        if chance(0.3) { preferences.options.waypointTurns = pick([.atStops, .everywhere, .never]) }
        if chance(0.1) { preferences.options.excludedEdges = [map.graph.key(of: map.place(&random).edge)] }
        return preferences
    }

    /// Returns an invalid command.
    private mutating func nonsense(_ view: UserView, _ planner: SimPlanner) -> NavigatorCommand {
        let nowhere = Coordinate(
            latitude: pick([.nan, .infinity, 91, 0]), longitude: pick([.nan, -.infinity, 181, 0]))
        let index = pick([Int.min, -1, 7, Int.max])
        switch random.next() % 10 {
        case 0: return .navigate(RouteOrder(waypoints: []), nil)
        case 1: return .navigate(RouteOrder(waypoints: [Waypoint(nowhere)]), SimulatedDrive(speedFactor: .nan))
        case 2: return .selectPreview(.index(index))
        case 3: return .start(preview: .route(random.next()), nil)
        case 4: return .selectAlternative(random.next())
        case 5: return .skipWaypoint(index)
        case 6: return .calculate(RouteOrder(waypoints: [], alternatives: index), isPreview: chance(0.5))
        case 7: return .acceptFasterRoute(true)
        case 8:
            var preferences = RoutePreferences()
            preferences.options.initialManeuverAvoidance = pick([.nan, -1, 1e9])
            return .reroute(preferences)
        default:
            let places = (0..<2).map { _ in Waypoint(map.coordinate(&random)) }
            guard let plan = view.route ?? planner.plan(places, map.roads) else { return .advanceLeg() }
            return .setRoute(SimPlanner.spoiled(plan, &random), nil)
        }
    }

    /// Returns other thresholds, within the limits of the configuration keys.
    mutating func changedConfig(isLive: Bool) -> NavigatorConfig {
        func spread(_ from: Double, _ to: Double) -> Double { from + (to - from) * random.uniform() }
        if chance(0.3) { config.rerouteDetect = chance(0.8) }
        if chance(0.3) { config.deviationDebounce = spread(0, 6) }
        if chance(0.2) { config.deviationMaximumDistance = spread(30, 100) }
        if chance(0.3) { config.rerouteMinimumCommitTime = chance(0.5) ? 0 : spread(1, 15) }
        if chance(0.2) { config.rerouteDeadline = spread(2, 12) }
        if chance(0.2) { config.rerouteCooldown = spread(0, 10) }
        if chance(0.2) { config.rerouteBackoffFirst = spread(0.5, 4) }
        if chance(0.2) { config.chosenRouteFactor = spread(0.5, 1) }
        if chance(0.5) {
            config.faster.isEnabled = chance(0.9)
            config.faster.interval = spread(10, 120)
            config.faster.minimumRemaining = spread(10, 300)
            config.faster.minimumToManeuver = spread(1, 40)
            config.faster.minimumGain = spread(0, 0.1)
            config.faster.minimumGainSeconds = spread(0, 30)
            config.faster.approval = pick(FasterRouteConfig.Approval.allCases)
            config.faster.acceptFor = spread(1, 30)
        }
        if chance(0.5) {
            config.alternatives.isEnabled = chance(0.9)
            config.alternatives.interval = chance(0.6) ? 30 : spread(30, 300)
            config.alternatives.limit = Int(random.next() % 3)
            config.alternatives.acceptance = pick(AlternativesConfig.Acceptance.allCases)
        }
        if chance(0.4) {
            config.refresh.isEnabled = chance(0.9)
            config.refresh.interval = spread(10, 120)
        }
        if chance(0.5) {
            let share = random.uniform() * random.uniform()
            config.policy.asked = Set(PolicyKind.allCases.filter { _ in random.uniform() < share })
            config.policy.deadline = spread(0.05, 2)
            config.policy.approvalDeadline = spread(1, 15)
            config.policy.hold = spread(0, 20)
        }
        if chance(0.3) { config.legsAutoAdvance = chance(0.6) }
        if chance(0.2) { config.arrivalDwell = chance(0.5) ? 0 : spread(0, 4) }
        if chance(0.2) { config.arrivalMaximumSpeed = chance(0.6) ? nil : spread(1, 10) }
        if chance(0.2) { config.arrivalSuppresses = chance(0.6) }
        if chance(0.2) { config.arrivalSuppressReroute = spread(20, 120) }
        if chance(0.2) { config.positioning.reckoning.maximumTime = chance(0.5) ? 1_500 : spread(10, 60) }
        if chance(0.1) { config.positioning.fixes.preferredReceivers = Int(random.next() % 3) }
        if !isLive, chance(0.2) { config.originFallback = map.coordinate(&random) }
        return config
    }
}
