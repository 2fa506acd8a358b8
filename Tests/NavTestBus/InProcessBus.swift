internal import DequeModule
package import NavBus

/// The nodes of one test, connected without sockets.
///
/// No code runs in the background: a message is moved when it is published and read when its node polls. Each node's
/// pipe is bounded like that of a socket, and a new latched value is sent again to every subscriber, as by ZeroMQ. It
/// is used by one thread.
package final class InProcessNetwork {
    /// The time of every node's clock, set by the test.
    package var now = ReceiveTimes(monotonicNanoseconds: 0, utcNanoseconds: 0)

    /// The maximum number of messages queued for a node that does not poll; further messages to that node are lost.
    package let pipeDepth: Int

    fileprivate var nodes: [InProcessBus] = []
    private var boots: UInt64 = 0

    /// Creates an empty network.
    package init(pipeDepth: Int = 2000) { self.pipeDepth = max(1, pipeDepth) }

    fileprivate func nextBoot(_ name: String) throws(BusError) -> UInt64 {
        guard !nodes.contains(where: { $0.name == name }) else {
            throw BusError(
                .nameBusy, "node name '\(name)' is in use by a node of this network: start this one under another name")
        }
        boots += 1
        return boots
    }

    /// Puts frames into the pipes of all nodes that are subscribed to the first one, as a foreign publisher could.
    package func inject(_ frames: [[UInt8]]) {
        guard let topic = frames.first, topic.last == 0 else { return }
        let name = String(decoding: topic.dropLast(), as: UTF8.self)
        for node in nodes where node.wants(name) { node.arrive(frames) }
    }

    fileprivate func topicAppeared(_ topic: String) {
        for node in nodes { node.discover(topic) }
    }

    fileprivate func subscriptionChanged(_ topic: String, isNew: Bool) {
        let frame = [isNew ? 1 : 0] + TopicTable.key(topic)
        for node in nodes { node.peerSubscriptionChanged(frame) }
    }

    fileprivate func servicesChanged() {
        let servers = nodes.compactMap(\.services.info)
        for node in nodes { node.services.announced = servers }
    }

    /// Puts a frame into a node's service pipe, as a foreign client could.
    package func injectService(header: [UInt8], payload: [UInt8], to node: String) {
        nodes.first { $0.name == node }?.services.inject(header: header, payload: payload)
    }

    fileprivate func services(of node: String) -> InProcessServices? { nodes.first { $0.name == node }?.services }

    /// Runs one turn of every node's services.
    fileprivate func runServices(waiting timeout: Duration) {
        var hadMessages = false
        for node in nodes { hadMessages = node.services.run(now.monotonicNanoseconds) || hadMessages }
        if !hadMessages { now.monotonicNanoseconds += timeout.boundedNanoseconds }
    }

    fileprivate func subscribedTopics() -> [String] { nodes.flatMap(\.subscribedTopics) }

    fileprivate func advertisedTopics() -> [String] { nodes.flatMap(\.advertisedTopics) }
}

/// A node of an ``InProcessNetwork`` that behaves like a ``BusNode``, immediately and deterministically.
package final class InProcessBus: Bus {
    /// The node's name, unique among the live nodes of its domain.
    package let name: String
    /// The `boot_id` in every header that the node sends, new at each start.
    package let bootID: UInt64

    private let network: InProcessNetwork
    private let waker: Waker
    private var inbox: Inbox
    private var outbox: Outbox
    private var pipe: Deque<[[UInt8]]> = []
    private var isOpen = true
    fileprivate private(set) lazy var services = InProcessServices(name, bootID, waker) { [weak network] node in
        network?.services(of: node)
    }
    fileprivate private(set) var subscribedTopics: [String] = []

    /// Joins a network; boot ids number its nodes from 1.
    package init(name: String, network: InProcessNetwork) throws(BusError) {
        try Names.checkDirectoryName(name, "node name")
        self.name = name
        self.network = network
        waker = try Waker()
        bootID = try network.nextBoot(name)
        inbox = Inbox(node: bootID, maximumQueuedBytes: 64 << 20)
        outbox = Outbox(node: bootID)
        // Nodes that subscribed before this node joined also count as its subscribers.
        for topic in network.subscribedTopics() { peerSubscriptionChanged([1] + TopicTable.key(topic)) }
        network.nodes.append(self)
        network.servicesChanged()
    }

    /// The node's counters since its start.
    package var statistics: BusStatistics { BusStatistics(inbox: inbox, outbox: outbox) }

    // MARK: Publishing

    /// Starts publishing a topic and informs the other nodes, see ``Bus/advertise(_:)``.
    package func advertise(_ topic: TopicDescription) throws(BusError) -> Publication {
        try checkOpen()
        let publication = try outbox.advertise(topic)
        network.topicAppeared(topic.name)
        return publication
    }

    /// Publishes one message without waiting, see ``Bus/publish(_:on:stampNanoseconds:)``.
    package func publish(
        _ payload: UnsafeRawBufferPointer, on publication: Publication, stampNanoseconds: Int64
    ) throws(BusError) {
        try checkOpen()
        let header = try outbox.stamp(
            publication, payload, stampNanoseconds, now: network.now.monotonicNanoseconds)
        network.inject([outbox.key(publication.index), header.encoded, [UInt8](payload)])
    }

    /// Clears the last value of a latched topic, see ``Bus/clearLatched(_:)``.
    package func clearLatched(_ publication: Publication) throws(BusError) {
        try checkOpen()
        try outbox.clearLatched(publication)
    }

    /// Returns the number of subscriptions to a publication's topic now.
    package func subscriberCount(of publication: Publication) throws(BusError) -> Int {
        try checkOpen()
        try outbox.check(publication)
        return outbox.subscriberCount(publication.index)
    }

    fileprivate var advertisedTopics: [String] { outbox.descriptions.map(\.name) }

    fileprivate func peerSubscriptionChanged(_ frame: [UInt8]) {
        for index in frame.withUnsafeBytes({ outbox.subscriptionChanged($0) }) {
            guard let latched = outbox.latched(index) else { continue }
            network.inject([outbox.key(index), latched.header.encoded, latched.payload])
        }
    }

    // MARK: Subscribing

    /// Subscribes to one topic, see ``Bus/subscribe(to:qos:maximumPayloadSize:)``.
    package func subscribe(to topic: String, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID {
        try checkOpen()
        try Names.checkTopic(topic)
        try Outbox.check(qos: qos, maximumPayloadSize: maximumPayloadSize, topic)
        let id = inbox.subscribe(topic, qos: qos, maximumPayloadSize: maximumPayloadSize)
        applySubscriptions()
        return id
    }

    /// Subscribes to every topic that a filter accepts, see ``Bus/subscribe(matching:qos:maximumPayloadSize:)``.
    package func subscribe(
        matching filter: TopicFilter, qos: QoS, maximumPayloadSize: Int
    ) throws(BusError) -> SubscriptionID {
        try checkOpen()
        try Outbox.check(qos: qos, maximumPayloadSize: maximumPayloadSize, filter.include.joined(separator: " "))
        let id = inbox.subscribe(matching: filter, qos: qos, maximumPayloadSize: maximumPayloadSize)
        for topic in network.advertisedTopics() { inbox.discover(topic) }
        applySubscriptions()
        return id
    }

    /// Ends a subscription and drops its queued messages.
    package func unsubscribe(_ subscription: SubscriptionID) throws(BusError) {
        try checkOpen()
        guard inbox.unsubscribe(subscription) else { throw .unknownSubscription(name) }
        applySubscriptions()
    }

    fileprivate func wants(_ topic: String) -> Bool { subscribedTopics.contains(topic) }

    fileprivate func discover(_ topic: String) {
        inbox.discover(topic)
        applySubscriptions()
    }

    fileprivate func arrive(_ frames: [[UInt8]]) {
        if pipe.count < network.pipeDepth { pipe.append(frames) }
    }

    private func applySubscriptions() {
        let before = subscribedTopics
        subscribedTopics = inbox.wantedTopics
        for topic in subscribedTopics where !before.contains(topic) {
            network.subscriptionChanged(topic, isNew: true)
        }
        for topic in before where !subscribedTopics.contains(topic) {
            network.subscriptionChanged(topic, isNew: false)
        }
    }

    // MARK: Services

    /// The counters of services, see ``Bus/serviceStatistics``.
    package var serviceStatistics: ServiceStatistics { services.statistics }

    /// Serves and announces a service, see ``Bus/serve(_:handler:)``.
    package func serve(_ service: ServiceDescription, handler: @escaping (ServerCall) -> Void) throws(BusError) {
        try checkOpen()
        try services.server.serve(service, handler)
        network.servicesChanged()
    }

    /// Starts a call, see ``Bus/call(_:_:_:options:onEvent:)``.
    package func call(
        _ service: String, _ method: String, _ request: UnsafeRawBufferPointer, options: CallOptions,
        onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID {
        try checkOpen()
        if services.client.callCount == 0 { services.followServers(network.now.monotonicNanoseconds) }
        return try services.client.call(
            service, method, request, options, now: network.now.monotonicNanoseconds, onEvent: onEvent)
    }

    /// Whether a service can be called, see ``Bus/isServed(_:by:)``.
    package func isServed(_ service: String, by node: String?) throws(BusError) -> Bool {
        try checkOpen()
        services.followServers(Clocks.monotonic())
        return services.client.isServed(service, by: node)
    }

    /// Cancels a call, see ``Bus/cancel(_:)``.
    package func cancel(_ call: CallID) throws(BusError) {
        try checkOpen()
        services.client.cancel(call)
    }

    /// Grants credit to a stream, see ``Bus/grant(_:messages:)``.
    package func grant(_ call: CallID, messages: Int) throws(BusError) {
        try checkOpen()
        services.client.grant(call, messages)
    }

    /// Runs one turn of the services of all nodes; if no node had a message, the network's clock advances by `timeout`.
    package func runServices(timeout: Duration) throws(BusError) {
        try checkOpen()
        network.runServices(waiting: timeout)
        try checkOpen()
    }

    // MARK: The loop

    /// Returns the oldest message in the pipe; nil immediately if there is none, whatever the timeout.
    package func poll(timeout: Duration?) throws(BusError) -> Delivery? {
        try checkOpen()
        _ = services.run(network.now.monotonicNanoseconds)
        try checkOpen()
        while let frames = pipe.popFirst() { take(frames) }
        if let delivery = inbox.next() { return delivery }
        _ = waker.reset()
        return nil
    }

    /// A handle with which other threads can end a wait.
    package func makeWaker() -> Waker { waker }

    /// Leaves the bus and frees the name; further calls do nothing.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        services.close()
        network.nodes.removeAll { $0 === self }
        network.servicesChanged()
        for topic in subscribedTopics { network.subscriptionChanged(topic, isNew: false) }
    }

    private func take(_ frames: [[UInt8]]) {
        guard let topic = frames.first else { return }
        topic.withUnsafeBytes { topic in
            guard frames.count == 3 else { return inbox.rejectFrames(topic: topic, count: frames.count) }
            frames[1].withUnsafeBytes { header in
                let payload = frames[2].withUnsafeBytes { Payload(copying: $0) }
                inbox.accept(topic: topic, header: header, payload: payload, received: network.now)
            }
        }
    }

    private func checkOpen() throws(BusError) {
        guard isOpen else { throw .closed(name) }
    }
}
