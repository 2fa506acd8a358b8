/// A node for `async` code: topics as sequences, calls as functions, and nothing that blocks the cooperative pool.
///
/// The actor runs on the node's own thread, see ``BusExecutor``. ``close()`` ends it; a session that is let go of
/// leaves the bus by itself.
public actor BusSession {
    /// The thread; pin an actor of yours to it to use the node without a hop.
    public nonisolated let executor: BusExecutor

    private let served = ServedCalls()

    /// The executor as the runtime wants it.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Joins the bus under `name`; throws what ``BusExecutor/init(name:configuration:)`` does.
    public init(name: String, configuration: BusConfiguration) throws(BusError) {
        executor = try BusExecutor(name: name, configuration: configuration)
    }

    deinit { executor.requestStop() }

    /// The node's name.
    public nonisolated var name: String { executor.name }

    /// The node's counts since it started; empty once closed.
    public var statistics: BusStatistics { executor.withNode { $0.statistics } }

    /// The counts of services on the node.
    public var serviceStatistics: ServiceStatistics { executor.withNode { $0.serviceStatistics } }

    /// Leaves the bus and returns when the thread is done: sequences end, calls fail as cancelled, handlers are
    /// cancelled, and what is used later throws ``BusError/Code/closed``.
    public nonisolated func close() async { await executor.stop() }

    // MARK: Topics

    /// Starts publishing a topic and tells everybody.
    public func advertise(_ topic: TopicDescription) throws(BusError) -> Publication {
        try executor.withNode { node throws(BusError) in try node.advertise(topic) }
    }

    /// Publishes one message without waiting for anybody, see ``Bus/publish(_:on:stampNanoseconds:)``.
    public func publish(_ payload: [UInt8], on publication: Publication, stampNanoseconds: Int64) throws(BusError) {
        try executor.withNode { node throws(BusError) in
            try node.publish(payload, on: publication, stampNanoseconds: stampNanoseconds)
        }
    }

    /// Returns the number of subscriptions to a publication's topic now.
    public func subscriberCount(of publication: Publication) throws(BusError) -> Int {
        try executor.withNode { node throws(BusError) in try node.subscriberCount(of: publication) }
    }

    /// Subscribes to one topic; payloads over `maximumPayloadSize` bytes are rejected and counted.
    ///
    /// The subscription is there when this returns, and ends with the sequence.
    public func subscribe(
        to topic: String, qos: QoS = .keepLast(64), maximumPayloadSize: Int = 1 << 20
    ) throws(BusError) -> DeliverySequence {
        deliveries(
            of: try executor.withNode { node throws(BusError) in
                try node.subscribe(to: topic, qos: qos, maximumPayloadSize: maximumPayloadSize)
            }, depth: qos.depth)
    }

    /// Subscribes to every topic that `filter` takes, as it appears; `qos` bounds what waits of all of them together.
    public func subscribe(
        matching filter: TopicFilter, qos: QoS, maximumPayloadSize: Int = 1 << 20
    ) throws(BusError) -> DeliverySequence {
        deliveries(
            of: try executor.withNode { node throws(BusError) in
                try node.subscribe(matching: filter, qos: qos, maximumPayloadSize: maximumPayloadSize)
            }, depth: qos.depth)
    }

    private func deliveries(of id: SubscriptionID, depth: Int) -> DeliverySequence {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Delivery.self, bufferingPolicy: .bufferingNewest(depth))
        let dropped = DropCounter()
        executor.setRoute(
            of: id,
            BusExecutor.Route(
                deliver: { if case .dropped = continuation.yield($0) { dropped.increment() } },
                end: { continuation.finish() }))
        continuation.onTermination = { [weak self] termination in
            guard case .cancelled = termination, let self else { return }
            Task { await self.unsubscribe(id) }
        }
        return DeliverySequence(stream: stream, counter: dropped)
    }

    private func unsubscribe(_ id: SubscriptionID) {
        executor.setRoute(of: id, nil)
        // A closed node has no subscriptions left to end.
        try? executor.withNode { node throws(BusError) in try node.unsubscribe(id) }
    }

    // MARK: Calls

    /// Makes a unary call; cancelling the task cancels the call.
    ///
    /// - Throws: ``CallStatus`` for every end but ``StatusCode/ok``; ``BusError`` when it could not begin.
    public func call(
        _ service: String, _ method: String, _ request: [UInt8], options: CallOptions
    ) async throws -> Payload {
        let ticket = CallTicket()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                begin(service, method, request, options, ticket, continuation)
            }
        } onCancel: {
            guard let id = ticket.cancel() else { return }
            Task { await self.cancel(id) }
        }
    }

    private func begin(
        _ service: String, _ method: String, _ request: [UInt8], _ options: CallOptions, _ ticket: CallTicket,
        _ continuation: CheckedContinuation<Payload, any Error>
    ) {
        var response: Payload?
        do throws(BusError) {
            try executor.withNode { node throws(BusError) in
                let id = try node.call(service, method, request, options: options) { event in
                    switch event {
                    case .response(let payload): response = payload
                    case .end(let status):
                        if status.code == .ok, let response {
                            continuation.resume(returning: response)
                        } else {
                            let missing = CallStatus(.internal, "the server ended the call without a response")
                            continuation.resume(throwing: status.code == .ok ? missing : status)
                        }
                    }
                }
                if ticket.began(id) { try node.cancel(id) }
            }
        } catch {
            // The node throws before it takes a call, and cancels only while it is open: the continuation is unused.
            continuation.resume(throwing: error)
        }
    }

    /// Makes a call that streams; the server runs at most `options.window` messages ahead of the reader.
    ///
    /// Leaving the loop or cancelling its task cancels the call; each end but ``StatusCode/ok`` is thrown as a
    /// ``CallStatus``.
    public func stream(
        _ service: String, _ method: String, _ request: [UInt8], options: CallOptions
    ) throws(BusError) -> ResponseSequence {
        var options = options
        options.grantsAutomatically = false
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Payload.self, throwing: (any Error).self)
        let id = try executor.withNode { node throws(BusError) in
            try node.call(service, method, request, options: options) { event in
                switch event {
                case .response(let payload): continuation.yield(payload)
                case .end(let status): continuation.finish(throwing: status.code == .ok ? nil : status)
                }
            }
        }
        continuation.onTermination = { [weak self] termination in
            guard case .cancelled = termination, let self else { return }
            Task { await self.cancel(id) }
        }
        return ResponseSequence(stream: stream, session: self, id: id, batch: max(1, options.window / 2))
    }

    private func cancel(_ id: CallID) {
        // A closed node has ended its calls already.
        try? executor.withNode { node throws(BusError) in try node.cancel(id) }
    }

    func grant(_ id: CallID, _ messages: Int) {
        try? executor.withNode { node throws(BusError) in try node.grant(id, messages: messages) }
    }

    // MARK: Serving

    /// Serves a service and announces it; each call runs `handler` in a task of its own, off the node's thread.
    ///
    /// A unary method's handler returns the response. A stream's calls ``IncomingCall/send(_:)`` and returns nil, or
    /// the last message. What it throws ends the call: a ``CallStatus`` as it is, other errors as
    /// ``StatusCode/unknown``. The task is cancelled when nobody waits any more.
    public func serve(
        _ service: ServiceDescription, handler: @escaping @Sendable (IncomingCall) async throws -> [UInt8]?
    ) throws(BusError) {
        let streaming = Set(service.methods.filter(\.isServerStreaming).map(\.name))
        let served = self.served
        let begin: (ServerCall) -> Void = { [weak self] call in
            guard let self else { return }
            let number = served.add(call)
            let incoming = IncomingCall(
                session: self, number: number, service: call.service, method: call.method, request: call.request,
                metadata: call.metadata, deadlineNanoseconds: call.deadlineNanoseconds,
                isStreaming: streaming.contains(call.method))
            let task = Task {
                let answer: ServedCalls.Answer
                do {
                    answer = try await handler(incoming).map { .response($0) } ?? .status(.ok)
                } catch let status as CallStatus {
                    answer = .status(status)
                } catch {
                    answer = .status(CallStatus(error is CancellationError ? .cancelled : .unknown, "\(error)"))
                }
                await incoming.session.finish(number, answer)
            }
            call.onCancel = {
                task.cancel()
                served.end(number)
            }
            call.onCredit = { served.resume(number) }
        }
        try executor.withNode { node throws(BusError) in try node.serve(service, handler: begin) }
    }

    private func finish(_ number: Int, _ answer: ServedCalls.Answer) {
        guard let call = served[number] else { return }
        served.end(number)
        switch answer {
        case .response(let bytes): call.finish(bytes)
        case .status(let status): call.finish(status)
        }
    }

    func send(_ bytes: [UInt8], to number: Int) async throws {
        while let call = served[number], !call.isCancelled {
            if call.send(bytes) { return }
            if call.isCancelled || call.credit > 0 { break }
            await withCheckedContinuation { served.wait(number, $0) }
        }
        throw CallStatus(.cancelled, "the call was cancelled: its responses are no longer read")
    }
}
