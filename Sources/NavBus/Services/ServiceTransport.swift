internal import CZeroMQ
internal import Glibc

/// The services' sockets of a ``BusNode``: a ROUTER around a ``ServiceServer``, and a DEALER for each called node
/// around a ``ServiceClient``.
///
/// One epoll descriptor stands for all of them, so that a wait costs the same however many nodes are called and only
/// sockets with something to read are looked at.
final class ServiceTransport {
    private final class Link {
        let socket: ZeroMQSocket
        let descriptor: Int32
        unowned let peer: ServiceClient.Peer
        let tag: UInt64
        /// True until a receive has found nothing since the last send: only then the descriptor tells of everything.
        var isDirty = false
        /// Messages sent since the server was last heard.
        var unheard = 0

        init(_ socket: ZeroMQSocket, _ peer: ServiceClient.Peer, _ tag: UInt64) throws(ZeroMQError) {
            (self.socket, self.peer, self.tag) = (socket, peer, tag)
            descriptor = try socket.fileDescriptor()
        }
    }

    private let context: ZeroMQContext
    private let configuration: BusConfiguration
    private let endpoint: String
    private var router: ZeroMQSocket?
    private var routerIsDirty = false
    /// Hears of connections to the ROUTER that failed their handshake.
    private var monitor: ZeroMQSocket?
    private var refusedConnections: UInt64 = 0
    private var links: [UInt64: Link] = [:]
    private var dirtyLinks: [Link] = []
    private var lastTag: UInt64 = Tag.firstLink
    private let registry: Lazy<RegistryFollower>
    private var generation = 0
    private let bootID: UInt64
    /// Wakes the loop for answers of other threads, which is not the caller's business.
    private let waker: Waker
    private let poller: FileDescriptor

    private(set) lazy var client = ServiceClient(
        heartbeat: configuration.heartbeat, maximumMessageSize: configuration.maximumMessageSize
    ) { [unowned self] peer, frame, payload in
        send(frame, payload, to: peer)
    }

    private(set) lazy var server = ServiceServer(
        bootID: bootID, waker: waker, heartbeat: configuration.heartbeat,
        maximumResponseSize: configuration.maximumMessageSize
    ) { [unowned self] client, frame, payload in
        send(frame, payload, toClient: client)
    }

    /// Messages taken so far, whatever they were.
    private(set) var taken: UInt64 = 0
    private let scratch = MessageBuffer.empty()
    private var spare = MessageBuffer.empty()
    private let header = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ServiceFrame.maximumEncodedSize, alignment: 16)
    private var names: NameCache? = NameCache()

    private enum Tag {
        static let router: UInt64 = 0
        static let waker: UInt64 = 1
        static let monitor: UInt64 = 2
        static let firstLink: UInt64 = 16
    }

    /// Messages that may wait in one socket: the longest window of a stream and answers beside it.
    private static let highWaterMark: Int32 = 4096
    /// Messages taken in one turn.
    private static let batch = 4096

    init(
        in context: ZeroMQContext, _ name: String, bootID: UInt64, _ registry: Lazy<RegistryFollower>,
        _ configuration: BusConfiguration
    ) throws(BusError) {
        self.context = context
        self.configuration = configuration
        endpoint = "ipc://" + configuration.directory.servicePath(name)
        (self.bootID, self.registry) = (bootID, registry)
        waker = try Waker()
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else {
            throw BusError(.transport, "cannot create an epoll: \(FileSystem.reason()); raise the open files' limit")
        }
        poller = FileDescriptor(descriptor)
        watch(waker.fileDescriptor, Tag.waker)
    }

    deinit { header.deallocate() }

    /// Where this node serves, nil while it serves nothing.
    var serviceEndpoint: String? { router == nil ? nil : endpoint }

    /// Readable when ``run(_:isSignalled:)`` has something to do.
    var fileDescriptor: Int32 { poller.rawValue }

    var statistics: ServiceStatistics {
        var merged = ServiceStatistics(client, server)
        merged.refusedConnections = refusedConnections
        return merged
    }

    private func watch(_ descriptor: Int32, _ tag: UInt64) {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: tag))
        epoll_ctl(poller.rawValue, EPOLL_CTL_ADD, descriptor, &event)
    }

    private func unwatch(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(poller.rawValue, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Binds the ROUTER.
    func open() throws(BusError) {
        guard router == nil else { return }
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.router, in: context)
            try configure(socket)
            // Mandatory: a client that is gone or full is an error, which its calls hear of, and not silence.
            try socket.set(ZMQ_ROUTER_MANDATORY, 1)
            try startMonitor(socket)
            try socket.bind(endpoint)
            watch(try socket.fileDescriptor(), Tag.router)
            (router, routerIsDirty) = (socket, true)
        } catch {
            throw error.asBusError
        }
    }

    private func configure(_ socket: ZeroMQSocket) throws(ZeroMQError) {
        try socket.set(ZMQ_SNDHWM, Self.highWaterMark)
        try socket.set(ZMQ_RCVHWM, Self.highWaterMark)
        try socket.set(ZMQ_LINGER, configuration.lingerMilliseconds)
        try socket.set(ZMQ_MAXMSGSIZE, wide: Int64(configuration.maximumMessageSize))
    }

    private func startMonitor(_ socket: ZeroMQSocket) throws(ZeroMQError) {
        let failures =
            ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
            | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH
        let endpoint = "inproc://rpc-monitor"
        try socket.monitor(endpoint, events: failures)
        let pair = try ZeroMQSocket(.pair, in: context)
        // Without a limit, because at one libzmq's I/O thread would wait for this node; an event is a few bytes.
        try pair.set(ZMQ_RCVHWM, 0)
        try pair.set(ZMQ_LINGER, 0)
        try pair.connect(endpoint)
        watch(try pair.fileDescriptor(), Tag.monitor)
        monitor = pair
        countRefusals()
    }

    /// An event is two frames: what happened, and where.
    private func countRefusals() {
        while let monitor, (try? monitor.receive(into: scratch.pointer)) == true {
            if scratch.hasMore { refusedConnections += 1 }
        }
    }

    // MARK: Sending

    private func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, toClient client: ClientAddress
    ) -> Transmission {
        guard let socket = router else { return .gone }
        routerIsDirty = true
        if let error = client.withBytes({ socket.send($0, more: true) }) {
            return error.code == .again ? .full : .gone
        }
        return send(frame, payload, through: socket)
    }

    private func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, to peer: ServiceClient.Peer
    ) -> Transmission {
        guard let link = link(to: peer) else { return .gone }
        soil(link)
        link.unheard += 1
        let transmission = send(frame, payload, through: link.socket)
        // libzmq gives a connection up for good after a breach of the protocol, such as a message over the limit, and
        // then says "full" for ever. A queue that cannot be full is such a dead one: the next begins anew.
        guard transmission == .full, link.unheard <= Int(Self.highWaterMark) else { return transmission }
        unlink(peer)
        guard let link = self.link(to: peer) else { return .gone }
        soil(link)
        link.unheard = 1
        return send(frame, payload, through: link.socket)
    }

    private func soil(_ link: Link) {
        if link.isDirty { return }
        link.isDirty = true
        dirtyLinks.append(link)
    }

    private func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, through socket: ZeroMQSocket
    ) -> Transmission {
        let count = frame.encode(boundedInto: header)
        let front = UnsafeRawBufferPointer(rebasing: header[..<count])
        guard let error = socket.send(front, more: true) ?? socket.send(payload, more: false) else { return .sent }
        return error.code == .again ? .full : .gone
    }

    private func link(to peer: ServiceClient.Peer) -> Link? {
        if let link = peer.link { return unsafeDowncast(link, to: Link.self) }
        let path = configuration.directory.servicePath(peer.info.node)
        guard path.utf8.count <= BusDirectory.maximumSocketPathLength else { return nil }
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.dealer, in: context)
            try configure(socket)
            // What waits for a dead server must not reach the next of its name, nor hold up this node's end.
            try socket.set(ZMQ_LINGER, 0)
            try socket.connect("ipc://" + path)
            lastTag += 1
            let link = try Link(socket, peer, lastTag)
            peer.link = link
            links[lastTag] = link
            watch(link.descriptor, lastTag)
            return link
        } catch {
            return nil
        }
    }

    private func unlink(_ peer: ServiceClient.Peer) {
        guard let link = peer.link.map({ unsafeDowncast($0, to: Link.self) }) else { return }
        unwatch(link.descriptor)
        links[link.tag] = nil
        dirtyLinks.removeAll { $0 === link }
        peer.link = nil
    }

    // MARK: The loop

    /// Looks for servers; call it when a call begins.
    func lookAround(_ now: Int64) {
        if generation == 0 { registry.make().follow(now) }
        followRegistry(now)
    }

    var nextTick: Int64 { min(client.nextTick, server.nextTick) }

    /// True when there may be something to do that ``fileDescriptor`` does not tell of.
    var isDirty: Bool { routerIsDirty || !dirtyLinks.isEmpty || registryHasChanged }

    /// Takes what arrived, runs handlers and timers; ``isDirty`` afterwards when a batch was not enough.
    ///
    /// - Parameter isSignalled: false when ``fileDescriptor`` need not be looked at.
    func run(_ now: Int64, isSignalled: Bool = true) throws(BusError) {
        if isSignalled { collectSignals() }
        followRegistry(now)
        var budget = Self.batch
        do throws(ZeroMQError) {
            repeat {
                if routerIsDirty { try receiveFromClients(now, &budget) }
                while budget > 0, let link = dirtyLinks.popLast() { receive(from: link, now, &budget) }
                client.advance(now)
                server.advance(now)
            } while budget > 0 && (routerIsDirty || !dirtyLinks.isEmpty)
        } catch {
            throw error.asBusError
        }
    }

    private func collectSignals() {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 32) { events in
            let count = epoll_wait(poller.rawValue, events.baseAddress, Int32(events.count), 0)
            for event in events.prefix(max(0, Int(count))) {
                switch event.data.u64 {
                case Tag.router: routerIsDirty = true
                case Tag.waker: _ = waker.reset()
                case Tag.monitor: countRefusals()
                case let tag: if let link = links[tag] { soil(link) }
                }
            }
        }
    }

    private func receiveFromClients(_ now: Int64, _ budget: inout Int) throws(ZeroMQError) {
        while budget > 0, let socket = router {
            guard try socket.receive(into: scratch.pointer) else {
                routerIsDirty = false
                return
            }
            budget -= 1
            taken += 1
            let address = ClientAddress(scratch.bytes)
            guard scratch.hasMore, try socket.receive(into: scratch.pointer),
                let (frame, payload) = try finishMessage(socket)
            else {
                server.rejected()
                continue
            }
            server.receive(frame, payload, from: address, now: now)
        }
    }

    private func receive(from link: Link, _ now: Int64, _ budget: inout Int) {
        while budget > 0 {
            guard (try? link.socket.receive(into: scratch.pointer)) == true else {
                link.isDirty = false
                return
            }
            budget -= 1
            taken += 1
            link.unheard = 0
            if let message = try? finishMessage(link.socket) {
                client.receive(message.0, message.1, from: link.peer, now: now)
            } else {
                client.rejected()
            }
            // The handler may have closed the node or lost the server.
            guard links[link.tag] === link else { return }
        }
        if links[link.tag] === link { dirtyLinks.append(link) }
    }

    /// The header lies in `scratch`; the payload follows. Nil, all frames taken, when it is not so.
    private func finishMessage(_ socket: ZeroMQSocket) throws(ZeroMQError) -> (ServiceFrame, Payload)? {
        let frame = ServiceFrame(decoding: scratch.bytes, &names)
        guard scratch.hasMore, try socket.receive(into: spare.pointer) else { return nil }
        if spare.hasMore {
            while try socket.receive(into: scratch.pointer), scratch.hasMore {}
            return nil
        }
        guard let frame else { return nil }
        guard frame.carriesPayload else { return (frame, .none) }
        defer { spare = MessageBuffer.empty() }
        return (frame, Payload(received: spare))
    }

    private var registryHasChanged: Bool { registry.value.map { $0.generation != generation } ?? false }

    private func followRegistry(_ now: Int64) {
        guard let registry = registry.value, registry.generation != generation else { return }
        generation = registry.generation
        let servers = registry.nodes.filter { $0.serviceEndpoint != nil }
            .map { ServerInfo(node: $0.node, bootID: $0.bootID, services: $0.services) }
        for peer in client.serversChanged(servers, now: now) { unlink(peer) }
    }

    func close() {
        let busy = client.busyPeers
        client.close()
        for peer in busy {
            guard let link = peer.link.map({ unsafeDowncast($0, to: Link.self) }) else { continue }
            try? link.socket.set(ZMQ_LINGER, min(100, configuration.lingerMilliseconds))
            _ = send(ServiceFrame(.goodbye), UnsafeRawBufferPointer(start: nil, count: 0), through: link.socket)
        }
        server.close()
        (links, dirtyLinks, router, monitor, routerIsDirty) = ([:], [], nil, nil, false)
        for peer in client.serversChanged([], now: 0) { peer.link = nil }
    }
}

extension ServiceStatistics {
    /// Both sides of one node.
    init(_ client: ServiceClient, _ server: ServiceServer) {
        self = server.statistics
        let made = client.statistics
        (callsMade, retries, violations, serversSilent) =
            (made.callsMade, made.retries, made.violations, made.serversSilent)
        malformed += made.malformed
        strayFrames += made.strayFrames
        (serving, calling) = (server.callCount, client.callCount)
    }
}
