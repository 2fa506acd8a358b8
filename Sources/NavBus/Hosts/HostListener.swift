internal import CZeroMQ

/// The sockets at which other hosts reach a node: a ROUTER and an XPUB on TCP, with their authenticator.
///
/// ZeroMQ applies CURVE to a socket, not to an endpoint, so these are separate from the sockets for this host.
final class HostListener {
    /// The socket for topics, nil once closed; the publishing half of the node sends on it and serves its subscribers.
    private(set) var publisher: ZeroMQSocket?
    /// The endpoint of the sockets, with the actual ports.
    let endpoint: TCPEndpoint

    /// The socket for calls and announcements, nil once closed.
    private var router: ZeroMQSocket?
    private let wire = ServiceWire()
    /// Whether unsignalled messages may be waiting: true from a send until a receive finds nothing.
    var isDirty = true
    /// Readable when a subscriber came or went.
    let publisherFileDescriptor: Int32
    private let authenticator: AuthenticatorThread
    private var board: AnnouncementFollowers
    private let bootID: UInt64
    private var announcement: [UInt8] = []
    /// The messages that arrived while the node published, when handlers must not run.
    private var waiting: [(ClientAddress, ServiceWire.Incoming)] = []

    /// The most messages that wait for one client.
    private static let highWaterMark: Int32 = 1000
    /// The most messages that are accepted while the node publishes.
    private static let maximumWaiting = 256
    /// The longest handshake of a connection, in milliseconds.
    private static let handshakeMilliseconds: Int32 = 5_000
    /// The heartbeats on idle connections, in milliseconds; long, because on a slow link they queue behind the data.
    private static let heartbeatMilliseconds: (interval: Int32, timeout: Int32) = (5_000, 20_000)
    /// The largest subscription accepted from a peer, in bytes; the handshake's commands must fit as well.
    private static let maximumSubscriptionSize: Int64 = 1024

    private static let watchedEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED

    init(
        at listen: TCPEndpoint, in context: ZeroMQContext, bootID: UInt64, _ configuration: BusConfiguration,
        _ hosts: HostConfiguration
    ) throws(BusError) {
        self.bootID = bootID
        board = AnnouncementFollowers(bootID: bootID)
        let (admission, router, publisher, monitors): (ZeroMQSocket?, ZeroMQSocket, ZeroMQSocket, [ZeroMQSocket])
        do throws(ZeroMQError) {
            (admission, router, publisher, monitors) = try Self.open(in: context, configuration, hosts, listen)
            self.router = router
            publisherFileDescriptor = try publisher.fileDescriptor()
        } catch {
            throw error.asBusError
        }
        self.publisher = publisher
        let allowed = try hosts.allowedKeys()
        // The thread starts before the sockets are bound, so that no client connects before the authenticator runs.
        authenticator = try AuthenticatorThread(
            allowed: allowed, admission: admission, monitors: monitors, onEvent: hosts.onEvent)
        do throws(BusError) {
            let port = try Self.bind(router, listen, listen.port)
            let publisherPort = try Self.bind(publisher, listen, listen.publisherPort)
            endpoint = TCPEndpoint(address: listen.address, port: port, publisherPort: publisherPort)
        } catch {
            for socket in [router, publisher] { socket.endMonitor() }
            authenticator.end()
            throw error
        }
    }

    private static func open(
        in context: ZeroMQContext, _ configuration: BusConfiguration, _ hosts: HostConfiguration, _ listen: TCPEndpoint
    ) throws(ZeroMQError) -> (ZeroMQSocket?, ZeroMQSocket, ZeroMQSocket, [ZeroMQSocket]) {
        var admission: ZeroMQSocket?
        if hosts.isSecure {
            let reply = try ZeroMQSocket(.reply, in: context)
            try reply.set(ZMQ_LINGER, 0)
            try reply.bind("inproc://zeromq.zap.01")
            admission = reply
        }
        let router = try ZeroMQSocket(.router, in: context)
        try router.set(ZMQ_ROUTER_MANDATORY, 1)
        try router.set(ZMQ_SNDHWM, highWaterMark)
        try router.set(ZMQ_RCVHWM, highWaterMark)
        let largest = min(configuration.maximumMessageSize, hosts.maximumRequestSize)
        try router.set(ZMQ_MAXMSGSIZE, wide: Int64(largest))
        let publisher = try ZeroMQSocket(.publisher, in: context)
        try publisher.set(ZMQ_XPUB_VERBOSER, 1)
        try publisher.set(ZMQ_SNDHWM, configuration.sendHighWaterMark)
        try publisher.set(ZMQ_MAXMSGSIZE, wide: maximumSubscriptionSize)
        var monitors: [ZeroMQSocket] = []
        for (socket, name) in [(router, "rpc"), (publisher, "pub")] {
            try socket.set(ZMQ_LINGER, configuration.lingerMilliseconds)
            try socket.set(ZMQ_HANDSHAKE_IVL, handshakeMilliseconds)
            try socket.set(ZMQ_HEARTBEAT_IVL, heartbeatMilliseconds.interval)
            try socket.set(ZMQ_HEARTBEAT_TIMEOUT, heartbeatMilliseconds.timeout)
            if listen.isIPv6 { try socket.set(ZMQ_IPV6, 1) }
            if case .curve(let keys, _) = hosts.security { try socket.serveCurve(keys) }
            monitors.append(try socket.monitor(watchedEvents, name: name, in: context))
        }
        return (admission, router, publisher, monitors)
    }

    private static func bind(_ socket: ZeroMQSocket, _ listen: TCPEndpoint, _ port: UInt16) throws(BusError) -> UInt16 {
        do throws(ZeroMQError) {
            try socket.bind(listen.socketEndpoint(port))
            let bound = try socket.lastEndpoint()
            return bound.lastIndex(of: ":").flatMap { UInt16(bound[bound.index(after: $0)...]) } ?? port
        } catch {
            throw BusError(
                .transport,
                "cannot listen: \(error.description); check that the address is this machine's and that both ports "
                    + "(services and topics) are free")
        }
    }

    /// Registers the descriptor of calls and announcement requests with `poller`.
    func attach(_ poller: Poller, tag: UInt64) {
        if let descriptor = try? router?.fileDescriptor() { poller.watch(descriptor, tag) }
    }

    // MARK: Clients

    func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, toClient client: ClientAddress
    ) -> Transmission {
        guard let router else { return .unreachable }
        isDirty = true
        return wire.send(frame, payload, to: client, through: router)
    }

    func run(_ now: Int64, _ budget: inout Int, _ server: ServiceServer) throws(ZeroMQError) {
        while budget > 0 {
            guard let (address, message) = try nextMessage() else {
                isDirty = false
                return
            }
            budget -= 1
            guard case .message(let frame, let payload) = message else {
                server.rejected()
                continue
            }
            if frame.kind == .goodbye { board.remove(address) }
            if frame.kind == .watch {
                answer(address, frame, now)
            } else {
                server.receive(frame, payload, from: address, now: now)
            }
        }
    }

    private func nextMessage() throws(ZeroMQError) -> (ClientAddress, ServiceWire.Incoming)? {
        if !waiting.isEmpty { return waiting.removeFirst() }
        return try router.flatMap { router throws(ZeroMQError) in
            try wire.receive(fromClientsOf: router, areRemote: true)
        }
    }

    /// Answers requests for the announcement while a node publishes without polling; all other messages are queued.
    func answerWatchers(_ now: Int64) throws(ZeroMQError) {
        while waiting.count < Self.maximumWaiting, let router,
            let (address, message) = try wire.receive(fromClientsOf: router, areRemote: true)
        {
            if case .message(let frame, _) = message, frame.kind == .watch {
                answer(address, frame, now)
            } else {
                waiting.append((address, message))
                isDirty = true
            }
        }
    }

    /// The followers of the announcement.
    var watchers: [ClientAddress] { board.addresses }

    // MARK: The announcement

    /// Sends the node's current announcement to the followers.
    func announce(_ local: Announcement, _ now: Int64) throws(BusError) {
        var remote = local
        // The reader inserts the address, because it may reach this host at an address other than the bound one.
        remote.publisherEndpoint = "tcp://*:\(endpoint.publisherPort)"
        remote.serviceEndpoint = "tcp://*:\(endpoint.port)"
        announcement = try remote.json
        for address in board.changed(now) { sendAnnouncement(address) }
    }

    private func answer(_ address: ClientAddress, _ question: ServiceFrame, _ now: Int64) {
        switch board.asked(address, boot: question.serverBootID, revision: question.sequence, now: now) {
        case .nothing: break
        case .signOfLife: send([], to: address)
        case .announcement: sendAnnouncement(address)
        }
    }

    private func sendAnnouncement(_ address: ClientAddress) { send(announcement, to: address) }

    private func send(_ json: [UInt8], to address: ClientAddress) {
        var frame = ServiceFrame(.announcement)
        (frame.serverBootID, frame.sequence) = (bootID, board.revision)
        let transmission = json.withUnsafeBytes { send(frame, $0, toClient: address) }
        if transmission != .sent { board.remove(address) }
    }

    // MARK: The end

    var statistics: HostStatistics {
        var statistics = authenticator.statistics
        statistics.watchers = board.addresses.count
        return statistics
    }

    /// Closes the sockets, then the authenticator: without it, open sockets would admit unknown hosts.
    func close() {
        for socket in [router, publisher] { socket?.endMonitor() }
        (router, publisher) = (nil, nil)
        authenticator.end()
    }

    deinit { close() }
}
