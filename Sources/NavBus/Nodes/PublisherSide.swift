internal import CZeroMQ

/// The sending half of a ``BusNode``: an XPUB socket around an ``Outbox``.
final class PublisherSide {
    private(set) var outbox: Outbox
    private let socket: ZeroMQSocket
    /// Where subscribers of other hosts are, when the node listens.
    private let listener: HostListener?
    private let remote: ZeroMQSocket?
    private let scratch = MessageBuffer.empty()
    private var mark: HighWaterMark
    private var lastService: Int64 = 0
    /// True while a send may have taken in what subscribers said, whose descriptor is then silent about it.
    private var hasSent = false

    /// Readable when a subscriber came or went, see ``ZeroMQSocket/fileDescriptor()``.
    let fileDescriptor: Int32

    /// How long a busy publisher may go without looking for new subscribers, in nanoseconds.
    private static let serviceInterval: Int64 = 1_000_000

    /// How long a subscriber may wait to be seen whose subscription came just before the node slept: 50 ms. Less would
    /// arm a timer in each wait that is sooner than the kernel's own, which costs more than the wait.
    private static let patience: Int64 = 50_000_000

    /// The largest subscription taken from a peer, in bytes: a topic's frame and room to spare.
    private static let maximumSubscriptionSize: Int64 = 1024

    init(
        in context: ZeroMQContext, endpoint: String, bootID: UInt64, _ configuration: BusConfiguration,
        listener: HostListener?
    ) throws(ZeroMQError) {
        (self.listener, remote) = (listener, listener?.publisher)
        outbox = Outbox(node: bootID)
        mark = HighWaterMark(messages: configuration.sendHighWaterMark, maximumBytes: configuration.maximumQueuedBytes)
        socket = try ZeroMQSocket(.publisher, in: context)
        // Verboser: every subscription and its end is reported, not only the first and last of a topic.
        try socket.set(ZMQ_XPUB_VERBOSER, 1)
        try socket.set(ZMQ_SNDHWM, configuration.sendHighWaterMark)
        try socket.set(ZMQ_LINGER, configuration.lingerMilliseconds)
        try socket.set(ZMQ_MAXMSGSIZE, wide: Self.maximumSubscriptionSize)
        try socket.bind(endpoint)
        fileDescriptor = try socket.fileDescriptor()
    }

    func advertise(_ topic: TopicDescription) throws(BusError) -> Publication { try outbox.advertise(topic) }

    func withdrawLast() { outbox.withdrawLast() }

    func clearLatched(_ publication: Publication) throws(BusError) { try outbox.clearLatched(publication) }

    @inline(__always)
    func publish(
        _ payload: UnsafeRawBufferPointer, on publication: Publication, stampNanoseconds: Int64
    ) throws(BusError) {
        let now = Clocks.monotonic()
        let header = try outbox.stamp(publication, payload, stampNanoseconds, now: now)
        if mark.observe(payload.count) { try lowerMark() }
        hasSent = true
        if let error = send(publication.index, header, payload, on: socket) { throw error.asBusError }
        if let remote, let error = send(publication.index, header, payload, on: remote) { throw error.asBusError }
        if now - lastService > Self.serviceInterval { try service(now) }
    }

    @inline(never)
    private func lowerMark() throws(BusError) {
        do throws(ZeroMQError) {
            try socket.set(ZMQ_SNDHWM, mark.messages)
            try remote?.set(ZMQ_SNDHWM, mark.messages)
        } catch {
            throw error.asBusError
        }
    }

    /// Looks for what a send may have taken in, at most once in ``serviceInterval``.
    ///
    /// - Returns: when it must be called again although the descriptor is silent; `.max` when it need not.
    func beforeWaiting(_ now: Int64) throws(BusError) -> Int64 {
        if hasSent, now - lastService > Self.serviceInterval { try service(now) }
        return hasSent ? now + Self.patience : .max
    }

    /// Learns of new and ended subscriptions, and gives new ones the last values they want.
    ///
    /// XPUB cannot address one subscriber, so all get the value again; they drop what they have seen by its sequence.
    func service(_ now: Int64 = Clocks.monotonic()) throws(BusError) {
        lastService = now
        hasSent = false
        try service(socket)
        guard let listener, let remote else { return }
        try service(remote)
        do throws(ZeroMQError) {
            try listener.answerWatchers(now)
        } catch {
            throw error.asBusError
        }
    }

    private func service(_ socket: ZeroMQSocket) throws(BusError) {
        var wanted: [Int] = []
        do throws(ZeroMQError) {
            while try socket.receive(into: scratch.pointer) {
                for index in outbox.subscriptionChanged(scratch.bytes) where !wanted.contains(index) {
                    wanted.append(index)
                }
            }
        } catch {
            throw error.asBusError
        }
        for index in wanted {
            guard let latched = outbox.latched(index) else { continue }
            hasSent = true
            let error = latched.payload.withUnsafeBytes { send(index, latched.header, $0, on: socket) }
            if let error { throw error.asBusError }
        }
    }

    @inline(__always)
    private func send(
        _ index: Int, _ header: MessageHeader, _ payload: UnsafeRawBufferPointer, on socket: ZeroMQSocket
    ) -> ZeroMQError? {
        if let error = outbox.key(index).withUnsafeBytes({ socket.send($0, more: true) }) { return error }
        let headerError = withUnsafeTemporaryAllocation(byteCount: MessageHeader.encodedSize, alignment: 8) { frame in
            header.encode(into: frame)
            return socket.send(UnsafeRawBufferPointer(frame), more: true)
        }
        return headerError ?? socket.send(payload, more: false)
    }
}
