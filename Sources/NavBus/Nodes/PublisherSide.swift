internal import CZeroMQ

/// The sending half of a ``BusNode``: an XPUB socket around an ``Outbox``.
///
/// The socket refuses a message when some subscriber's queue has no room (`ZMQ_XPUB_NODROP`), so that drops are counted
/// here, too. The message then goes to the subscribers with room, and libzmq skips the full queue until it has been
/// read. Messages published until then count as dropped, and the last values of latched topics are sent again when the
/// subscriber has caught up.
final class PublisherSide {
    // Unchecked exclusivity for the same reason as in SubscriberSide.
    @exclusivity(unchecked) private(set) var outbox: Outbox
    private let socket: ZeroMQSocket
    private let endpoint: String
    /// The listener for subscribers of other hosts, when the node has one.
    private let listener: HostListener?
    private let remote: ZeroMQSocket?
    private let addresses: [AcceptedConnections.Address]
    private let scratch = MessageBuffer.empty()
    @exclusivity(unchecked) private var lastService: Int64 = 0
    /// Whether a use of the socket may have consumed subscriptions, in which case the descriptor does not signal them.
    @exclusivity(unchecked) private var hasSent = false

    /// The bytes of payloads over ``largeSize`` that wait for subscribers; the high-water mark limits smaller ones.
    private let queuedBytes = QueuedBytes()
    private let maximumQueuedBytes: Int
    private let largeSize: Int
    private var stuck = StuckConnections()
    /// The connections that have had unread bytes since a queue was found full; nil while no queue is full.
    @exclusivity(unchecked) private var late: [UInt64]?
    /// Whether a queue was found full since ``late`` was last updated.
    private var isLateStale = false
    /// The time of the next check of the queues, in monotonic nanoseconds; `.max` while all have room.
    @exclusivity(unchecked) private var nextSample: Int64 = .max
    /// The number of subscriber connections that were ended because the subscriber took nothing.
    private(set) var stuckSubscribers: UInt64 = 0

    /// Readable when a subscriber joins or leaves, see ``ZeroMQSocket/fileDescriptor()``.
    let fileDescriptor: Int32

    /// The size from which sharing a payload between sockets, or with the message it came in, costs less than copying it:
    /// 16 KiB, as measured.
    private static let sharedSize = 16_384

    /// The longest time that a busy publisher runs without checking for new subscribers: 10 ms.
    ///
    /// A check is a system call, which at 1 kHz would be one per message.
    private static let serviceInterval: Int64 = 10_000_000

    /// The longest delay for a subscriber that subscribed just before the node slept: 50 ms.
    ///
    /// A shorter time would make each wait set a timer that expires before the kernel's own, which costs more than the wait.
    private static let patience: Int64 = 50_000_000

    /// The largest subscription accepted from a peer, in bytes: a topic's frame with room to spare.
    private static let maximumSubscriptionSize: Int64 = 1024

    init(
        in context: ZeroMQContext, path: String, bootID: UInt64, _ configuration: BusConfiguration,
        listener: HostListener?
    ) throws(ZeroMQError) {
        (self.listener, remote) = (listener, listener?.publisher)
        addresses = [.unix(path: path)] + (listener.map { [.tcp(port: $0.endpoint.publisherPort)] } ?? [])
        outbox = Outbox(node: bootID)
        maximumQueuedBytes = configuration.maximumQueuedBytes
        largeSize = maximumQueuedBytes / Int(configuration.sendHighWaterMark)
        socket = try ZeroMQSocket(.publisher, in: context)
        // XPUB then reports every subscription and its end, not only the first and last of a topic.
        try socket.set(ZMQ_XPUB_VERBOSER, 1)
        try socket.set(ZMQ_XPUB_NODROP, 1)
        try remote?.set(ZMQ_XPUB_NODROP, 1)
        try socket.set(ZMQ_SNDHWM, configuration.sendHighWaterMark)
        try socket.set(ZMQ_LINGER, configuration.lingerMilliseconds)
        try socket.set(ZMQ_MAXMSGSIZE, wide: Self.maximumSubscriptionSize)
        endpoint = "ipc://" + path
        try socket.bind(endpoint)
        fileDescriptor = try socket.fileDescriptor()
    }

    /// Makes the socket's file again after it was removed; existing connections continue.
    func bindAgain() throws(BusError) {
        hasSent = true
        do throws(ZeroMQError) {
            try socket.bind(endpoint)
        } catch {
            throw error.asBusError
        }
    }

    func advertise(_ topic: TopicDescription) throws(BusError) -> Publication { try outbox.advertise(topic) }

    func withdrawLast() { outbox.withdrawLast() }

    func clearLatched(_ publication: Publication) throws(BusError) { try outbox.clearLatched(publication) }

    @inline(__always)
    func publish(
        _ payload: UnsafeRawBufferPointer, of received: Payload? = nil, on publication: Publication,
        stampNanoseconds: Int64
    ) throws(BusError) {
        let now = Clocks.monotonic()
        let header = try outbox.stamp(publication, payload, stampNanoseconds, now: now)
        hasSent = true
        let isComplete: Bool
        do throws(ZeroMQError) {
            isComplete =
                payload.count > largeSize || payload.count > Self.sharedSize && (received != nil || remote != nil)
                ? try sendShared(publication.index, header, payload, of: received, now)
                : try send(publication.index, header, .copied(payload), now)
        } catch {
            throw error.asBusError
        }
        if !isComplete || late != nil { outbox.missed(publication.index) }
        if now - lastService > Self.serviceInterval { try service(now) }
    }

    /// Checks for subscriptions that a send may have consumed, at most once in ``serviceInterval``.
    ///
    /// - Returns: the time when it must be called again without a signal; `.max` when there is no need.
    func beforeWaiting(_ now: Int64) throws(BusError) -> Int64 {
        let isDue = hasSent || now >= nextSample || outbox.hasResends
        if isDue, now - lastService >= Self.serviceInterval { try service(now) }
        // A check that is due earlier than the next service waits for it.
        let sample = max(nextSample, lastService + Self.serviceInterval)
        return min(hasSent || outbox.hasResends ? now + Self.patience : .max, sample)
    }

    /// Handles new and ended subscriptions, sends last values to new subscribers, and resends those that did not reach
    /// all.
    ///
    /// XPUB cannot address one subscriber, so all get the value again and drop it as a duplicate by its sequence.
    func service(_ now: Int64 = Clocks.monotonic()) throws(BusError) {
        lastService = now
        hasSent = false
        do throws(ZeroMQError) {
            try service(socket, now)
            if let listener, let remote {
                try service(remote, now)
                try listener.answerWatchers(now)
            }
            if now >= nextSample { watchQueues(now) }
            for index in outbox.resends where late == nil {
                if try sendLatched(index, on: nil, now) { outbox.paid(index) }
            }
        } catch {
            throw error.asBusError
        }
    }

    private func service(_ socket: ZeroMQSocket, _ now: Int64) throws(ZeroMQError) {
        var wanted: [Int] = []
        while try socket.receive(into: scratch.pointer) {
            for index in outbox.subscriptionChanged(scratch.bytes) where !wanted.contains(index) {
                wanted.append(index)
            }
            if let key = Probe.key(inSubscription: scratch.bytes) { try answerProbe([UInt8](key), on: socket) }
        }
        for index in wanted where try !sendLatched(index, on: socket, now) { outbox.missed(index) }
    }

    /// Sends the last value of a latched topic again, to the subscribers of one socket or of all.
    ///
    /// - Returns: false when some subscriber did not get it.
    private func sendLatched(_ index: Int, on socket: ZeroMQSocket?, _ now: Int64) throws(ZeroMQError) -> Bool {
        guard let latched = outbox.latched(index) else { return true }
        hasSent = true
        return try latched.payload.withUnsafeBufferPointer { payload throws(ZeroMQError) in
            let bytes = UnsafeRawBufferPointer(payload)
            guard hasRoom(for: bytes, now) else { return false }
            guard let socket else { return try send(index, latched.header, body(bytes), now) }
            return try send(outbox.key(index), latched.header, body(bytes), on: socket, now)
        }
    }

    private func answerProbe(_ key: [UInt8], on socket: ZeroMQSocket) throws(ZeroMQError) {
        let header = MessageHeader(sequence: 1, stampNanoseconds: 0, bootID: outbox.node, schemaFingerprint: 0)
        hasSent = true
        _ = try send(key, header, .copied(UnsafeRawBufferPointer(start: nil, count: 0)), on: socket, lastService)
    }

    // MARK: Full queues

    /// Updates which subscribers have caught up, and ends the connections that block large payloads.
    private func watchQueues(_ now: Int64) {
        let unread = AcceptedConnections.unread(at: addresses)
        if let before = late {
            // Two consecutive checks must find everything read, because a queue may be full for a moment between two
            // batches.
            let isOver = before.isEmpty && !isLateStale
            late = isOver ? nil : unread.map(\.identity).filter { isLateStale || before.contains($0) }
            isLateStale = false
        }
        if queuedBytes.count > maximumQueuedBytes / 2 {
            let ended = stuck.sample(unread: unread.map(\.identity), releaseCount: queuedBytes.releaseCount)
            for connection in unread where ended.contains(connection.identity) {
                AcceptedConnections.end(connection, at: addresses)
                stuckSubscribers &+= 1
            }
        } else {
            stuck.reset()
            if late == nil { return nextSample = .max }
        }
        nextSample = now + StuckConnections.sampleNanoseconds
    }

    // MARK: Frames

    /// A payload on its way to libzmq.
    private enum Body {
        case copied(UnsafeRawBufferPointer)
        case shared(SharedPayload)
    }

    /// Returns the form in which a payload is sent; a large one is copied once for all connections and counted.
    private func body(_ payload: UnsafeRawBufferPointer) -> Body {
        guard payload.count > min(largeSize, remote == nil ? .max : Self.sharedSize),
            let shared = SharedPayload(copying: payload, countedBy: counter(of: payload))
        else { return .copied(payload) }
        return .shared(shared)
    }

    private func counter(of payload: UnsafeRawBufferPointer) -> QueuedBytes? {
        payload.count > largeSize ? queuedBytes : nil
    }

    /// Sends a payload without a copy per socket, unless it is large and too many bytes wait already.
    ///
    /// - Returns: false when some subscriber did not get it.
    @inline(never)
    private func sendShared(
        _ index: Int, _ header: MessageHeader, _ payload: UnsafeRawBufferPointer, of received: Payload?, _ now: Int64
    ) throws(ZeroMQError) -> Bool {
        guard hasRoom(for: payload, now) else { return false }
        let forwarded = received.map { Body.shared(SharedPayload(forwarding: $0, countedBy: counter(of: payload))) }
        return try send(index, header, forwarded ?? body(payload), now)
    }

    /// Whether the waiting bytes leave room for a payload; one always fits when none waits.
    private func hasRoom(for payload: UnsafeRawBufferPointer, _ now: Int64) -> Bool {
        guard payload.count > largeSize, queuedBytes.count >= maximumQueuedBytes else { return true }
        nextSample = min(nextSample, now)
        return false
    }

    /// Sends a message to the subscribers of this host and of others.
    ///
    /// - Returns: false when some subscriber's queue had no room for it.
    @inline(__always)
    private func send(
        _ index: Int, _ header: MessageHeader, _ body: Body, _ now: Int64
    ) throws(ZeroMQError) -> Bool {
        let isComplete = try send(outbox.key(index), header, body, on: socket, now)
        guard let remote else { return isComplete }
        return try send(outbox.key(index), header, body, on: remote, now) && isComplete
    }

    @inline(__always)
    private func send(
        _ key: [UInt8], _ header: MessageHeader, _ body: Body, on socket: ZeroMQSocket, _ now: Int64
    ) throws(ZeroMQError) -> Bool {
        guard let error = key.withUnsafeBytes({ socket.send($0, more: true) }) else {
            try sendRest(header, body, on: socket)
            return true
        }
        guard error.code == .again else { throw error }
        try sendPastFullQueues(key, header, body, on: socket, now)
        return false
    }

    /// Sends the remaining frames, which fit if the first one did.
    @inline(__always)
    private func sendRest(_ header: MessageHeader, _ body: Body, on socket: ZeroMQSocket) throws(ZeroMQError) {
        let error = withUnsafeTemporaryAllocation(byteCount: MessageHeader.encodedSize, alignment: 8) { frame in
            header.encode(into: frame)
            return socket.send(UnsafeRawBufferPointer(frame), more: true)
        }
        if let error { throw error }
        switch body {
        case .copied(let payload): if let error = socket.send(payload, more: false) { throw error }
        case .shared(let payload): if let error = socket.send(payload) { throw error }
        }
    }

    /// Sends a message to the subscribers that have room for it, and notes that some are late.
    @inline(never)
    private func sendPastFullQueues(
        _ key: [UInt8], _ header: MessageHeader, _ body: Body, on socket: ZeroMQSocket, _ now: Int64
    ) throws(ZeroMQError) {
        try socket.set(ZMQ_XPUB_NODROP, 0)
        // Also after an error, because otherwise later drops would not be detected.
        defer { try? socket.set(ZMQ_XPUB_NODROP, 1) }
        if let error = key.withUnsafeBytes({ socket.send($0, more: true) }) { throw error }
        try sendRest(header, body, on: socket)
        // Listed by the next check rather than here: under a flood, a queue is found full thousands of times a second.
        (late, isLateStale) = (late ?? [], true)
        nextSample = min(nextSample, now + StuckConnections.sampleNanoseconds)
    }
}
