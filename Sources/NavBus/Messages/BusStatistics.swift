/// A node's counts for one topic since it started.
public struct TopicStatistics: Sendable, Hashable {
    /// The topic's name.
    public let topic: String
    /// Messages this node published.
    public var published: UInt64 = 0
    /// Messages that arrived and were wanted.
    public var received: UInt64 = 0
    /// Messages that never arrived, from gaps in the publishers' sequences.
    public var lost: UInt64 = 0
    /// Messages dropped here because a queue was full: a subscription's, or, of those published here, that of at least
    /// one subscriber, which counts them as lost.
    public var dropped: UInt64 = 0
    /// Messages that arrived again, as a latched value does when another node joins.
    public var duplicates: UInt64 = 0
    /// The payload bytes of ``published``.
    public var publishedBytes: UInt64 = 0
    /// The payload bytes of ``received``.
    public var receivedBytes: UInt64 = 0
    /// The publication of the last message, `CLOCK_MONOTONIC` nanoseconds; 0 before the first.
    public var lastPublishedNanoseconds: Int64 = 0
    /// The arrival of the last new message, `CLOCK_MONOTONIC` nanoseconds; 0 before the first.
    public var lastReceivedNanoseconds: Int64 = 0
    /// The number of subscriptions to the topic when this node publishes it.
    public var subscribers = 0
    /// The number of publishers seen since the start, restarts included, up to 64.
    public var publishers = 0
    /// Messages refused: a bad header or frame count, or a payload over its limit (also at the publisher).
    public var rejected: UInt64 = 0

    init(topic: String) { self.topic = topic }
}

/// A node's counts since it started.
public struct BusStatistics: Sendable, Hashable {
    /// Each topic that is published or subscribed to, by name.
    public var topics: [TopicStatistics]
    /// Messages refused because their topic frame is not one that was subscribed to.
    public var unattributedRejections: UInt64
    /// Connections to publishers that ended because a frame was over ``BusConfiguration/maximumMessageSize`` or the
    /// protocol was broken; each is made anew after a second.
    public var cutConnections: UInt64 = 0
    /// Connections to publishers that lived and were not heard, and that were made anew.
    public var silentConnections: UInt64 = 0
    /// Connections of subscribers that took nothing while ``BusConfiguration/maximumQueuedBytes`` waited, and that were
    /// ended; the subscribers connect anew when they run again.
    public var stuckSubscribers: UInt64 = 0

    /// The figures of one topic.
    public subscript(topic topic: String) -> TopicStatistics? { topics.first { $0.topic == topic } }
}
