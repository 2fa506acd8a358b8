/// A node's access to the bus: publications, subscriptions, received messages and service calls.
///
/// One thread uses a node, in a loop around ``poll(timeout:)``. ``BusNode`` is the bus between processes; the tests have an equivalent
/// within one process, without sockets, threads or waiting.
///
/// A node receives its own messages when it subscribes to their topics.
public protocol Bus: AnyObject {
    /// The node's name, unique among the live nodes of its domain.
    var name: String { get }

    /// A random number chosen at each start of the node: the `boot_id` of every header it sends.
    var bootID: UInt64 { get }

    /// The node's counts since it started.
    var statistics: BusStatistics { get }

    /// Starts publishing a topic and announces it.
    func advertise(_ topic: TopicDescription) throws(BusError) -> Publication

    /// Publishes one message without waiting; a subscriber that is too slow loses the message and counts the loss.
    ///
    /// - Parameters:
    ///   - payload: the encoded message, at most the topic's `maximumPayloadSize` bytes.
    ///   - stampNanoseconds: when the content was true, nanoseconds UTC.
    func publish(
        _ payload: UnsafeRawBufferPointer, on publication: Publication, stampNanoseconds: Int64
    ) throws(BusError)

    /// Publishes a received payload, as a relay does; a large payload is shared instead of copied.
    func publish(_ payload: Payload, on publication: Publication, stampNanoseconds: Int64) throws(BusError)

    /// Forgets the last value of a latched topic: later subscribers get nothing before the next message.
    func clearLatched(_ publication: Publication) throws(BusError)

    /// Returns the number of current subscriptions to a publication's topic.
    func subscriberCount(of publication: Publication) throws(BusError) -> Int

    /// Subscribes to one topic from any publisher, present or future.
    ///
    /// The first subscription of a node to a latched topic gets the last value. A further one, while another exists, gets the messages from then
    /// on: the last value has already been delivered, and the node does not keep it.
    ///
    /// - Parameter maximumPayloadSize: larger payloads, in bytes, are rejected and counted.
    func subscribe(to topic: String, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID

    /// Subscribes to every topic that `filter` matches, as it appears; each topic gets its own queue.
    func subscribe(matching filter: TopicFilter, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID

    /// Ends a subscription and drops what it had queued.
    func unsubscribe(_ subscription: SubscriptionID) throws(BusError)

    /// Returns the oldest message that has arrived; waits at most `timeout` for one, indefinitely when it is nil.
    ///
    /// While the node polls (or publishes), new publishers are found and late joiners get latched values.
    ///
    /// - Returns: nil on timeout, after a wake by a waker, or after a signal, so that the caller can check its stop flag.
    func poll(timeout: Duration?) throws(BusError) -> Delivery?

    /// The service counts of this node.
    var serviceStatistics: ServiceStatistics { get }

    /// Serves a service and announces it; `handler` is called for each call while the node polls, and may answer at once or later.
    func serve(_ service: ServiceDescription, handler: @escaping (ServerCall) -> Void) throws(BusError)

    /// Starts a call; `onEvent` is called while the node polls.
    ///
    /// The end is the last event, and the deadline guarantees it. A call that fails at once ends before this function returns its id: a
    /// request over the limit, a method that the server does not announce, a server that does not read, or too many calls.
    func call(
        _ service: String, _ method: String, _ request: UnsafeRawBufferPointer, options: CallOptions,
        onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID

    /// Returns whether a live node is known to serve a service: the node of the given name, or any node when nil.
    func isServed(_ service: String, by node: String?) throws(BusError) -> Bool

    /// Cancels a call, which ends as cancelled at once, and notifies the server.
    ///
    /// A call that is over is unaffected.
    func cancel(_ call: CallID) throws(BusError)

    /// Allows the server of a stream to send `messages` more, when ``CallOptions/grantsAutomatically`` is false.
    func grant(_ call: CallID, messages: Int) throws(BusError)

    /// Runs one iteration of the loop: serves calls, and leaves the messages of topics queued.
    func runServices(timeout: Duration) throws(BusError)

    /// Makes a handle with which other threads end a wait.
    func makeWaker() -> Waker

    /// Leaves the bus and frees the name; a second `close` has no effect, every other call that can throw then throws
    /// ``BusError/Code/closed``.
    ///
    /// Called in a handler, it frees the name when the bus call that runs the handler returns.
    func close()
}

extension Bus {
    /// Publishes an array's bytes.
    public func publish(_ payload: [UInt8], on publication: Publication, stampNanoseconds: Int64) throws(BusError) {
        try payload.span.withUnsafeBytes { (bytes) throws(BusError) in
            try publish(bytes, on: publication, stampNanoseconds: stampNanoseconds)
        }
    }

    /// Publishes a copy of a received payload; a bus that can share the bytes overrides this.
    public func publish(_ payload: Payload, on publication: Publication, stampNanoseconds: Int64) throws(BusError) {
        try payload.withUnsafeBytes { bytes throws(BusError) in
            try publish(bytes, on: publication, stampNanoseconds: stampNanoseconds)
        }
    }

    /// Subscribes to one topic, with payloads of up to 1 MiB.
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
        try request.span.withUnsafeBytes { (bytes) throws(BusError) in
            try call(service, method, bytes, options: options, onEvent: onEvent)
        }
    }

    /// Makes a call and waits for its end, serving other calls in the meantime; for tools and start-up, not for a node's loop.
    ///
    /// In the `onEvent` of a call, use it for other servers only: the messages of that call's server wait until `onEvent` returns.
    ///
    /// - Returns: the responses in order (exactly one when a unary call succeeds), and the final status.
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
        BusError(.unknownHandle, "the subscription does not belong to node '\(node)', or no longer")
    }
}

extension BusStatistics {
    /// Merges the counts of both sides per topic, sorted by name.
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
        refusedTopics = inbox.refusedTopics
    }
}
