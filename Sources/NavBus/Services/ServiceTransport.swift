internal import CZeroMQ
internal import Glibc

/// The services' sockets of a ``BusNode``: a ROUTER around a ``ServiceServer``, and a DEALER for each called node
/// around a ``ServiceClient``.
///
/// One epoll descriptor represents all of them, so that the cost of a wait is independent of the number of called
/// nodes, and only readable sockets are read.
final class ServiceTransport {
    private final class Link {
        let socket: ZeroMQSocket
        let descriptor: Int32
        unowned let peer: ServiceClient.Peer
        let tag: UInt64
        /// Whether unsignalled messages may be waiting: true from a send until a receive finds nothing.
        var isDirty = false
        /// The number of messages sent since the last message from the server.
        var sentSinceReceipt = 0

        init(_ socket: ZeroMQSocket, _ peer: ServiceClient.Peer, _ tag: UInt64) throws(ZeroMQError) {
            (self.socket, self.peer, self.tag) = (socket, peer, tag)
            descriptor = try socket.fileDescriptor()
        }
    }

    let context: ZeroMQContext
    private let configuration: BusConfiguration
    private let endpoint: String
    private var router: ZeroMQSocket?
    private var routerIsDirty = false
    /// Reports connections to the ROUTER that failed their handshake.
    private var monitor: ZeroMQSocket?
    private var refusedConnections: UInt64 = 0
    private var links: [UInt64: Link] = [:]
    private var dirtyLinks: [Link] = []
    private var lastTag: UInt64 = Tag.firstLink
    private let registry: Lazy<RegistryFollower>
    private var generation = 0
    private let hosts: HostSide?
    private var peerGeneration = 0
    /// The boot ids of unannounced servers with calls in flight, and the time until which to wait for their last messages.
    private var leaving: [UInt64: Int64] = [:]
    private var leavingLookAt: Int64 = .max
    private let bootID: UInt64
    /// Wakes the loop for answers from other threads, without ending the caller's wait.
    private let waker: Waker
    private let poller: Poller
    private let wire = ServiceWire()

    // Both live exactly as long as their transport; a checked reference would cost two atomic operations per frame.
    private(set) lazy var client = ServiceClient(
        heartbeat: configuration.heartbeat, maximumMessageSize: configuration.maximumMessageSize
    ) { [unowned(unsafe) self] peer, frame, payload in
        send(frame, payload, to: peer)
    }

    private(set) lazy var server = ServiceServer(
        bootID: bootID, waker: waker, heartbeat: configuration.heartbeat,
        maximumResponseSize: configuration.maximumMessageSize
    ) { [unowned(unsafe) self] client, frame, payload in
        send(frame, payload, toClient: client)
    }

    /// The number of messages received so far, of any kind.
    private(set) var taken: UInt64 = 0

    private enum Tag {
        static let router: UInt64 = 0
        static let waker: UInt64 = 1
        static let monitor: UInt64 = 2
        static let listener: UInt64 = 3
        static let peers: UInt64 = 4
        static let firstLink: UInt64 = 16
    }

    /// The most messages that wait in one socket: the longest window of a stream and further answers.
    private static let highWaterMark: Int32 = 4096
    /// The time allowed for a departed node's last messages, and the interval of checking a departing node: 5 ms.
    private static let farewellNanoseconds: Int64 = 5_000_000
    /// The most messages received in one iteration.
    private static let batch = 4096

    init(
        in context: ZeroMQContext, _ name: String, bootID: UInt64, _ registry: Lazy<RegistryFollower>,
        _ configuration: BusConfiguration, _ hosts: HostSide?
    ) throws(BusError) {
        self.hosts = hosts
        self.context = context
        self.configuration = configuration
        endpoint = "ipc://" + configuration.directory.servicePath(name)
        (self.bootID, self.registry) = (bootID, registry)
        waker = try Waker()
        poller = try Poller()
        poller.watch(waker.fileDescriptor, Tag.waker)
        hosts?.listener?.attach(poller, tag: Tag.listener)
        hosts?.peers.attach(poller, tag: Tag.peers)
    }

    /// The endpoint of this node's services, nil while it serves nothing.
    var serviceEndpoint: String? { router == nil ? nil : endpoint }

    /// Readable when ``run(_:isSignalled:)`` has work.
    var fileDescriptor: Int32 { poller.fileDescriptor }

    var statistics: ServiceStatistics {
        var merged = ServiceStatistics(client, server)
        merged.refusedConnections = refusedConnections
        return merged
    }

    func open() throws(BusError) {
        guard router == nil else { return }
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.router, in: context)
            try configure(socket)
            // Sending to a disconnected client or a full queue is then an error, which ends its calls, instead of a silent drop.
            try socket.set(ZMQ_ROUTER_MANDATORY, 1)
            try startMonitor(socket)
            try socket.bind(endpoint)
            poller.watch(try socket.fileDescriptor(), Tag.router)
            (router, routerIsDirty) = (socket, true)
        } catch {
            throw error.asBusError
        }
    }

    /// Makes the socket's file again after it was removed; existing connections continue.
    func bindAgain() throws(BusError) {
        routerIsDirty = router != nil
        do throws(ZeroMQError) {
            try router?.bind(endpoint)
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
        let pair = try socket.monitor(failures, name: "rpc", in: context)
        poller.watch(try pair.fileDescriptor(), Tag.monitor)
        monitor = pair
        countRefusals()
    }

    /// Counts monitor events; each has two frames, the event and the endpoint.
    private func countRefusals() {
        while let monitor, let frames = try? monitor.receiveFrames(limit: 2) {
            if frames.count == 2 { refusedConnections += 1 }
        }
    }

    // MARK: Sending

    private func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, toClient client: ClientAddress
    ) -> Transmission {
        if client.isRemote { return hosts?.listener?.send(frame, payload, toClient: client) ?? .unreachable }
        guard let socket = router else { return .unreachable }
        routerIsDirty = true
        return wire.send(frame, payload, to: client, through: socket)
    }

    private func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, to peer: ServiceClient.Peer
    ) -> Transmission {
        if peer.info.isRemote { return hosts?.peers.send(frame, payload, to: peer.info) ?? .unreachable }
        guard let link = link(to: peer) else { return .unreachable }
        markDirty(link)
        link.sentSinceReceipt += 1
        let transmission = wire.send(frame, payload, through: link.socket)
        // After a protocol violation, such as a message over the limit, libzmq gives a connection up permanently and then always reports
        // "full". A queue too short to be full belongs to such a connection, which is replaced.
        guard transmission == .full, link.sentSinceReceipt <= Int(Self.highWaterMark) else { return transmission }
        unlink(peer)
        guard let link = self.link(to: peer) else { return .unreachable }
        markDirty(link)
        link.sentSinceReceipt = 1
        return wire.send(frame, payload, through: link.socket)
    }

    private func markDirty(_ link: Link) {
        if link.isDirty { return }
        link.isDirty = true
        dirtyLinks.append(link)
    }

    private func link(to peer: ServiceClient.Peer) -> Link? {
        if let link = peer.link { return unsafeDowncast(link, to: Link.self) }
        let path = configuration.directory.servicePath(peer.info.node)
        guard path.utf8.count <= BusDirectory.maximumSocketPathLength else { return nil }
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.dealer, in: context)
            try configure(socket)
            // Messages queued for a dead server must not reach its successor, nor delay this node's exit.
            try socket.set(ZMQ_LINGER, 0)
            try socket.connect("ipc://" + path)
            lastTag += 1
            let link = try Link(socket, peer, lastTag)
            peer.link = link
            links[lastTag] = link
            poller.watch(link.descriptor, lastTag)
            return link
        } catch {
            return nil
        }
    }

    private func unlink(_ peer: ServiceClient.Peer) {
        guard let link = peer.link.map({ unsafeDowncast($0, to: Link.self) }) else { return }
        poller.unwatch(link.descriptor)
        links[link.tag] = nil
        dirtyLinks.removeAll { $0 === link }
        peer.link = nil
    }

    // MARK: The loop

    /// Starts the search for servers; call it at the start of a call.
    func lookAround(_ now: Int64) {
        // If the peers cannot be reached, local nodes can still be called; subscribing reports the error.
        try? hosts?.peers.lookAround()
        // The loop handles later changes, after it has read the last messages of a departing server.
        guard generation == 0 else { return }
        registry.make().follow(now)
        followRegistry(now)
    }

    var nextTick: Int64 {
        // Pairwise, because `min` of more than three values allocates an array, and this runs for each message.
        min(min(client.nextTick, server.nextTick), min(leavingLookAt, hosts?.nextTick ?? .max))
    }

    /// Whether there may be work that ``fileDescriptor`` does not signal.
    var isDirty: Bool { socketsAreDirty || registryHasChanged }

    private var socketsAreDirty: Bool { routerIsDirty || !dirtyLinks.isEmpty || hosts?.isDirty ?? false }

    /// Handles what arrived, runs handlers and timers; ``isDirty`` stays true when one batch was not enough.
    ///
    /// - Parameter isSignalled: whether ``fileDescriptor`` must be checked.
    func run(_ now: Int64, isSignalled: Bool) throws(BusError) {
        // The last messages of a departing server are handled before its departure.
        if isSignalled || registryHasChanged || now >= leavingLookAt { collectSignals() }
        var budget = Self.batch
        do throws(ZeroMQError) {
            repeat {
                if routerIsDirty { try receiveFromClients(now, &budget) }
                while budget > 0, let link = dirtyLinks.popLast() { receive(from: link, now, &budget) }
                if let hosts { try run(hosts, now, &budget) }
                followRegistry(now)
                client.advance(now)
                server.advance(now)
            } while budget > 0 && socketsAreDirty
        } catch {
            throw error.asBusError
        }
    }

    private func collectSignals() {
        poller.collect { tag in
            switch tag {
            case Tag.router: routerIsDirty = true
            case Tag.waker: _ = waker.reset()
            case Tag.monitor: countRefusals()
            case Tag.listener: hosts?.listener?.isDirty = true
            case Tag.peers: hosts?.peers.isDirty = true
            case let tag: if let link = links[tag] { markDirty(link) }
            }
        }
    }

    private func receiveFromClients(_ now: Int64, _ budget: inout Int) throws(ZeroMQError) {
        while budget > 0, let socket = router {
            guard let (address, message) = try wire.receive(fromClientsOf: socket) else {
                routerIsDirty = false
                return
            }
            budget -= 1
            taken += 1
            switch message {
            case .malformed: server.rejected()
            case .message(let frame, let payload): server.receive(frame, payload, from: address, now: now)
            }
        }
    }

    private func receive(from link: Link, _ now: Int64, _ budget: inout Int) {
        while budget > 0 {
            guard let message = try? wire.receive(from: link.socket) else {
                link.isDirty = false
                return
            }
            budget -= 1
            taken += 1
            link.sentSinceReceipt = 0
            switch message {
            case .malformed: client.rejected()
            case .message(let frame, let payload): client.receive(frame, payload, from: link.peer, now: now)
            }
            // The handler may have closed the node or lost the server.
            guard links[link.tag] === link else { return }
        }
        if links[link.tag] === link { dirtyLinks.append(link) }
    }

    private func run(_ hosts: HostSide, _ now: Int64, _ budget: inout Int) throws(ZeroMQError) {
        guard hosts.isDirty || now >= hosts.nextTick else { return }
        let before = budget
        try hosts.run(now, &budget, server, client)
        taken += UInt64(before - budget)
    }

    private var registryHasChanged: Bool {
        registry.value.map { $0.generation != generation } ?? false || hosts?.peers.generation ?? 0 != peerGeneration
    }

    /// Passes the existing servers of this host and others to the client.
    private func followRegistry(_ now: Int64) {
        guard registryHasChanged || now >= leavingLookAt else { return }
        let nodes = registry.value?.nodes ?? []
        generation = registry.value?.generation ?? 0
        peerGeneration = hosts?.peers.generation ?? 0
        var servers = nodes.filter { $0.serviceEndpoint != nil }
            .map { ServerInfo(node: $0.node, bootID: $0.bootID, services: $0.services) }
        servers += stillLeaving(servers, now)
        if let hosts { servers += hosts.peers.servers(excluding: Set(nodes.map(\.bootID))) }
        for peer in client.serversChanged(servers, now: now) { unlink(peer) }
    }

    /// Returns the servers of calls in flight that are no longer announced but may still send their last messages; they
    /// offer no services to new calls.
    ///
    /// A departing node removes its announcement, then sends its remaining messages, and frees its lock last. The kernel frees the lock of
    /// a killed node.
    private func stillLeaving(_ announced: [ServerInfo], _ now: Int64) -> [ServerInfo] {
        var until: [UInt64: Int64] = [:]
        var still: [ServerInfo] = []
        for peer in client.busyPeers where !peer.info.isRemote {
            let (node, bootID) = (peer.info.node, peer.info.bootID)
            // A successor of the same name is announced, so its predecessor can send nothing more.
            if announced.contains(where: { $0.node == node }) { continue }
            let isHere = NodeLock.isHeld(node, in: configuration.directory)
            let end = isHere ? now + Self.farewellNanoseconds : leaving[bootID] ?? now + Self.farewellNanoseconds
            guard now < end else { continue }
            until[bootID] = end
            still.append(ServerInfo(node: node, bootID: bootID, services: []))
        }
        leaving = until
        leavingLookAt = until.values.min() ?? .max
        return still
    }

    func close() {
        let busy = client.busyPeers
        client.close()
        for peer in busy {
            guard let link = peer.link.map({ unsafeDowncast($0, to: Link.self) }) else { continue }
            try? link.socket.set(ZMQ_LINGER, min(100, configuration.lingerMilliseconds))
            _ = wire.send(ServiceFrame(.goodbye), through: link.socket)
        }
        server.close(others: hosts?.listener?.watchers ?? [])
        (links, dirtyLinks, router, monitor, routerIsDirty) = ([:], [], nil, nil, false)
        for peer in client.serversChanged([], now: 0) { peer.link = nil }
    }
}

extension ServiceStatistics {
    package init(_ client: ServiceClient, _ server: ServiceServer) {
        self = server.statistics
        let made = client.statistics
        (callsMade, retries, violations, serversSilent) =
            (made.callsMade, made.retries, made.violations, made.serversSilent)
        malformed += made.malformed
        strayFrames += made.strayFrames
        (serving, calling) = (server.callCount, client.callCount)
    }
}
