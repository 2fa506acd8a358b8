import NavConfig
public import NavGeo
import NavGuidance
import NavMap
import NavMatching
public import NavMessages
public import NavNavigator
import NavRouting

/// A message to be published.
public struct OutgoingMessage: Sendable {
    /// The topic's name in the catalogue.
    public var topic: String
    /// When its content was true.
    public var stamp: NavGeo.Timestamp
    /// The message.
    public var message: any Message

    init(_ topic: String, _ stamp: NavGeo.Timestamp, _ message: any Message) {
        self.topic = topic
        self.stamp = stamp
        self.message = message
    }
}

/// The navigation core between messages in and messages out, without bus, threads or clock: what the live node and the replay share.
///
/// Every event is written to the journal before the core sees it.
public final class NavigationSession {
    /// Work that the shell does elsewhere.
    public struct Outcome {
        /// What to publish, in order.
        public var messages: [OutgoingMessage] = []
        /// Routes to find.
        package var queries: [RouteQuery] = []
        /// Queries that nobody waits for any more.
        package var cancelled: [UInt64] = []
        /// Whether roads are needed in tiles that are not on board.
        package var needsTiles = false
        /// What a person following the drive wants to know, and no message says.
        package var notes: [String] = []
    }

    private var map: MapSnapshot
    private var navigator: Navigator
    private var plan: RoutePlan?
    private var journalSequence: UInt64 = 0
    private var newest: NavGeo.Timestamp?
    /// The stamp of the last event.
    private var latest: NavGeo.Timestamp?
    private var outcome = Outcome()
    private let nodeName: String
    private var configuration: NavigationConfiguration

    /// A session on a map.
    public init(map: MapSnapshot, configuration: NavigationConfiguration, nodeName: String) {
        self.map = map
        self.nodeName = nodeName
        self.configuration = configuration
        navigator = Navigator(map: map, config: configuration.navigator, matcher: configuration.matcher)
    }

    /// Starts the journal and sets out for the configured destination, at the time of the first fix.
    private func start(at stamp: NavGeo.Timestamp) {
        journal(
            .start(
                CoreStart(
                    version: NavbusVersion.text, mapVersion: map.graph.mapVersion,
                    configuration: configuration.journalText, node: nodeName)), stamp, cause: 0)
        let trip = configuration.trip
        guard !trip.isEmpty else { return }
        let request = CalculateRouteRequest(waypoints: trip.map { NavMessages.Waypoint($0) })
        let command = NavigationCommand(
            caller: "configuration", request: .setRoute(SetRouteRequest(target: .calculate(request))))
        journal(.command(command), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .command(.navigate(trip))))
    }

    /// Takes a fix in. A message without a time cannot be placed among the events and is left out.
    public func handle(_ message: NavMessages.GnssFix, sequence: UInt64) -> Outcome {
        outcome = Outcome()
        guard var fix = Fix(message, sequence: sequence) else { return outcome }
        fix.receiver = receiver(message)
        if journalSequence == 0 { start(at: fix.stamp) }
        fireTimers(before: fix.stamp)
        rejectedSource = message
        journal(.fix(message), fix.stamp, cause: sequence)
        run(NavigatorEvent(stamp: fix.stamp, causeSequence: sequence, kind: .fix(fix)))
        return outcome
    }

    /// Takes the vehicle's own motion in. A message without a time is left out, and so is what comes before the first fix.
    public func handle(_ message: NavMessages.VehicleOdometry, sequence: UInt64) -> Outcome {
        outcome = Outcome()
        guard journalSequence > 0, let odometry = Odometry(message) else { return outcome }
        fireTimers(before: odometry.stamp)
        journal(.odometry(message), odometry.stamp, cause: sequence)
        run(NavigatorEvent(stamp: odometry.stamp, causeSequence: sequence, kind: .odometry(odometry)))
        return outcome
    }

    /// When the core wants to be asked next, by the clock of the fixes; nil for never.
    public var due: NavGeo.Timestamp? { navigator.due }

    /// Lets the time pass up to a moment of the clock of the fixes.
    public func pass(to stamp: NavGeo.Timestamp) -> Outcome {
        outcome = Outcome()
        fireTimers(before: stamp)
        return outcome
    }

    private func fireTimers(before stamp: NavGeo.Timestamp) {
        // Predictions come every 50 ms at most and end by themselves; the bound is for clocks that leap.
        for _ in 0..<100_000 {
            guard let due = navigator.due, due < stamp else { return }
            journal(.timer(TimerFired(name: "prediction", dueNs: due.nanoseconds)), due, cause: 0)
            run(NavigatorEvent(stamp: due, kind: .timer))
        }
    }

    /// Names of the receivers heard, by number; those beyond the last count as that.
    private var receivers: [String] = []

    /// The number of the receiver that a message is of: by its frame, else by its source.
    private func receiver(_ message: NavMessages.GnssFix) -> UInt8 {
        let name = message.frameId ?? message.source ?? ""
        if let number = receivers.firstIndex(of: name) { return UInt8(number) }
        guard receivers.count < 8 else { return 8 }
        receivers.append(name)
        return UInt8(receivers.count - 1)
    }

    /// Takes the answer to a query in, stamped with the newest fix that counted.
    package func handle(_ answer: NavNavigator.RouteAnswer, to query: RouteQuery) -> Outcome {
        outcome = Outcome()
        let stamp = newest ?? query.deadline
        journal(.routeAnswer(NavMessages.RouteAnswer(answer, to: query)), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .routeAnswer(requestID: query.requestID, answer)))
        return outcome
    }

    /// Takes another map in, stamped with the newest fix that counted: new tiles, or the same roads in other traffic.
    ///
    /// The journal says what came: of traffic without the speeds, which `/traffic/speeds` has under the same sequence.
    /// Before the first fix it is simply what the drive starts with.
    public func handle(_ change: MapChange) -> Outcome {
        outcome = Outcome()
        map = change.map
        guard journalSequence > 0, let stamp = newest ?? latest else {
            navigator = Navigator(map: map, config: configuration.navigator, matcher: configuration.matcher)
            return outcome
        }
        for (header, sequence) in change.traffic { journal(.traffic(header), stamp, cause: sequence) }
        if let tiles = change.tiles {
            journal(
                .tiles(
                    TileArrival(
                        mapVersion: map.graph.mapVersion, added: tiles.added.map { TileKey($0) },
                        removed: tiles.removed.map { TileKey($0) })), stamp, cause: 0)
        }
        run(NavigatorEvent(stamp: stamp, causeSequence: change.traffic.last?.sequence ?? 0, kind: .mapChanged(map)))
        return outcome
    }

    /// Takes changed thresholds in, one event for each key, stamped with the newest fix that counted. Before the first fix
    /// they are simply what the drive starts with.
    public func reconfigure(_ changed: NavigationConfiguration) -> Outcome {
        outcome = Outcome()
        guard journalSequence > 0, let stamp = newest else {
            configuration = changed
            navigator = Navigator(map: map, config: changed.navigator, matcher: changed.matcher)
            return outcome
        }
        for key in NavigationConfiguration.keys where key.text(of: changed) != key.text(of: configuration) {
            let value = key.text(of: changed)
            key.copy(from: changed, to: &configuration)
            journal(.parameter(ParameterChange(key: key.name, value: value)), stamp, cause: 0)
            run(NavigatorEvent(stamp: stamp, kind: .configured(configuration.navigator)))
        }
        return outcome
    }

    /// Ends the drive, because the time has jumped: what was published as lasting is taken back, and the next fix starts
    /// another drive with a journal of its own, for the configured destination.
    public func startOver(at stamp: NavGeo.Timestamp) -> Outcome {
        outcome = Outcome()
        guard journalSequence > 0 else { return outcome }
        journal(
            .command(NavigationCommand(caller: "clock", request: .stopNavigation(StopNavigationRequest()))), stamp,
            cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .command(.stop)))
        navigator = Navigator(map: map, config: configuration.navigator, matcher: configuration.matcher)
        (plan, newest, journalSequence, receivers) = (nil, nil, 0, [])
        return outcome
    }

    private var rejectedSource = NavMessages.GnssFix()

    private func run(_ event: NavigatorEvent) {
        for effect in navigator.handle(event) {
            switch effect {
            case .publish(let context, let publication): publish(publication, context)
            case .requestRoute(var query):
                query.request.options.departure = configuration.departure(at: event.stamp)
                outcome.queries.append(query)
            case .cancelRoute(let id): outcome.cancelled.append(id)
            case .needTiles: outcome.needsTiles = true
            }
        }
    }

    private func journal(_ event: JournalEntry.Event, _ stamp: NavGeo.Timestamp, cause: UInt64) {
        journalSequence += 1
        latest = stamp
        outcome.messages.append(
            OutgoingMessage(
                "/nav/journal", stamp,
                JournalEntry(
                    stampNs: stamp.nanoseconds, entrySequence: journalSequence, causeSequence: cause == 0 ? nil : cause,
                    event: event)))
    }

    private func publish(_ publication: Publication, _ context: EventContext) {
        // Fixes that were held up or are wrong do not move the time.
        if case .position = publication { newest = context.stamp }
        if case .receiver(let old, let new) = publication {
            let name = { [receivers] (number: UInt8) in Int(number) < receivers.count ? receivers[Int(number)] : "?" }
            outcome.notes.append("receiver '\(name(new))' is used instead of '\(name(old))'")
            return
        }
        guard let (topic, message) = encode(publication, context) else { return }
        outcome.messages.append(OutgoingMessage(topic, context.stamp, message))
    }

    private func encode(_ publication: Publication, _ context: EventContext) -> (String, any Message)? {
        switch publication {
        case .state(let state):
            return ("/nav/state", NavigationState(state, context: context, mapVersion: map.graph.mapVersion))
        case .position(let sighting):
            return ("/nav/position", NavMessages.MatchedPosition(sighting, context: context, graph: map.graph))
        case .progress(let progress): return ("/nav/progress", NavMessages.RouteProgress(progress, context: context))
        case .route(let plan, let change):
            self.plan = plan
            guard let plan else { return ("/nav/route", NavMessages.Route(noneAt: context)) }
            return ("/nav/route", NavMessages.Route(plan, context: context, reason: RouteReason(change)))
        case .reroute(let event): return ("/nav/reroute", NavMessages.RerouteEvent(event, context: context))
        case .visual(let instruction, let distance, let duration):
            guard let instruction, let plan else {
                return ("/nav/instruction/visual", NavMessages.VisualInstruction(clearedAt: context))
            }
            return (
                "/nav/instruction/visual",
                NavMessages.VisualInstruction(
                    instruction, distance: distance, duration: duration, context: context, guidance: plan.guidance)
            )
        case .spoken(let instruction, let distance, let duration):
            return (
                "/nav/instruction/spoken",
                NavMessages.SpokenInstruction(
                    instruction, distance: distance, duration: duration, context: context,
                    language: plan?.guidance.options.text.phrases.language ?? "")
            )
        case .arrival(let event):
            return ("/nav/arrival", NavMessages.ArrivalEvent(event, context: context, route: plan?.route))
        case .simulation(let event):
            return ("/nav/simulation", NavMessages.SimulationEvent(event, context: context))
        case .receiver: return nil
        case .fixRejected(_, let rejection):
            return ("/nav/fix_rejected", FixRejected(rejection, rejectedSource, context: context))
        }
    }
}

extension RouteReason {
    init(_ change: RouteChange) {
        switch change {
        case .started: self = .started
        case .set, .stopped: self = .set
        case .rerouted: self = .rerouted
        case .mapChanged: self = .refreshed
        }
    }
}

extension NavMessages.RouteAnswer {
    /// The journal's form of an answer.
    init(_ answer: NavNavigator.RouteAnswer, to query: RouteQuery) {
        self.init(requestId: query.requestID, provider: .onBoard)
        switch answer {
        case .found(let plan):
            routes = [NavMessages.Route(plan)]
        case .failed(let failure): error = ErrorInfo(failure)
        }
    }
}

extension NavigationConfiguration {
    /// The keys and values that the core depends on, one a line.
    var journalText: String {
        NavigationConfiguration.keys.filter { $0.name != "tiles" }
            .map { "\($0.name): \($0.text(of: self))" }.joined(separator: "\n")
    }
}
