import Glibc
public import NavBus
public import NavMessages

/// A node's topics on the bus: catalogue entries in, bytes out, names remapped.
///
/// Belongs to the thread that polls the bus.
public final class NodeLink {
    /// The bus.
    public let bus: any Bus
    private let remaps: [String: String]
    private var outlets: [String: Outlet] = [:]

    /// Topics that could not be published, with the reason, each told once.
    private var toldFailures: Set<String> = []
    private let log: NodeLog

    /// The newest time of `/clock` for a node that lives in simulated time, ns; nil lives by the machine's clock.
    public var simulatedTime: Int64?

    /// A link over a bus.
    ///
    /// - Parameter remaps: catalogue names and what they are called on this bus.
    public init(_ bus: any Bus, remaps: [String: String] = [:], log: NodeLog) {
        self.bus = bus
        self.remaps = remaps
        self.log = log
    }

    /// The name of a catalogue topic on this bus.
    public func name(of topic: String) -> String { remaps[topic] ?? topic }

    /// Announces catalogue topics, so that subscribers find them before the first message.
    public func advertise(_ topics: [String]) throws(NodeError) {
        for topic in topics { _ = try outlet(topic) }
    }

    /// Publishes a message. What cannot be published is logged once per topic and never stops the node.
    public func publish(_ message: any Message, on topic: String, stampNanoseconds: Int64) {
        do {
            let outlet = try outlet(topic)
            let bytes = message.encoded()
            do {
                try bus.publish(bytes, on: outlet.publication, stampNanoseconds: stampNanoseconds)
            } catch {
                outlet.refused += 1
                throw error
            }
            outlet.count += 1
            outlet.bytes += UInt64(bytes.count)
            outlet.lastAt = MachineTime.monotonic()
        } catch {
            if toldFailures.insert(topic).inserted { log.error("cannot publish \(topic): \(error)") }
        }
    }

    /// Subscribes to a catalogue topic with its quality of service.
    public func subscribe(to topic: String) throws(NodeError) -> SubscriptionID {
        guard let entry = TopicCatalogue.topic(named: topic) else {
            throw NodeError(.usage, "there is no topic '\(topic)' in the catalogue")
        }
        do throws(BusError) {
            return try bus.subscribe(to: name(of: topic), qos: QoS(entry.qos), maximumPayloadSize: entry.maxSize)
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// How many subscribe to a topic of this node.
    public func subscriberCount(of topic: String) -> Int {
        guard let outlet = outlets[topic] else { return 0 }
        return (try? bus.subscriberCount(of: outlet.publication)) ?? 0
    }

    /// What is published, in the order of the names.
    var published: [Outlet] { outlets.values.sorted { $0.name < $1.name } }

    private func outlet(_ topic: String) throws(NodeError) -> Outlet {
        if let known = outlets[topic] { return known }
        guard let entry = TopicCatalogue.topic(named: topic) else {
            throw NodeError(.usage, "there is no topic '\(topic)' in the catalogue")
        }
        do throws(BusError) {
            let made = try bus.advertise(
                TopicDescription(
                    name: name(of: topic), typeName: entry.type.fullName,
                    schemaFingerprint: entry.type.schemaFingerprint, qos: QoS(entry.qos),
                    maximumPayloadSize: entry.maxSize))
            let outlet = Outlet(made, entry, catalogueName: topic, name: name(of: topic))
            outlets[topic] = outlet
            return outlet
        } catch {
            throw NodeError(.system, error.description)
        }
    }
}

/// A topic that a node publishes, with what has gone out on it.
final class Outlet {
    let publication: Publication
    let entry: Topic
    /// The topic's name in the catalogue, `<node>` replaced.
    let catalogueName: String
    /// The topic's name on this bus.
    let name: String
    var count: UInt64 = 0
    var bytes: UInt64 = 0
    /// Messages that the bus refused, as too large for one.
    var refused: UInt64 = 0
    /// When the last message went out, monotonic ns.
    var lastAt: Int64?

    init(_ publication: Publication, _ entry: Topic, catalogueName: String, name: String) {
        self.publication = publication
        self.entry = entry
        self.catalogueName = catalogueName
        self.name = name
    }
}

extension QoS {
    /// The bus's form of a catalogue entry.
    package init(_ qos: TopicQoS) {
        switch qos {
        case .latched: self = .latched
        case .keepLast(let count): self = .keepLast(count)
        case .latest: self = .latest
        }
    }
}

/// The machine's wall clock.
public enum WallClock {
    /// Nanoseconds since 1970, UTC.
    public static func now() -> Int64 { nanoseconds(CLOCK_REALTIME) }
}

/// The machine's monotonic clock.
public enum MonotonicClock {
    /// Nanoseconds since an arbitrary start.
    public static func now() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }
}

private func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
