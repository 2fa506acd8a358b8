internal import CZeroMQ

/// The receiving half of a ``BusNode``: a SUB socket around an ``Inbox``, connected to every publisher of a wanted topic.
final class SubscriberSide {
    private struct Connection {
        let node: String
        let endpoint: String
        /// The time to disconnect a publisher that left or dropped the topic, in monotonic nanoseconds; nil while it is wanted.
        var retireAt: Int64?
    }

    // Unchecked exclusivity: one thread uses a node and nothing here is called back, while each dynamic check costs a
    // cold cache line or two per message.
    @exclusivity(unchecked) private(set) var inbox: Inbox
    private let socket: ZeroMQSocket
    private let directory: BusDirectory
    private let registry: Lazy<RegistryFollower>
    private var generation = 0
    private let peers: PeerTable?
    private var peerGeneration = 0
    private var connections: [Connection] = []
    private var subscribed: Set<String> = []
    /// Whether unsignalled messages may be waiting: true from any use of the sockets until they are found empty.
    @exclusivity(unchecked) private(set) var isDirty = true
    private let topicFrame = MessageBuffer.empty()
    private let headerFrame = MessageBuffer.empty()

    /// Readable when a message arrives, see ``ZeroMQSocket/fileDescriptor()``.
    let fileDescriptor: Int32

    /// Readable when a connection was made or ended.
    var connectionsFileDescriptor: Int32 { cut.fileDescriptor }

    /// The number of connections that were re-established after a publisher's protocol violation.
    var cutConnections: UInt64 { localCuts + (peers?.cutConnections ?? 0) }
    private var localCuts: UInt64 = 0

    /// The number of connections to live but silent publishers that were re-established.
    private(set) var silentConnections: UInt64 = 0

    private var nextRetirement: Int64 = .max
    private var cut: CutConnections
    private var silence: SilenceMonitor
    private var probes: UInt64 = 0

    /// The time of the next connection upkeep, in monotonic nanoseconds; `.max` when none is due.
    var nextUpkeep: Int64 {
        // Pairwise, because `min` of more than three values allocates an array, and this runs for each wait.
        min(min(nextRetirement, peers?.nextMending ?? .max), min(cut.next, silence.next))
    }

    /// The most messages taken from the socket at once: enough to amortise the cost, few enough to end under a flood.
    ///
    /// They share one receive time, because they have already arrived.
    private static let batch = 256

    /// The time for which the connection to a departed publisher is kept, so that its last messages arrive and ZeroMQ's own reconnection
    /// handles a quick restart: one second.
    private static let retirementNanoseconds = RegistryFollower.vanishingNanoseconds

    /// The first and the longest pause between attempts to connect, in milliseconds.
    private static let reconnectMilliseconds: (first: Int32, greatest: Int32) = (10, 200)

    init(
        in context: ZeroMQContext, bootID: UInt64, _ registry: Lazy<RegistryFollower>,
        _ configuration: BusConfiguration, peers: PeerTable?
    ) throws(ZeroMQError) {
        self.peers = peers
        inbox = Inbox(node: bootID, maximumQueuedBytes: configuration.maximumQueuedBytes)
        silence = SilenceMonitor(interval: Int64(configuration.silenceMilliseconds) * 1_000_000)
        directory = configuration.directory
        self.registry = registry
        socket = try ZeroMQSocket(.subscriber, in: context)
        try socket.set(ZMQ_RCVHWM, configuration.receiveHighWaterMark)
        try socket.set(ZMQ_LINGER, 0)
        try socket.set(ZMQ_RECONNECT_IVL, Self.reconnectMilliseconds.first)
        try socket.set(ZMQ_RECONNECT_IVL_MAX, Self.reconnectMilliseconds.greatest)
        try socket.set(ZMQ_MAXMSGSIZE, wide: Int64(configuration.maximumMessageSize))
        fileDescriptor = try socket.fileDescriptor()
        cut = try CutConnections(socket, name: "subscriber", in: context)
    }

    deinit { socket.endMonitor() }

    // MARK: Subscriptions

    func subscribe(to topic: String, _ qos: QoS, _ maximumPayloadSize: Int) throws(BusError) -> SubscriptionID {
        let id = inbox.subscribe(topic, qos: qos, maximumPayloadSize: maximumPayloadSize)
        try subscriptionsChanged(Clocks.monotonic())
        return id
    }

    func subscribe(
        matching filter: TopicFilter, _ qos: QoS, _ maximumPayloadSize: Int
    ) throws(BusError) -> SubscriptionID {
        let id = inbox.subscribe(matching: filter, qos: qos, maximumPayloadSize: maximumPayloadSize)
        try subscriptionsChanged(Clocks.monotonic())
        return id
    }

    func unsubscribe(_ id: SubscriptionID) throws(BusError) -> Bool {
        guard inbox.unsubscribe(id) else { return false }
        try subscriptionsChanged(Clocks.monotonic())
        return true
    }

    // MARK: Messages

    func next() -> Delivery? { inbox.next() }

    /// Moves waiting messages into the queues, one batch at most; the sockets stay dirty when more may wait.
    @inline(__always)
    func receive() throws(BusError) {
        isDirty = true
        do throws(ZeroMQError) {
            var isEmpty = try receive(from: socket)
            if let remote = peers?.subscriber, try !receive(from: remote) { isEmpty = false }
            isDirty = !isEmpty
        } catch {
            throw error.asBusError
        }
    }

    /// - Returns: whether the socket is empty.
    @inline(__always)
    private func receive(from socket: ZeroMQSocket) throws(ZeroMQError) -> Bool {
        var received: ReceiveTimes?
        for _ in 0..<Self.batch {
            guard try socket.receive(into: topicFrame.pointer) else { return true }
            guard let payload = try receiveRest(from: socket) else { continue }
            let times = received ?? Clocks.receiveTimes()
            received = times
            inbox.accept(topic: topicFrame.bytes, header: headerFrame.bytes, payload: payload, received: times)
        }
        return false
    }

    /// Receives one message; nil when none is waiting or the message matches no subscription.
    ///
    /// It is meant for the end of a wait, before which the socket was empty: checking for a second message costs as much as receiving the
    /// first.
    ///
    /// - Parameter now: the end of the wait, which counts as the message's arrival time.
    @inline(__always)
    func receiveOne(_ now: Int64) throws(BusError) -> Delivery? {
        isDirty = true
        do throws(ZeroMQError) {
            guard try socket.receive(into: topicFrame.pointer), let payload = try receiveRest(from: socket) else {
                return nil
            }
            return inbox.acceptNext(
                topic: topicFrame.bytes, header: headerFrame.bytes, payload: payload,
                received: ReceiveTimes(monotonicNanoseconds: now, utcNanoseconds: Clocks.wall()))
        } catch {
            throw error.asBusError
        }
    }

    /// Receives the frames after the topic: the header into `headerFrame`, and the payload.
    ///
    /// The message counts as rejected unless it has exactly three frames.
    @inline(__always)
    private func receiveRest(from socket: ZeroMQSocket) throws(ZeroMQError) -> Payload? {
        guard topicFrame.hasMore, try socket.receive(into: headerFrame.pointer), headerFrame.hasMore else {
            inbox.rejectFrames(topic: topicFrame.bytes, count: topicFrame.hasMore ? 2 : 1)
            return nil
        }
        let buffer = MessageBuffer.empty()
        guard try socket.receive(into: buffer.pointer), !buffer.hasMore else {
            var count = 4
            while try socket.receive(into: headerFrame.pointer), headerFrame.hasMore { count += 1 }
            inbox.rejectFrames(topic: topicFrame.bytes, count: count)
            return nil
        }
        return Payload(received: buffer)
    }

    // MARK: Publishers

    /// Whether a peer appeared, changed or left since the last ``followRegistry(_:)``.
    var peersHaveChanged: Bool { peers.map { $0.generation != peerGeneration } ?? false }

    /// Updates the connections to match the registry; call it after the node has read the registry.
    func followRegistry(_ now: Int64) throws(BusError) {
        try mend(now)
        if now >= silence.next, !isDirty { try listen(now) }
        if registry.value.map({ $0.generation != generation }) ?? false || peersHaveChanged {
            try arrange(now)
        } else if now >= nextRetirement {
            retire(now)
        }
    }

    private func subscriptionsChanged(_ now: Int64) throws(BusError) {
        registry.make().follow(now)
        try peers?.lookAround()
        try arrange(now)
    }

    /// Subscribes to new topics of all hosts, connects to publishers of wanted topics, and retires the other connections.
    private func arrange(_ now: Int64) throws(BusError) {
        isDirty = true
        let nodes = registry.value?.nodes ?? []
        generation = registry.value?.generation ?? 0
        peerGeneration = peers?.generation ?? 0
        let local = peers == nil ? [] : Set(nodes.map(\.bootID))
        for node in nodes + (peers?.announcements(excluding: local) ?? []) {
            for topic in node.topics { inbox.discover(topic.name) }
        }
        try applySubscriptions()
        try peers?.connect(wanted: subscribed, excluding: local)
        let wanted = nodes.filter { node in node.topics.contains { subscribed.contains($0.name) } }.map(\.node)
        for node in wanted { try connect(node) }
        let kept = Set(wanted)
        for index in connections.indices where !kept.contains(connections[index].node) {
            connections[index].retireAt = connections[index].retireAt ?? now + Self.retirementNanoseconds
        }
        retire(now)
    }

    /// Updates the socket's subscriptions to match the inbox.
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
            // Checks end while there are no publishers, so they are scheduled again.
            silence.arm(Clocks.monotonic())
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
        silence.arm(Clocks.monotonic())
    }

    /// Checks whether live publishers are heard, and reconnects to those that are not.
    private func listen(_ now: Int64) throws(BusError) {
        let publishers = (registry.value?.nodes ?? []).filter { node in
            node.answersProbes && connections.contains { $0.node == node.node && $0.retireAt == nil }
        }
        let heard = publishers.map { (bootID: $0.bootID, progress: inbox.progress(of: $0.bootID)) }
        do throws(ZeroMQError) {
            switch silence.step(now, heard: heard, answered: inbox.answers) {
            case .wait: break
            case .probe:
                probes += 1
                let key = Probe.key(bootID: inbox.node, number: probes)
                inbox.beginProbe(key)
                try socket.set(ZMQ_SUBSCRIBE, key)
            case .finish(let deaf):
                if let key = inbox.endProbe() { try socket.set(ZMQ_UNSUBSCRIBE, key) }
                for node in publishers where deaf.contains(node.bootID) {
                    guard let connection = connections.first(where: { $0.node == node.node }) else { continue }
                    silentConnections += 1
                    try? socket.disconnect(connection.endpoint)
                    try socket.connect(connection.endpoint)
                }
            }
        } catch {
            throw error.asBusError
        }
        isDirty = true
    }

    /// Reconnects to live publishers that ZeroMQ gave up.
    private func mend(_ now: Int64) throws(BusError) {
        do throws(ZeroMQError) {
            for endpoint in try cut.take(now) where connections.contains(where: { $0.endpoint == endpoint }) {
                isDirty = true
                localCuts += 1
                try? socket.disconnect(endpoint)
                try socket.connect(endpoint)
            }
            if let peers, try peers.mend(now) { isDirty = true }
        } catch {
            throw error.asBusError
        }
    }

    /// Disconnects the publishers whose retirement is due; a publisher that is already disconnected is not an error.
    private func retire(_ now: Int64) {
        isDirty = true
        connections.removeAll { connection in
            guard let retireAt = connection.retireAt, retireAt <= now else { return false }
            try? socket.disconnect(connection.endpoint)
            return true
        }
        nextRetirement = connections.reduce(.max) { min($0, $1.retireAt ?? .max) }
    }
}
