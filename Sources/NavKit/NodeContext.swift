public import NavBus
public import NavGeo
public import NavMessages

/// A node's interface to the outside: topics, services, measurements and log.
///
/// It belongs to the node's thread.
///
/// Declarations made while the node is configured take effect with its lifecycle: only while the node is active are its
/// topics subscribed to, its publications sent and its services answered.
public final class NodeContext {
    /// The node's name on the bus.
    public let name: String
    /// The node's log.
    public let log: NodeLog
    let link: NodeLink
    /// Returns the node name for a publisher's boot id, if the registry has it.
    private let publisherName: (UInt64) -> String?

    package private(set) var inputs: [NodeInput] = []
    private(set) var services: [String] = []
    private(set) var recorders: [LatencyRecorder] = []
    private(set) var counters: [NodeCounter] = []
    private(set) var activeSince: Int64?
    private(set) var isFinished = false

    init(link: NodeLink, log: NodeLog, publisherName: @escaping (UInt64) -> String?) {
        name = link.bus.name
        self.link = link
        self.log = log
        self.publisherName = publisherName
    }

    // MARK: Topics

    /// Announces topics, so that subscribers find them before the first message.
    public func advertise(_ topics: [any CatalogueTopic]) throws(NodeError) {
        for topic in topics { try link.advertise(topic.entry) }
    }

    /// Publishes a message if the node is active.
    ///
    /// A failure is logged once per topic.
    @inline(__always)
    public func publish<Content>(_ message: Content, on topic: Topic<Content>, stamp: NavGeo.Timestamp) {
        publish(message, on: topic.entry, stamp: stamp)
    }

    /// Publishes a message of a topic's type if the node is active.
    @inline(__always)
    package func publish(_ message: any Message, on topic: TopicEntry, stamp: NavGeo.Timestamp) {
        guard isActive else { return }
        link.publish(message, on: topic, stamp: stamp)
    }

    /// Subscribes to a topic while the node is active.
    ///
    /// Unreadable messages are counted per publisher, logged once and reported in the health. Messages of another schema
    /// version are decoded by protobuf's rules, and logged once.
    ///
    /// - Parameters:
    ///   - isRequired: whether the topic's silence is reported even before its first message. Silence means DEGRADED; a node that cannot
    ///     work without the topic reports that in its own findings.
    ///   - handler: called with each message; it must not retain this context or the node.
    public func subscribe<Content>(
        to topic: Topic<Content>, isRequired: Bool = false, handler: @escaping (Content, Delivery) -> Void
    ) throws(NodeError) {
        let limit = topic.entry.maxSize
        try add(topic, isRequired: isRequired) { delivery throws(MessageError) in
            let content = try delivery.payload.withUnsafeBytes { bytes throws(MessageError) in
                try Content(decoding: bytes, limit: limit)
            }
            handler(content, delivery)
        }
    }

    /// Subscribes to a topic while the node is active, without decoding its messages: for large messages that another thread
    /// decodes.
    public func subscribe(
        toBytesOf topic: any CatalogueTopic, handler: @escaping (Delivery) -> Void
    ) throws(NodeError) {
        try add(topic, isRequired: false) { handler($0) }
    }

    private func add(
        _ topic: any CatalogueTopic, isRequired: Bool, take: @escaping (Delivery) throws(MessageError) -> Void
    ) throws(NodeError) {
        let input = NodeInput(topic.entry, name: link.name(of: topic), isRequired: isRequired, take: take)
        inputs.append(input)
        guard isActive else { return }
        try open(input)
    }

    /// Returns the number of subscribers to a topic of this node.
    public func subscriberCount(of topic: any CatalogueTopic) -> Int { link.subscriberCount(of: topic.name) }

    // MARK: Services

    /// Serves a service, for example `NavigationService.served(by: self)`; while the node is inactive its calls end as
    /// ``StatusCode/failedPrecondition``.
    public func serve(_ service: ServedService) throws(NodeError) {
        do throws(BusError) {
            try link.bus.serve(service) { [weak self] in
                guard self?.isActive != true else { return nil }
                return CallStatus(
                    .failedPrecondition, "the node is inactive: activate it with navbus.v1.Node/ChangeState")
            }
        } catch {
            throw NodeError(.system, error.description)
        }
        services.append(service.descriptor.name)
    }

    /// The bus, for calls to other nodes' services.
    public var bus: any Bus { link.bus }

    // MARK: The loop

    /// Makes a waker with which another thread wakes the loop.
    public func makeWaker() -> Waker { link.bus.makeWaker() }

    /// The node's time and timers, from the machine's clocks or `/clock`.
    public var clock: NodeClock { link.clock }

    /// Whether a player waits for this node at each step.
    package var isInLockstep: Bool { link.participant.isInLockstep }
    /// Whether the loop's last poll returned no message.
    package internal(set) var isInboxEmpty = true

    /// The stamp for messages now: the machine's time, or that of `/clock` once its first message has arrived.
    public var stamp: NavGeo.Timestamp { link.clock.stamp ?? WallClock.now() }

    /// Ends the program successfully, because the node's work is done.
    public func finish() { isFinished = true }

    /// Whether the node is active.
    public var isActive: Bool { activeSince != nil }

    // MARK: Measuring

    /// Returns the recorder of a latency, by its name in the health, for example `fix_to_progress`.
    public func latency(_ name: String) -> LatencyRecorder {
        if let known = recorders.first(where: { $0.name == name }) { return known }
        let made = LatencyRecorder(name, now: Clocks.monotonic())
        recorders.append(made)
        return made
    }

    /// Returns the counter with a name in the health, lower case with underscores.
    public func counter(_ name: String) -> NodeCounter {
        if let known = counters.first(where: { $0.name == name }) { return known }
        let made = NodeCounter(name)
        counters.append(made)
        return made
    }

    // MARK: For the runner

    func open(_ now: Int64) throws(NodeError) {
        activeSince = now
        for input in inputs { try open(input) }
    }

    private func open(_ input: NodeInput) throws(NodeError) {
        do throws(BusError) {
            input.subscription = try link.bus.subscribe(
                to: input.name, qos: QoS(input.entry.qos), maximumPayloadSize: input.entry.maxSize)
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// Stops receiving and publishing.
    func close() {
        activeSince = nil
        link.forgetLatched()
        for input in inputs {
            if let subscription = input.subscription { try? link.bus.unsubscribe(subscription) }
            input.subscription = nil
        }
    }

    /// Forgets past arrival times, because time has started or jumped.
    func startOver(at now: Int64) {
        if isActive { activeSince = now }
        for input in inputs { input.startOver() }
        for outlet in link.published { outlet.lastAt = nil }
    }

    /// The topics subscribed to now, by their names on this bus.
    var heardTopics: Set<String> { Set(inputs.filter { $0.subscription != nil }.map(\.name)) }

    /// Passes a message to the node; a message of an ended subscription is dropped.
    func dispatch(_ delivery: Delivery, at now: Int64) {
        guard let input = inputs.first(where: { $0.subscription == delivery.subscription }) else { return }
        report(input.handle(delivery, at: now), of: input)
    }

    /// Counts a message from ``subscribe(toBytesOf:handler:)`` that turned out to be unreadable.
    public func reject(_ topic: any CatalogueTopic, of bootID: UInt64, _ problem: String) {
        guard let input = inputs.first(where: { $0.name == link.name(of: topic) }) else { return }
        report(input.reject(bootID, problem, at: clock.epochNanoseconds), of: input)
    }

    /// Logs a new problem with a publisher's messages.
    private func report(_ news: NodeInput.Problem?, of input: NodeInput) {
        switch news {
        case nil: break
        case .mismatch(let bootID):
            log.warning(
                "\(publisher(bootID)) publishes \(input.name) with another version of \(input.entry.type.fullName): "
                    + "fields that only one side knows are lost; run the same version on both sides"
            )
        case .unreadable(let bootID, let problem):
            log.warning("a message of \(publisher(bootID)) on \(input.name) cannot be read: \(problem)")
        }
    }

    /// Returns a readable description of a publisher: its name if it is known.
    package func publisher(_ bootID: UInt64) -> String {
        publisherName(bootID).map { "node '\($0)'" } ?? "the publisher with boot id \(String(bootID, radix: 16))"
    }
}
