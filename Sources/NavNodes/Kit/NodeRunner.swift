public import NavBus
package import NavMessages

/// What holds messages back and lets them through in an order of its own, in lockstep playback.
package protocol LockstepGate: AnyObject {
    /// Takes a message that has arrived in, to hand it on in ``turn(isIdle:handle:)``; false leaves it to the runner.
    func holds(_ delivery: Delivery) -> Bool
    /// One turn of the loop.
    ///
    /// - Parameters:
    ///   - isIdle: whether the node has no work under way on other threads.
    ///   - handle: hands a message to the node.
    /// - Returns: true when it has done something, so that the next turn must not wait.
    func turn(isIdle: Bool, handle: (Delivery) -> Void) -> Bool
    /// Answers a barrier, now or later.
    func barrier(_ request: BarrierRequest, _ call: UnaryCall<BarrierResponse>) throws
}

/// Runs a node: its loop, its life from configuration to shutdown, the Node service, live parameters, health and logs.
///
/// Used by one thread, the one that polls the bus.
public final class NodeRunner<Runnable: Node> {
    /// The node.
    public let node: Runnable
    /// What the node publishes, hears, serves, measures and logs.
    public let context: NodeContext
    /// How far the node is in its life.
    public internal(set) var lifecycle = Lifecycle()
    /// The configuration in force.
    public internal(set) var configuration: RunConfiguration<Runnable.Configuration>

    /// What orders the messages in lockstep playback.
    package var lockstep: (any LockstepGate)?

    let log: NodeLog
    let startedAt = MachineTime.utc()
    private let registry: PublisherRegistry
    private let clock: SubscriptionID?
    private let handling: LatencyRecorder
    private let turning: LatencyRecorder
    private var monitor = HealthMonitor()
    private var nextHealth: Int64 = 0
    private var nextTurn: Int64 = 0
    /// When a node that was told to shut down leaves, monotonic ns.
    private var leavesAt: Int64 = .max

    /// How often health is published, ns.
    private static var healthNanoseconds: Int64 { 1_000_000_000 }

    /// Configures a node on a bus, serves `navbus.v1.Node`, and activates the node unless `autostart` is off.
    ///
    /// - Parameters:
    ///   - remaps: catalogue names of topics and what they are called on this bus.
    ///   - directory: where publishers' names are found; nil on a bus without a registry.
    ///   - log: the node's log; one on standard error and `/log` unless given.
    public init(
        _ bus: any Bus, remaps: [String: String] = [:], configuration: RunConfiguration<Runnable.Configuration>,
        directory: BusDirectory? = nil, log: NodeLog? = nil
    ) throws(NodeError) {
        let log = log ?? NodeLog(node: bus.name, level: configuration.kit.logLevel)
        let link = NodeLink(bus, remaps: remaps, log: log)
        let registry = PublisherRegistry(directory)
        let context = NodeContext(link: link, log: log) { registry.name(of: $0) }
        log.sink.attach(bus.makeWaker())
        try link.advertise([TopicCatalogue.health(of: bus.name), TopicCatalogue.log])
        clock = configuration.kit.simTime ? try link.subscribe(to: "/clock") : nil
        handling = context.latency("handle")
        turning = context.latency("loop")
        node = try Runnable(configuration: configuration.node, context: context)
        _ = lifecycle.take(.configure)
        self.context = context
        self.configuration = configuration
        self.log = log
        self.registry = registry
        do throws(BusError) {
            try bus.serve(NodeService.served(by: self))
        } catch {
            throw NodeError(.system, error.description)
        }
        if configuration.kit.autostart {
            try activate()
        } else {
            log.info("inactive until it is activated with navbus.v1.Node/ChangeState")
        }
    }

    // MARK: The loop

    /// Runs until `stop` is set, the node is told to shut down, or it has done what it was for.
    public func run(until stop: StopSignal) throws(NodeError) {
        defer { finish() }
        while !stop.isStopped, !isOver {
            let wait = min(nextHealth, nextTurn, leavesAt) - MachineTime.monotonic()
            try step(waiting: .nanoseconds(max(0, wait)))
        }
    }

    /// Whether the loop has come to its end.
    package var isOver: Bool {
        lifecycle.state == .finalized || context.isFinished || MachineTime.monotonic() >= leavesAt
    }

    /// The node leaves a moment later (100 ms): a caller that sees it leave before its answer would take it for dead.
    func leave() { leavesAt = min(leavesAt, MachineTime.monotonic() + 100_000_000) }

    /// One turn of the loop, waiting at most so long for a message.
    package func step(waiting timeout: Duration) throws(NodeError) {
        let delivery: Delivery?
        do throws(BusError) {
            delivery = try context.bus.poll(timeout: timeout)
        } catch {
            throw NodeError(.system, error.description)
        }
        let begin = MachineTime.monotonic()
        if let delivery, lockstep?.holds(delivery) != true { handle(delivery) }
        nextTurn = lifecycle.state == .active ? node.turn(MachineTime.monotonic()) : .max
        if let lockstep, lockstep.turn(isIdle: node.pendingCount == 0, handle: { handle($0) }) { nextTurn = 0 }
        let now = MachineTime.monotonic()
        turning.record(nanoseconds: now - begin)
        if now >= nextHealth { publishHealth(now) }
        publishLog()
    }

    /// Ends the node's life; the bus stays open for its owner to close.
    package func finish() {
        if lifecycle.state == .active { deactivate() }
        _ = lifecycle.take(.shutdown)
        node.finish()
        publishLog()
    }

    private func handle(_ delivery: Delivery) {
        let begin = MachineTime.monotonic()
        if delivery.subscription == clock {
            if let time = try? Clock(decoding: delivery.payload.bytes).stampNs { context.link.simulatedTime = time }
            return
        }
        context.dispatch(delivery, at: begin)
        handling.record(nanoseconds: MachineTime.monotonic() - begin)
    }

    // MARK: Life

    func activate() throws(NodeError) {
        do throws(NodeError) {
            try context.open(MachineTime.monotonic())
            try node.activate()
        } catch {
            context.close()
            throw error
        }
        _ = lifecycle.take(.activate)
        (nextTurn, nextHealth) = (0, 0)
    }

    func deactivate() {
        node.deactivate()
        context.close()
        _ = lifecycle.take(.deactivate)
        nextHealth = 0
    }

    // MARK: Health and log

    private func publishHealth(_ now: Int64) {
        nextHealth = now + Self.healthNanoseconds
        let findings = lifecycle.state == .active ? node.findings(now) : []
        let health = monitor.report(context, state: lifecycle.state, findings: findings, now: now) {
            registry.publishers(of: $0)
        }
        context.link.publish(
            health, on: TopicCatalogue.health(of: context.name), stampNanoseconds: health.stampNs ?? now)
    }

    private func publishLog() {
        for var entry in log.sink.drain() {
            entry.bootId = context.bus.bootID
            context.link.publish(entry, on: TopicCatalogue.log, stampNanoseconds: entry.stampNs ?? 0)
        }
    }
}

/// Who publishes what, from the registry.
final class PublisherRegistry {
    private var reader: RegistryReader?

    init(_ directory: BusDirectory?) { reader = directory.map { RegistryReader(directory: $0) } }

    private var nodes: [Announcement]? {
        do { return try reader?.read()?.nodes } catch { return nil }
    }

    /// The node of a run; nil when it is not there, or there is no registry.
    func name(of bootID: UInt64) -> String? { nodes?.first { $0.bootID == bootID }?.node }

    /// The nodes that publish a topic, by name; nil when there is no registry.
    func publishers(of topic: String) -> [String]? {
        nodes.map { $0.filter { $0.topics.contains { $0.name == topic } }.map(\.node).sorted() }
    }
}
