internal import NavSpelling

/// A node that offers services.
package struct ServerInfo: Hashable {
    package let node: String
    package let bootID: UInt64
    package let services: [ServiceDescription]
    /// Whether the node is on another host.
    ///
    /// Its name is then followed by `@` and its address, and only its silence reveals its death.
    package let isRemote: Bool

    package init(node: String, bootID: UInt64, services: [ServiceDescription]) {
        (self.node, self.bootID, self.services) = (node, bootID, services)
        isRemote = node.utf8.contains(UInt8(ascii: "@"))
    }

    /// Returns whether a call to node `name` is a call to this node.
    func isCalled(_ name: String) -> Bool {
        node == name || (isRemote && node.hasPrefix(name) && node.dropFirst(name.count).hasPrefix("@"))
    }
}

/// The calls of one node, without a transport: frames and the registry's view are inputs, frames are sent through `transmit`.
package final class ServiceClient {
    /// The most calls in flight.
    package static let maximumCalls = 65_536

    /// One run of a server.
    package final class Peer: TimerEntry {
        package fileprivate(set) var info: ServerInfo
        var link: AnyObject?
        fileprivate var callCount = 0
        /// The time of the first ping after which nothing has arrived.
        fileprivate var askedAt: Int64?
        fileprivate var lastPing: UInt64 = 0
        /// The last call that began before the latest ping.
        fileprivate var pingCovers: UInt64 = 0
        var dueAt: Int64 = .max
        var heapIndex = -1

        fileprivate init(_ info: ServerInfo) { self.info = info }
    }

    private struct Route {
        let peer: Peer
        var methods: [String: Bool] = [:]
    }

    private final class Call: TimerEntry {
        let id: UInt64
        @exclusivity(unchecked) var machine: ClientCallStateMachine
        var peer: Peer?
        let service: String
        let method: String
        /// The request, kept while it may have to be sent (again).
        var request: [UInt8] = []
        let options: CallOptions
        let onEvent: (CallEvent) -> Void
        var dueAt: Int64 = .max
        var heapIndex = -1

        init(
            _ id: UInt64, _ machine: ClientCallStateMachine, _ service: String, _ method: String,
            _ options: CallOptions, _ onEvent: @escaping (CallEvent) -> Void
        ) {
            (self.id, self.machine, self.service, self.method) = (id, machine, service, method)
            (self.options, self.onEvent) = (options, onEvent)
        }

        /// The call number on the wire; each attempt has its own, so that late answers to an earlier one are ignored.
        var wireID: UInt64 { id << 8 | UInt64(truncatingIfNeeded: machine.attempts) & 0xff }
    }

    private let transmit: (Peer, ServiceFrame, UnsafeRawBufferPointer) -> Transmission
    private let heartbeat: HeartbeatConfiguration
    private let maximumMessageSize: Int
    private var calls: [UInt64: Call] = [:]
    private var callTimers = TimerHeap<Call>()
    private var peers: [String: Peer] = [:]
    private var peerTimers = TimerHeap<Peer>()
    private var routes: [String: Route] = [:]
    private var lastCall: UInt64 = 0
    package private(set) var statistics = ServiceStatistics()

    package init(
        heartbeat: HeartbeatConfiguration = HeartbeatConfiguration(), maximumMessageSize: Int,
        transmit: @escaping (Peer, ServiceFrame, UnsafeRawBufferPointer) -> Transmission
    ) {
        self.heartbeat = heartbeat
        self.maximumMessageSize = maximumMessageSize
        self.transmit = transmit
    }

    package var callCount: Int { calls.count }
    /// Returns whether a live node is known to serve a service: the node of the given name, or any node when nil.
    package func isServed(_ service: String, by node: String?) -> Bool {
        peers.values.contains { peer in
            peer.info.services.contains { $0.name == service } && node.map(peer.info.isCalled) ?? true
        }
    }
    /// The nodes with calls in flight, by name.
    package var busyPeers: [Peer] { peers.values.filter { $0.callCount > 0 }.sorted { $0.info.node < $1.info.node } }
    /// Returns the server of a name, while the registry lists it.
    package func peer(_ node: String) -> Peer? { peers[node] }
    /// The latest time at which ``advance(_:)`` must be called, in monotonic nanoseconds.
    package var nextTick: Int64 { min(callTimers.next, peerTimers.next) }

    package func call(
        _ service: String, _ method: String, _ request: UnsafeRawBufferPointer, _ options: CallOptions, now: Int64,
        onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID {
        try Self.check(service, method, options)
        lastCall += 1
        statistics.callsMade += 1
        // The server decides whether a method streams; until it is known, the client accepts any number of responses.
        let machine = ClientCallStateMachine(options, isStreaming: true, now: now)
        let call = Call(lastCall, machine, service, method, options, onEvent)
        let id = CallID(rawValue: call.id)
        if request.count > maximumMessageSize {
            let reason = "a request of \(request.count) bytes is over the limit of \(maximumMessageSize)"
            perform(call, call.machine.fail(CallStatus(.resourceExhausted, reason)), now)
            return id
        }
        if calls.count >= Self.maximumCalls {
            let reason = "this node is at its limit of \(Self.maximumCalls) pending calls"
            perform(call, call.machine.fail(CallStatus(.resourceExhausted, reason)), now)
            return id
        }
        calls[call.id] = call
        place(call, now, request)
        // A request that is already sent and must not be repeated needs no copy.
        if call.machine.isWaiting || options.isIdempotent && !call.machine.hasEnded { call.request = [UInt8](request) }
        callTimers.set(call, call.machine.nextTick)
        return id
    }

    private static func check(_ service: String, _ method: String, _ options: CallOptions) throws(BusError) {
        let metadataSize = options.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.count + 16 }
        guard ServiceDescription.isName(service), ServiceDescription.isName(method),
            options.metadata.count <= MetadataEntry.maximumCount, metadataSize <= 60_000,
            (1...CallOptions.maximumWindow).contains(options.window), options.maximumResponseSize >= 0
        else {
            throw BusError(
                .invalidArgument,
                "the call of '\(service.prefix(80))/\(method.prefix(80))' needs valid names, a window of 1 to "
                    + "\(CallOptions.maximumWindow), at most \(MetadataEntry.maximumCount) metadata entries and 60 kB")
        }
    }

    package func cancel(_ id: CallID) {
        guard let call = calls[id.rawValue] else { return }
        perform(call, call.machine.cancel(), 0)
    }

    package func grant(_ id: CallID, _ messages: Int) {
        guard let call = calls[id.rawValue] else { return }
        perform(call, call.machine.consumed(messages), 0)
    }

    /// Ends every call, because the node leaves.
    package func close() {
        for id in calls.keys.sorted() { cancel(CallID(rawValue: id)) }
    }

    // MARK: Servers

    /// Applies the registry's list of servers: calls to absent nodes end or are retried, and waiting calls find their server.
    ///
    /// - Returns: the server runs that are over.
    @discardableResult
    package func serversChanged(_ servers: [ServerInfo], now: Int64) -> [Peer] {
        var current: [String: Peer] = [:]
        routes = [:]
        // Servers of this host come first.
        for info in servers.sorted(by: { $0.isRemote == $1.isRemote ? $0.node < $1.node : $1.isRemote }) {
            var peer = peers[info.node]
            if peer?.info.bootID != info.bootID { peer = nil }
            let known = peer ?? Peer(info)
            known.info = info
            current[info.node] = known
            for service in info.services where routes[service.name] == nil {
                routes[service.name] = Self.route(to: known, service)
            }
        }
        let gone = peers.values.filter { current[$0.info.node] !== $0 }.sorted { $0.info.node < $1.info.node }
        peers = current
        for peer in gone { lose(peer, "node '\(peer.info.node)' died or left", now) }
        if !calls.isEmpty {
            for id in calls.keys.sorted() {
                if let call = calls[id], call.machine.isWaiting { place(call, now) }
            }
        }
        return gone
    }

    private static func route(to peer: Peer, _ service: ServiceDescription) -> Route {
        var route = Route(peer: peer)
        for method in service.methods { route.methods[method.name] = method.isServerStreaming }
        return route
    }

    private func route(_ call: Call) -> Route? {
        guard let node = call.options.node else { return routes[call.service] }
        if let route = routes[call.service], route.peer.info.node == node { return route }
        let remote = { self.peers.values.filter { $0.info.isCalled(node) }.min { $0.info.node < $1.info.node } }
        guard let peer = peers[node] ?? remote() else { return nil }
        // A node that does not announce the service will refuse the call itself.
        let service = peer.info.services.first { $0.name == call.service }
        return service.map { Self.route(to: peer, $0) } ?? Route(peer: peer)
    }

    /// Sends a waiting call when its server is present.
    private func place(_ call: Call, _ now: Int64, _ request: UnsafeRawBufferPointer? = nil) {
        guard call.machine.isWaiting, let route = route(call) else { return }
        let isStreaming = route.methods[call.method]
        if isStreaming == nil, !route.methods.isEmpty {
            return perform(call, call.machine.fail(unknownMethod(call, route)), now)
        }
        if let expected = call.options.expectsStream, let isStreaming, expected != isStreaming {
            return perform(call, call.machine.fail(.shapeMismatch(call.service, call.method, isStreaming)), now)
        }
        call.peer = route.peer
        route.peer.callCount += 1
        perform(call, call.machine.serverFound(now: now, isStreaming: isStreaming), now, request: request)
    }

    private func unknownMethod(_ call: Call, _ route: Route) -> CallStatus {
        let hint = suggestion(for: call.method, among: route.methods.keys.sorted(), quote: "'")
        return CallStatus(.unimplemented, "'\(call.service)' has no method '\(call.method)'\(hint)")
    }

    /// Ends or retries the calls to a lost server.
    private func lose(_ peer: Peer, _ reason: String, _ now: Int64, upTo last: UInt64 = .max) {
        if peer.callCount > 0 {
            for call in calls.values.filter({ $0.peer === peer && $0.id <= last }).sorted(by: { $0.id < $1.id }) {
                perform(call, call.machine.serverLost(now: now, CallStatus(.unavailable, reason)), now)
            }
        }
        if peer.callCount == 0 { stopHeartbeats(to: peer) }
    }

    private func stopHeartbeats(to peer: Peer) {
        peer.askedAt = nil
        peerTimers.remove(peer)
    }

    // MARK: Frames

    /// Handles a frame from a server; `payload` is read only for frames that carry one.
    package func receive(_ frame: ServiceFrame, _ payload: Payload, from peer: Peer, now: Int64) {
        peer.askedAt = nil
        switch frame.kind {
        case .response, .end: answer(frame, payload, peer, now)
        case .pong: pong(frame, peer, now)
        case .goodbye: lose(peer, "node '\(peer.info.node)' shut down", now)
        case .request, .cancel, .credit, .ping, .watch, .announcement: statistics.malformed += 1
        }
    }

    private func answer(_ frame: ServiceFrame, _ payload: Payload, _ peer: Peer, _ now: Int64) {
        guard let call = calls[frame.call >> 8], call.peer === peer, call.wireID == frame.call else {
            statistics.strayFrames += 1
            return
        }
        let limit = call.options.maximumResponseSize
        if frame.kind == .response {
            let effects = call.machine.response(sequence: frame.sequence, size: payload.count, limit: limit)
            if effects.first != .deliver { statistics.violations += 1 }
            perform(call, effects, now, payload)
            if call.options.grantsAutomatically { perform(call, call.machine.consumed(1), now) }
            return
        }
        let sequence = frame.hasResponse ? frame.sequence : nil
        let effects = call.machine.ended(frame.status, sequence: sequence, size: payload.count, limit: limit, now: now)
        let isBroken =
            frame.code == 0 && effects.contains { if case .end(let end) = $0 { end.code != .ok } else { false } }
        if isBroken { statistics.violations += 1 }
        perform(call, effects, now, payload)
    }

    /// Handles a pong.
    ///
    /// When the server has no call of this client, the calls that began before the ping were lost with their
    /// connection: their answers would have arrived before the pong.
    private func pong(_ frame: ServiceFrame, _ peer: Peer, _ now: Int64) {
        guard frame.sequence == peer.lastPing, frame.credit == 1 else { return }
        lose(peer, "the connection to node '\(peer.info.node)' was lost", now, upTo: peer.pingCovers)
    }

    package func rejected() { statistics.malformed += 1 }

    // MARK: Time

    /// Handles deadlines, backoff and heartbeats; call it after all received frames have been handled.
    package func advance(_ now: Int64) {
        while let peer = peerTimers.due(now) { check(peer, now) }
        while let call = callTimers.due(now) {
            let wasWaiting = call.machine.isWaiting
            var effects = call.machine.tick(now: now)
            if wasWaiting, case .end(var status)? = effects.last, status.code == .unavailable {
                status.message += suggestion(for: call.service, among: routes.keys.sorted(), quote: "'")
                effects = [.end(status)]
            }
            perform(call, effects, now)
            if call.machine.isWaiting { place(call, now) }
            // A timer that remained due would make this loop endless.
            if call.heapIndex >= 0, call.dueAt <= now { callTimers.set(call, now + 1_000_000) }
        }
    }

    private func check(_ peer: Peer, _ now: Int64) {
        guard peer.callCount > 0 else { return stopHeartbeats(to: peer) }
        let silence = heartbeat.silence(isRemote: peer.info.isRemote)
        if let askedAt = peer.askedAt, now - askedAt >= silence {
            statistics.serversSilent += 1
            lose(peer, "node '\(peer.info.node)' has not answered for \(silence / 1_000_000) ms", now)
            if peer.callCount > 0 { peerTimers.set(peer, now + heartbeat.interval) }
            return
        }
        peer.askedAt = peer.askedAt ?? now
        peer.lastPing += 1
        peer.pingCovers = lastCall
        var ping = ServiceFrame(.ping)
        ping.sequence = peer.lastPing
        _ = transmit(peer, ping, UnsafeRawBufferPointer(start: nil, count: 0))
        peerTimers.set(peer, now + heartbeat.interval)
    }

    // MARK: Effects

    private func perform(
        _ call: Call, _ effects: [ClientCallStateMachine.Effect], _ now: Int64, _ payload: Payload? = nil,
        request: UnsafeRawBufferPointer? = nil
    ) {
        let peer = call.peer
        if !call.machine.isInFlight, let peer {
            peer.callCount -= 1
            call.peer = nil
        }
        if call.machine.hasEnded {
            callTimers.remove(call)
            calls[call.id] = nil
        } else if call.heapIndex >= 0 {
            callTimers.set(call, call.machine.nextTick)
        }
        for effect in effects {
            switch effect {
            case .sendRequest(let timeout, let credit): sendRequest(call, timeout, credit, now, request)
            case .sendCancel: send(ServiceFrame(.cancel, call: call.wireID), to: peer)
            case .sendCredit(let count):
                var frame = ServiceFrame(.credit, call: call.wireID)
                frame.credit = UInt64(count)
                if send(frame, to: peer) != .sent {
                    let status = CallStatus(.resourceExhausted, "the server does not read its socket")
                    perform(call, call.machine.fail(status), now)
                }
            case .deliver: if let payload { call.onEvent(.response(payload)) }
            case .end(let status): call.onEvent(.end(status))
            }
        }
    }

    private func sendRequest(
        _ call: Call, _ timeout: Int64, _ credit: Int, _ now: Int64, _ request: UnsafeRawBufferPointer?
    ) {
        guard let peer = call.peer else { return }
        if call.machine.attempts > 1 { statistics.retries += 1 }
        var frame = ServiceFrame(.request, call: call.wireID)
        (frame.service, frame.method, frame.metadata) = (call.service, call.method, call.options.metadata)
        (frame.timeoutNanoseconds, frame.credit) = (UInt64(timeout), UInt64(credit))
        (frame.isIdempotent, frame.serverBootID) = (call.options.isIdempotent, peer.info.bootID)
        frame.isStreamExpected = call.options.expectsStream
        frame.maximumResponseSize = UInt64(min(call.options.maximumResponseSize, maximumMessageSize))
        if peer.heapIndex < 0 { peerTimers.set(peer, now + heartbeat.interval) }
        let transmission =
            request.map { transmit(peer, frame, $0) } ?? call.request.withUnsafeBytes { transmit(peer, frame, $0) }
        if !call.options.isIdempotent { call.request = [] }
        switch transmission {
        case .sent: return
        case .full:
            let reason = "node '\(peer.info.node)' does not read its socket: too many requests are queued"
            perform(call, call.machine.fail(CallStatus(.resourceExhausted, reason)), now)
        case .unreachable:
            let reason = "cannot connect to node '\(peer.info.node)'"
            perform(call, call.machine.serverLost(now: now, CallStatus(.unavailable, reason)), now)
        }
    }

    @discardableResult
    private func send(_ frame: ServiceFrame, to peer: Peer?) -> Transmission {
        peer.map { transmit($0, frame, UnsafeRawBufferPointer(start: nil, count: 0)) } ?? .unreachable
    }
}

extension CallStatus {
    static func shapeMismatch(_ service: String, _ method: String, _ isStreaming: Bool) -> CallStatus {
        let kind = isStreaming ? "answers with a stream: call it as a stream" : "has one answer: call it as unary"
        return CallStatus(.unimplemented, "'\(service)/\(method)' \(kind)")
    }
}
