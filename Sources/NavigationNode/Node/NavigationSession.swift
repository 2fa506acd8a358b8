import NavPositioning
import NavWire
import NavConfig
package import NavGeo
import NavGuidance
import NavKit
package import NavMap
import NavMatching
package import NavMessages
package import NavNavigator
import NavRouting

package struct OutgoingMessage: Sendable {
    /// The topic's entry in the catalogue.
    package let entry: TopicEntry
    /// The moment at which its content was valid.
    package var stamp: NavGeo.Timestamp
    package var message: any Message

    package var topic: String { entry.name }

    init<Content>(_ topic: Topic<Content>, _ stamp: NavGeo.Timestamp, _ message: Content) {
        entry = topic.entry
        self.stamp = stamp
        self.message = message
    }
}

/// The navigation core with messages in and out, without bus, threads or clock; shared by the live node and the replay.
///
/// Every event is written to the journal, if there is one, before the core handles it.
package final class NavigationSession {
    /// The results of a step, for the shell to carry out.
    package struct Outcome {
        package var messages: [OutgoingMessage] = []
        package var queries: [RouteQuery] = []
        /// Queries that are no longer needed.
        package var cancelled: [UInt64] = []
        package var neededTiles: [RoadTileID] = []
        /// Questions to the owner's policy, in the core's form and as messages.
        package var questions: [(request: NavNavigator.PolicyRequest, message: NavMessages.PolicyRequest)] = []
        /// Questions that are no longer needed.
        package var withdrawn: [UInt64] = []
        /// The stamp of the handled fix, if it was accepted.
        package var counted: NavGeo.Timestamp?
        package var hasProgress = false
        /// The new saved trip, with an inner nil for none; nil when it has not changed.
        package var trip: SavedTrip?? { savedTrips.last }
        /// An array, to keep the outcome small: there is rarely a trip.
        fileprivate var savedTrips: [SavedTrip?] = []
        /// Replies to calls; for commands without a call, whose number is 0, failures only.
        package var replies: [(call: UInt64, reply: CommandReply)] = []
    }

    private var navigator: Navigator
    private var encoder: PublicationEncoder
    private var horizon = HorizonCache()
    private var map: MapSnapshot { encoder.map }
    /// The metrics for given routes on the map in force.
    private var metrics: MetricCache
    /// The version of the road tiles in use.
    var mapVersion: String { map.graph.mapVersion }
    private var journalSequence: UInt64 = 0
    /// The core's current time: the last position's stamp, or that of a later event on the node's clock.
    private var present: NavGeo.Timestamp?
    private var outcome = Outcome()
    private var receivers: ReceiverRegister
    private var arrivals = ArrivalMonitor()
    /// The report of positioning and its input since the start.
    package private(set) var positioning = PositioningReport()
    private let nodeName: String
    private let hasJournal: Bool
    /// The tiles that were loaded at the start.
    private let tiles: [RoadTileID]
    /// The reasons for maps that came into force before the journal began.
    private var early = EarlyMapCauses()
    private(set) var configuration: NavigationConfiguration
    /// The trip to resume, until the journal has begun.
    private var savedTrip: SavedTrip?
    /// The configured places that led to the trip; nil when a call started it.
    private var configuredTrip: String?
    /// The calls that will replace or stop that trip if they succeed.
    private var replacingCalls: Set<UInt64> = []
    /// Whether the online provider's circuit breaker is open after failures.
    private var providerRests = false

    /// A session on a map.
    ///
    /// - Parameters:
    ///   - trip: The trip saved by the node's last run, which resumes unless other places have been configured since.
    ///   - hasJournal: Whether the journal is among the messages.
    package init(
        map: MapSnapshot, configuration: NavigationConfiguration, nodeName: String, resuming trip: SavedTrip? = nil,
        hasJournal: Bool = true
    ) {
        self.hasJournal = hasJournal
        savedTrip = trip.flatMap { [nil, configuration.tripText].contains($0.configured) ? $0 : nil }
        encoder = PublicationEncoder(map: map, minutesAheadOfUTC: configuration.minutesAheadOfUTC)
        metrics = MetricCache(map.router)
        tiles = map.graph.tiles.map(\.id)
        self.nodeName = nodeName
        self.configuration = configuration
        navigator = Navigator(map: map, config: configuration.navigator, matcher: configuration.matcher)
        receivers = ReceiverRegister(preferred: configuration.receivers)
    }

    /// Starts the journal and the configured trip, at the time of the first fix.
    private func start(at stamp: NavGeo.Timestamp) {
        journal(
            .start(
                CoreStart(
                    version: NavbusVersion.text, mapVersion: map.graph.mapVersion,
                    configuration: configuration.journalText, node: nodeName,
                    tiles: tiles.map { TileKey($0) })), stamp, cause: 0)
        for cause in early.causes { journal(cause, stamp) }
        early = EarlyMapCauses()
        present = stamp
        if providerRests { tellProvider(at: stamp) }
        if !configuration.trip.isEmpty { startConfigured(at: stamp) }
        guard let saved = savedTrip else { return }
        savedTrip = nil
        carryOut(.resumeTrip(saved), call: 0, caller: JournalCaller.tripFile, at: stamp)
    }

    /// Records whether the online provider's circuit breaker is open, before an event that may lead to a reroute; stamped with the last
    /// accepted fix.
    package func note(providerRests rests: Bool) -> Outcome {
        outcome = Outcome()
        guard rests != providerRests else { return outcome }
        providerRests = rests
        if journalSequence > 0, let stamp = present { tellProvider(at: stamp) }
        return outcome
    }

    private func tellProvider(at stamp: NavGeo.Timestamp) {
        journal(.provider(ProviderChange(rests: providerRests)), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .provider(rests: providerRests)))
    }

    private func startConfigured(at stamp: NavGeo.Timestamp) {
        let trip = configuration.trip
        configuredTrip = configuration.tripText
        let request = CalculateRouteRequest(waypoints: trip.map { NavMessages.Waypoint($0) })
        let command = NavigationCommand(
            caller: JournalCaller.configuration, request: .setRoute(SetRouteRequest(target: .calculate(request))))
        journal(.command(command), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .command(.navigate(RouteOrder(waypoints: trip), nil), call: 0)))
    }

    /// The age of the last position from which on the node's clock determines the current time, seconds; positions are normally more
    /// frequent.
    private static let longestPause = 5.0

    /// Handles a command, stamped with the time of the last position, or with `now` if there is no recent one.
    ///
    /// - Parameters:
    ///   - call: The call that waits for the reply; 0 for none.
    ///   - caller: The origin of the command, for the journal.
    ///   - isRecorded: Whether the command comes from a recording, in which it was carried out.
    package func handle(
        _ request: NavigationCommand.Request, call: UInt64, caller: String, at now: NavGeo.Timestamp,
        isRecorded: Bool = false
    ) -> Outcome {
        outcome = Outcome()
        if !isRecorded {
            // A refused call is not journaled; otherwise a replay would carry it out.
            do throws(RouteFailure) {
                try request.checkOptions(of: routeInForce)
            } catch {
                outcome.replies.append((call, .failed(error)))
                return outcome
            }
        }
        var stamp = present ?? now
        if now.seconds(since: stamp) > Self.longestPause { stamp = now }
        present = stamp
        if journalSequence == 0 { start(at: stamp) }
        carryOut(request, call: call, caller: caller, at: stamp)
        return outcome
    }

    private func carryOut(
        _ request: NavigationCommand.Request, call: UInt64, caller: String, at stamp: NavGeo.Timestamp
    ) {
        journal(.command(NavigationCommand(callId: call, caller: caller, request: request)), stamp, cause: 0)
        switch request {
        // The request has already been answered, and changes nothing.
        case .getHorizon: return
        case .setRoute, .startNavigation, .stopNavigation: if call != 0 { replacingCalls.insert(call) }
        case .resumeTrip(let trip): configuredTrip = trip.configured
        default: break
        }
        do throws(RouteFailure) {
            let command = try NavigatorCommand(
                request, node: configuration.profile, minutesAheadOfUTC: configuration.minutesAheadOfUTC, on: map
            ) { message, preferences throws(RouteFailure) in
                try RoutePlan(
                    message, on: map, &metrics, for: preferences, at: configuration.departure(at: stamp),
                    wording: configuration.navigator.wording, snapRadius: configuration.navigator.snapRadius)
            }
            run(NavigatorEvent(stamp: stamp, kind: .command(command, call: call)))
        } catch {
            replacingCalls.remove(call)
            outcome.neededTiles += error.missingTiles
            outcome.replies.append((call, .failed(error)))
        }
    }

    /// The core's current time; nil before its first event.
    package var time: NavGeo.Timestamp? { present }

    /// Records that a call no longer waits for its reply.
    package func callEnded(_ call: UInt64) -> Outcome {
        outcome = Outcome()
        guard journalSequence > 0, let stamp = present else { return outcome }
        journal(.callEnded(CallEnded(callId: call)), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .callEnded(call)))
        replacingCalls.remove(call)
        return outcome
    }

    /// Handles the answer to a policy question, stamped with the current time.
    package func handle(_ answer: NavNavigator.PolicyAnswer, to request: NavNavigator.PolicyRequest) -> Outcome {
        outcome = Outcome()
        // The answer belongs to a request from before the drive was restarted.
        guard journalSequence > 0 else { return outcome }
        // A request may be newer than the last position. Its stamp is on the clock at the time of the request, the core's on the
        // current clock.
        let asked = navigator.stamp(ofQuestion: request.requestID)
        let stamp = max(present ?? request.stamp, asked ?? present ?? request.stamp)
        journal(.policyDecision(NavMessages.PolicyDecision(answer, to: request, at: stamp)), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .policyAnswer(requestID: request.requestID, answer)))
        return outcome
    }

    var hasRoads: Bool { map.graph.edgeCount > 0 }

    /// The missing tiles that prevent finding the requested route.
    var routeMissingTiles: [RoadTileID] { navigator.routeMissingTiles }

    /// Whether the last measured position has no map tiles around it.
    var isOutsideMap: Bool { navigator.isOutsideMap }

    /// The preferences of the published route; nil when there is none.
    var routeInForce: RoutePreferences? { encoder.plan?.preferences }

    /// The encoder, which holds the last published state, position, progress and route.
    var spoken: PublicationEncoder { encoder }

    /// Handles a fix. A message without a valid time cannot be ordered among the events and is discarded.
    ///
    /// - Parameter arrival: The fix's arrival, ns of the node's monotonic clock; nil when only the stamps give the time, as in a replay,
    ///   where timers due before the fix fire first.
    package func handle(_ message: NavMessages.GnssFix, sequence: UInt64, arrival: Int64? = nil) -> Outcome {
        outcome = Outcome()
        guard var fix = Fix(message, sequence: sequence) else {
            if message.timestamp == nil { positioning.timeless += 1 } else { positioning.misdated += 1 }
            return outcome
        }
        if let defect = message.fieldDefect { positioning.fixDefects.add(defect) }
        fix.receiver = receivers.number(of: message)
        // A solution without a position does not make its sender a receiver.
        if fix.isUsable || !fix.type.hasPosition { receivers.note(fix) }
        if journalSequence == 0 { start(at: fix.stamp) }
        if let arrival {
            fix.lead = arrivals.lead(of: fix.stamp, arrival: arrival)
        } else if let time = navigator.time(reportedBy: fix) {
            fireTimers(before: time)
        }
        encoder.fix = message
        journal(.fix(message), fix.stamp, cause: sequence, arrival: arrival)
        run(NavigatorEvent(stamp: fix.stamp, causeSequence: sequence, kind: .fix(fix)))
        if let counted = outcome.counted, let arrival { arrivals.note(counted, arrival: arrival) }
        return outcome
    }

    /// Handles the vehicle's odometry.
    ///
    /// A message is discarded when it has no time, arrives before the first accepted fix, or differs too much in time from the fixes.
    ///
    /// - Parameter isRecorded: Whether the message comes from a drive's journal, where it was already admitted.
    package func handle(
        _ message: NavMessages.VehicleOdometry, sequence: UInt64, arrival: Int64? = nil, isRecorded: Bool = false
    ) -> Outcome {
        outcome = Outcome()
        if let defect = message.fieldDefect { positioning.odometryDefects.add(defect) }
        guard journalSequence > 0, let odometry = Odometry(message) else {
            positioning.odometryLeftOut += 1
            return outcome
        }
        let isAdmitted = isRecorded || navigator.admits(odometry)
        if !isRecorded, let lead = navigator.odometryLead { positioning.noteStray(lead: lead) }
        guard isAdmitted else {
            positioning.odometryLeftOut += 1
            return outcome
        }
        positioning.odometry += 1
        if arrival == nil { fireTimers(before: odometry.stamp) }
        journal(.odometry(message), odometry.stamp, cause: sequence, arrival: arrival)
        run(NavigatorEvent(stamp: odometry.stamp, causeSequence: sequence, kind: .odometry(odometry)))
        return outcome
    }

    /// Receivers that are silent while others are heard, and the number of switches between receivers.
    var silentReceivers: (silent: [ReceiverRegister.Silent], switches: Int) { (receivers.silent, receivers.switches) }

    /// The counts of searches for faster routes since the beginning of the drive.
    var fasterRoutes: FasterRouteCounts { navigator.fasterRoutes }

    /// The core's next deadline, on the clock of the fixes; nil for none.
    package var due: NavGeo.Timestamp? { navigator.due }

    /// The longest delay at which a timer still fires with its own due time, seconds.
    private static let longestDelay = 1.0

    /// Advances the time to a moment of the clock of the fixes.
    ///
    /// - Parameter newestOnly: Whether overdue timers fire once, at this moment, instead of one by one: past positions are of no use to
    ///   a driver.
    package func pass(to stamp: NavGeo.Timestamp, newestOnly: Bool = false) -> Outcome {
        outcome = Outcome()
        if newestOnly, let due = navigator.due, stamp.seconds(since: due) > Self.longestDelay { fireTimer(at: stamp) }
        fireTimers(before: stamp)
        return outcome
    }

    /// Fires a recorded timer of the journal.
    package func fireTimer(recordedAt due: NavGeo.Timestamp) -> Outcome {
        outcome = Outcome()
        fireTimer(at: due)
        return outcome
    }

    private func fireTimer(at due: NavGeo.Timestamp) {
        present = max(present ?? due, due)
        journal(.timer(TimerFired(name: "due", dueNs: due.nanoseconds)), due, cause: 0)
        run(NavigatorEvent(stamp: due, kind: .timer))
    }

    private func fireTimers(before stamp: NavGeo.Timestamp) {
        // Predictions occur at most every 50 ms and end by themselves; the bound is for clocks that jump.
        for _ in 0..<100_000 {
            guard let due = navigator.due, due < stamp else { return }
            fireTimer(at: due)
        }
    }

    /// Handles the answer to a query, found on the map in force; stamped with the last accepted fix.
    package func handle(_ answer: NavNavigator.RouteAnswer, to query: RouteQuery) -> Outcome {
        handle(FoundAnswer(answer: answer, map: map.number), to: query)
    }

    /// Handles the answer to a query, stamped with the last accepted fix.
    package func handle(_ answer: FoundAnswer, to query: RouteQuery) -> Outcome {
        outcome = Outcome()
        let stamp = present ?? query.deadline
        journal(.routeAnswer(NavMessages.RouteAnswer(answer, to: query)), stamp, cause: 0)
        run(NavigatorEvent(stamp: stamp, kind: .routeAnswer(requestID: query.requestID, answer.answer)))
        return outcome
    }

    /// Handles a new map, with new tiles or new traffic, stamped with the last accepted fix.
    ///
    /// The journal records the change, without the speeds, which are on `/traffic/speeds` under the same sequence. Before the first fix the
    /// map becomes the drive's initial map.
    package func handle(_ change: MapChange) -> Outcome {
        outcome = Outcome()
        encoder.map = change.map
        metrics = MetricCache(map.router)
        guard journalSequence > 0, let stamp = present else {
            early.append(change.cause)
            navigator = Navigator(map: map, config: configuration.navigator, matcher: configuration.matcher)
            return outcome
        }
        journal(change.cause, stamp)
        run(
            NavigatorEvent(
                stamp: stamp, causeSequence: change.cause.traffic.last?.sequence ?? 0, kind: .mapChanged(map)))
        return outcome
    }

    private func journal(_ map: MapCause, _ stamp: NavGeo.Timestamp) {
        for (header, sequence) in map.traffic { journal(.traffic(header), stamp, cause: sequence, map) }
        if let tiles = map.tiles {
            journal(
                .tiles(
                    TileArrival(
                        mapVersion: map.mapVersion, added: tiles.added.map { TileKey($0) },
                        removed: tiles.removed.map { TileKey($0) })), stamp, cause: 0, map)
        }
    }

    /// Handles changed thresholds, one event per key, stamped with the last accepted fix. Before the first fix they become the drive's
    /// initial values.
    package func reconfigure(_ changed: NavigationConfiguration) -> Outcome {
        outcome = Outcome()
        guard journalSequence > 0, let stamp = present else {
            configuration = changed
            encoder.minutesAheadOfUTC = changed.minutesAheadOfUTC
            navigator = Navigator(map: map, config: changed.navigator, matcher: changed.matcher)
            return outcome
        }
        for key in NavigationConfiguration.keys where key.text(of: changed) != key.text(of: configuration) {
            let value = key.text(of: changed)
            key.copy(from: changed, to: &configuration)
            encoder.minutesAheadOfUTC = configuration.minutesAheadOfUTC
            journal(.parameter(ParameterChange(key: key.name, value: value)), stamp, cause: 0)
            run(NavigatorEvent(stamp: stamp, kind: .configured(configuration.navigator)))
        }
        return outcome
    }

    /// Ends the drive after a jump in time: latched publications are withdrawn, and the next fix starts a new drive with its own journal,
    /// for the configured destination.
    package func startOver(at stamp: NavGeo.Timestamp) -> Outcome {
        outcome = Outcome()
        guard journalSequence > 0 else { return outcome }
        journal(
            .command(NavigationCommand(caller: JournalCaller.clock, request: .stopNavigation(StopNavigationRequest()))),
            stamp,
            cause: 0)
        let stop = NavigatorEvent(stamp: stamp, kind: .command(.stop, call: 0))
        run(stop)
        carryOut(navigator.endDrive(), of: stop)
        navigator = Navigator(map: map, config: configuration.navigator, matcher: configuration.matcher)
        encoder = PublicationEncoder(map: map, minutesAheadOfUTC: configuration.minutesAheadOfUTC)
        (present, journalSequence, arrivals, replacingCalls) = (nil, 0, ArrivalMonitor(), [])
        // The next drive's journal must record it again.
        providerRests = false
        horizon = HorizonCache()
        positioning.health = nil
        receivers = ReceiverRegister(preferred: configuration.receivers)
        return outcome
    }

    private func run(_ event: NavigatorEvent) {
        carryOut(navigator.handle(event), of: event)
        let message = horizon.update(encoder, configuration.horizon) { navigator.countEvent(after: event) }
        if let message { outcome.messages.append(message) }
    }

    private func carryOut(_ effects: [Effect], of event: NavigatorEvent) {
        var asked: NavMessages.PolicyRequest?
        for effect in effects {
            switch effect {
            case .publish(let context, .policyRequest(let request)):
                let message = encoder.message(request, context)
                asked = message
                outcome.messages.append(OutgoingMessage(Topics.policyRequest, context.stamp, message))
            case .publish(let context, let publication): publish(publication, context)
            case .requestRoute(var query):
                // The departure of a trip in progress is now, whatever was planned.
                if query.request.options.departure == nil || ![.calculate, .start].contains(query.purpose) {
                    query.request.options.departure = configuration.departure(at: event.stamp)
                }
                outcome.queries.append(query)
            case .cancelRoute(let id): outcome.cancelled.append(id)
            case .needTiles(let tiles): outcome.neededTiles += tiles
            case .askPolicy(let request):
                if let asked { outcome.questions.append((request, asked)) }
            case .withdrawPolicy(let id): outcome.withdrawn.append(id)
            case .reply(let call, let reply):
                if replacingCalls.remove(call) != nil {
                    if case .failed = reply {} else { configuredTrip = nil }
                }
                outcome.replies.append((call, reply))
            case .qualified(let fix, let verdict): note(fix, verdict, at: event)
            case .keepTrip(let trip):
                outcome.savedTrips = [
                    configuration.tripFile.isEmpty ? nil : trip.map { SavedTrip($0, configured: configuredTrip) }
                ]
            }
        }
    }

    /// Returns the requested electronic horizon at the last position.
    func horizon(_ request: GetHorizonRequest) throws(RouteFailure) -> NavMessages.Horizon {
        let extent = try configuration.horizon.extent(of: request)
        guard let position = encoder.vehiclePosition else {
            throw RouteFailure(code: .noPosition, message: "no horizon: the vehicle's position is not known")
        }
        guard let horizon = horizon.makeHorizon(encoder, extent) else {
            throw RouteFailure(
                code: .noRoadNearby, message: "no horizon: the vehicle is not on a road in its direction of travel")
        }
        let context = EventContext(
            stamp: position.stamp, sessionID: encoder.state?.sessionId ?? 0, routeID: encoder.state?.routeId ?? 0,
            causeSequence: encoder.position?.causeSequence ?? 0)
        return NavMessages.Horizon(horizon, context: context, mapVersion: map.graph.mapVersion)
    }

    private func journal(
        _ event: @autoclosure () -> JournalEntry.Event, _ stamp: NavGeo.Timestamp, cause: UInt64,
        arrival: Int64? = nil, _ change: MapCause? = nil
    ) {
        journalSequence += 1
        guard hasJournal else { return }
        let event = event()
        let number: UInt64? = if case .start = event { map.number } else { change?.number }
        outcome.messages.append(
            OutgoingMessage(
                Topics.journal, stamp,
                JournalEntry(
                    stampNs: stamp.nanoseconds, sessionId: encoder.state?.sessionId, entrySequence: journalSequence,
                    causeSequence: cause == 0 ? nil : cause,
                    monotonicNs: arrival, event: event, mapSnapshot: number,
                    mapStampNs: change.flatMap { $0.stamp.nanoseconds == .min ? nil : $0.stamp.nanoseconds })))
    }

    private func publish(_ publication: Publication, _ context: EventContext) {
        take(note: publication, context)
        if case .receiver(let change) = publication {
            var selection = receivers.note(change)
            selection.place(in: context)
            outcome.messages.append(OutgoingMessage(Topics.receiver, context.stamp, selection))
            return
        }
        guard let message = encoder.encode(publication, context) else { return }
        outcome.messages.append(message)
    }

    /// Counts a fix, and publishes the first receiver in use.
    private func note(_ fix: Fix, _ verdict: FixVerdict, at event: NavigatorEvent) {
        switch verdict {
        case .rejected: return
        case .standby: positioning.standby += 1
        case .accepted, .acceptedAfterJump, .acceptedAfterClockSet:
            if verdict == .acceptedAfterClockSet, let present { receivers.moveClock(from: present, to: fix.stamp) }
            outcome.counted = fix.stamp
            positioning.used += 1
            guard var selection = receivers.begin(with: fix.receiver) else { return }
            selection.place(in: navigator.context(of: event))
            selection.eventSequence = nil
            outcome.messages.append(OutgoingMessage(Topics.receiver, event.stamp, selection))
        }
    }

    private func take(note publication: Publication, _ context: EventContext) {
        switch publication {
        case .position:
            // Rejected fixes do not advance the time.
            present = context.stamp
            encoder.lastUsed = navigator.lastFix
        case .progress: outcome.hasProgress = true
        case .fixRejected(_, let rejection): positioning.count(rejection.reason)
        case .state(let state): positioning.health = state.health
        default: return
        }
    }
}

extension NavigationConfiguration {
    /// The keys and values that the core depends on, one per line.
    var journalText: String {
        NavigationConfiguration.keys.filter { $0.name != "tiles" }
            .map { "\($0.name): \($0.text(of: self))" }.joined(separator: "\n")
    }
}
