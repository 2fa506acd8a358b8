import Foundation
import NavBus
import NavDirections
import NavGeo
import NavMap
import NavMessages
import NavNavigator
import NavRouting

/// The navigation node: GNSS fixes from the bus in, progress, instructions, reroutes and arrival out.
public final class NavigationNode: Node {
    /// The node's name unless another one is given.
    public static let defaultName = "navigation-node"
    /// What it is for.
    public static let summary =
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
    /// The time of the last fix that counted and when it came, by the node's clock.
    private var lastFix: (stamp: NavGeo.Timestamp, arrival: NavGeo.Timestamp)?

    /// Topics that the node publishes.
    static let topics = [
        "/nav/state", "/nav/position", "/nav/progress", "/nav/route", "/nav/reroute", "/nav/instruction/visual",
        "/nav/instruction/spoken", "/nav/arrival", "/nav/fix_rejected", "/nav/simulation", "/nav/receiver",
        "/nav/preview", "/nav/alternatives", "/nav/alternative_switch", "/nav/faster_route", "/nav/route_refresh",
        "/nav/policy/request", "/nav/policy/decision", "/nav/journal",
    ]

    /// Loads the map.
    public init(configuration: NavigationConfiguration, context: NodeContext) throws(NodeError) {
        guard !configuration.tiles.isEmpty else {
            throw NodeError(.usage, "no map: give a directory of road tiles with --set tiles=DIRECTORY")
        }
        let tiles = try TileSupply(path: configuration.tiles)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let map = MapSnapshot(
            graph: tiles.graph(), model: CostModel(profile: configuration.profile),
            forEach: MapStore.onAllCores)
        let missing = tiles.missingCount > 0 ? ", \(tiles.missingCount) tiles are missing" : ""
        context.log.info(
            "map \(map.graph.mapVersion.prefix(12)): \(map.graph.tiles.count) tiles, \(map.graph.nodeCount) nodes, "
                + "\(map.graph.edgeCount) edges\(missing)")
        // With two cores one is left to those who search for routes.
        let store = MapStore(map, cores: cores - 1)
        var initial = TrafficUpdate(TrafficSpeeds(replacesAll: true))
        if !configuration.traffic.isEmpty {
            initial = TrafficUpdate(try TrafficFile(path: configuration.traffic))
            _ = store.update([initial], at: context.stamp)
            context.log.info("traffic of '\(configuration.traffic)': \(initial.speeds.count) segments")
        }
        self.context = context
        tileKeys = configuration.tileCache
        session = NavigationSession(map: store.current, configuration: configuration, nodeName: context.name)
        do throws(DirectionsError) {
            finder = RouteFinder(
                provider: try configuration.online.provider(environment: ProcessInfo.processInfo.environment))
        } catch {
            throw NodeError(.usage, error.message)
        }
        worker = RoutingWorker(store: store, finder: finder, waker: context.makeWaker())
        maps = MapWorker(store: store, tiles: tiles, initial: initial, waker: context.makeWaker())
        fixToProgress = context.latency("fix_to_progress")
        try context.advertise(NavigationNode.topics)
        try context.serve(NavigationService.served(by: self))
        policy = PolicyClient(context, node: configuration.policyNode, vehicle: configuration.profile) {
            [unowned self] answer, request in
            carryOut(session.handle(answer, to: request))
        }
        if !configuration.navigator.policy.asked.isEmpty { try policy?.waitUntilServed(configuration.policyWait) }
        self.tiles = TileRequester(context, keys: configuration.tileCache) { [unowned self] in maps.look() }
        try context.subscribe(to: "/gnss/fix", as: GnssFix.self, isRequired: true) { [unowned self] fix, delivery in
            maps.expire(at: context.stamp)
            let outcome = session.handle(fix, sequence: delivery.header.sequence)
            // What does not count may be of any time.
            if let stamp = session.spoken.lastUsed, stamp.nanoseconds == fix.stampNs {
                lastFix = (stamp, context.stamp)
            }
            carryOut(outcome)
            guard outcome.messages.contains(where: { $0.topic == "/nav/progress" }) else { return }
            fixToProgress.record(nanoseconds: Clocks.monotonic() - delivery.received.monotonicNanoseconds)
        }
        // A city's traffic is read on the thread that makes the map.
        try context.subscribe(toBytesOf: "/traffic/speeds") { [unowned self] delivery in
            maps.take(delivery.payload, sequence: delivery.header.sequence, at: context.stamp)
        }
        try context.subscribe(to: "/vehicle/odometry", as: VehicleOdometry.self) {
            [unowned self] odometry, delivery in
            carryOut(session.handle(odometry, sequence: delivery.header.sequence))
        }
    }

    /// How much later than usual a fix may arrive before it counts as missing, seconds.
    private static let tolerance = 0.3

    /// Lets the core predict where fixes fail, and says when it wants to be asked next, ns of the monotonic clock.
    ///
    /// The core's time is that of the fixes, which may be another than the node's: it goes on from the last fix as the node's does.
    private func pass(_ now: Int64) -> Int64 {
        guard session.due != nil else { return .max }
        // Without fixes the core lives by the node's time.
        let last = lastFix ?? (context.stamp, context.stamp)
        let elapsed = lastFix == nil ? 0.001 : context.stamp.seconds(since: last.arrival) - NavigationNode.tolerance
        let present = last.stamp.advanced(bySeconds: elapsed)
        if elapsed > 0 { carryOut(session.pass(to: present)) }
        guard let due = session.due else { return .max }
        return now + Int64(min(max(due.seconds(since: present), 0.02), 3_600) * 1e9)
    }

    /// Takes the maps that have come into force meanwhile, and the routes that have been found.
    public func turn(_ now: Int64) -> Int64 {
        for change in maps.takeChanges() {
            worker.noteMap()
            carryOut(session.handle(change))
        }
        for report in maps.takeReports() {
            switch report {
            case .info(let text): context.log.info("\(text)")
            case .warning(let text): context.log.warning("\(text)")
            }
        }
        for report in finder.takeReports() { context.log.warning("\(report)") }
        for (id, coverage) in worker.takeCoverages() { calls.answer(id, coverage) }
        for (query, answer) in worker.takeAnswers() { carryOut(session.handle(answer, to: query)) }
        return pass(now)
    }

    /// Thresholds hold from the next message on; the journal has them.
    public func reconfigure(_ configuration: NavigationConfiguration) { carryOut(session.reconfigure(configuration)) }

    /// A loop or a seek is another drive: what lasted is taken back, and the trip starts anew with the next fix.
    public func clockJumped(from: ClockMoment, to: ClockMoment) {
        worker.cancelAll()
        maps.startOver(at: NavGeo.Timestamp(to.time))
        lastFix = nil
        carryOut(session.startOver(at: NavGeo.Timestamp(to.time)))
    }

    /// Whether positions can be relied upon, and which receivers are missed; what became of the input is counted.
    public func findings(_ now: Int64) -> [HealthFinding] {
        let positioning = session.positioning
        for (name, value) in positioning.counters { context.counter(name).set(Int(clamping: value)) }
        let (silent, switches) = session.silentReceivers
        context.counter("receiver_switches").set(switches)
        let stray = session.odometryLead.map { lead in
            HealthFinding(
                "odometry_stray",
                "odometry is \(Int(abs(lead))) s \(lead < 0 ? "behind" : "ahead of") the fixes and left out: its stamps must be of "
                    + "the fixes' clock (UTC)")
        }
        let tiles = maps.trouble.map { HealthFinding("tiles_damaged", $0) }
        return positioning.findings + [tiles, stray].compactMap { $0 } + (session.hasRoads ? [] : [Self.isWithoutRoads])
            + silent.map { receiver in
                let since = receiver.seconds.map { "no fix for \(Int($0)) s" } ?? "no fix yet"
                return HealthFinding(
                    "receiver_silent",
                    "receiver '\(receiver.name)': \(since), while others are heard: look at its node",
                    about: receiver.name)
            }
    }

    private static let isWithoutRoads = HealthFinding(
        "no_tiles", "no road tile is on board: there are no matched positions and no routes until some have come",
        severity: .lost)

    /// Whether a route is being looked for or a map is being made.
    public var pendingCount: Int { (worker.isBusy ? 1 : 0) + (maps.isBusy ? 1 : 0) }

    /// Ends the other threads; the node is of no use after it.
    public func finish() {
        worker.stop()
        maps.stop()
    }

    /// Does what a step of the core asks for.
    func carryOut(_ outcome: NavigationSession.Outcome) {
        for message in outcome.messages {
            context.publish(message.message, on: message.topic, stamp: message.stamp)
            if let line = EventLine.text(message.message) { context.log.info(line) }
        }
        for (call, reply) in outcome.replies { calls.answer(call, reply) }
        for id in outcome.withdrawn { policy?.withdraw(id) }
        for (request, message) in outcome.questions { policy?.ask(request, message) }
        for id in outcome.cancelled { worker.cancel(id) }
        for query in outcome.queries { worker.submit(query) }
        guard !outcome.neededTiles.isEmpty else { return }
        maps.look()
        tiles?.ask(outcome.neededTiles)
    }
}
