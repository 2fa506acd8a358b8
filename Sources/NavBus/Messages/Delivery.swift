/// The arrival time of a message at this node, on both clocks.
public struct ReceiveTimes: Sendable, Hashable {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    public var monotonicNanoseconds: Int64
    /// `CLOCK_REALTIME`, nanoseconds UTC.
    public var utcNanoseconds: Int64

    /// Makes a pair of receive times.
    public init(monotonicNanoseconds: Int64, utcNanoseconds: Int64) {
        self.monotonicNanoseconds = monotonicNanoseconds
        self.utcNanoseconds = utcNanoseconds
    }
}

/// A subscription of one node.
public struct SubscriptionID: Sendable, Hashable {
    let node: UInt64
    let number: Int
}

/// A topic that one node publishes.
public struct Publication: Sendable, Hashable {
    let node: UInt64
    package let index: Int

    /// The topic's name.
    public let topic: String
}

/// A message delivered to its subscriber.
public struct Delivery: Sendable {
    /// The subscription it was queued for.
    public let subscription: SubscriptionID
    /// The topic it was published on.
    public let topic: String
    /// Sequence, stamp, publisher and schema.
    public let header: MessageHeader
    /// The message's bytes.
    public let payload: Payload
    /// The arrival times.
    public let received: ReceiveTimes
}
