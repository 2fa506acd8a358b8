internal import CZeroMQ

/// The services' sockets of a ``BusNode``: a ROUTER around a ``ServiceServer``, and a DEALER for each called node
/// around a ``ServiceClient``.
final class ServiceTransport {
    private struct Link {
        let bootID: UInt64
        let socket: ZeroMQSocket
        let fileDescriptor: Int32
    }

    private let context: ZeroMQContext
    private let configuration: BusConfiguration
    private let endpoint: String
    private var router: (socket: ZeroMQSocket, fileDescriptor: Int32)?
    private var links: [String: Link] = [:]
    private var watcher: RegistryWatcher?
    private var reader: RegistryReader
    private var scanAt: Int64 = .max
    private let hosts: HostSide?
    private var localServers: [ServerInfo] = []
    private var localBootIDs: Set<UInt64> = []
    private var seenGeneration = 0
    private let bootID: UInt64
    private let waker: Waker

    private(set) lazy var client = ServiceClient { [unowned self] server, frame, payload in
        send(frame, payload, to: server)
    }

    private(set) lazy var server = ServiceServer(
        bootID: bootID, waker: waker, maximumResponseSize: configuration.maximumMessageSize
    ) { [unowned self] client, frame, payload in
        send(frame, payload, toClient: client)
    }

    private let scratch = MessageBuffer.empty()
    private var hasActed = false

    /// Messages that may wait in one socket; streams are bounded by their credit long before.
    private static let highWaterMark: Int32 = 8192
    /// Messages taken in one turn.
    private static let batch = 4096
    /// A killed node's lock is reported a moment before the kernel frees it, so one more look follows: 10 ms.
    private static let secondLookNanoseconds: Int64 = 10_000_000

    init(
        in context: ZeroMQContext, _ name: String, bootID: UInt64, _ waker: Waker, _ configuration: BusConfiguration,
        _ hosts: HostSide?
    ) {
        self.hosts = hosts
        self.context = context
        self.configuration = configuration
        endpoint = "ipc://" + configuration.directory.servicePath(name)
        reader = RegistryReader(directory: configuration.directory)
        (self.bootID, self.waker) = (bootID, waker)
    }

    /// Where this node serves, nil while it serves nothing.
    var serviceEndpoint: String? { router == nil ? nil : endpoint }

    var statistics: ServiceStatistics {
        var merged = server.statistics
        (merged.callsMade, merged.retries) = (client.statistics.callsMade, client.statistics.retries)
        merged.malformed += client.statistics.malformed
        (merged.serving, merged.calling) = (server.callCount, client.callCount)
        return merged
    }

    /// Binds the ROUTER.
    func open() throws(BusError) {
        guard router == nil else { return }
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.router, in: context)
            try configure(socket)
            // Mandatory: a client that is gone is an error, which frees its calls, and not silence.
            try socket.set(ZMQ_ROUTER_MANDATORY, 1)
            try socket.bind(endpoint)
            router = (socket, try socket.fileDescriptor())
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

    // MARK: Sending

    private func send(_ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, toClient client: [UInt8]) -> Bool {
        hasActed = true
        if let listener = hosts?.listener, HostListener.isRemote(client) {
            return listener.send(frame, payload, toClient: client)
        }
        guard let socket = router?.socket else { return false }
        guard client.withUnsafeBytes({ socket.send($0, more: true) }) == nil else { return false }
        return Self.send(frame, payload, through: socket)
    }

    private func send(_ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, to server: ServerInfo) -> Bool {
        hasActed = true
        if server.isRemote { return hosts?.peers.send(frame, payload, to: server) ?? false }
        guard let link = link(to: server) else { return false }
        return Self.send(frame, payload, through: link.socket)
    }

    private static func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, through socket: ZeroMQSocket
    ) -> Bool {
        let header = frame.boundedEncoding
        guard header.withUnsafeBytes({ socket.send($0, more: true) }) == nil else { return false }
        return socket.send(payload, more: false) == nil
    }

    private func link(to server: ServerInfo) -> Link? {
        if let link = links[server.node], link.bootID == server.bootID { return link }
        let path = configuration.directory.servicePath(server.node)
        guard path.utf8.count <= BusDirectory.maximumSocketPathLength else { return nil }
        do throws(ZeroMQError) {
            let socket = try ZeroMQSocket(.dealer, in: context)
            try configure(socket)
            // What waits for a dead server must not reach the next of its name, nor hold up this node's end.
            try socket.set(ZMQ_LINGER, 0)
            try socket.connect("ipc://" + path)
            let link = Link(bootID: server.bootID, socket: socket, fileDescriptor: try socket.fileDescriptor())
            links[server.node] = link
            return link
        } catch {
            return nil
        }
    }

    // MARK: The loop

    /// Looks for servers; call it when a call begins.
    func lookAround(_ now: Int64) {
        // A peer that cannot be looked for leaves the others to be called; subscribing tells.
        try? hosts?.peers.lookAround()
        if watcher == nil { scan(now) }
    }

    var nextTick: Int64 { min(client.nextTick, server.nextTick, scanAt, hosts?.nextTick ?? .max) }

    /// Appends what a wait must watch.
    func appendFileDescriptors(to list: inout [Int32]) {
        if let router { list.append(router.fileDescriptor) }
        for link in links.values { list.append(link.fileDescriptor) }
        if let descriptor = watcher?.fileDescriptor { list.append(descriptor) }
        hosts?.appendFileDescriptors(to: &list)
    }

    /// Takes what arrived, runs handlers and timers.
    ///
    /// - Returns: true when more may be waiting, so that a wait on the edge-triggered descriptors could miss it.
    func run(_ now: Int64) throws(BusError) -> Bool {
        if watcher?.drain() == true {
            scan(now)
            scanAt = min(scanAt, now + Self.secondLookNanoseconds)
        } else if now >= scanAt {
            scan(now)
        }
        var budget = Self.batch
        do throws(ZeroMQError) {
            repeat {
                hasActed = false
                try receiveFromClients(now, &budget)
                try receiveFromServers(now, &budget)
                if let hosts, try hosts.run(now, &budget, server, client) { hasActed = true }
                if let hosts, hosts.peers.generation != seenGeneration { applyServers(now) }
                client.advance(now)
                server.advance(now)
            } while hasActed && budget > 0
        } catch {
            throw error.asBusError
        }
        if scanAt == .max, client.callCount > 0 { scanAt = now + rescanNanoseconds }
        return budget <= 0
    }

    private var rescanNanoseconds: Int64 { Int64(configuration.rescanMilliseconds) * 1_000_000 }

    private func receiveFromClients(_ now: Int64, _ budget: inout Int) throws(ZeroMQError) {
        while budget > 0, let socket = router?.socket, try socket.receive(into: scratch.pointer) {
            (budget, hasActed) = (budget - 1, true)
            let address = [UInt8](scratch.bytes)
            guard scratch.hasMore, let (frame, payload) = try readMessage(socket) else {
                server.rejected()
                continue
            }
            server.receive(frame, payload, from: address, now: now)
        }
    }

    private func receiveFromServers(_ now: Int64, _ budget: inout Int) throws(ZeroMQError) {
        for (node, link) in links {
            while budget > 0 {
                guard let message = try? readFirst(link.socket) else { break }
                (budget, hasActed) = (budget - 1, true)
                switch message {
                case .malformed: client.rejected()
                case .message(let frame, let payload): client.receive(frame, payload, from: node, now: now)
                }
            }
        }
    }

    private enum Incoming {
        case malformed
        case message(ServiceFrame, Payload)
    }

    private func readFirst(_ socket: ZeroMQSocket) throws(ZeroMQError) -> Incoming? {
        guard try socket.receive(into: scratch.pointer) else { return nil }
        guard let (frame, payload) = try finishMessage(socket) else { return .malformed }
        return .message(frame, payload)
    }

    private func readMessage(_ socket: ZeroMQSocket) throws(ZeroMQError) -> (ServiceFrame, Payload)? {
        guard try socket.receive(into: scratch.pointer) else { return nil }
        return try finishMessage(socket)
    }

    /// The header lies in `scratch`; the payload follows. Nil, all frames taken, when it is not so.
    private func finishMessage(_ socket: ZeroMQSocket) throws(ZeroMQError) -> (ServiceFrame, Payload)? {
        let frame = ServiceFrame(decoding: scratch.bytes)
        guard scratch.hasMore else { return nil }
        let payload = MessageBuffer.empty()
        guard try socket.receive(into: payload.pointer) else { return nil }
        if payload.hasMore {
            while try socket.receive(into: scratch.pointer), scratch.hasMore {}
            return nil
        }
        return frame.map { ($0, Payload(received: payload)) }
    }

    private func scan(_ now: Int64) {
        scanAt = .max
        let watcher = self.watcher ?? RegistryWatcher(configuration.directory)
        self.watcher = watcher
        // While the directory cannot be read nothing is known to have changed: heartbeats still tell the dead.
        watcher.watch(nodes: (try? reader.names()) ?? [])
        guard let snapshot = try? reader.read() else { return }
        localServers = snapshot.nodes.filter { $0.serviceEndpoint != nil }
            .map { ServerInfo(node: $0.node, bootID: $0.bootID, services: $0.services) }
        localBootIDs = Set(snapshot.nodes.map(\.bootID))
        applyServers(now)
        let stale = links.filter { node, link in
            !localServers.contains { $0.node == node && $0.bootID == link.bootID }
        }
        for node in stale.keys { links[node] = nil }
    }

    /// Tells the client who can be called, here and on other hosts.
    private func applyServers(_ now: Int64) {
        seenGeneration = hosts?.peers.generation ?? 0
        client.serversChanged(localServers + (hosts?.peers.servers(excluding: localBootIDs) ?? []), now: now)
    }

    func close() {
        client.close()
        for link in links.values {
            try? link.socket.set(ZMQ_LINGER, min(100, configuration.lingerMilliseconds))
            _ = Self.send(ServiceFrame(.goodbye), UnsafeRawBufferPointer(start: nil, count: 0), through: link.socket)
        }
        server.close(others: hosts?.listener?.watchers ?? [])
        (links, router) = ([:], nil)
    }
}
