/// A node's counts for one topic since it started.
public struct TopicStatistics: Sendable, Hashable {
    /// The topic's name.
    public let topic: String
    /// Messages this node published.
    public var published: UInt64 = 0
    /// Messages that arrived and were subscribed to.
    public var received: UInt64 = 0
    /// Messages that never arrived, computed from gaps in the publishers' sequences.
    public var lost: UInt64 = 0
    /// Messages dropped here because a queue was full: a subscription's queue or, for published messages, the queue of at
    /// least one subscriber, which counts them as lost.
    public var dropped: UInt64 = 0
    /// Messages that arrived again, as a latched value does when another node subscribes.
    public var duplicates: UInt64 = 0
    /// The payload bytes of ``published``.
    public var publishedBytes: UInt64 = 0
    /// The payload bytes of ``received``.
    public var receivedBytes: UInt64 = 0
    /// The time of the last publication, `CLOCK_MONOTONIC` nanoseconds; 0 before the first.
    public var lastPublishedNanoseconds: Int64 = 0
    /// The arrival time of the last new message, `CLOCK_MONOTONIC` nanoseconds; 0 before the first.
    public var lastReceivedNanoseconds: Int64 = 0
    /// The number of subscriptions to the topic, when this node publishes it.
    public var subscribers = 0
    /// The number of publishers seen since the start, restarts included, up to 64.
    public var publishers = 0
    /// Messages rejected for a bad header or frame count, or for a payload over its limit (also at the publisher).
    public var rejected: UInt64 = 0
    /// The defect of the last message rejected on arrival, for example `a header without stamp_ns`; nil before the first.
    public var lastRejection: String?

    init(topic: String) { self.topic = topic }
}

/// A node's counts since it started.
public struct BusStatistics: Sendable, Hashable {
    /// The counts of each topic that is published or subscribed to, by name.
    public var topics: [TopicStatistics]
    /// Messages rejected whose topic frame matches no subscription of this node.
    public var unattributedRejections: UInt64
    /// The number of topics refused to a filter because filters had already added the maximum.
    public var refusedTopics: UInt64 = 0
    /// Connections to publishers that ended because of a frame over ``BusConfiguration/maximumMessageSize`` or a protocol
    /// error; each is re-established after a second.
    public var cutConnections: UInt64 = 0
    /// Connections to live publishers that were re-established because no message arrived.
    public var silentConnections: UInt64 = 0
    /// Connections that were ended because the subscriber read nothing while ``BusConfiguration/maximumQueuedBytes``
    /// were queued; the subscribers reconnect when they run again.
    public var stuckSubscribers: UInt64 = 0

    /// The counts of one topic.
    public subscript(topic topic: String) -> TopicStatistics? { topics.first { $0.topic == topic } }
}
