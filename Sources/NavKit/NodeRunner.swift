import Glibc
public import NavBus
import NavConfig
import NavSpelling
import NavGeo
import NavMessages

/// A runner of a node: loop, lifecycle from configuration to shutdown, Node service, live parameters, health and logs.
///
/// It is used only by the thread that polls the bus.
public final class NodeRunner<Runnable: Node> {
    /// The user's node, which the loop runs.
    public let node: Runnable
    /// The node's topics, services, measurements and log.
    public let context: NodeContext
    /// The node's lifecycle state.
    public internal(set) var lifecycle = Lifecycle()
    /// The configuration in force.
    public internal(set) var configuration: RunConfiguration<Runnable.Configuration>

    let log: NodeLog
    let startedAt = Clocks.wall()
    private let registry: PublisherRegistry
    private let clock: SubscriptionID?
    private let handling: LatencyRecorder
    private let turning: LatencyRecorder
    private var monitor = HealthMonitor()
    private var nextHealth: Int64 = 0
    private var nextTurn: Int64 = 0
    /// The time at which a node leaves after a shutdown request, in monotonic nanoseconds.
    private var leavesAt: Int64 = .max
    private var healthTimer: TimerID?
    private var supervisor = SupervisorNotifier()

    /// The interval of health messages, ns.
    private static var healthNanoseconds: Int64 { 1_000_000_000 }

    /// Configures a node on a bus, serves `navbus.v1.Node`, and activates the node unless `autostart` is off.
    ///
    /// - Parameters:
    ///   - remaps: the topic names on this bus, by catalogue name.
    ///   - directory: the registry in which publishers' names are looked up; nil on a bus without a registry.
    ///   - log: the node's log; by default a new one on standard error and `/log`.
    public init(
        _ bus: any Bus, remaps: [String: String] = [:], configuration: RunConfiguration<Runnable.Configuration>,
        directory: BusDirectory? = nil, log: NodeLog? = nil
    ) throws(NodeError) {
        let begin = Clocks.monotonic()
        let log = log ?? NodeLog(node: bus.name, level: configuration.kit.logLevel)
        let link = NodeLink(
            bus, remaps: remaps, simTime: configuration.kit.simTime, directory: directory, log: log)
        let registry = PublisherRegistry(directory, bus)
        let context = NodeContext(link: link, log: log) { registry.name(of: $0) }
        log.sink.attach(bus.makeWaker())
        try link.advertise([Topics.health(of: bus.name), Topics.log])
        // A queue, although only the latest time counts: with only the latest kept, a time could arrive after messages published since the
        // one it replaced, and the first messages of a new epoch would count as late ones of the old epoch.
        clock = configuration.kit.simTime ? try link.subscribe(to: Topics.clock, qos: .keepLast(1_024)) : nil
        handling = context.latency("handle")
        turning = context.latency("loop")
        node = try Runnable(configuration: configuration.node, context: context)
        _ = lifecycle.take(.configure)
        // A launch file may give all its nodes the same remaps, so a remap of another node's topic is not an error.
        let own = context.inputs.map(\.entry.name) + link.published.map(\.entry.name)
        for topic in remaps.keys.sorted() where !own.contains(topic) && TopicCatalogue.topic(named: topic) == nil {
            let near = nearestName(to: topic, among: TopicCatalogue.all.map(\.name) + own)
            log.warning(
                "--remap \(topic): the topic is unknown, so nothing is renamed"
                    + (near.map { "; did you mean \($0)?" } ?? ""))
        }
        self.context = context
        self.configuration = configuration
        self.log = log
        self.registry = registry
        let hearsClock = clock != nil
        link.participant.subscribed = { [unowned context, unowned link] in
            context.heardTopics.union(hearsClock ? [link.name(of: Topics.clock)] : [])
        }
        do throws(BusError) {
            try bus.serve(NodeService.served(by: self))
        } catch {
            throw NodeError(.system, error.description)
        }
        if configuration.kit.autostart {
            try activate { waitForSubscribers(directory, since: begin) }
        } else {
            log.info("inactive until activated with navbus.v1.Node/ChangeState")
        }
    }

    /// Gives existing subscribers time to connect, so that a recorder receives the first messages of a restarted node:
    /// the bus reconnects to a restarted publisher within 0.2 s.
    private func waitForSubscribers(_ directory: BusDirectory?, since begin: Int64) {
        guard let nodes = try? directory?.inspect().nodes,
            nodes.contains(where: { $0.bootID != context.bus.bootID })
        else { return }
        // Subscribers that discover a topic only now also need a moment, even after a long configuration.
        let until = max(begin + 250_000_000, Clocks.monotonic() + 50_000_000)
        while case let left = until - Clocks.monotonic(), left > 0 { usleep(UInt32(left / 1_000) + 1) }
    }

    // MARK: The loop

    /// Runs until `stop` is set, the node receives a shutdown request, or its work is done.
    public func run(until stop: StopSignal) throws(NodeError) {
        defer { finish() }
        supervisor.ready()
        while !stop.isStopped, !isOver {
            supervisor.heartbeat()
            let wait = min(nextHealth, nextTurn, leavesAt, supervisor.next) - Clocks.monotonic()
            try step(waiting: .nanoseconds(max(0, wait)))
        }
        supervisor.stopping()
    }

    /// Whether the loop must end.
    package var isOver: Bool {
        lifecycle.state == .finalized || context.isFinished || Clocks.monotonic() >= leavesAt
    }

    /// Ends the loop after 100 ms: a caller that sees the node leave before receiving its answer would consider it dead.
    func leave() { leavesAt = min(leavesAt, Clocks.monotonic() + 100_000_000) }

    /// Runs one iteration of the loop, waiting at most `timeout` for a message.
    package func step(waiting timeout: Duration) throws(NodeError) {
        let delivery: Delivery?
        do throws(BusError) {
            // In lockstep, messages may stop indefinitely, so the loop regularly checks whether the player is alive.
            let longest = lockstep.isInLockstep ? min(timeout, .milliseconds(500)) : timeout
            delivery = try context.bus.poll(timeout: context.clock.wait(atMost: longest))
            context.isInboxEmpty = delivery == nil
            let begin = Clocks.monotonic()
            if let delivery, let passed = lockstep.take(delivery) { handle(passed) }
            // A barrier covers every message that has arrived, not only the first one read.
            while lockstep.isInLockstep, let more = try context.bus.poll(timeout: .zero) {
                if let passed = lockstep.take(more) { handle(passed) }
            }
            turn()
            lockstep.run(isIdle: isIdle, handle: handle, event: timeChanged)
            if !lockstep.isInLockstep { context.clock.runDueTimers() }
            turning.record(nanoseconds: Clocks.monotonic() - begin)
        } catch {
            throw NodeError(.system, error.description)
        }
        if Clocks.monotonic() >= nextHealth { publishHealth() }
        publishLog()
    }

    var lockstep: LockstepParticipant { context.link.participant }

    private func turn() {
        nextTurn = lifecycle.state == .active ? node.turn(Clocks.monotonic()) : .max
    }

    /// Handles the results of other threads, and returns whether they have no work left.
    private func isIdle() -> Bool {
        turn()
        return node.pendingCount == 0
    }

    private func timeChanged(_ event: ClockEvent) {
        switch event {
        case .advanced: return
        case .started(let moment): log.info("time started", ["clock_ns": "\(moment.time.nanoseconds)"])
        case .jumped(let from, let to):
            log.info(
                "time jumped: starting over",
                ["from_ns": "\(from.time.nanoseconds)", "to_ns": "\(to.time.nanoseconds)"])
        }
        context.startOver(at: context.clock.epochNanoseconds)
        monitor.startOver()
        if case .jumped(let from, let to) = event, lifecycle.state == .active { node.clockJumped(from: from, to: to) }
        guard healthTimer == nil else { return }
        // From now on health is published in the node's own time.
        nextHealth = .max
        healthTimer = context.clock.every(.seconds(1)) { [unowned self] in publishHealth() }
    }

    /// Ends the node's lifecycle; the bus stays open for its owner to close.
    package func finish() {
        if lifecycle.state == .active { deactivate() }
        _ = lifecycle.take(.shutdown)
        node.finish()
        publishLog()
    }

    private func handle(_ delivery: Delivery) {
        let begin = Clocks.monotonic()
        if delivery.subscription == clock {
            if let message = try? Clock(decoding: delivery.payload.bytes),
                let event = context.clock.receive(message, from: delivery.header.bootID)
            {
                timeChanged(event)
            }
            return
        }
        context.dispatch(delivery, at: context.clock.epochNanoseconds)
        handling.record(nanoseconds: Clocks.monotonic() - begin)
    }

    // MARK: Life

    /// Starts receiving and, after `wait`, activates the node.
    func activate(after wait: () -> Void = {}) throws(NodeError) {
        do throws(NodeError) {
            try context.open(context.clock.epochNanoseconds)
            wait()
            try node.activate()
        } catch {
            context.close()
            throw error
        }
        _ = lifecycle.take(.activate)
        nextTurn = 0
        if healthTimer == nil { nextHealth = 0 }
    }

    func deactivate() {
        node.deactivate()
        context.close()
        _ = lifecycle.take(.deactivate)
        if healthTimer == nil { nextHealth = 0 }
    }

    // MARK: Health and log

    private func publishHealth() {
        if healthTimer == nil { nextHealth = Clocks.monotonic() + Self.healthNanoseconds }
        let now = context.clock.epochNanoseconds
        var findings = context.clock.healthReasons.map {
            HealthFinding($0.code ?? "", $0.message ?? "", severity: context.clock.now == nil ? .lost : .degraded)
        }
        if lifecycle.state == .active { findings += node.findings(now) }
        for counter in context.clock.counters {
            context.counter(counter.name ?? "").set(Int(clamping: counter.value ?? 0))
        }
        // Read at most once, regardless of the number of silent topics.
        lazy var nodes = registry.nodes
        let health = monitor.report(context, state: lifecycle.state, findings: findings, now: now) { topic in
            nodes.map { $0.filter { $0.topics.contains { $0.name == topic } }.map(\.node).sorted() }
        }
        context.link.publish(health, on: Topics.health(of: context.name), stamp: context.stamp)
    }

    private func publishLog() {
        for var entry in log.sink.drain() {
            entry.bootId = context.bus.bootID
            context.link.publish(
                entry, on: Topics.log, stamp: NavGeo.Timestamp(nanoseconds: entry.stampNs ?? 0))
        }
    }
}

final class PublisherRegistry {
    private let bus: any Bus
    private var reader: RegistryReader?

    init(_ directory: BusDirectory?, _ bus: any Bus) {
        self.bus = bus
        reader = directory.map { RegistryReader(directory: $0) }
    }

    /// The announced nodes of this host and the present ones of other hosts; nil when there is no registry.
    var nodes: [Announcement]? {
        do { return try reader?.read().map { bus.allNodes(with: $0.nodes) } } catch { return nil }
    }

    /// Returns the node with a boot id; nil when it is absent or there is no registry.
    func name(of bootID: UInt64) -> String? { nodes?.first { $0.bootID == bootID }?.node }
}
