/// A node's place on the bus: what it publishes, what it subscribes to, and what has arrived.
///
/// One thread uses a node, in a loop around ``poll(timeout:)``. ``BusNode`` is the bus between processes; the tests have one that
/// behaves alike inside one process, without sockets, threads or waiting.
///
/// A node hears its own topics when it subscribes to them.
public protocol Bus: AnyObject {
    /// The node's name, unique among the live nodes of its domain.
    var name: String { get }

    /// Random for each start of the node, the `boot_id` of every header it sends.
    var bootID: UInt64 { get }

    /// The node's counts since it started.
    var statistics: BusStatistics { get }

    /// Starts publishing a topic and tells everybody.
    func advertise(_ topic: TopicDescription) throws(BusError) -> Publication

    /// Publishes one message. It never waits: for a subscriber that is too slow the message is lost, and counted there.
    ///
    /// - Parameters:
    ///   - payload: the encoded message, at most the topic's `maximumPayloadSize` bytes.
    ///   - stampNanoseconds: when the content was true, nanoseconds UTC.
    func publish(
        _ payload: UnsafeRawBufferPointer, on publication: Publication, stampNanoseconds: Int64
    ) throws(BusError)

    /// Publishes a payload that was received, as a relay does; the bytes of a large one are shared and not copied.
    func publish(_ payload: Payload, on publication: Publication, stampNanoseconds: Int64) throws(BusError)

    /// Forgets the last value of a latched topic: who subscribes later gets nothing before the next message.
    func clearLatched(_ publication: Publication) throws(BusError)

    /// Returns the number of subscriptions to a publication's topic now.
    func subscriberCount(of publication: Publication) throws(BusError) -> Int

    /// Subscribes to one topic, whoever publishes it, now or later.
    ///
    /// - Parameter maximumPayloadSize: larger payloads, in bytes, are rejected and counted.
    func subscribe(to topic: String, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID

    /// Subscribes to every topic that `filter` takes, as it appears; each gets a queue of its own.
    func subscribe(matching filter: TopicFilter, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID

    /// Ends a subscription and drops what it had queued.
    func unsubscribe(_ subscription: SubscriptionID) throws(BusError)

    /// The oldest message that has arrived; waits at most `timeout` for one, without end when it is nil.
    ///
    /// Latched values reach late joiners and new publishers are found while the node polls (or publishes).
    ///
    /// - Returns: nil when the time is over, when a waker woke the node, or when a signal arrived, so that the caller
    ///   can look at its stop flag.
    func poll(timeout: Duration?) throws(BusError) -> Delivery?

    /// The counts of services on this node.
    var serviceStatistics: ServiceStatistics { get }

    /// Serves a service and announces it; `handler` is called for each call while the node polls, and answers then or
    /// later.
    func serve(_ service: ServiceDescription, handler: @escaping (ServerCall) -> Void) throws(BusError)

    /// Starts a call; `onEvent` is called while the node polls (at once for a request over the limit), last with
    /// the end, and the deadline sees to it that there is one.
    func call(
        _ service: String, _ method: String, _ request: UnsafeRawBufferPointer, options: CallOptions,
        onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID

    /// Whether a service is known to be served now, by a node of a name or, when nil, by any.
    func isServed(_ service: String, by node: String?) throws(BusError) -> Bool

    /// Gives a call up: it ends as cancelled at once, and the server is told. A call that is over is left alone.
    func cancel(_ call: CallID) throws(BusError)

    /// Lets the server of a stream send `messages` more, when ``CallOptions/grantsAutomatically`` is false.
    func grant(_ call: CallID, messages: Int) throws(BusError)

    /// One turn of the loop that serves calls and leaves topics' messages in their queues.
    func runServices(timeout: Duration) throws(BusError)

    /// A handle for other threads to end a wait with.
    func makeWaker() -> Waker

    /// Leaves the bus and frees the name. Further calls throw ``BusError/Code/closed``.
    func close()
}

extension Bus {
    /// Publishes an array's bytes.
    public func publish(_ payload: [UInt8], on publication: Publication, stampNanoseconds: Int64) throws(BusError) {
        let result: Result<Void, BusError> = payload.withUnsafeBytes { bytes in
            do throws(BusError) {
                return .success(try publish(bytes, on: publication, stampNanoseconds: stampNanoseconds))
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Publishes a received payload as any other bytes; a bus that can share them does better.
    public func publish(_ payload: Payload, on publication: Publication, stampNanoseconds: Int64) throws(BusError) {
        try payload.withUnsafeBytes { bytes throws(BusError) in
            try publish(bytes, on: publication, stampNanoseconds: stampNanoseconds)
        }
    }

    /// Subscribes to one topic; payloads of up to 1 MiB.
    public func subscribe(to topic: String, qos: QoS = .keepLast(64)) throws(BusError) -> SubscriptionID {
        try subscribe(to: topic, qos: qos, maximumPayloadSize: 1 << 20)
    }
}

extension Bus {
    /// Starts a call with an array's bytes, see ``call(_:_:_:options:onEvent:)``.
    public func call(
        _ service: String, _ method: String, _ request: [UInt8], options: CallOptions,
        onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID {
        let result: Result<CallID, BusError> = request.withUnsafeBytes { bytes in
            do throws(BusError) {
                return .success(try call(service, method, bytes, options: options, onEvent: onEvent))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Calls and waits for the end, serving others meanwhile; for tools and start-up, not for a node's loop.
    ///
    /// - Returns: the responses in order, one when the call is unary and went well, and how it ended.
    public func callBlocking(
        _ service: String, _ method: String, _ request: [UInt8], options: CallOptions
    ) throws(BusError) -> (responses: [Payload], status: CallStatus) {
        var responses: [Payload] = []
        var status: CallStatus?
        _ = try call(service, method, request, options: options) { event in
            switch event {
            case .response(let payload): responses.append(payload)
            case .end(let end): status = end
            }
        }
        while true {
            if let status { return (responses, status) }
            try runServices(timeout: .milliseconds(100))
        }
    }
}

extension BusError {
    package static func closed(_ node: String) -> BusError {
        BusError(.closed, "node '\(node)' was closed: make a new one")
    }

    package static func unknownSubscription(_ node: String) -> BusError {
        BusError(.unknownHandle, "the subscription is not, or no longer, one of node '\(node)'")
    }
}

extension BusStatistics {
    /// Brings both sides' figures of each topic together, by name.
    package init(inbox: Inbox, outbox: Outbox) {
        var merged: [String: TopicStatistics] = [:]
        for topic in inbox.statistics { merged[topic.topic] = topic }
        for topic in outbox.statistics {
            var both = merged[topic.topic] ?? TopicStatistics(topic: topic.topic)
            both.published = topic.published
            both.publishedBytes = topic.publishedBytes
            both.lastPublishedNanoseconds = topic.lastPublishedNanoseconds
            both.subscribers = topic.subscribers
            both.rejected += topic.rejected
            both.dropped += topic.dropped
            merged[topic.topic] = both
        }
        self.init(
            topics: merged.values.sorted { $0.topic < $1.topic },
            unattributedRejections: inbox.unattributedRejections)
    }
}
