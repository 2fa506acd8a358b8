/// The services of one node, without a transport: frames of clients in, frames out through `transmit`.
package final class ServiceServer {
    /// A call: its client's address and the number that client gave it.
    struct Key: Hashable, Sendable {
        let client: [UInt8]
        let call: UInt64
    }

    /// How long a client with calls may be silent (it asks for signs of life every 250 ms): three seconds.
    package static let silenceNanoseconds: Int64 = 3_000_000_000

    private struct Service {
        let description: ServiceDescription
        let handler: (ServerCall) -> Void
        var running = 0
    }

    private struct Call {
        var machine: ServerCallStateMachine
        let context: ServerCall
    }

    private struct Client {
        var calls: Set<UInt64> = []
        var heardAt: Int64
    }

    /// Sends to a client; false when it is gone or does not read.
    private let transmit: ([UInt8], ServiceFrame, UnsafeRawBufferPointer) -> Bool
    private let bootID: UInt64
    private let maximumResponseSize: Int
    private var services: [String: Service] = [:]
    private var calls: [Key: Call] = [:]
    private var clients: [[UInt8]: Client] = [:]
    let mailbox: ResponderMailbox
    package private(set) var statistics = ServiceStatistics()
    /// When ``advance(_:)`` is needed at the latest, monotonic nanoseconds.
    package private(set) var nextTick: Int64 = .max

    init(
        bootID: UInt64, waker: Waker, maximumResponseSize: Int,
        transmit: @escaping ([UInt8], ServiceFrame, UnsafeRawBufferPointer) -> Bool
    ) {
        self.bootID = bootID
        self.maximumResponseSize = maximumResponseSize
        self.transmit = transmit
        mailbox = ResponderMailbox(waker)
    }

    /// What is served, by name.
    package var descriptions: [ServiceDescription] { services.values.map(\.description).sorted { $0.name < $1.name } }

    package var callCount: Int { calls.count }

    func serve(_ description: ServiceDescription, _ handler: @escaping (ServerCall) -> Void) throws(BusError) {
        try description.check()
        guard services[description.name] == nil, services.count < ServiceDescription.maximumServices else {
            throw BusError(
                .topicConflict,
                "this node already serves '\(description.name)', or \(ServiceDescription.maximumServices) services")
        }
        services[description.name] = Service(description: description, handler: handler)
    }

    func withdraw(_ name: String) { services[name] = nil }

    // MARK: From clients

    package func receive(_ frame: ServiceFrame, _ payload: Payload, from client: [UInt8], now: Int64) {
        clients[client]?.heardAt = now
        let key = Key(client: client, call: frame.call)
        switch frame.kind {
        case .request: request(frame, payload, key, now)
        case .cancel: apply(key) { $0.cancelled() }
        case .credit: apply(key) { $0.granted(frame.credit) }
        case .ping: send(ServiceFrame(.pong), to: client)
        case .goodbye: drop(client)
        case .response, .end, .pong, .watch, .announcement: statistics.malformed += 1
        }
    }

    package func rejected() { statistics.malformed += 1 }

    private func request(_ frame: ServiceFrame, _ payload: Payload, _ key: Key, _ now: Int64) {
        // A number in use is a broken client; its first call goes on.
        guard calls[key] == nil else { return rejected() }
        guard frame.serverBootID == 0 || frame.serverBootID == bootID else {
            return refuse(key, .unavailable, "the request was for an earlier life of this node")
        }
        guard let service = services[frame.service] else {
            return refuse(key, .unimplemented, "this node does not serve '\(frame.service.prefix(200))'")
        }
        let description = service.description
        guard let method = description.methods.first(where: { $0.name == frame.method }) else {
            return refuse(key, .unimplemented, "'\(description.name)' has no method '\(frame.method.prefix(200))'")
        }
        guard payload.count <= description.maximumRequestSize else {
            return refuse(
                key, .resourceExhausted,
                "a request of \(payload.count) bytes is over the limit of \(description.maximumRequestSize)")
        }
        guard service.running < description.maximumConcurrentCalls else {
            return refuse(
                key, .resourceExhausted, "'\(description.name)' has \(service.running) calls running, its limit")
        }
        guard frame.timeoutNanoseconds > 0 else { return refuse(key, .invalidArgument, "a request needs a timeout") }
        let machine = ServerCallStateMachine(
            isStreaming: method.isServerStreaming, timeoutNanoseconds: frame.timeoutNanoseconds,
            credit: frame.credit, now: now)
        let context = ServerCall(self, key, frame, payload, machine.deadline)
        calls[key] = Call(machine: machine, context: context)
        clients[key.client, default: Client(heardAt: now)].calls.insert(key.call)
        services[frame.service]?.running += 1
        statistics.callsServed += 1
        nextTick = min(nextTick, machine.deadline, now + Self.silenceNanoseconds)
        service.handler(context)
    }

    private func refuse(_ key: Key, _ code: StatusCode, _ message: String) {
        statistics.callsRefused += 1
        send(ServiceFrame(end: key.call, CallStatus(code, message)), to: key.client)
    }

    private func drop(_ client: [UInt8]) {
        for call in (clients[client]?.calls ?? []).sorted() {
            apply(Key(client: client, call: call)) { $0.cancelled() }
        }
        clients[client] = nil
    }

    // MARK: From handlers

    func isOpen(_ key: Key) -> Bool { calls[key] != nil }

    func credit(_ key: Key) -> Int { calls[key].map { Int($0.machine.credit) } ?? 0 }

    func send(_ key: Key, _ bytes: [UInt8]) -> Bool {
        guard bytes.count <= maximumResponseSize else { return tooLarge(key, bytes.count) }
        return apply(key, bytes) { $0.send() }
    }

    func finish(_ key: Key, _ bytes: [UInt8]) -> Bool {
        guard bytes.count <= maximumResponseSize else { return tooLarge(key, bytes.count) }
        return apply(key, bytes) { $0.finishWithResponse() }
    }

    func finish(_ key: Key, _ status: CallStatus) -> Bool { apply(key) { $0.finish(status) } }

    private func tooLarge(_ key: Key, _ count: Int) -> Bool {
        let reason = "a response of \(count) bytes is over the server's limit of \(maximumResponseSize)"
        return finish(key, CallStatus(.resourceExhausted, reason))
    }

    // MARK: Time

    /// Deadlines, silent clients and answers of other threads; call it after all that arrived was taken in.
    package func advance(_ now: Int64) {
        for (key, answer) in mailbox.take() {
            switch answer {
            case .response(let bytes): _ = finish(key, bytes)
            case .status(let status): _ = finish(key, status)
            }
        }
        guard now >= nextTick else { return }
        for (client, state) in clients.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
        where now - state.heardAt >= Self.silenceNanoseconds {
            statistics.clientsLost += 1
            drop(client)
        }
        for (key, call) in calls where now >= call.machine.deadline { apply(key) { $0.tick(now: now) } }
        nextTick = calls.values.reduce(.max) { min($0, $1.machine.deadline) }
        for client in clients.values { nextTick = min(nextTick, client.heardAt + Self.silenceNanoseconds) }
    }

    /// Ends every call as unavailable and says goodbye; `others` are clients without calls that should know as well.
    package func close(others: [[UInt8]] = []) {
        let left = Set(clients.keys).union(others)
        for key in calls.keys {
            apply(key) { machine in
                machine.finish(CallStatus(.unavailable, "the server shut down")) + [.notifyCancelled]
            }
        }
        for client in left { send(ServiceFrame(.goodbye), to: client) }
        (clients, services) = ([:], [:])
    }

    @discardableResult
    private func apply(
        _ key: Key, _ bytes: [UInt8] = [],
        _ event: (inout ServerCallStateMachine) -> [ServerCallStateMachine.Effect]
    ) -> Bool {
        guard var call = calls[key] else { return false }
        let effects = event(&call.machine)
        calls[key] = call.machine.hasEnded ? nil : call
        if call.machine.hasEnded {
            services[call.context.service]?.running -= 1
            clients[key.client]?.calls.remove(key.call)
            if clients[key.client]?.calls.isEmpty == true { clients[key.client] = nil }
        }
        var wasSent = true
        for effect in effects {
            switch effect {
            case .sendResponse(let sequence):
                var frame = ServiceFrame(.response, call: key.call)
                frame.sequence = sequence
                wasSent = send(frame, bytes, to: key.client)
            case .sendLastResponse(let sequence):
                var frame = ServiceFrame(.end, call: key.call)
                (frame.sequence, frame.hasResponse) = (sequence, true)
                wasSent = send(frame, bytes, to: key.client)
            case .sendEnd(let status): wasSent = send(ServiceFrame(end: key.call, status), to: key.client)
            case .notifyCredit: call.context.onCredit?()
            case .notifyCancelled: call.context.onCancel?()
            }
        }
        if call.machine.hasEnded { (call.context.onCredit, call.context.onCancel) = (nil, nil) }
        return wasSent && !effects.isEmpty
    }

    /// Sends or, when the client is gone or does not read, ends its calls.
    @discardableResult
    private func send(_ frame: ServiceFrame, _ bytes: [UInt8] = [], to client: [UInt8]) -> Bool {
        if bytes.withUnsafeBytes({ transmit(client, frame, $0) }) { return true }
        if clients[client] != nil {
            statistics.clientsLost += 1
            drop(client)
        }
        return false
    }
}
