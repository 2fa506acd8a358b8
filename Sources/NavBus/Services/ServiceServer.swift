internal import NavSpelling
internal import DequeModule

/// The services of one node, without a transport: it receives frames of clients and sends frames through `transmit`.
package final class ServiceServer {
    /// The deepest nesting of handlers that wait for calls of their own; further requests are refused.
    package static let maximumNesting = 16
    /// The most answers that wait for a slow client, and the most bytes of them; beyond the byte limit, only their statuses wait.
    package static let maximumWaitingAnswers = 8192
    package static let maximumWaitingBytes = 16 << 20

    final class Service {
        let description: ServiceDescription
        let handler: (ServerCall) -> Void
        let methods: [String: Bool]
        var running = 0

        init(_ description: ServiceDescription, _ handler: @escaping (ServerCall) -> Void) {
            (self.description, self.handler) = (description, handler)
            var methods: [String: Bool] = [:]
            for method in description.methods { methods[method.name] = method.isServerStreaming }
            self.methods = methods
        }
    }

    final class Client: TimerEntry {
        let address: ClientAddress
        var calls: [UInt64: ServerCall] = [:]
        var receivedAt: Int64
        /// The answers that the transport did not accept.
        var waiting: Deque<(frame: ServiceFrame, payload: [UInt8])> = []
        var waitingBytes = 0
        /// Whether a stream waits for room in the transport.
        var isBlocked = false
        var dueAt: Int64 = .max
        var heapIndex = -1

        init(_ address: ClientAddress, _ now: Int64) { (self.address, receivedAt) = (address, now) }
    }

    private let transmit: (ClientAddress, ServiceFrame, UnsafeRawBufferPointer) -> Transmission
    private let bootID: UInt64
    private let maximumResponseSize: Int
    private let clientSilence: Int64
    private var services: [String: Service] = [:]
    private var clients: [ClientAddress: Client] = [:]
    private var lastClient: Client?
    private var clientTimers = TimerHeap<Client>()
    private var callTimers = TimerHeap<ServerCall>()
    private var responders: [UInt64: ServerCall] = [:]
    private var lastSerial: UInt64 = 0
    private var nesting = 0
    private var now: Int64 = 0
    let mailbox: ResponderMailbox
    package private(set) var statistics = ServiceStatistics()

    /// The most clients remembered without a call; clients often return soon.
    private static let maximumIdleClients = 64
    /// The pause before a full transport is tried again: 2 ms.
    private static let retryNanoseconds: Int64 = 2_000_000

    package init(
        bootID: UInt64, waker: Waker, heartbeat: HeartbeatConfiguration, maximumResponseSize: Int,
        transmit: @escaping (ClientAddress, ServiceFrame, UnsafeRawBufferPointer) -> Transmission
    ) {
        self.bootID = bootID
        self.maximumResponseSize = maximumResponseSize
        self.transmit = transmit
        clientSilence = heartbeat.clientSilence
        mailbox = ResponderMailbox(waker)
    }

    package var descriptions: [ServiceDescription] { services.values.map(\.description).sorted { $0.name < $1.name } }
    package var callCount: Int { callTimers.count }
    /// The latest time at which ``advance(_:)`` must be called, in monotonic nanoseconds.
    package var nextTick: Int64 { min(callTimers.next, clientTimers.next) }

    package func serve(_ description: ServiceDescription, _ handler: @escaping (ServerCall) -> Void) throws(BusError) {
        try description.check()
        guard services[description.name] == nil else {
            throw BusError(
                .serviceConflict, "this node already serves '\(description.name)': give each service one handler")
        }
        guard services.count < ServiceDescription.maximumServices else {
            throw BusError(
                .limitReached,
                "'\(description.name)' would be one more than the \(ServiceDescription.maximumServices) services a "
                    + "node may have: serve it from another node")
        }
        services[description.name] = Service(description, handler)
    }

    func withdraw(_ name: String) { services[name] = nil }

    // MARK: From clients

    package func receive(_ frame: ServiceFrame, _ payload: Payload, from address: ClientAddress, now: Int64) {
        self.now = now
        let known = client(address)
        known?.receivedAt = now
        switch frame.kind {
        case .request: request(frame, payload, address, known)
        case .cancel: if let call = callOf(frame, known) { perform(call, call.machine.cancelled()) }
        case .credit:
            guard let call = callOf(frame, known) else { return }
            let effects = call.machine.granted(frame.credit)
            flush(call)
            perform(call, effects)
        case .ping:
            var pong = ServiceFrame(.pong)
            (pong.sequence, pong.credit) = (frame.sequence, UInt64((known?.calls.count ?? 0)) + 1)
            // While answers wait, the client must not conclude that its calls are lost.
            if let known { pong.credit += UInt64(known.waiting.count) }
            _ = transmit(address, pong, UnsafeRawBufferPointer(start: nil, count: 0))
        case .goodbye: if let known { drop(known, .none) }
        case .response, .end, .pong, .watch, .announcement: statistics.malformed += 1
        }
    }

    package func rejected() { statistics.malformed += 1 }

    @inline(__always)
    private func client(_ address: ClientAddress) -> Client? {
        if let lastClient, lastClient.address == address { return lastClient }
        let found = clients[address]
        if found != nil { lastClient = found }
        return found
    }

    private func callOf(_ frame: ServiceFrame, _ client: Client?) -> ServerCall? {
        let call = client?.calls[frame.call]
        if call == nil { statistics.strayFrames += 1 }
        return call
    }

    private func request(_ frame: ServiceFrame, _ payload: Payload, _ address: ClientAddress, _ known: Client?) {
        // A call number in use means a broken client; the first call continues.
        guard known?.calls[frame.call] == nil else { return rejected() }
        let service = services[frame.service]
        if let refusal = refusal(frame, payload.count, service) {
            statistics.callsRefused += 1
            return send(ServiceFrame(end: frame.call, refusal), address, known)
        }
        guard let service else { return }
        let client = known ?? welcome(address)
        let machine = ServerCallStateMachine(
            isStreaming: service.methods[frame.method] ?? false, timeoutNanoseconds: frame.timeoutNanoseconds,
            credit: frame.credit, now: now)
        lastSerial += 1
        let call = ServerCall(self, lastSerial, client, service, machine, frame, payload)
        client.calls[frame.call] = call
        service.running += 1
        statistics.callsServed += 1
        callTimers.set(call, machine.deadline)
        nesting += 1
        service.handler(call)
        nesting -= 1
    }

    private func refusal(_ frame: ServiceFrame, _ size: Int, _ service: Service?) -> CallStatus? {
        guard frame.serverBootID == 0 || frame.serverBootID == bootID else {
            return CallStatus(.unavailable, "the request was for an earlier run of this node")
        }
        guard let service else {
            let hint = suggestion(for: frame.service, among: services.keys.sorted(), quote: "'")
            return CallStatus(.unimplemented, "this node does not serve '\(frame.service.prefix(200))'\(hint)")
        }
        let description = service.description
        guard let isStreaming = service.methods[frame.method] else {
            let hint = suggestion(for: frame.method, among: description.methods.map(\.name), quote: "'")
            return CallStatus(
                .unimplemented, "'\(description.name)' has no method '\(frame.method.prefix(200))'\(hint)")
        }
        if let expected = frame.isStreamExpected, expected != isStreaming {
            return .shapeMismatch(description.name, frame.method, isStreaming)
        }
        guard size <= description.maximumRequestSize else {
            return CallStatus(
                .resourceExhausted, "a request of \(size) bytes is over the limit of \(description.maximumRequestSize)")
        }
        guard service.running < description.maximumConcurrentCalls else {
            return CallStatus(
                .resourceExhausted, "'\(description.name)' is at its limit of \(service.running) concurrent calls")
        }
        guard nesting < Self.maximumNesting else {
            return CallStatus(
                .resourceExhausted,
                "handlers that wait for other calls are nested \(nesting) deep: answer later instead")
        }
        guard frame.timeoutNanoseconds > 0 else { return CallStatus(.invalidArgument, "a request needs a timeout") }
        return nil
    }

    // MARK: Clients

    private func welcome(_ address: ClientAddress) -> Client {
        let client = Client(address, now)
        clients[address] = client
        lastClient = client
        clientTimers.set(client, now + clientSilence)
        return client
    }

    private func forget(_ client: Client) {
        clientTimers.remove(client)
        if clients[client.address] === client { clients[client.address] = nil }
        if lastClient === client { lastClient = nil }
    }

    /// Ends a client's calls, sending `status` if the client may still read it.
    private func drop(_ client: Client, _ status: CallStatus?) {
        statistics.answersLost += UInt64(client.waiting.count)
        client.waiting.removeAll()
        for call in client.calls.values.sorted(by: { $0.id < $1.id }) {
            if let status {
                _ = transmit(
                    client.address, ServiceFrame(end: call.id, status), UnsafeRawBufferPointer(start: nil, count: 0))
            }
            perform(call, call.machine.cancelled())
        }
        forget(client)
    }

    // MARK: From handlers

    func send(_ call: ServerCall, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= limit(call) else { return tooLarge(call, bytes.count) }
        let before = call.machine
        guard let sequence = call.machine.send() else { return false }
        var frame = ServiceFrame(.response, call: call.id)
        frame.sequence = sequence
        switch call.client.waiting.isEmpty ? transmit(call.client.address, frame, bytes) : .full {
        case .sent: return true
        case .full:
            // The handler continues when there is room, just as when there is credit.
            call.machine = before
            call.client.isBlocked = true
            clientTimers.set(call.client, now + Self.retryNanoseconds)
            return false
        case .unreachable:
            disconnect(call.client)
            return false
        }
    }

    func finish(_ call: ServerCall, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= limit(call) else { return tooLarge(call, bytes.count) }
        return perform(call, call.machine.finishWithResponse(), bytes)
    }

    @discardableResult
    func finish(_ call: ServerCall, _ status: CallStatus) -> Bool { perform(call, call.machine.finish(status)) }

    private func limit(_ call: ServerCall) -> Int { min(maximumResponseSize, call.maximumResponseSize) }

    private func tooLarge(_ call: ServerCall, _ count: Int) -> Bool {
        let reason = "a response of \(count) bytes is over the limit of \(limit(call))"
        finish(call, CallStatus(.resourceExhausted, reason))
        return false
    }

    func register(_ call: ServerCall) {
        if !call.machine.hasEnded { responders[call.serial] = call }
    }

    // MARK: Time

    /// Handles deadlines, silent clients and answers from other threads; call it after all received frames have been
    /// handled.
    package func advance(_ now: Int64) {
        self.now = now
        for (serial, answer) in mailbox.take() {
            guard let call = responders[serial] else { continue }
            call.backlog.append(answer)
            flush(call)
        }
        while let call = callTimers.due(now) {
            perform(call, call.machine.tick(now: now))
            if call.heapIndex >= 0, call.dueAt <= now { callTimers.remove(call) }
        }
        while let client = clientTimers.due(now) { check(client) }
    }

    /// Sends the answers from other threads, as far as the credit allows.
    private func flush(_ call: ServerCall) {
        while let answer = call.backlog.first, !call.machine.hasEnded {
            switch answer {
            case .message(let bytes):
                guard call.machine.credit > 0, bytes.withUnsafeBytes({ send(call, $0) }) else {
                    if !call.machine.isStreaming { finish(call, .sentStreamOnUnary) }
                    return
                }
                call.backlog.removeFirst()
                call.channel?.messageLeft(credit: Int(call.machine.credit))
            case .response(let bytes):
                call.backlog.removeFirst()
                _ = bytes.withUnsafeBytes { finish(call, $0) }
            case .status(let status):
                call.backlog.removeFirst()
                finish(call, status)
            }
        }
    }

    private func check(_ client: Client) {
        if !retry(client) { return clientTimers.set(client, now + Self.retryNanoseconds) }
        if client.isBlocked {
            client.isBlocked = false
            for call in client.calls.values.sorted(by: { $0.id < $1.id }) where call.machine.credit > 0 {
                flush(call)
                call.onCredit?()
            }
            if client.isBlocked { return }
        }
        guard client.heapIndex >= 0 else { return }
        guard now - client.receivedAt >= clientSilence else {
            return clientTimers.set(client, client.receivedAt + clientSilence)
        }
        if client.calls.isEmpty { return forget(client) }
        statistics.clientsLost += 1
        drop(client, CallStatus(.unavailable, "the client was silent for \(clientSilence / 1_000_000) ms"))
    }

    /// Sends the waiting answers; returns false while some still wait.
    private func retry(_ client: Client) -> Bool {
        while let (frame, payload) = client.waiting.first {
            switch payload.withUnsafeBytes({ transmit(client.address, frame, $0) }) {
            case .sent:
                client.waiting.removeFirst()
                client.waitingBytes -= payload.count
            case .full:
                guard now - client.receivedAt >= clientSilence else { return false }
                disconnect(client)
                return true
            case .unreachable:
                disconnect(client)
                return true
            }
        }
        return true
    }

    private func disconnect(_ client: Client) {
        guard clients[client.address] === client else { return }
        statistics.clientsLost += 1
        drop(client, nil)
    }

    /// Ends every call as unavailable and sends a goodbye, also to `others`.
    package func close(others: [ClientAddress] = []) {
        for address in others where clients[address] == nil {
            _ = transmit(address, ServiceFrame(.goodbye), UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let left = clients.values.sorted { $0.address < $1.address }
        for client in left {
            for call in client.calls.values.sorted(by: { $0.id < $1.id }) {
                perform(
                    call, call.machine.finish(CallStatus(.unavailable, "the server shut down")) + [.notifyCancelled])
            }
            send(ServiceFrame(.goodbye), client.address, client)
            forget(client)
        }
        (clients, services, lastClient, responders) = ([:], [:], nil, [:])
    }

    // MARK: Effects

    @discardableResult
    private func perform(
        _ call: ServerCall, _ effects: [ServerCallStateMachine.Effect],
        _ bytes: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> Bool {
        if effects.isEmpty { return false }
        if call.machine.hasEnded { retire(call) } else { call.channel?.creditChanged(Int(call.machine.credit)) }
        for effect in effects {
            switch effect {
            case .sendLastResponse(let sequence):
                var frame = ServiceFrame(.end, call: call.id)
                (frame.sequence, frame.hasResponse) = (sequence, true)
                deliver(frame, bytes, call.client)
            case .sendEnd(let status):
                deliver(ServiceFrame(end: call.id, status), bytes, call.client)
            case .notifyCredit: call.onCredit?()
            case .notifyCancelled: call.onCancel?()
            }
        }
        // Handlers often capture their call in these closures.
        if call.machine.hasEnded { (call.onCredit, call.onCancel) = (nil, nil) }
        return true
    }

    private func retire(_ call: ServerCall) {
        guard call.client.calls.removeValue(forKey: call.id) != nil else { return }
        callTimers.remove(call)
        call.server = nil
        call.provider.running -= 1
        call.backlog.removeAll()
        if let channel = call.channel {
            responders[call.serial] = nil
            channel.callEnded()
        }
        if call.client.calls.isEmpty, call.client.waiting.isEmpty, clients.count > Self.maximumIdleClients {
            forget(call.client)
        }
    }

    /// Sends a frame without a payload.
    private func send(_ frame: ServiceFrame, _ address: ClientAddress, _ client: Client?) {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        if let client { return deliver(frame, none, client) }
        if transmit(address, frame, none) != .sent { statistics.answersLost += 1 }
    }

    /// Sends the end of a call, or queues it until there is room.
    private func deliver(_ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, _ client: Client) {
        switch client.waiting.isEmpty ? transmit(client.address, frame, payload) : .full {
        case .sent: return
        case .unreachable:
            statistics.answersLost += 1
            disconnect(client)
        case .full:
            guard client.waiting.count < Self.maximumWaitingAnswers else {
                statistics.answersLost += 1
                return disconnect(client)
            }
            var (frame, bytes) = (frame, [UInt8](payload))
            if client.waitingBytes + bytes.count > Self.maximumWaitingBytes {
                let reason = "the client does not read: more than \(Self.maximumWaitingBytes) bytes are queued for it"
                (frame, bytes) = (ServiceFrame(end: frame.call, CallStatus(.resourceExhausted, reason)), [])
                statistics.answersLost += 1
            }
            client.waiting.append((frame, bytes))
            client.waitingBytes += bytes.count
            statistics.answersDelayed += 1
            if clients[client.address] == nil { clients[client.address] = client }
            clientTimers.set(client, now + Self.retryNanoseconds)
        }
    }
}

extension CallStatus {
    static let sentStreamOnUnary = CallStatus(.internal, "the handler sent a stream on a unary call")
}
