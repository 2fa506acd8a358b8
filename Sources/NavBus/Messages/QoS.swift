/// The rule by which messages of a topic are kept for late or slow readers.
///
/// On a publication, `latched` makes the publisher send its last value to every new subscriber. On a subscription, the
/// rule limits the queue between the socket and the reader; when the queue is full, the oldest message is dropped and
/// counted.
public enum QoS: Sendable, Hashable {
    /// A late joiner gets the last value; queues hold ``latchedDepth`` messages.
    case latched
    /// Queues hold the given number of messages, 1 to ``maximumDepth``.
    case keepLast(Int)
    /// Only the newest message matters: queues hold one.
    case latest

    /// The queue depth of a latched topic: state changes are few, and readers need each in order.
    public static let latchedDepth = 64

    /// The largest depth of a queue.
    public static let maximumDepth = 1_000_000

    /// The most messages in a subscription's queue.
    public var depth: Int {
        switch self {
        case .latched: Self.latchedDepth
        case .keepLast(let count): count
        case .latest: 1
        }
    }
}

/// A topic as its publisher describes it.
public struct TopicDescription: Sendable, Hashable {
    /// The name: `/`-led segments of letters, digits, `_` and `-`, at most 200 bytes.
    public var name: String
    /// The payload's full protobuf type name, for example `navbus.v1.RouteProgress`.
    public var typeName: String
    /// Fingerprint of the payload's schema, 0 when unknown.
    public var schemaFingerprint: UInt64
    /// The rule by which messages are kept.
    public var qos: QoS
    /// The largest payload the topic carries, in bytes; the publisher refuses larger ones.
    public var maximumPayloadSize: Int

    /// Creates a description; it is checked when the topic is advertised.
    public init(
        name: String, typeName: String, schemaFingerprint: UInt64 = 0, qos: QoS = .keepLast(16),
        maximumPayloadSize: Int = 1 << 20
    ) {
        self.name = name
        self.typeName = typeName
        self.schemaFingerprint = schemaFingerprint
        self.qos = qos
        self.maximumPayloadSize = maximumPayloadSize
    }
}
