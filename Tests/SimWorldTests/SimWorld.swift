import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport

/// One event and its effects.
struct SimStep {
    /// Seconds since the start, by the clock of the world.
    var time: Double
    var event: NavigatorEvent
    var effects: [Effect]
    /// The thresholds in force.
    var config: NavigatorConfig
    /// The next timer of the core after the event.
    var due: Timestamp?
    /// The stamp of the last accepted fix after the event.
    var lastFix: Timestamp?
    /// The position of the vehicle.
    var truth: Coordinate
    /// Whether the clock of the receivers was set recently, or a fix with another time was accepted.
    var isClockUncertain: Bool

    /// Whether the event's stamp is the current time: a rejected fix may have any stamp, and makes no timer due.
    var tellsTime: Bool {
        if case .fix(let fix) = event.kind { lastFix == fix.stamp } else { true }
    }
}

/// A simulated drive of some minutes from one seed: a town, a driver, receivers, a routing worker, an owner's policy, a
/// user, and changes in their environment. Only the navigator is under test, in simulated time.
///
/// Events are stamped and timers fired as by `navigation-node`, in some worlds as by a replay. Each participant has its
/// own sequence of random numbers. The process may be stopped for a while, and the host's clock may be set: events of
/// that period are handled together afterwards, and timers that were due in it are dropped.
struct SimWorld {
    /// The start of all drives.
    static let start = SeededDrive.start
    /// The duration of drives, seconds.
    static let duration = 600.0
    /// The delay after which a fix counts as missing, seconds; as in the node.
    private static let tolerance = 0.3
    /// The time that requests made with a wrong clock may stay open after its correction, seconds.
    private static let settling = 20.0
    /// The gap in positions after which commands are stamped by the node's clock, seconds; as in the node.
    private static let longestPause = 5.0
    /// The maximum number of timers between two events: predictions occur at most every 50 ms.
    private static let mostTimers = 20_000

    private enum Input {
        case sample(Int)
        case odometry
        indirect case fix(Fix)
        case tick
        case command
        case callEnded(UInt64)
        case config
        case surroundings
        case tilesArrive
        indirect case answer(RouteQuery)
        indirect case decision(PolicyRequest, PolicyAnswer)
        case unaskedAnswer
        case clockSet(Double)
        case hostClockSet(Double)
        case stop(Double)

        /// Whether the event is an input of the process, which is delayed while the process is stopped.
        var isOfProcess: Bool {
            switch self {
            case .sample, .surroundings, .clockSet, .hostClockSet: false
            // A stopped process is stopped again only after it has continued, so that delayed events keep their order.
            case .stop, .odometry, .fix, .tick, .command, .callEnded, .config, .tilesArrive, .answer, .decision,
                .unaskedAnswer:
                true
            }
        }
    }

    let seed: UInt64
    private(set) var navigator: Navigator
    private let map: SimMap
    private var driver: Driver
    private var receivers: [SimReceiver]
    private var odometer: SimOdometer?
    private var planner: SimPlanner
    private var owner: SimOwner
    private var user: SimUser
    private var surroundings: Surroundings
    private var config: NavigatorConfig
    private var random: SeededRandom

    private var queue: [(time: Double, number: Int, input: Input)] = []
    private var queued = 0
    private var now = 0.0
    private var clock = 0.0
    /// The offset of the host's clock from the world's, seconds.
    private var hostClock = 0.0
    /// Whether time derives from arrivals, as in the node, or from stamps alone, as in a replay.
    private let isLive: Bool
    private var stoppedUntil = 0.0
    private var arrivals: Double?
    /// Whether the receivers' clock was set or is wrong, and the core may not have noticed the correction yet.
    private var isClockWrong = false
    private var clockSetUntil = -1.0
    private var newest: Timestamp?
    private var latest: Timestamp?
    private var latency: Double?
    /// The stamp of the last fix by the receivers' clock, and its arrival by the world's clock.
    private var lastFix: (stamp: Timestamp, arrival: Double)?
    private var causes: UInt64 = 0
    private var calls: UInt64 = 0
    private var open: Set<UInt64> = []
    private var view = UserView()
    private var truth: Driver.Truth

    init(seed: UInt64) throws {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        map = try SimMap.map(Int(random.next() % UInt64(SimMap.count)))
        let wildness = random.uniform() < 0.25 ? 0 : random.uniform()
        driver = Driver(map, seed: random.next())
        truth = driver.drive(to: 0)
        let count = random.uniform() < 0.8 ? 1 : random.uniform() < 0.8 ? 2 : 3
        receivers = (0..<count).map {
            SimReceiver(UInt8($0), wildness: wildness, duration: SimWorld.duration, seed: random.next())
        }
        odometer = random.uniform() < 0.3 ? SimOdometer(seed: random.next(), duration: SimWorld.duration) : nil
        planner = SimPlanner(wildness: wildness, seed: random.next())
        owner = SimOwner(map, wildness: wildness, seed: random.next())
        user = SimUser(map, seed: random.next())
        surroundings = Surroundings(map, wildness: wildness, seed: random.next())
        config = user.firstConfig
        navigator = Navigator(map: surroundings.current, config: config)
        for index in receivers.indices { queue.append((random.uniform(), index, .sample(index))) }
        queued = receivers.count
        var times = SeededRandom(seed: seed ^ 0x7415)
        isLive = times.uniform() < 0.7
        self.random = random
        if isLive {
            for _ in 0..<Int(4 * wildness * times.uniform()) {
                plan(.stop(0.4 + 7 * times.uniform()), after: SimWorld.duration * times.uniform())
                let leap = [-3_600.0, -7, 6, 30, 86_400][Int(times.next() % 5)]
                plan(.hostClockSet(leap), after: SimWorld.duration * times.uniform())
            }
        }
        plan(.tick, after: 1)
        plan(.command, after: random.uniform() < 0.5 ? 3 * random.uniform() : 20 * random.uniform())
        plan(.surroundings, after: surroundings.pause())
        plan(.config, after: 30 + 200 * random.uniform())
        plan(.unaskedAnswer, after: 60 * random.uniform())
        if odometer != nil { plan(.odometry, after: 1) }
        if random.uniform() < 0.08 * wildness {
            let leap = [-3_600.0, -5, 5, 3_600, 86_400][Int(random.next() % 5)]
            plan(.clockSet(leap), after: SimWorld.duration * random.uniform())
        }
    }

    /// The version of the map that describes the true roads.
    var mapVersion: String { map.graph.mapVersion }

    // MARK: Time

    /// Drives to the end and passes each step to `look`.
    mutating func run(_ look: (SimStep, Navigator) throws -> Void) throws {
        while let next = takeNext(), next.time <= SimWorld.duration {
            now = next.time
            try take(next.input, look)
        }
    }

    private mutating func plan(_ input: Input, after seconds: Double) {
        queued += 1
        queue.append((now + max(seconds, 0), queued, input))
    }

    private mutating func takeNext() -> (time: Double, input: Input)? {
        guard var best = queue.indices.first else { return nil }
        for index in queue.indices
        where (queue[index].time, queue[index].number) < (queue[best].time, queue[best].number) {
            best = index
        }
        queue.swapAt(best, queue.count - 1)
        let next = queue.removeLast()
        return (next.time, next.input)
    }

    private mutating func take(_ input: Input, _ look: (SimStep, Navigator) throws -> Void) throws {
        if now < stoppedUntil, input.isOfProcess { return plan(input, after: stoppedUntil - now) }
        switch input {
        case .sample(let index):
            plan(input, after: 1 / receivers[index].rate)
            if receivers[index].isClockWrong(at: now) { isClockWrong = true }
            truth = driver.drive(to: now)
            for (delay, fix) in receivers[index].report(truth, at: now, clock: clock) {
                var fix = fix
                fix.received = fix.received?.advanced(bySeconds: hostClock)
                plan(.fix(fix), after: delay)
            }
        case .fix(let fix): try bring(fix, look)
        case .odometry:
            plan(.odometry, after: 1 / (odometer?.rate ?? 1))
            // As in the node, odometry is not the first input.
            let truth = driver.drive(to: now)
            guard let report = odometer?.report(truth, at: now, clock: clock), latest != nil else { return }
            if !isLive { try fireTimers(before: report.stamp, look) }
            try send(.odometry(report), at: report.stamp, cause: true, look)
        case .tick:
            plan(.tick, after: isLive ? 0.25 : 1)
            // The core's time is that of the fixes, or without fixes that of the node.
            let last = lastFix ?? (SimWorld.start, SimWorld.tolerance)
            let elapsed = now - last.arrival - SimWorld.tolerance
            guard elapsed > 0 else { return }
            let moment = last.stamp.advanced(bySeconds: elapsed)
            // Overdue timers fire at once.
            if isLive, let due = navigator.due, moment.seconds(since: due) > 1 { try send(.timer, at: moment, look) }
            try fireTimers(before: moment, look)
        case .command:
            plan(.command, after: user.pause(view))
            let command = user.command(view, planner)
            var call: UInt64 = 0
            if user.waits() {
                calls += 1
                call = calls
                if let seconds = user.goesAway() { plan(.callEnded(call), after: seconds) }
            }
            // As in the node: the time of the last position, or of the node's own clock when positions have stopped.
            if let last = lastFix, case let now = last.stamp.advanced(bySeconds: now - last.arrival),
                now.seconds(since: present) > SimWorld.longestPause
            {
                newest = now
            }
            try send(.command(command, call: call), at: present, look)
        case .callEnded(let call): try send(.callEnded(call), at: present, look)
        case .config:
            plan(.config, after: 40 + 300 * random.uniform())
            guard newest != nil else { return }
            config = user.changedConfig(isLive: true)
            try send(.configured(config), at: present, look)
        case .surroundings:
            plan(.surroundings, after: surroundings.pause())
            surroundings.change(ahead: view.route?.route, at: present)
            try send(.mapChanged(surroundings.current), at: present, look)
        case .tilesArrive:
            surroundings.bringAll(at: present)
            try send(.mapChanged(surroundings.current), at: present, look)
        case .answer(let query):
            if planner.repeats() { plan(input, after: 0.1) }
            guard open.remove(query.requestID) != nil || planner.ignoresCancelling() else { return }
            let answer = planner.answer(query, on: surroundings.current)
            try send(.routeAnswer(requestID: query.requestID, answer), at: newest ?? query.deadline, look)
        case .decision(let request, let answer):
            let stamp = max(newest ?? request.stamp, request.stamp)
            try send(.policyAnswer(requestID: request.requestID, answer), at: stamp, look)
        case .unaskedAnswer:
            plan(.unaskedAnswer, after: 200 * random.uniform())
            let (id, answer) = owner.unasked()
            try send(.policyAnswer(requestID: id, answer), at: present, look)
        case .clockSet(let leap):
            clock += leap
            isClockWrong = true
        case .hostClockSet(let leap):
            hostClock += leap
            isClockWrong = true
        case .stop(let seconds): stoppedUntil = now + seconds
        }
    }

    private var present: Timestamp { newest ?? latest ?? SimWorld.start.advanced(bySeconds: now + clock) }

    private mutating func bring(_ fix: Fix, _ look: (SimStep, Navigator) throws -> Void) throws {
        var fix = fix
        let ahead = fix.stamp.seconds(since: SimWorld.start) - now
        if isLive {
            fix.lead = arrivals.map { ahead - $0 }
        } else {
            var moment = fix.stamp
            if let received = fix.received, let latency {
                moment = min(moment, received.advanced(bySeconds: 0.7 - latency))
            }
            try fireTimers(before: moment, look)
        }
        let before = navigator.lastFix
        try send(.fix(fix), at: fix.stamp, cause: true, look)
        guard navigator.lastFix != before else { return }
        lastFix = (fix.stamp, now)
        arrivals = max(arrivals ?? ahead, ahead)
        guard let received = fix.received else { return }
        let seconds = received.seconds(since: fix.stamp)
        latency = latency.map { abs($0 - seconds) > 2 ? seconds : $0 + (seconds - $0) * 0.1 } ?? seconds
    }

    private mutating func fireTimers(before stamp: Timestamp, _ look: (SimStep, Navigator) throws -> Void) throws {
        var count = 0
        while let due = navigator.due, due < stamp {
            count += 1
            if count > SimWorld.mostTimers {
                throw Violation(rule: "timers end", what: "\(count) timers in a row")
            }
            try send(.timer, at: due, look)
        }
    }

    // MARK: The core

    private mutating func send(
        _ kind: NavigatorEvent.Kind, at stamp: Timestamp, cause: Bool = false,
        _ look: (SimStep, Navigator) throws -> Void
    ) throws {
        if cause { causes += 1 }
        latest = stamp
        if case .timer = kind { newest = max(newest ?? stamp, stamp) }
        let event = NavigatorEvent(stamp: stamp, causeSequence: cause ? causes : 0, kind: kind)
        let effects = navigator.handle(event)
        let step = SimStep(
            time: now, event: event, effects: effects, config: config, due: navigator.due,
            lastFix: navigator.lastFix, truth: truth.coordinate, isClockUncertain: isClockWrong || now < clockSetUntil)
        try look(step, navigator)
        for effect in effects { react(to: effect, event) }
    }

    private mutating func react(to effect: Effect, _ event: NavigatorEvent) {
        switch effect {
        case .publish(let context, let publication): note(publication, context)
        case .requestRoute(let query):
            open.insert(query.requestID)
            if let delay = planner.delay() { plan(.answer(query), after: delay) }
        case .cancelRoute(let id): open.remove(id)
        case .needTiles: plan(.tilesArrive, after: 1 + 30 * random.uniform())
        case .askPolicy(let request):
            for (delay, answer) in owner.answers(request) { plan(.decision(request, answer), after: delay) }
        case .withdrawPolicy, .reply, .qualified, .keepTrip: break
        }
    }

    private mutating func note(_ publication: Publication, _ context: EventContext) {
        switch publication {
        case .position(let position):
            newest = context.stamp
            let offset = position.stamp.seconds(since: SimWorld.start.advanced(bySeconds: now + clock))
            if isClockWrong, position.prediction == nil, abs(offset) < 1 {
                isClockWrong = false
                clockSetUntil = now + SimWorld.settling
            }
        case .route(let plan, let change):
            view.route = plan
            guard change != .refreshed else { return }
            view.isComplete = false
            view.waypoints = plan?.route.waypoints.count ?? 0
            driver.take(plan?.route)
        case .arrival(let event):
            if event.phase == .arrived {
                view.isComplete = event.isDestination
                if random.uniform() < 0.5 { driver.stand(15 * random.uniform()) }
            }
        case .state(let state):
            view.isHeld = state.isHeld
            view.isRerouting = state.isRerouting
        case .preview(let preview): view.previews = preview.routes.count
        case .alternatives(let update): view.alternatives = update.alternatives.map(\.id)
        case .fasterRoute(let event):
            if case .detected = event.phase { view.isFasterOffered = true } else { view.isFasterOffered = false }
        default: break
        }
    }
}
