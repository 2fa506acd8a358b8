import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport

/// Answers the core's requests, as the node does.
final class Planner {
    private let workspace = SearchWorkspace()

    func answer(_ query: RouteQuery, on map: MapSnapshot) -> RouteAnswer {
        guard query.alternatives > 0 else {
            return answer(map.router.route(query.request, workspace: workspace), on: map)
        }
        switch map.router.alternatives(
            query.request, limit: query.alternatives, to: query.current, workspace: workspace)
        {
        case .found(let found):
            return .found(
                FoundRoutes(
                    main: RoutePlan(found.main, on: map), mainIsCurrent: found.mainIsCurrent, via: found.via,
                    alternatives: found.alternatives.map {
                        AlternativePlan(
                            alternative: $0, guidance: RouteGuidance(route: $0.route, graph: map.graph))
                    }))
        case .notFound(let outcome): return answer(outcome, on: map)
        }
    }

    private func answer(_ outcome: RouteOutcome, on map: MapSnapshot) -> RouteAnswer {
        switch outcome {
        case .found(let route): .found(FoundRoutes(main: RoutePlan(route, on: map)))
        case .tilesNeeded(let tiles):
            .failed(RouteFailure(code: .tilesNeeded, message: "tiles are missing", missingTiles: tiles))
        case .invalid(let reason): .failed(RouteFailure(code: .invalidRequest, message: reason))
        case .unreachable, .offRoad: .failed(RouteFailure(code: .noRoute, message: "no route"))
        }
    }
}

extension RoutePlan {
    init(_ route: Route, on map: MapSnapshot) {
        self.init(route: route, guidance: RouteGuidance(route: route, graph: map.graph))
    }
}

extension NavigatorCommand {
    static func navigate(_ waypoints: [Waypoint]) -> NavigatorCommand {
        .navigate(RouteOrder(waypoints: waypoints), nil)
    }

    static func setRoute(_ plan: RoutePlan) -> NavigatorCommand { .setRoute(plan, nil) }
}

/// A navigator with a router, fed event by event.
struct Ride {
    /// The time at which the router answers.
    enum Answering {
        case atOnce
        /// Before the first fix that arrives at least this number of seconds after the request.
        case after(Double)
        case byHand
        case failing(RouteFailure)
    }

    var navigator: Navigator
    var map: MapSnapshot
    var answering = Answering.atOnce
    /// All publications, in order.
    private(set) var told: [(context: EventContext, what: Publication)] = []
    /// Queries that have not been answered.
    private(set) var open: [RouteQuery] = []
    /// All queries for the trip's route and for routes to be displayed.
    private(set) var queries: [RouteQuery] = []
    /// All queries for alternatives and faster routes; they are answered immediately unless ``answersLooks`` is false.
    private(set) var looks: [RouteQuery] = []
    var answersLooks = true
    private(set) var cancelled: [UInt64] = []
    private(set) var neededTiles: [RoadTileID] = []
    /// Policy requests that have not been answered.
    private(set) var questions: [PolicyRequest] = []
    /// Answers to commands.
    private(set) var replies: [CommandReply] = []
    /// The saved trips, in order.
    private(set) var kept: [TripSnapshot?] = []
    private(set) var now = SeededDrive.start
    private let planner = Planner()
    private let config: NavigatorConfig

    init(_ map: MapSnapshot, config: NavigatorConfig = NavigatorConfig()) {
        self.map = map
        self.config = config
        navigator = Navigator(map: map, config: config)
    }

    init(_ map: ASCIIMap, config: NavigatorConfig = NavigatorConfig()) {
        self.init(MapSnapshot(graph: map.graph), config: config)
    }

    // MARK: Events in

    @discardableResult
    mutating func send(_ kind: NavigatorEvent.Kind, at stamp: Timestamp? = nil, cause: UInt64 = 0) -> [Effect] {
        if let stamp { now = stamp }
        let effects = navigator.handle(NavigatorEvent(stamp: now, causeSequence: cause, kind: kind))
        var asked: [RouteQuery] = []
        for effect in effects {
            switch effect {
            case .publish(let context, let publication): told.append((context, publication))
            case .requestRoute(var query):
                query.request.options.departure = query.request.options.departure ?? config.localTime(at: now)
                asked.append(query)
            case .cancelRoute(let id):
                open.removeAll { $0.requestID == id }
                if !looks.contains(where: { $0.requestID == id }) { cancelled.append(id) }
            case .needTiles(let tiles): neededTiles += tiles
            case .askPolicy(let request): questions.append(request)
            case .withdrawPolicy(let id): questions.removeAll { $0.requestID == id }
            case .reply(_, let reply): replies.append(reply)
            case .qualified: break
            case .keepTrip(let trip): kept.append(trip)
            }
        }
        let isLook = { (query: RouteQuery) in query.purpose == .alternatives || query.purpose == .fasterRoute }
        looks += asked.filter(isLook)
        if answersLooks { for query in asked.filter(isLook) { answer(query) } }
        asked.removeAll(where: isLook)
        queries += asked
        open += asked
        for query in asked {
            switch answering {
            case .atOnce: answer(query)
            case .failing(let failure): answer(query, .failed(failure))
            case .after, .byHand: break
            }
        }
        return effects
    }

    /// Sends a command of a caller that awaits the answer, and returns the answer if it is immediate.
    @discardableResult
    mutating func command(_ command: NavigatorCommand, call: UInt64 = 0) -> CommandReply? {
        let known = replies.count
        send(.command(command, call: call))
        return replies.count > known ? replies[known] : nil
    }

    /// Answers a query; the router provides the default answer.
    mutating func answer(_ query: RouteQuery, _ answer: RouteAnswer? = nil) {
        open.removeAll { $0.requestID == query.requestID }
        send(.routeAnswer(requestID: query.requestID, answer ?? planner.answer(query, on: map)))
    }

    mutating func answerOpen() { if let query = open.first { answer(query) } }

    mutating func drive(_ fixes: some Sequence<Fix>) { for fix in fixes { drive(fix) } }

    mutating func drive(_ fix: Fix) {
        if case .after(let seconds) = answering {
            for query in open {
                let asked = query.deadline.advanced(bySeconds: -NavigatorConfig().rerouteDeadline)
                if fix.stamp.seconds(since: asked) >= seconds { answer(query) }
            }
        }
        if let time = navigator.time(reportedBy: fix) { fireTimers(until: time) }
        send(.fix(fix), at: fix.stamp, cause: fix.sequence ?? 0)
    }

    mutating func drive(_ odometry: Odometry) {
        fireTimers(until: odometry.stamp)
        send(.odometry(odometry), at: odometry.stamp)
    }

    /// Advances the time and fires the timers due, as the node does.
    mutating func fireTimers(until stamp: Timestamp) {
        while let due = navigator.due, due < stamp { send(.timer, at: due) }
    }

    // MARK: Publications

    var progress: [RouteProgress] {
        told.compactMap { if case .progress(let progress) = $0.what { progress } else { nil } }
    }
    var plans: [RoutePlan] { told.compactMap { if case .route(let plan?, _) = $0.what { plan } else { nil } } }
    var positions: Int { told.count { if case .position = $0.what { true } else { false } } }
    var states: [NavigatorState] { told.compactMap { if case .state(let state) = $0.what { state } else { nil } } }
    var phases: [NavigatorState.Phase] { states.map(\.phase) }
    var reroutes: [RerouteEvent] { told.compactMap { if case .reroute(let event) = $0.what { event } else { nil } } }
    var arrivals: [ArrivalEvent] { told.compactMap { if case .arrival(let event) = $0.what { event } else { nil } } }
    var rejections: [FixRejection] {
        told.compactMap { if case .fixRejected(_, let rejection) = $0.what { rejection } else { nil } }
    }
    var simulations: [SimulationEvent] {
        told.compactMap { if case .simulation(let event) = $0.what { event } else { nil } }
    }
    /// Whether another route was requested during a prediction.
    var reroutesWherePredicted: Bool {
        var isPredicted = false
        for (_, what) in told {
            switch what {
            case .simulation(let event): isPredicted = event.phase == .began
            case .reroute: if isPredicted { return true }
            default: break
            }
        }
        return false
    }
    var vehiclePositions: [VehiclePosition] {
        told.compactMap { if case .position(let position) = $0.what { position } else { nil } }
    }
    /// The banners, in order.
    var banners: [VisualInstruction] {
        told.compactMap { if case .visual(let visual?, _, _) = $0.what { visual } else { nil } }
    }
    var spoken: [String] {
        told.compactMap { if case .spoken(let spoken, _, _) = $0.what { spoken.text } else { nil } }
    }
    /// The deviation states, in the order of their changes.
    var deviations: [DeviationState] {
        var states: [DeviationState] = []
        for progress in progress where states.last != progress.deviation.state {
            states.append(progress.deviation.state)
        }
        return states
    }

    /// Reroutes, routes and arrivals in order, one word each; an approach counts only when it begins.
    var story: [String] {
        told.compactMap { _, what in
            switch what {
            case .reroute(let event): Ride.word(event.phase)
            case .route(nil, _): "NO_ROUTE"
            case .route(_, let change): "ROUTE(\(change))"
            case .arrival(let event):
                switch event.phase {
                case .approaching(let isFirst): isFirst ? "APPROACHING" : nil
                case .arrived: event.isDestination ? "ARRIVED" : "ARRIVED(\(event.waypoint))"
                case .held: "HELD"
                case .legStarted: "LEG_STARTED(\(event.leg))"
                }
            default: nil
            }
        }
    }

    /// Discards the publications so far.
    mutating func turnPage() {
        told = []
        queries = []
        looks = []
        cancelled = []
    }

    /// All publications and requests since the last page, with all digits.
    var transcript: [String] { told.map { "\($0.context) \($0.what)" } + queries.map { "\($0)" } }

    static func word(_ phase: RerouteEvent.Phase) -> String {
        switch phase {
        case .willReroute: "WILL_REROUTE"
        case .fetching: "FETCHING"
        case .fetched: "FETCHED"
        case .applied: "APPLIED"
        case .failed(let failure, _): "FAILED(\(failure.code))"
        case .rejected(let rejection): "REJECTED(\(rejection))"
        }
    }
}

struct NoDrive: Error {
    let letters: String
}

/// A drawn map and drives on it.
struct Town {
    let map: ASCIIMap
    let snapshot: MapSnapshot

    init(_ drawing: String, grid: Double = 100, ways: KeyValuePairs<String, [String: String]>) throws {
        map = try ASCIIMap(drawing, gridMetres: grid, ways: ways)
        snapshot = MapSnapshot(graph: map.graph)
    }

    /// Returns a grid of 400 m streets with 5 × 3 crossings.
    static func grid() throws -> Town {
        try Town(
            """
            A---B---C---D---E
            |   |   |   |   |
            |   |   |   |   |
            |   |   |   |   |
            F---G---H---I---J
            |   |   |   |   |
            |   |   |   |   |
            |   |   |   |   |
            K---L---M---N---O
            """,
            ways: [
                "ABCDE": road("North Street"), "FGHIJ": road("Main Street"), "KLMNO": road("South Street"),
                "AFK": road("First Avenue"), "BGL": road("Second Avenue"), "CHM": road("Third Avenue"),
                "DIN": road("Fourth Avenue"), "EJO": road("Fifth Avenue"),
            ])
    }

    static func road(_ name: String, _ tags: [String: String] = [:]) -> [String: String] {
        ["highway": "tertiary", "name": name].merging(tags) { $1 }
    }

    /// Returns a place on a street, which is named by its two ends; `share` is the fraction of the way to the second.
    func place(_ street: String, _ share: Double = 0.5, right: Double = 0) throws -> Coordinate {
        let letters = Array(street)
        return try map.position(between: letters[0], letters[1], at: share, right: right)
    }

    func waypoint(_ street: String, _ share: Double = 0.5) throws -> Waypoint { Waypoint(try place(street, share)) }

    /// Returns the way through crossings, from the middle of its first street to the middle of its last.
    func route(_ letters: String) throws -> Route {
        let letters = Array(letters)
        var places: [Waypoint] = []
        for index in 1..<letters.count {
            let bearing = try map.bearing(letters[index - 1], letters[index])
            let street = String(letters[(index - 1)...index])
            places.append(
                Waypoint(
                    try place(street), bearing: bearing, bearingTolerance: 0.5,
                    isStop: index == 1 || index == letters.count - 1))
        }
        return try map.route(places)
    }

    /// Returns the fastest way between the middles of two streets.
    func plan(from start: String, to end: String) throws -> RoutePlan {
        RoutePlan(try map.route([try waypoint(start), try waypoint(end)]), on: snapshot)
    }

    func plan(_ letters: String) throws -> RoutePlan { RoutePlan(try route(letters), on: snapshot) }

    /// Returns the fixes of a receiver on the way through crossings.
    func fixes(
        _ letters: String, rate: Double = 1, _ environment: ReceiverModel.Environment = .none,
        outages: [ClosedRange<Double>] = [], seed: UInt64 = 1, after: Fix? = nil, pause: Double = 1
    ) throws -> [Fix] {
        guard
            let drive = SeededDrive(
                snapshot.metric, route: try route(letters), rate: rate, environment: environment, outages: outages,
                seed: seed)
        else { throw NoDrive(letters: letters) }
        let shift = after.map { $0.stamp.seconds(since: SeededDrive.start) + pause } ?? 0
        return drive.fixes.enumerated().map { index, fix in
            var fix = fix
            fix.stamp = fix.stamp.advanced(bySeconds: shift)
            fix.sequence = UInt64(index + 1)
            return fix
        }
    }

    /// Returns the fixes of a stationary vehicle.
    func standing(at place: Coordinate, seconds: Int, after: Fix? = nil, sigma: Double = 3) -> [Fix] {
        let start = after?.stamp.advanced(bySeconds: 1) ?? SeededDrive.start
        return (0..<seconds).map {
            Fix(
                stamp: start.advanced(bySeconds: Double($0)), coordinate: place, horizontalSigma: sigma, speed: 0,
                type: .fix3D)
        }
    }
}
