/// A node's place on the bus: what it publishes, what it subscribes to, and what has arrived.
///
/// One thread uses a node, in a loop around ``poll(timeout:)``. ``BusNode`` is the bus between processes;
/// ``InProcessBus`` behaves alike inside one test, without sockets, threads or waiting.
///
/// A node hears its own topics when it subscribes to them.
public protocol Bus: AnyObject {
    /// The node's name, unique among the live nodes of its domain.
    var name: String { get }

    /// Random for each start of the node, the `boot_id` of every header it sends.
    var bootID: UInt64 { get }

    /// What the node has seen since it started.
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

    /// How many subscriptions there are to a publication's topic now.
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

    /// Subscribes to one topic; payloads of up to 1 MiB.
    public func subscribe(to topic: String, qos: QoS = .keepLast(64)) throws(BusError) -> SubscriptionID {
        try subscribe(to: topic, qos: qos, maximumPayloadSize: 1 << 20)
    }
}

extension BusError {
    static func closed(_ node: String) -> BusError {
        BusError(.closed, "node '\(node)' was closed: make a new one")
    }

    static func unknownSubscription(_ node: String) -> BusError {
        BusError(.unknownHandle, "the subscription is not, or no longer, one of node '\(node)'")
    }
}

extension BusStatistics {
    /// Brings both sides' figures of each topic together, by name.
    init(inbox: Inbox, outbox: Outbox) {
        var merged: [String: TopicStatistics] = [:]
        for topic in inbox.statistics { merged[topic.topic] = topic }
        for topic in outbox.statistics {
            merged[topic.topic, default: TopicStatistics(topic: topic.topic)].published = topic.published
            merged[topic.topic, default: TopicStatistics(topic: topic.topic)].rejected += topic.rejected
        }
        self.init(
            topics: merged.values.sorted { $0.topic < $1.topic },
            unattributedRejections: inbox.unattributedRejections)
    }
}
