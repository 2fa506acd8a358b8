import NavBus
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import NavVerdict
import NavWire
import NavigationNode
import TileCacheNode

/// A run of a scenario: the session of `navigation-node` with a receiver, a routing worker and a policy node.
final class ScenarioRun {
    /// The start of all drives.
    static let start = SeededDrive.start
    /// The delay after which a fix counts as missing, seconds; as in the node.
    private static let tolerance = 0.3
    /// The interval between time updates without events, seconds.
    private static let tick = 0.25
    /// The time for which a drive continues after its last line, seconds.
    private static let tail = 1.0

    private enum Input {
        case fix(NavMessages.GnssFix)
        case odometry
        case action(ScenarioAction, SourceLine)
        case sample
        case tick
        case answer(RouteQuery)
        case decision(NavNavigator.PolicyRequest, NavNavigator.PolicyAnswer)
    }

    private let scenario: Scenario
    private let path: ScenarioPath
    private let store: MapStore
    private let session: NavigationSession
    private let planner = RoutePlanner()
    private var configuration: NavigationConfiguration
    private var receiver = ReceiverUnderTest()
    private var workers: [String: ScenarioWorker] = [:]
    private var policies: [String: ScenarioPolicy] = [:]
    private var odometryRate: Double?
    private var calls: [UInt64: String] = [:]
    /// The pending inputs, in order of time and then of scheduling.
    private var queue: [(time: Double, number: Int, input: Input)] = []
    private var queued = 0
    private var now = 0.0
    private var lastFix: Double?
    /// The lead of the fixes' clock, if it was set, seconds.
    private var clockLead = 0.0
    private var lastState: VehicleState?
    private var fixes: UInt64 = 0
    private var odometries: UInt64 = 0
    private var reader = DriveEventReader()
    private var offered: [UInt64] = []
    /// The publications, requests and replies.
    private(set) var events: [DriveEvent] = []
    /// The bytes of all messages, for the comparison of two runs.
    private(set) var bytes: [[UInt8]] = []

    init(_ scenario: Scenario) throws {
        self.scenario = scenario
        path = try ScenarioPath(scenario)
        let graph = try ScenarioRun.graph(scenario)
        store = MapStore(MapSnapshot(graph: graph, model: CostModel(profile: scenario.configuration.profile)))
        configuration = scenario.configuration
        session = NavigationSession(map: store.current, configuration: configuration, nodeName: "scenario")
    }

    private static func graph(_ scenario: Scenario) throws -> RoadGraph {
        guard !scenario.missing.isEmpty else { return scenario.map.graph }
        let layers = RoadLayer.allCases
        let gone = try scenario.missing.flatMap { node in
            try layers.map { try scenario.map.tile($0, at: node) }
        }
        return scenario.map.graph(without: Set(gone))
    }

    // MARK: Time

    /// Drives to the end.
    func run() throws {
        var end = path.duration
        for (step, moment) in zip(scenario.steps, path.moments) {
            guard case .action(let action, let at) = step.what else { continue }
            plan(.action(action, step.line), at: at ?? moment)
            end = max(end, at ?? 0)
        }
        end += ScenarioRun.tail
        if path.hasVehicle { plan(.sample, at: 0) }
        plan(.tick, at: 0)
        while let next = queue.indices.min(by: {
            (queue[$0].time, queue[$0].number) < (queue[$1].time, queue[$1].number)
        }) {
            let (time, _, input) = queue.remove(at: next)
            guard time <= end + 1e-6 else { continue }
            now = time
            try take(input)
        }
    }

    private func plan(_ input: Input, at time: Double) {
        queued += 1
        queue.append((time, queued, input))
    }

    private func take(_ input: Input) throws {
        switch input {
        case .sample:
            let state = path.state(at: now)
            for (fix, delay) in receiver.report(state, at: now, start: ScenarioRun.start) {
                plan(.fix(fix), at: now + delay)
            }
            plan(.sample, at: now + 1 / receiver.rate)
        case .fix(let fix):
            fixes += 1
            lastFix = now
            let outcome = session.handle(fix, sequence: fixes)
            // Once a receiver's clock was set, the fixes follow that clock.
            if let stamp = outcome.counted {
                let lead = stamp.seconds(since: ScenarioRun.start.advanced(bySeconds: now))
                clockLead = abs(lead) > 60 ? lead : 0
            }
            try carryOut(outcome)
        case .odometry: try reportOdometry()
        case .tick:
            plan(.tick, at: now + ScenarioRun.tick)
            try pass()
        case .action(let action, let line):
            try pass()
            do {
                try perform(action, line)
            } catch let mistake as LineError {
                throw ScenarioError(file: scenario.file, line: line.number, what: mistake.what)
            } catch let mistake as ASCIIMap.Mistake {
                throw ScenarioError(file: scenario.file, line: line.number, what: mistake.description)
            }
        case .answer(let query):
            try carryOut(session.handle(answer(query), to: query))
        case .decision(let request, let answer):
            try carryOut(session.handle(answer, to: request))
        }
    }

    /// Advances the time as the node does: by the fixes' clock, with a short delay.
    private func pass() throws {
        guard lastFix.map({ now - $0 > ScenarioRun.tolerance }) ?? true else { return }
        let wait = lastFix == nil ? 0 : ScenarioRun.tolerance
        try carryOut(session.pass(to: ScenarioRun.start.advanced(bySeconds: now - wait + 0.001 + clockLead)))
    }

    private func reportOdometry() throws {
        guard let rate = odometryRate else { return }
        plan(.odometry, at: now + 1 / rate)
        let state = path.state(at: now)
        var turn = 0.0
        if let lastState {
            // A drawn road bends abruptly, but a vehicle does not.
            turn = min(max(Angle.difference(from: lastState.course, to: state.course) * rate, -0.8), 0.8)
        }
        lastState = state
        odometries += 1
        let message = VehicleOdometry(
            Odometry(
                stamp: ScenarioRun.start.advanced(bySeconds: now),
                speed: state.isReversing ? -state.speed : state.speed,
                turnRate: turn, isStationary: state.speed == 0))
        try carryOut(session.handle(message, sequence: odometries))
    }

    // MARK: Effects of the session

    private func carryOut(_ first: NavigationSession.Outcome) throws {
        var outcomes = [first]
        while !outcomes.isEmpty {
            let outcome = outcomes.removeFirst()
            for message in outcome.messages { note(message) }
            for (call, reply) in outcome.replies {
                events.append(DriveEvent(reply, to: calls[call] ?? "", at: now))
            }
            if !outcome.neededTiles.isEmpty {
                events.append(DriveEvent(time: now, topic: "tiles", words: ["NEEDED"]))
            }
            for id in outcome.cancelled {
                events.append(DriveEvent(time: now, topic: "cancel", words: []))
                queue.removeAll { if case .answer(let query) = $0.input { query.requestID == id } else { false } }
            }
            for query in outcome.queries {
                let event = DriveEvent(query, at: now)
                events.append(event)
                guard !outcome.cancelled.contains(query.requestID) else { continue }
                switch workers[event.words[0]] ?? workers[""] ?? .answers {
                case .answers: outcomes.append(session.handle(planner.answer(query, on: store.current), to: query))
                case .fails(let code):
                    let failure = RouteFailure(code: code, message: "failure set by the scenario")
                    outcomes.append(session.handle(.failed(failure), to: query))
                case .slow(let seconds): plan(.answer(query), at: now + seconds)
                case .silent: break
                }
            }
            for id in outcome.withdrawn {
                queue.removeAll {
                    if case .decision(let request, _) = $0.input { request.requestID == id } else { false }
                }
            }
            for (request, _) in outcome.questions { try decide(request) }
        }
    }

    private func answer(_ query: RouteQuery) -> NavNavigator.RouteAnswer { planner.answer(query, on: store.current) }

    /// Answers as the policy node would, or as the node itself at the deadline. If the script does not mention the
    /// question, there is no policy node.
    private func decide(_ request: NavNavigator.PolicyRequest) throws {
        let policy = policies[request.question.kind.rawValue] ?? ScenarioPolicy(answer: .dead)
        let patience = request.deadline.seconds(since: request.stamp)
        let answer: NavNavigator.PolicyAnswer
        switch policy.answer {
        case .silent,
            _ where policy.after > patience:
            let late = PolicyAnswer(verdict: nil, decider: .timeout, latency: patience)
            return plan(.decision(request, late), at: now + patience)
        case .yes: answer = PolicyAnswer(verdict: true, hold: policy.hold)
        case .no: answer = PolicyAnswer(verdict: false, hold: policy.hold)
        case .dead, .garbage: answer = PolicyAnswer(verdict: nil, decider: .unavailable)
        case .says(let text):
            answer = PolicyAnswer(
                verdict: true, content: .instruction(RevisedInstruction(.spoken(text: text, ssml: nil))))
        case .suppress:
            answer = PolicyAnswer(verdict: true, content: .instruction(RevisedInstruction(isSuppressed: true)))
        case .via(let places):
            answer = PolicyAnswer(verdict: true, content: .reroute(nil, try places.map(waypoint)))
        case .avoidance(let metres):
            var preferences = RoutePreferences()
            preferences.options.initialManeuverAvoidance = metres
            answer = PolicyAnswer(verdict: true, content: .reroute(preferences, []))
        }
        plan(.decision(request, answer), at: now + policy.after)
    }

    private func note(_ message: OutgoingMessage) {
        bytes.append(message.message.encoded())
        events += reader.events(of: message.message, topic: message.topic, at: now)
        if let list = message.message as? NavMessages.Alternatives {
            offered = list.alternatives.compactMap { $0.route?.routeId }
        }
    }

    // MARK: Commands of the script

    private func waypoint(_ waypoint: ScenarioWaypoint) throws -> NavRouting.Waypoint {
        NavRouting.Waypoint(try scenario.map.coordinate(waypoint.place), isStop: waypoint.isStop)
    }

    private func message(_ place: ScenarioPlace, isStop: Bool = true) throws -> NavMessages.Waypoint {
        let coordinate = try scenario.map.coordinate(place)
        return NavMessages.Waypoint(
            latitude: coordinate.latitude, longitude: coordinate.longitude, kind: isStop ? .stop : .via)
    }

    private func perform(_ action: ScenarioAction, _ line: SourceLine) throws {
        switch action {
        case .configure(let key, let value):
            do throws(ScenarioError) {
                configuration = try Scenario.changed(
                    configuration, (key, value), isLive: true, file: scenario.file, line: line.number)
            } catch {
                // As the node would reply.
                var reply = DriveEvent(time: now, topic: "reply", words: ["set", "FAILED"])
                reply.text = error.what
                return events.append(reply)
            }
            try carryOut(session.reconfigure(configuration))
        case .worker(let worker, let purpose): workers[purpose ?? ""] = worker
        case .policy(let kind, let policy): policies[kind] = policy
        case .receiver(let order): receiver.take(order)
        case .odometry(let rate):
            if odometryRate == nil, rate != nil { plan(.odometry, at: now) }
            odometryRate = rate
        case .traffic(let nodes, let speed, let isBothWays):
            try bring([TrafficSpeeds(speeds: try speeds(nodes, speed, isBothWays))])
        case .trafficCleared: try bring([TrafficSpeeds(replacesAll: true)])
        case .tilesArrive, .tilesLeave:
            guard !scenario.missing.isEmpty else {
                throw LineError("no tiles are missing: write 'map, without the tiles at D'")
            }
            var graph = scenario.map.graph
            if case .tilesLeave = action { graph = try ScenarioRun.graph(scenario) }
            _ = store.update([], roads: graph, at: stamp)
            try carryOut(session.handle(MapChange(map: store.current)))
        default: try command(action, line)
        }
    }

    private var stamp: NavGeo.Timestamp { ScenarioRun.start.advanced(bySeconds: now) }

    private func speeds(_ nodes: String, _ speed: Double?, _ isBothWays: Bool) throws -> [NavMessages.TrafficSpeed] {
        let letters = Array(nodes)
        guard letters.count >= 2 else { throw LineError("'\(nodes)' is not a street: name its nodes, such as AB") }
        for letter in letters { _ = try scenario.map.coordinate(letter) }
        return zip(letters, letters.dropFirst()).flatMap { from, to in
            (isBothWays ? [(from, to), (to, from)] : [(from, to)]).map {
                NavMessages.TrafficSpeed(
                    fromNode: ASCIIMap.nodeID($0.0), toNode: ASCIIMap.nodeID($0.1), speedMps: speed,
                    closed: speed == 0 ? true : nil)
            }
        }
    }

    private func bring(_ messages: [TrafficSpeeds]) throws {
        let updates = messages.map { TrafficUpdate($0) }
        guard store.update(updates, at: stamp).isChanged else { return }
        try carryOut(session.handle(MapChange(map: store.current, traffic: updates.map { ($0.header, 1) })))
    }

    private func command(_ action: ScenarioAction, _ line: SourceLine) throws {
        let request: NavigationCommand.Request
        switch action {
        case .navigate(let trip):
            request = .setRoute(
                SetRouteRequest(
                    target: .calculate(try calculation(trip)), simulate: trip.simulation == nil ? nil : true,
                    simulateSpeedFactor: trip.simulation))
        case .setRoute(let places, let simulation):
            request = .setRoute(
                SetRouteRequest(
                    target: .route(try route(places)), simulate: simulation == nil ? nil : true,
                    simulateSpeedFactor: simulation))
        case .calculate(let trip, let isPreview):
            var calculation = try calculation(trip)
            calculation.preview = isPreview
            request = .calculateRoute(calculation)
        case .selectPreview(let index): request = .selectPreview(SelectPreviewRequest(index: UInt32(clamping: index)))
        case .start(let index, let simulation):
            request = .startNavigation(
                StartNavigationRequest(
                    index: index.map { UInt32(clamping: $0) }, simulate: simulation == nil ? nil : true,
                    simulateSpeedFactor: simulation))
        case .stop: request = .stopNavigation(StopNavigationRequest())
        case .reroute(let avoid):
            request = .reroute(RerouteRequest(options: avoid.isEmpty ? nil : NavMessages.RouteOptions(avoid: avoid)))
        case .selectAlternative(let name):
            let number = offered.first { globMatches(name.filter { $0 != "\"" }, reader.names[$0] ?? "") }
            request = .selectAlternative(SelectAlternativeRequest(routeId: number ?? UInt64(name) ?? .max))
        case .fasterRoute(let accepts): request = .acceptFasterRoute(AcceptFasterRouteRequest(accept: accepts))
        case .advanceLeg: request = .advanceLeg(AdvanceLegRequest())
        case .skipWaypoint(let index):
            request = .skipWaypoint(SkipWaypointRequest(waypointIndex: index.map { UInt32(clamping: $0) }))
        case .refresh: request = .refreshRoute(RefreshRouteRequest())
        case .repeatInstruction: request = .repeatInstruction(RepeatInstructionRequest())
        default: throw LineError("'\(line.text)' is not a command")
        }
        let call = UInt64(calls.count + 1)
        calls[call] = ScenarioRun.name(action)
        try carryOut(session.handle(request, call: call, caller: "scenario", at: stamp))
    }

    /// Returns the name of a command in a `reply` line.
    private static func name(_ action: ScenarioAction) -> String {
        switch action {
        case .navigate: "navigate"
        case .setRoute: "set_route"
        case .calculate(_, let isPreview): isPreview ? "preview" : "calculate"
        case .selectPreview: "select_preview"
        case .start: "start"
        case .stop: "stop"
        case .reroute: "reroute"
        case .selectAlternative: "select_alternative"
        case .fasterRoute: "faster_route"
        case .advanceLeg: "advance_leg"
        case .skipWaypoint: "skip_waypoint"
        case .repeatInstruction: "repeat_instruction"
        default: "refresh"
        }
    }

    private func calculation(_ trip: ScenarioTrip) throws -> CalculateRouteRequest {
        var options = NavMessages.RouteOptions(avoid: trip.avoid)
        if trip.alternatives > 0 { options.alternatives = UInt32(clamping: trip.alternatives) }
        return CalculateRouteRequest(
            origin: try trip.origin.map { try message($0) },
            waypoints: try trip.waypoints.map { try message($0.place, isStop: $0.isStop) }, options: options)
    }

    /// Returns a route as another planner would send it: a line and its ends.
    private func route(_ places: [ScenarioPlace]) throws -> NavMessages.Route {
        let points = try places.map { FixedCoordinate(try scenario.map.coordinate($0)) }
        var line = NavMessages.Polyline()
        var last = FixedCoordinate(latitudeE7: 0, longitudeE7: 0)
        for point in points {
            line.latDeltasE7.append(point.latitudeE7 &- last.latitudeE7)
            line.lonDeltasE7.append(point.longitudeE7 &- last.longitudeE7)
            last = point
        }
        return NavMessages.Route(
            geometry: line, waypoints: [try message(places[0]), try message(places[places.count - 1])])
    }
}
