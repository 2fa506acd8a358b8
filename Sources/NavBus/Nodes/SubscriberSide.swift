internal import CZeroMQ

/// The receiving half of a ``BusNode``: a SUB socket around an ``Inbox``, connected to whoever announces a wanted topic.
final class SubscriberSide {
    private struct Connection {
        let node: String
        let endpoint: String
        /// When to let go of a publisher that left or dropped the topic, monotonic nanoseconds; nil while it is wanted.
        var retireAt: Int64?
    }

    private(set) var inbox: Inbox
    private let socket: ZeroMQSocket
    private let directory: BusDirectory
    private let rescanNanoseconds: Int64
    /// Made with the first subscription: a node that only publishes does not look around.
    private var watcher: RegistryWatcher?
    private var reader: RegistryReader
    private var connections: [Connection] = []
    private var subscribed: Set<String> = []
    private var lastCheck: Int64 = 0
    private let peers: PeerTable?
    private var seenGeneration = 0
    private let topicFrame = MessageBuffer.empty()
    private let headerFrame = MessageBuffer.empty()

    /// Readable when a message came, see ``ZeroMQSocket/fileDescriptor()``.
    let fileDescriptor: Int32

    /// When the registry must be read again even if nothing was heard, monotonic nanoseconds.
    private(set) var nextScan: Int64 = .max

    /// How many messages are taken from the socket at once: enough to amortise, and an end under a flood.
    private static let batch = 1024

    /// How long a publisher that left keeps its connection, so that its last messages arrive and a quick restart is
    /// met by ZeroMQ's own reconnection: one second.
    private static let retirementNanoseconds: Int64 = 1_000_000_000

    /// How often a busy node looks for registry events: 20 ms.
    private static let checkNanoseconds: Int64 = 20_000_000

    /// The first and the greatest pause between attempts to connect, in milliseconds.
    private static let reconnectMilliseconds: (first: Int32, greatest: Int32) = (10, 200)

    init(
        in context: ZeroMQContext, bootID: UInt64, _ configuration: BusConfiguration, peers: PeerTable?
    ) throws(ZeroMQError) {
        self.peers = peers
        inbox = Inbox(node: bootID)
        directory = configuration.directory
        rescanNanoseconds = Int64(configuration.rescanMilliseconds) * 1_000_000
        reader = RegistryReader(directory: directory)
        socket = try ZeroMQSocket(.subscriber, in: context)
        try socket.set(ZMQ_RCVHWM, configuration.receiveHighWaterMark)
        try socket.set(ZMQ_LINGER, 0)
        try socket.set(ZMQ_RECONNECT_IVL, Self.reconnectMilliseconds.first)
        try socket.set(ZMQ_RECONNECT_IVL_MAX, Self.reconnectMilliseconds.greatest)
        try socket.set(ZMQ_MAXMSGSIZE, wide: Int64(configuration.maximumMessageSize))
        fileDescriptor = try socket.fileDescriptor()
    }

    /// Readable when the registry changed; nil without inotify.
    var registryFileDescriptor: Int32? { watcher?.fileDescriptor }

    // MARK: Subscriptions

    func subscribe(to topic: String, _ qos: QoS, _ maximumPayloadSize: Int) throws(BusError) -> SubscriptionID {
        let id = inbox.subscribe(topic, qos: qos, maximumPayloadSize: maximumPayloadSize)
        try scan(Clocks.monotonic())
        return id
    }

    func subscribe(
        matching filter: TopicFilter, _ qos: QoS, _ maximumPayloadSize: Int
    ) throws(BusError) -> SubscriptionID {
        let id = inbox.subscribe(matching: filter, qos: qos, maximumPayloadSize: maximumPayloadSize)
        try scan(Clocks.monotonic())
        return id
    }

    func unsubscribe(_ id: SubscriptionID) throws(BusError) -> Bool {
        guard inbox.unsubscribe(id) else { return false }
        try scan(Clocks.monotonic())
        return true
    }

    // MARK: Messages

    func next() -> Delivery? { inbox.next() }

    /// Takes what has arrived, a batch at most, into the queues.
    @inline(__always)
    func receive() throws(BusError) {
        do throws(ZeroMQError) {
            try receive(from: socket)
            if let remote = peers?.subscriber { try receive(from: remote) }
        } catch {
            throw error.asBusError
        }
    }

    @inline(__always)
    private func receive(from socket: ZeroMQSocket) throws(ZeroMQError) {
        for _ in 0..<Self.batch {
            guard try socket.receive(into: topicFrame.pointer) else { return }
            try receiveRest(from: socket)
        }
    }

    /// Takes the frames after the topic's; the message counts as rejected unless it has exactly three.
    @inline(__always)
    private func receiveRest(from socket: ZeroMQSocket) throws(ZeroMQError) {
        guard topicFrame.hasMore, try socket.receive(into: headerFrame.pointer), headerFrame.hasMore else {
            inbox.rejectFrames(topic: topicFrame.bytes)
            return
        }
        let payload = MessageBuffer.empty()
        guard try socket.receive(into: payload.pointer), !payload.hasMore else {
            while try socket.receive(into: headerFrame.pointer), headerFrame.hasMore {}
            inbox.rejectFrames(topic: topicFrame.bytes)
            return
        }
        inbox.accept(
            topic: topicFrame.bytes, header: headerFrame.bytes, payload: Payload(received: payload),
            received: Clocks.receiveTimes())
    }

    // MARK: Publishers

    /// Follows the registry: at once when `isSignalled`, else when events wait or it is time.
    func followRegistry(_ now: Int64, isSignalled: Bool) throws(BusError) {
        if let peers, peers.generation != seenGeneration { return try scan(now) }
        if !isSignalled && now < nextScan && now - Self.checkNanoseconds < lastCheck { return }
        lastCheck = now
        let sawEvent = watcher?.drain() ?? false
        if sawEvent || now >= nextScan { try scan(now) }
    }

    /// Reads the registry, subscribes to what appeared, connects to publishers of wanted topics, lets others go.
    ///
    /// While the domain's directory cannot be read, the connections stay as they are.
    private func scan(_ now: Int64) throws(BusError) {
        nextScan = now + rescanNanoseconds
        try peers?.lookAround()
        let watcher = self.watcher ?? RegistryWatcher(directory)
        self.watcher = watcher
        let snapshot: RegistrySnapshot
        do throws(BusError) {
            watcher.watch(nodes: try reader.names() ?? [])
            guard let current = try reader.read() else { return try followPeers([]) }
            snapshot = current
        } catch {
            return try followPeers([])
        }
        for node in snapshot.nodes {
            for topic in node.topics { inbox.discover(topic.name) }
        }
        try followPeers(Set(snapshot.nodes.map(\.bootID)))
        let wanted = snapshot.nodes.filter { node in node.topics.contains { subscribed.contains($0.name) } }
        for node in wanted { try connect(node.node) }
        for index in connections.indices where !wanted.contains(where: { $0.node == connections[index].node }) {
            connections[index].retireAt = connections[index].retireAt ?? now + Self.retirementNanoseconds
        }
        retire(now)
    }

    /// Subscribes to what appeared here and on other hosts; `local` are the nodes of this one.
    private func followPeers(_ local: Set<UInt64>) throws(BusError) {
        guard let peers else { return try applySubscriptions() }
        seenGeneration = peers.generation
        for node in peers.announcements(excluding: local) {
            for topic in node.topics { inbox.discover(topic.name) }
        }
        try applySubscriptions()
        try peers.connect(wanted: subscribed, excluding: local)
    }

    /// Brings the socket's subscriptions to what the inbox wants.
    private func applySubscriptions() throws(BusError) {
        let wanted = inbox.wantedTopics
        do throws(ZeroMQError) {
            for topic in wanted where subscribed.insert(topic).inserted {
                try socket.set(ZMQ_SUBSCRIBE, TopicTable.key(topic))
                try peers?.subscriber?.set(ZMQ_SUBSCRIBE, TopicTable.key(topic))
            }
            for topic in subscribed.subtracting(wanted).sorted() {
                subscribed.remove(topic)
                try socket.set(ZMQ_UNSUBSCRIBE, TopicTable.key(topic))
                try peers?.subscriber?.set(ZMQ_UNSUBSCRIBE, TopicTable.key(topic))
            }
        } catch {
            throw error.asBusError
        }
    }

    private func connect(_ node: String) throws(BusError) {
        if let index = connections.firstIndex(where: { $0.node == node }) {
            connections[index].retireAt = nil
            return
        }
        let path = directory.publisherPath(node)
        guard path.utf8.count <= BusDirectory.maximumSocketPathLength else { return }
        let endpoint = "ipc://" + path
        do throws(ZeroMQError) {
            try socket.connect(endpoint)
        } catch {
            throw error.asBusError
        }
        connections.append(Connection(node: node, endpoint: endpoint, retireAt: nil))
    }

    /// Disconnects the publishers whose time is over; one that is already gone is no error.
    private func retire(_ now: Int64) {
        connections.removeAll { connection in
            guard let retireAt = connection.retireAt, retireAt <= now else { return false }
            try? socket.disconnect(connection.endpoint)
            return true
        }
    }
}
