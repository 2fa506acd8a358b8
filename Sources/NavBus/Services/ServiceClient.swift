/// A node that can be called.
package struct ServerInfo: Hashable {
    package var node: String
    package var bootID: UInt64
    package var services: [ServiceDescription]

    /// Whether it is of another host: its name is followed by `@` and its address.
    package var isRemote: Bool { node.utf8.contains(UInt8(ascii: "@")) }

    /// Whether a call that asks for node `name` means this one.
    func isCalled(_ name: String) -> Bool {
        node == name || (isRemote && node.hasPrefix(name) && node.dropFirst(name.count).hasPrefix("@"))
    }
}

/// The calls of one node, without a transport: frames and the registry's view in, frames out through `transmit`.
package final class ServiceClient {
    /// How often a server with calls in flight is asked for a sign of life: 250 ms.
    package static let heartbeatNanoseconds: Int64 = 250_000_000
    /// How long it may owe the answer: one second.
    package static let silenceNanoseconds: Int64 = 1_000_000_000
    /// The most calls that may be under way.
    package static let maximumCalls = 65_536

    private struct Call {
        var machine: ClientCallStateMachine
        var server: ServerInfo?
        let service: String
        let method: String
        let request: [UInt8]
        let options: CallOptions
        let onEvent: (CallEvent) -> Void
    }

    private struct Peer {
        var calls: Set<UInt64> = []
        var nextPing: Int64
        /// When the first ping went out that nothing has followed.
        var askedAt: Int64?
    }

    /// Sends to a node; false when it cannot.
    private let transmit: (ServerInfo, ServiceFrame, UnsafeRawBufferPointer) -> Bool
    private var calls: [UInt64: Call] = [:]
    private var peers: [String: Peer] = [:]
    private var servers: [ServerInfo] = []
    private var lastCall: UInt64 = 0
    package private(set) var statistics = ServiceStatistics()
    /// When ``advance(_:)`` is needed at the latest, monotonic nanoseconds.
    package private(set) var nextTick: Int64 = .max

    package init(transmit: @escaping (ServerInfo, ServiceFrame, UnsafeRawBufferPointer) -> Bool) {
        self.transmit = transmit
    }

    package var callCount: Int { calls.count }
    /// The nodes with calls in flight.
    package var busyNodes: Set<String> { Set(peers.keys) }

    package func call(
        _ service: String, _ method: String, _ request: UnsafeRawBufferPointer, _ options: CallOptions,
        maximumRequestSize: Int, now: Int64, onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID {
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
        lastCall += 1
        statistics.callsMade += 1
        // Whether it streams is the server's to say; the client takes what comes in order, within its window.
        var machine = ClientCallStateMachine(options, isStreaming: true, now: now)
        var refusal: CallStatus?
        if request.count > maximumRequestSize {
            refusal = CallStatus(
                .resourceExhausted, "a request of \(request.count) bytes is over the limit of \(maximumRequestSize)")
        } else if calls.count >= Self.maximumCalls {
            refusal = CallStatus(.resourceExhausted, "this node has \(Self.maximumCalls) calls under way")
        }
        let id = lastCall
        if let refusal {
            _ = machine.fail(refusal)
            onEvent(.end(refusal))
            return CallID(rawValue: id)
        }
        calls[id] = Call(
            machine: machine, server: nil, service: service, method: method, request: [UInt8](request),
            options: options, onEvent: onEvent)
        nextTick = min(nextTick, machine.nextTick)
        place(id, now)
        return CallID(rawValue: id)
    }

    package func cancel(_ id: CallID) { apply(id.rawValue, 0) { $0.cancel() } }

    package func grant(_ id: CallID, _ messages: Int) { apply(id.rawValue, 0) { $0.consumed(messages) } }

    /// Ends every call; the node leaves.
    package func close() {
        for id in calls.keys.sorted() { cancel(CallID(rawValue: id)) }
    }

    /// What the registry says: calls to nodes that are gone end, waiting ones find their server.
    package func serversChanged(_ servers: [ServerInfo], now: Int64) {
        // Those of this host come first.
        self.servers = servers.sorted { $0.isRemote == $1.isRemote ? $0.node < $1.node : $1.isRemote }
        for id in calls.keys.sorted() {
            guard let call = calls[id] else { continue }
            if let server = call.server,
                !servers.contains(where: { $0.node == server.node && $0.bootID == server.bootID })
            {
                lose(id, "node '\(server.node)' died or left", now)
            } else if call.machine.isWaiting {
                place(id, now)
            }
        }
    }

    /// A frame of `node`; `payload` is made only for frames that carry one.
    package func receive(_ frame: ServiceFrame, _ payload: Payload, from node: String, now: Int64) {
        peers[node]?.askedAt = nil
        if frame.kind == .goodbye { return peerLost(node, "node '\(node)' shut down", now) }
        guard let call = calls[frame.call], call.server?.node == node else { return }
        let limit = call.options.maximumResponseSize
        switch frame.kind {
        case .response:
            apply(frame.call, now, payload) {
                $0.response(sequence: frame.sequence, size: payload.count, limit: limit)
            }
            if call.options.grantsAutomatically { apply(frame.call, now) { $0.consumed(1) } }
        case .end:
            let sequence = frame.hasResponse ? frame.sequence : nil
            apply(frame.call, now, payload) {
                $0.ended(frame.status, sequence: sequence, size: payload.count, limit: limit, now: now)
            }
        default: return
        }
    }

    package func rejected() { statistics.malformed += 1 }

    /// Ends or retries what `node` was asked.
    package func peerLost(_ node: String, _ reason: String, _ now: Int64) {
        for id in (peers[node]?.calls ?? []).sorted() { lose(id, reason, now) }
        peers[node] = nil
    }

    /// Deadlines, back-off and heartbeats; call it after all that arrived was taken in.
    package func advance(_ now: Int64) {
        guard now >= nextTick else { return }
        for node in peers.keys.sorted() {
            guard let peer = peers[node] else { continue }
            if let askedAt = peer.askedAt, now - askedAt >= Self.silenceNanoseconds {
                peerLost(node, "node '\(node)' has not answered for a second", now)
            } else if now >= peer.nextPing, let id = peer.calls.first, let server = calls[id]?.server {
                peers[node]?.nextPing = now + Self.heartbeatNanoseconds
                peers[node]?.askedAt = peer.askedAt ?? now
                _ = transmit(server, ServiceFrame(.ping), UnsafeRawBufferPointer(start: nil, count: 0))
            }
        }
        for id in calls.keys.sorted() {
            apply(id, now) { $0.tick(now: now) }
            if calls[id]?.machine.isWaiting == true { place(id, now) }
        }
        nextTick = min(
            calls.values.reduce(.max) { min($0, $1.machine.nextTick) },
            peers.values.reduce(.max) { earliest, peer in
                min(earliest, peer.nextPing, peer.askedAt.map { $0 + Self.silenceNanoseconds } ?? .max)
            })
    }

    private func place(_ id: UInt64, _ now: Int64) {
        guard let call = calls[id], call.machine.isWaiting else { return }
        let found = servers.first { server in
            call.options.node.map(server.isCalled) ?? server.services.contains { $0.name == call.service }
        }
        guard let found else { return }
        calls[id]?.server = found
        apply(id, now) { $0.serverFound(now: now) }
    }

    private func lose(_ id: UInt64, _ reason: String, _ now: Int64) {
        apply(id, now) { $0.serverLost(now: now, CallStatus(.unavailable, reason)) }
    }

    private func apply(
        _ id: UInt64, _ now: Int64, _ payload: Payload? = nil,
        _ event: (inout ClientCallStateMachine) -> [ClientCallStateMachine.Effect]
    ) {
        guard var call = calls[id] else { return }
        let effects = event(&call.machine)
        let server = call.server
        if !call.machine.isInFlight {
            if let server { leave(server.node, id) }
            call.server = nil
        }
        calls[id] = call.machine.hasEnded ? nil : call
        nextTick = min(nextTick, call.machine.nextTick)
        for effect in effects {
            switch effect {
            case .sendRequest(let timeout, let credit): sendRequest(id, call, timeout, credit, now)
            case .sendCancel: send(ServiceFrame(.cancel, call: id), to: server)
            case .sendCredit(let count):
                var frame = ServiceFrame(.credit, call: id)
                frame.credit = UInt64(count)
                if !send(frame, to: server) {
                    apply(id, now) { $0.fail(CallStatus(.resourceExhausted, "the server does not read its socket")) }
                }
            case .deliver: if let payload { call.onEvent(.response(payload)) }
            case .end(let status): call.onEvent(.end(status))
            }
        }
    }

    private func sendRequest(_ id: UInt64, _ call: Call, _ timeout: Int64, _ credit: Int, _ now: Int64) {
        guard let server = call.server else { return }
        if call.machine.attempts > 1 { statistics.retries += 1 }
        var frame = ServiceFrame(.request, call: id)
        (frame.service, frame.method, frame.metadata) = (call.service, call.method, call.options.metadata)
        (frame.timeoutNanoseconds, frame.credit) = (UInt64(timeout), UInt64(credit))
        (frame.isIdempotent, frame.serverBootID) = (call.options.isIdempotent, server.bootID)
        if peers[server.node] == nil { peers[server.node] = Peer(nextPing: now + Self.heartbeatNanoseconds) }
        peers[server.node]?.calls.insert(id)
        nextTick = min(nextTick, peers[server.node]?.nextPing ?? .max)
        let wasSent = call.request.withUnsafeBytes { transmit(server, frame, $0) }
        if !wasSent { lose(id, "node '\(server.node)' does not take the request", now) }
    }

    @discardableResult
    private func send(_ frame: ServiceFrame, to server: ServerInfo?) -> Bool {
        server.map { transmit($0, frame, UnsafeRawBufferPointer(start: nil, count: 0)) } ?? false
    }

    private func leave(_ node: String, _ id: UInt64) {
        peers[node]?.calls.remove(id)
        if peers[node]?.calls.isEmpty == true { peers[node] = nil }
    }
}
