internal import CZeroMQ

/// The nodes of other hosts that this node connects to: a DEALER for each, and one SUB for those with wanted topics.
///
/// Nothing is opened before the node's first subscription or call.
final class PeerTable {
    private struct Entry {
        let peer: HostConfiguration.Peer
        var machine: PeerStateMachine
        var socket: ZeroMQSocket?
        var monitor: ZeroMQSocket?
        /// The endpoint that SUB is connected to.
        ///
        /// It is kept while the peer is absent: ZeroMQ reconnects to a restarted node by itself, and a peer that is merely busy
        /// loses nothing.
        var subscribed: String?
        /// The time to reconnect unless the peer is present by then, in monotonic nanoseconds.
        ///
        /// ZeroMQ abandons an endpoint permanently after a denied or failed handshake, but the peer's configuration may change.
        var reopenAt: Int64?

        init(_ peer: HostConfiguration.Peer) {
            self.peer = peer
            machine = PeerStateMachine(endpoint: peer.endpoint)
        }

        var nextTick: Int64 { min(reopenAt ?? .max, socket == nil ? .max : machine.nextTick) }

        /// The peer's unique name; it contains an `@`, which no name of this host does.
        private(set) var node = ""

        mutating func rename() {
            let address = peer.endpoint.socketEndpoint(peer.endpoint.port).dropFirst("tcp://".count)
            if let name = machine.announcement?.node { node = "\(name)@\(address)" }
        }
    }

    private let context: ZeroMQContext
    private let configuration: BusConfiguration
    private let hosts: HostConfiguration
    private let bootID: UInt64
    private var entries: ContiguousArray<Entry>
    private var isLooking = false
    private var malformedMessages: UInt64 = 0
    private var openings = 0

    /// The socket that receives topics; nil until ``lookAround()``.
    private(set) var subscriber: ZeroMQSocket?
    /// Readable when a message from another host has arrived; -1 until ``lookAround()``.
    private(set) var subscriberFileDescriptor: Int32 = -1
    /// The connections of ``subscriber`` that ZeroMQ gives up; nil until ``lookAround()``.
    private var cut: CutConnections?
    /// The number of topic connections that were re-established after ZeroMQ gave them up.
    private(set) var cutConnections: UInt64 = 0
    /// The time when ``mend(_:)`` is due, in monotonic nanoseconds; `.max` when it is not.
    var nextMending: Int64 { cut?.next ?? .max }
    private let wire = ServiceWire()
    private var poller: (poller: Poller, tag: UInt64)?
    /// Whether ``run(_:_:_:)`` may have work that no descriptor signals.
    var isDirty = false
    /// A number that changes whenever a peer appears, changes or leaves.
    private(set) var generation = 0

    /// The pauses between attempts to connect and the longest attempt, in milliseconds.
    private static let reconnectMilliseconds: (first: Int32, greatest: Int32, attempt: Int32) = (50, 1_000, 2_000)
    /// The heartbeats on idle connections, in milliseconds; they detect a host whose cable is cut.
    private static let heartbeatMilliseconds: (interval: Int32, timeout: Int32) = (500, 1_500)
    private static let handshakeMilliseconds: Int32 = 5_000
    /// The most messages that wait for one peer.
    private static let highWaterMark: Int32 = 8192

    /// The pause before a connection that was given up is re-established: two seconds.
    private static let reopeningNanoseconds: Int64 = 2_000_000_000

    private static let watchedEvents =
        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL
        | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH

    init(in context: ZeroMQContext, bootID: UInt64, _ configuration: BusConfiguration, _ hosts: HostConfiguration) {
        (self.context, self.bootID, self.configuration, self.hosts) = (context, bootID, configuration, hosts)
        entries = ContiguousArray(hosts.peers.map(Entry.init))
    }

    /// Starts connecting to the peers; further calls have no effect.
    func lookAround() throws(BusError) {
        guard !isLooking, !entries.isEmpty else { return }
        (isLooking, isDirty) = (true, true)
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.subscriber, in: context)
            try configure(socket)
            try socket.set(ZMQ_RCVHWM, configuration.receiveHighWaterMark)
            subscriberFileDescriptor = try socket.fileDescriptor()
            let cut = try CutConnections(socket, name: "topics", in: context)
            if let poller { poller.poller.watch(cut.fileDescriptor, poller.tag) }
            (self.cut, subscriber) = (cut, socket)
            for index in entries.indices { try open(index) }
        } catch {
            throw error.asBusError
        }
    }

    private func configure(_ socket: ZeroMQSocket) throws(ZeroMQError) {
        try socket.set(ZMQ_LINGER, 0)
        try socket.set(ZMQ_RECONNECT_IVL, Self.reconnectMilliseconds.first)
        try socket.set(ZMQ_RECONNECT_IVL_MAX, Self.reconnectMilliseconds.greatest)
        try socket.set(ZMQ_CONNECT_TIMEOUT, Self.reconnectMilliseconds.attempt)
        try socket.set(ZMQ_HANDSHAKE_IVL, Self.handshakeMilliseconds)
        try socket.set(ZMQ_HEARTBEAT_IVL, Self.heartbeatMilliseconds.interval)
        try socket.set(ZMQ_HEARTBEAT_TIMEOUT, Self.heartbeatMilliseconds.timeout)
        try socket.set(ZMQ_MAXMSGSIZE, wide: Int64(configuration.maximumMessageSize))
    }

    /// Sets the options of a socket's next connection; ZeroMQ copies them at each connect.
    private func prepare(_ socket: ZeroMQSocket, for peer: HostConfiguration.Peer) throws(ZeroMQError) {
        if case .curve(let keys, _) = hosts.security, let key = peer.key { try socket.useCurve(keys, server: key) }
        try socket.set(ZMQ_IPV6, peer.endpoint.isIPv6 ? 1 : 0)
    }

    private func open(_ index: Int) throws(ZeroMQError) {
        // A monitor's name remains in use for some time after it is closed, so each monitor gets a new number.
        openings += 1
        let peer = entries[index].peer
        let socket = try ZeroMQSocket(.dealer, in: context)
        try configure(socket)
        try socket.set(ZMQ_SNDHWM, Self.highWaterMark)
        try socket.set(ZMQ_RCVHWM, Self.highWaterMark)
        // Nothing is queued for an absent peer: messages for one run of a node must not reach the next.
        try socket.set(ZMQ_IMMEDIATE, 1)
        try prepare(socket, for: peer)
        entries[index].monitor = try socket.monitor(Self.watchedEvents, name: "peer\(openings)", in: context)
        try socket.connect(peer.endpoint.socketEndpoint(peer.endpoint.port))
        entries[index].socket = socket
        isDirty = true
        if let poller { poller.poller.watch(try socket.fileDescriptor(), poller.tag) }
    }

    private func close(_ index: Int) {
        guard let socket = entries[index].socket else { return }
        if let poller, let descriptor = try? socket.fileDescriptor() { poller.poller.unwatch(descriptor) }
        socket.endMonitor()
        (entries[index].socket, entries[index].monitor) = (nil, nil)
    }

    /// Registers the peers' descriptors with `poller`, now and whenever a peer is connected to.
    func attach(_ poller: Poller, tag: UInt64) { self.poller = (poller, tag) }

    var nextTick: Int64 {
        guard isLooking else { return .max }
        return entries.reduce(.max) { min($0, $1.nextTick) }
    }

    // MARK: The loop

    /// Handles what arrived, sends requests, and detects absent peers.
    func run(_ now: Int64, _ budget: inout Int, _ client: ServiceClient?) throws(ZeroMQError) {
        isDirty = false
        guard isLooking else { return }
        try cut?.look(now)
        for index in entries.indices {
            if let socket = entries[index].socket {
                while budget > 0, let message = try wire.receive(from: socket) {
                    budget -= 1
                    take(message, index, now, client)
                    // The handler may have closed the node.
                    if !isLooking { return }
                }
                if budget <= 0 { isDirty = true }
                if now >= entries[index].machine.nextTick || entries[index].machine.announcement == nil {
                    try askIfDue(index, socket, now)
                }
            }
            // After the tick, which updates whether the peer is present.
            reopenIfDue(index, now)
        }
    }

    private func take(_ message: ServiceWire.Incoming, _ index: Int, _ now: Int64, _ client: ServiceClient?) {
        guard case .message(let frame, let payload) = message else {
            malformedMessages += 1
            return
        }
        entries[index].machine.noteMessage(now: now)
        switch frame.kind {
        case .announcement:
            let effects = payload.withUnsafeBytes {
                entries[index].machine.announced(
                    $0, bootID: frame.serverBootID, revision: frame.sequence, now: now)
            }
            apply(effects, index)
        case .goodbye:
            hand(frame, payload, index, now, client)
            apply(entries[index].machine.left(now: now), index)
        default: hand(frame, payload, index, now, client)
        }
    }

    private func hand(
        _ frame: ServiceFrame, _ payload: Payload, _ index: Int, _ now: Int64, _ client: ServiceClient?
    ) {
        guard let client, let peer = client.peer(entries[index].node) else { return }
        client.receive(frame, payload, from: peer, now: now)
    }

    private func askIfDue(_ index: Int, _ socket: ZeroMQSocket, _ now: Int64) throws(ZeroMQError) {
        let effects = entries[index].machine.tick(now: now)
        apply(effects, index)
        try readMonitor(index, now)
        for case .ask(let known, let revision) in effects {
            var frame = ServiceFrame(.watch)
            (frame.serverBootID, frame.sequence) = (known, revision)
            isDirty = true
            _ = wire.send(frame, through: socket)
        }
    }

    private func apply(_ effects: [PeerStateMachine.Effect], _ index: Int) {
        for effect in effects {
            switch effect {
            case .ask: break
            case .changed:
                entries[index].rename()
                generation += 1
            case .report(let event): hosts.onEvent?(event)
            }
        }
    }

    /// Reads why a listening peer refused this node.
    private func readMonitor(_ index: Int, _ now: Int64) throws(ZeroMQError) {
        guard let monitor = entries[index].monitor else { return }
        while let frames = try monitor.receiveFrames(limit: 2) {
            guard let report = MonitorEvent(frames) else { continue }
            entries[index].reopenAt = now + Self.reopeningNanoseconds
            if report.event == ZMQ_EVENT_DISCONNECTED { continue }
            let reason =
                report.event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
                ? "it denies this host's key: add the key to its allowed keys"
                : "the handshake failed: check its public key, and that it is a bus node with the same security "
                    + "settings"
            apply(entries[index].machine.handshakeFailed(reason, now: now), index)
        }
    }

    private func reopenIfDue(_ index: Int, _ now: Int64) {
        // Not earlier: a peer whose connection was given up counts as present until its heartbeats time out.
        guard let reopenAt = entries[index].reopenAt, now >= reopenAt else { return }
        if entries[index].machine.announcement != nil { return entries[index].reopenAt = nil }
        if let endpoint = entries[index].subscribed {
            try? subscriber?.disconnect(endpoint)
            entries[index].subscribed = nil
            // The call may have consumed the signal of a message, so the subscriber must check its socket.
            generation += 1
        }
        close(index)
        let isOpen: Void? = try? open(index)
        entries[index].reopenAt = isOpen == nil ? now + Self.reopeningNanoseconds : nil
    }

    // MARK: Present peers

    /// The announcements of the present peers, in configuration order.
    ///
    /// This node and the nodes of this host are left out; a hosts file shared by several hosts may list them.
    func announcements(excluding local: Set<UInt64>) -> [Announcement] {
        entries.compactMap(\.machine.announcement).filter { $0.bootID != bootID && !local.contains($0.bootID) }
    }

    /// Returns the present peers that offer services, as entries for a ``ServiceClient``.
    func servers(excluding local: Set<UInt64>) -> [ServerInfo] {
        entries.compactMap { entry in
            guard let announcement = entry.machine.announcement, announcement.bootID != bootID,
                !local.contains(announcement.bootID), !announcement.services.isEmpty
            else { return nil }
            return ServerInfo(node: entry.node, bootID: announcement.bootID, services: announcement.services)
        }
    }

    /// Sends to a peer that offers services.
    ///
    /// ZeroMQ does not distinguish an unconnected peer from one with a full queue; both are reported as unreachable.
    func send(_ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, to server: ServerInfo) -> Transmission {
        let entry = entries.first { $0.machine.announcement?.bootID == server.bootID && $0.node == server.node }
        guard let socket = entry?.socket else { return .unreachable }
        isDirty = true
        return wire.send(frame, payload, through: socket) == .sent ? .sent : .unreachable
    }

    /// Connects SUB to the peers that publish a topic in `wanted`, and disconnects it from those that no longer do.
    func connect(wanted: Set<String>, excluding local: Set<UInt64>) throws(BusError) {
        guard let subscriber else { return }
        do throws(ZeroMQError) {
            for index in entries.indices {
                guard let announcement = entries[index].machine.announcement else { continue }
                let isWanted =
                    announcement.bootID != bootID && !local.contains(announcement.bootID)
                    && announcement.topics.contains { wanted.contains($0.name) }
                let target = isWanted ? announcement.publisherEndpoint : nil
                guard target != entries[index].subscribed else { continue }
                if let old = entries[index].subscribed { try? subscriber.disconnect(old) }
                entries[index].subscribed = nil
                guard let target else { continue }
                try prepare(subscriber, for: entries[index].peer)
                try subscriber.connect(target)
                entries[index].subscribed = target
            }
        } catch {
            throw error.asBusError
        }
    }

    /// Reconnects SUB to the peers that ZeroMQ gave up.
    ///
    /// - Returns: whether it used the socket, whose descriptor then may not signal a message.
    func mend(_ now: Int64) throws(ZeroMQError) -> Bool {
        guard let subscriber, now >= nextMending, let endpoints = try cut?.take(now) else { return false }
        for entry in entries {
            guard let endpoint = entry.subscribed, endpoints.contains(endpoint) else { continue }
            cutConnections += 1
            try? subscriber.disconnect(endpoint)
            try prepare(subscriber, for: entry.peer)
            try subscriber.connect(endpoint)
        }
        return true
    }

    func add(to statistics: inout HostStatistics) {
        statistics.peers = entries.count
        statistics.malformed += malformedMessages
        for entry in entries {
            statistics.malformed += entry.machine.malformed
            if entry.machine.announcement != nil { statistics.peersPresent += 1 }
        }
    }

    var absentees: [TCPEndpoint] { entries.filter { $0.machine.announcement == nil }.map(\.peer.endpoint) }

    /// Sends a goodbye, so that the peers drop this node's calls, and closes the sockets.
    func close() {
        for index in entries.indices {
            if let socket = entries[index].socket, entries[index].machine.announcement != nil {
                try? socket.set(ZMQ_LINGER, min(100, configuration.lingerMilliseconds))
                _ = wire.send(ServiceFrame(.goodbye), through: socket)
            }
            close(index)
        }
        if let cut {
            poller?.poller.unwatch(cut.fileDescriptor)
            subscriber?.endMonitor()
        }
        (isLooking, isDirty, subscriber, subscriberFileDescriptor, cut) = (false, false, nil, -1, nil)
    }

    deinit { close() }
}
