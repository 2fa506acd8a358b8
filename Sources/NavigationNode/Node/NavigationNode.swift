import Foundation
import NavBus
import NavDirections
import NavGeo
package import NavKit
import NavMap
package import NavMessages
import NavNavigator
import NavPositioning
import NavRouting
import NavWire

/// The navigation node: turns GNSS fixes from the bus into progress, instructions, reroutes and arrivals.
package final class NavigationNode: Node {
    /// The node's default name.
    package static let defaultName = "navigation-node"
    package static let summary =
        "Follows the vehicle, guides it along routes and reroutes it: GNSS fixes in, progress and instructions out."

    let context: NodeContext
    let session: NavigationSession
    let calls = NavigationCalls()
    let worker: RoutingWorker
    let tileKeys: TileCacheKeys
    private var policy: PolicyClient?
    private var tiles: TileRequester?
    private let finder: RouteFinder
    private let maps: MapWorker
    private let fixToProgress: LatencyRecorder
    private var fixClock = FixClock()
    private var tripFile: TripFile?
    private var memory = HealthMemory()
    /// Replies held back until the trip that they confirm is on disk.
    private var held: [(trip: UInt64, call: UInt64, reply: CommandReply)] = []
    /// The last logged reason why the trip is not saved.
    private var loggedTripProblem: String?

    package static let topics: [any CatalogueTopic] = [
        Topics.state, Topics.position, Topics.progress, Topics.route, Topics.reroute, Topics.visualInstruction,
        Topics.spokenInstruction, Topics.arrival, Topics.fixRejected, Topics.simulation, Topics.receiver,
        Topics.preview, Topics.alternatives, Topics.alternativeSwitch, Topics.fasterRoute, Topics.routeRefresh,
        Topics.policyRequest, Topics.policyDecision, Topics.horizon, Topics.journal,
    ]

    /// Returns the tileset to wait for in a tile cache's store, `STORE/tilesets/NAME/current`, which appears once the cache has reached its
    /// source; nil when it exists or does not belong to a tile cache.
    package static func missingInput(_ configuration: NavigationConfiguration) -> String? {
        let parts = configuration.tiles.split(separator: "/")
        guard parts.count >= 3, parts[parts.count - 1] == "current", parts[parts.count - 3] == "tilesets",
            FileState(configuration.tiles + "/tileset.json") == nil
        else { return nil }
        return "the tile cache to provide the tileset '\(configuration.tiles)'"
    }

    package init(configuration: NavigationConfiguration, context: NodeContext) throws(NodeError) {
        if let omission = configuration.omission { throw NodeError(.usage, omission) }
        let tiles = try TileSupply(path: configuration.tiles)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let map = MapSnapshot(
            graph: tiles.graph(), model: CostModel(profile: configuration.profile),
            forEach: MapStore.onAllCores)
        let missing = tiles.missingCount > 0 ? ", \(tiles.missingCount) tiles are missing" : ""
        context.log.part("map").info(
            "map \(map.graph.mapVersion.prefix(12)): \(map.graph.tiles.count) tiles, \(map.graph.nodeCount) nodes, "
                + "\(map.graph.edgeCount) edges\(missing)")
        // With two cores, one is left for route searches.
        let store = MapStore(map, cores: cores - 1)
        var initial = TrafficUpdate(TrafficSpeeds(replacesAll: true))
        if !configuration.traffic.isEmpty {
            initial = TrafficUpdate(try TrafficFile(path: configuration.traffic))
            _ = store.update([initial], at: context.stamp)
            context.log.part("map").info(
                "read traffic from '\(configuration.traffic)': \(initial.speeds.count) segments")
        }
        if let problem = configuration.approvalProblem { context.log.part("policy").warning("\(problem)") }
        self.context = context
        tileKeys = configuration.tileCache
        // The time of a playback is unrelated to that of the saved trip.
        let file =
            configuration.tripFile.isEmpty || context.clock.isSimulated
            ? nil : TripFile(path: configuration.tripFile, waker: context.makeWaker())
        tripFile = file
        session = NavigationSession(
            map: store.current, configuration: configuration, nodeName: context.name,
            resuming: file.flatMap {
                Self.savedTrip($0, configuration.tripMaximumAge, context.stamp, context.log.part("trip"))
            })
        do throws(DirectionsError) {
            finder = RouteFinder(
                provider: try configuration.online.provider(environment: ProcessInfo.processInfo.environment))
        } catch {
            throw NodeError(.usage, error.message)
        }
        worker = RoutingWorker(
            store: store, finder: finder, isTimed: !context.clock.isSimulated, waker: context.makeWaker())
        maps = MapWorker(store: store, tiles: tiles, initial: initial, waker: context.makeWaker())
        fixToProgress = context.latency("fix_to_progress")
        try context.advertise(NavigationNode.topics)
        try context.serve(NavigationService.served(by: self))
        policy = PolicyClient(
            context, node: configuration.policyNode, vehicle: configuration.profile,
            routeInForce: { [unowned self] in session.routeInForce }
        ) { [unowned self] answer, request in
            noteProvider()
            carryOut(session.handle(answer, to: request))
        }
        if !configuration.navigator.policy.asked.isEmpty { try policy?.waitUntilServed(configuration.policyWait) }
        self.tiles = TileRequester(context, keys: configuration.tileCache) { [unowned self] in maps.requestRefresh() }
        try context.subscribe(to: Topics.gnssFix, isRequired: true) { [unowned self] fix, delivery in
            maps.expire(at: context.stamp)
            noteProvider()
            let fix = fix.dated(by: delivery.header.stampNanoseconds)
            let outcome = session.handle(fix, sequence: delivery.header.sequence, arrival: arrival)
            // A rejected fix may have any stamp.
            if let stamp = outcome.counted { fixClock.note(stamp, at: context.clock.epochNanoseconds) }
            carryOut(outcome)
            guard outcome.hasProgress else { return }
            fixToProgress.record(nanoseconds: Clocks.monotonic() - delivery.received.monotonicNanoseconds)
        }
        // The traffic is decoded by the thread that builds the map, because it may cover a whole city.
        try context.subscribe(toBytesOf: Topics.trafficSpeeds) { [unowned self] delivery in
            maps.take(
                delivery.payload, sequence: delivery.header.sequence, bootID: delivery.header.bootID,
                at: context.stamp)
        }
        try context.subscribe(to: Topics.odometry) {
            [unowned self] odometry, delivery in
            let odometry = odometry.dated(by: delivery.header.stampNanoseconds)
            noteProvider()
            carryOut(session.handle(odometry, sequence: delivery.header.sequence, arrival: arrival))
        }
    }

    /// The arrival of the current message, ns of the monotonic clock; nil in a playback, where only the stamps give the time.
    private var arrival: Int64? { context.clock.isSimulated ? nil : context.clock.epochNanoseconds }

    /// The current time of the fixes; the host's time before it is known.
    var present: NavGeo.Timestamp {
        let now = context.clock.epochNanoseconds
        fixClock.begin(context.stamp, at: now)
        return fixClock.time(at: now) ?? context.stamp
    }

    /// Advances the core's time, in which it predicts positions while fixes are missing; returns its next deadline, ns
    /// of the monotonic clock.
    private func pass(_ now: Int64) -> Int64 {
        // In lockstep, time is stopped while the process is suspended.
        let quiet =
            context.isInLockstep
            ? nil
            : fixClock.turn(
                now, isInboxEmpty: context.isInboxEmpty, isPlayback: context.clock.isSimulated)
        var wake = Int64.max
        defer { fixClock.rest(until: wake, from: now) }
        guard session.due != nil else { return wake }
        if let quiet {
            wake = quiet
            return wake
        }
        let overdue = fixClock.overdueSince(context.clock.epochNanoseconds)
        if let overdue { carryOut(session.pass(to: overdue, newestOnly: !context.clock.isSimulated)) }
        guard let due = session.due else { return wake }
        wake = now + Int64(min(max(due.seconds(since: overdue ?? present), 0.02), 3_600) * 1e9)
        return wake
    }

    /// Returns the trip saved by the node's last run.
    private static func savedTrip(
        _ file: TripFile, _ maximumAge: Double, _ now: NavGeo.Timestamp, _ log: NodeLog
    ) -> SavedTrip? {
        do throws(NodeError) {
            guard let trip = try file.load(maximumAge: maximumAge, now: now) else { return nil }
            let goal =
                trip.order?.waypoints.last.flatMap { NavRouting.Waypoint($0) }?.coordinate.text
                ?? "an unknown destination"
            log.info("resuming the trip to \(goal) at the next good position: it was active when the node stopped")
            return trip
        } catch {
            log.warning("\(error)")
            return nil
        }
    }

    /// Handles new maps and found routes.
    package func turn(_ now: Int64) -> Int64 {
        let problem = tripFile?.problem
        if let problem, problem != loggedTripProblem {
            context.log.part("trip").warning("the trip cannot be saved: \(problem)")
        }
        loggedTripProblem = problem
        if let tripFile, !held.isEmpty {
            let done = tripFile.done
            for answer in held where answer.trip <= done { calls.answer(answer.call, answer.reply) }
            held.removeAll { $0.trip <= done }
        }
        for change in maps.takeChanges() {
            worker.noteMap()
            carryOut(session.handle(change))
        }
        for report in maps.takeReports() {
            switch report {
            case .info(let text): context.log.part("map").info("\(text)")
            case .warning(let text): context.log.part("map").warning("\(text)")
            case .unreadable(let bootID, let problem): context.reject(Topics.trafficSpeeds, of: bootID, problem)
            }
        }
        for report in finder.takeReports() {
            let log = context.log.part("provider")
            if report.isProblem { log.warning("\(report.text)") } else { log.info("\(report.text)") }
        }
        for (id, coverage) in worker.takeCoverages() { calls.answer(id, coverage) }
        let (progress, answers) = worker.takeAnswers()
        noteProvider()
        if let progress { calls.note(progress.share, of: progress.requestID) }
        for (query, answer) in answers { carryOut(session.handle(answer, to: query)) }
        return pass(now)
    }

    /// Notifies the core whether the online provider is available, before an event that may lead to a reroute.
    func noteProvider() { carryOut(session.note(providerRests: finder.isResting)) }

    /// Applies changed thresholds from the next message on, and writes them to the journal.
    package func reconfigure(_ configuration: NavigationConfiguration) {
        let before = session.configuration.approvalProblem
        carryOut(session.reconfigure(configuration))
        if let problem = session.configuration.approvalProblem, before == nil {
            context.log.part("policy").warning("\(problem)")
        }
    }

    /// Starts another drive after a loop or a seek: lasting publications are withdrawn, and the trip restarts with the next fix.
    package func clockJumped(from: ClockMoment, to: ClockMoment) {
        worker.cancelAll()
        maps.startOver(at: NavGeo.Timestamp(to.time))
        fixClock = FixClock()
        memory.startOver()
        carryOut(session.startOver(at: NavGeo.Timestamp(to.time)))
    }

    /// Returns findings about unreliable positions, silent receivers and defective input; counts the discarded input.
    package func findings(_ now: Int64) -> [HealthFinding] {
        let positioning = session.positioning
        for (name, value) in positioning.counters { context.counter(name).set(Int(clamping: value)) }
        for (name, value) in session.fasterRoutes.counters { context.counter(name).set(value) }
        let (silent, switches) = session.silentReceivers
        context.counter("receiver_switches").set(switches)
        let unkept = tripFile?.problem.map { HealthFinding("trip_not_kept", "the trip cannot be saved: \($0)") }
        let tiles = maps.problem.map { HealthFinding("tiles_damaged", $0) }
        let unapproved = session.configuration.approvalProblem.map { HealthFinding("nobody_approves", $0) }
        let isOverdue = memory.hasLasted(
            "gnss_no_fix", for: Int64(PositionHealthMonitor.lostAfter * 1e9), positioning.health == nil, at: now)
        return positioning.findings(isOverdue: isOverdue) + positioning.defects(&memory, at: now)
            + [tiles, unkept, unapproved].compactMap { $0 }
            + (session.hasRoads ? [] : [Self.isWithoutRoads]) + mapFindings(now)
            + silent.map { receiver in
                let since = receiver.seconds.map { "no fix for \(Int($0)) s" } ?? "no fix yet"
                let name =
                    receiver.name.isEmpty ? "the receiver without frame_id and source" : "receiver '\(receiver.name)'"
                return HealthFinding(
                    "receiver_silent",
                    "\(name): \(since), while others deliver fixes: check its node",
                    about: receiver.name)
            }
    }

    /// The time for which needed tiles must be missing before that is a finding, ns: a tile cache may fetch them meanwhile.
    private static let toleratedLack: Int64 = 30_000_000_000

    /// Returns findings about tiles that have been missing for a while: those of the requested route, or all around the
    /// vehicle.
    private func mapFindings(_ now: Int64) -> [HealthFinding] {
        let missing = session.routeMissingTiles
        let lacksRoute = memory.hasLasted(
            "route_missing_tiles", for: Self.toleratedLack, !missing.isEmpty, at: now)
        let isOutside = memory.hasLasted(
            "outside_map", for: Self.toleratedLack, session.hasRoads && session.isOutsideMap, at: now)
        var findings: [HealthFinding] = []
        if lacksRoute {
            let names = missing.prefix(10).map(\.description).joined(separator: ", ")
            findings.append(
                HealthFinding(
                    "route_missing_tiles",
                    "no route is found because road tiles are missing: \(names)\(missing.count > 10 ? ", …" : ""); check "
                        + "the tile cache and its source, or give 'tiles' a complete map", isLogged: true))
        }
        if isOutside {
            findings.append(
                HealthFinding(
                    "outside_map",
                    "the vehicle is outside the map, which has no road tiles around it: map matching and routing are "
                        + "unavailable there; give 'tiles' a map of this place", severity: .lost, isLogged: true))
        }
        return findings
    }

    private static let isWithoutRoads = HealthFinding(
        "no_tiles", "no road tiles are loaded: map matching and routing are unavailable until some arrive",
        severity: .lost)

    /// The number of workers that are busy with a route or a map.
    package var pendingCount: Int { (worker.isBusy ? 1 : 0) + (maps.isBusy ? 1 : 0) }

    /// Ends the other threads; the node cannot be used afterwards.
    package func finish() {
        tripFile?.stop()
        worker.stop()
        maps.stop()
    }

    /// Performs the effects of a step of the core.
    func carryOut(_ outcome: NavigationSession.Outcome) {
        for message in outcome.messages {
            context.publish(message.message, on: message.entry, stamp: message.stamp)
            guard let line = EventLine.text(message.message) else { continue }
            if EventLine.isLastingFailure(message.message) { context.log.warning(line) } else { context.log.info(line) }
        }
        let trip = outcome.trip.flatMap { tripFile?.keep($0) }
        for (call, reply) in outcome.replies {
            var reply = reply
            // Not part of the core's answer, which a replay without a tile cache repeats.
            if case .failed(var failure) = reply, !failure.missingTiles.isEmpty, let advice = tiles?.advice {
                failure.message += "; \(advice)"
                reply = .failed(failure)
            }
            if call == 0, let error = reply.error {
                context.log.part("trip").warning("the saved trip cannot be resumed: \(error.message ?? "")")
                continue
            }
            if let trip { held.append((trip, call, reply)) } else { calls.answer(call, reply) }
        }
        for id in outcome.withdrawn { policy?.withdraw(id) }
        for id in outcome.cancelled { worker.cancel(id) }
        for query in outcome.queries { worker.submit(query) }
        if !outcome.neededTiles.isEmpty {
            maps.requestRefresh()
            tiles?.ask(outcome.neededTiles)
        }
        // Last, because a request that cannot be sent is answered at once, which triggers the next step.
        for (request, message) in outcome.questions { policy?.ask(request, message) }
    }
}
