import NavBus
import NavGeo
import NavMap
import NavMessages
import NavNavigator
import NavRouting

/// The navigation node: GNSS fixes from the bus in, progress, instructions, reroutes and arrival out.
public final class NavigationNode {
    private let link: NodeLink
    private let log: NodeLog
    private let session: NavigationSession
    private let worker: RoutingWorker
    private let fixes: SubscriptionID
    private let clock: SubscriptionID?
    private var rejected: UInt64 = 0
    private var lastFix: NodeTime?
    private var service: LockstepService?
    /// Before time begins health is told by the machine's clock.
    private var nextWaiting = MonotonicInstant(nanoseconds: 0)

    /// Topics that the node publishes.
    static let topics = [
        "/nav/state", "/nav/position", "/nav/progress", "/nav/route", "/nav/reroute", "/nav/instruction/visual",
        "/nav/instruction/spoken", "/nav/arrival", "/nav/fix_rejected", "/nav/journal",
    ]

    /// Loads the map and joins the bus.
    public init(link: NodeLink, configuration: NavigationConfiguration, log: NodeLog) throws(NodeError) {
        guard !configuration.tiles.isEmpty else {
            throw NodeError(.usage, "no map: give a directory of road tiles with --set tiles=DIRECTORY")
        }
        let directory = try TilesetDirectory(path: configuration.tiles)
        let graph = try directory.loadGraph()
        let map = MapSnapshot(graph: graph, model: CostModel(profile: configuration.profile))
        log.info(
            "map \(graph.mapVersion.prefix(12)): \(graph.tiles.count) tiles, \(graph.nodeCount) nodes, \(graph.edgeCount) edges"
        )
        self.link = link
        self.log = log
        session = NavigationSession(map: map, configuration: configuration, nodeName: link.bus.name)
        worker = RoutingWorker(map: map, waker: link.bus.makeWaker())
        try link.advertise(NavigationNode.topics + [TopicCatalogue.health(of: link.bus.name)])
        fixes = try link.subscribe(to: "/gnss/fix")
        clock = link.clock.isSimulated ? try link.subscribe(to: "/clock") : nil
        do throws(BusError) {
            service = try LockstepService(link.bus, link.participant, isSimulated: link.clock.isSimulated)
        } catch {
            throw NodeError(.system, error.description)
        }
        link.clock.every(.seconds(1)) { [unowned self] in publishHealth() }
    }

    /// Runs until `stop` is set.
    public func run(until stop: StopSignal) throws(NodeError) {
        defer { finish() }
        while !stop.isStopped { try step(waiting: .milliseconds(200)) }
    }

    /// Handles the messages that are there, waiting so long for one, and the routes that have been found meanwhile.
    package func step(waiting timeout: Duration) throws(NodeError) {
        do throws(BusError) {
            try link.participant.turn(
                waiting: link.clock.wait(atMost: timeout), isIdle: isIdle, handle: { delivery, _ in handle(delivery) },
                event: timeChanged)
        } catch {
            throw NodeError(.system, error.description)
        }
        takeRoutes()
        if !link.participant.isInLockstep { link.clock.runDueTimers() }
        if link.clock.now == nil, MonotonicClock.now() >= nextWaiting {
            nextWaiting = MonotonicClock.now() + .seconds(1)
            publishHealth()
        }
    }

    /// Takes in what the worker has found, and tells whether it has nothing more to do.
    private func isIdle() -> Bool {
        takeRoutes()
        return !worker.isBusy
    }

    private func takeRoutes() {
        for (query, answer) in worker.takeAnswers() { carryOut(session.handle(answer, to: query)) }
    }

    private func timeChanged(_ event: ClockEvent) {
        guard case .jumped(let from, let to) = event else { return }
        log.info("time jumped from \(from.time.nanoseconds) to \(to.time.nanoseconds) ns: the drive starts anew")
        worker.cancelAll()
        lastFix = nil
        carryOut(session.startOver(at: NavGeo.Timestamp(to.time)))
    }

    /// Whether a route is being looked for.
    package var isRouting: Bool { worker.isBusy }

    /// Ends the search for routes; the node is of no use after it.
    package func finish() { worker.stop() }

    private func handle(_ delivery: Delivery) {
        if delivery.subscription == clock {
            guard let message = try? Clock(decoding: delivery.payload.bytes),
                let event = link.clock.receive(message, from: delivery.header.bootID)
            else { return }
            return timeChanged(event)
        }
        guard delivery.subscription == fixes else { return }
        do {
            let message = try delivery.payload.withUnsafeBytes { bytes throws(MessageError) in
                try GnssFix(decoding: bytes, limit: 16 << 10)
            }
            lastFix = link.clock.now
            carryOut(session.handle(message, sequence: delivery.header.sequence))
        } catch {
            rejected += 1
            if rejected == 1 { log.warning("a message on \(delivery.topic) cannot be read: \(error)") }
        }
    }

    private func carryOut(_ outcome: NavigationSession.Outcome) {
        for message in outcome.messages {
            link.publish(message.message, on: message.topic, stamp: message.stamp)
            if let line = EventLine.text(message.message) { log.info(line) }
        }
        for id in outcome.cancelled { worker.cancel(id) }
        for query in outcome.queries { worker.submit(query) }
    }

    private func publishHealth() {
        var reasons = link.clock.healthReasons
        if let lastFix, let now = link.clock.now {
            let age = now - lastFix
            if age > .milliseconds(2_500) {
                reasons.append(HealthReason(code: "gnss.stale", message: "no fix for \(age.components.seconds) s"))
            }
        } else if link.clock.now != nil {
            reasons.append(HealthReason(code: "gnss.none", message: "no fix on \(link.name(of: "/gnss/fix")) yet"))
        }
        link.publishHealth(
            reasons: reasons,
            counters: [Counter(name: "fixes.unreadable", value: rejected)] + link.clock.counters)
    }
}
