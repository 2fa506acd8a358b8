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
    private var publications: [String: Publication] = [:]
    private var limits: [SubscriptionID: Int] = [:]
    private let started = MonotonicClock.now()

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
        for topic in topics { _ = try publication(topic) }
    }

    /// Publishes a message. What cannot be published is logged once per topic and never stops the node.
    public func publish(_ message: any Message, on topic: String, stampNanoseconds: Int64) {
        do {
            let publication = try publication(topic)
            try bus.publish(message.encoded(), on: publication, stampNanoseconds: stampNanoseconds)
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
        guard let publication = publications[topic] else { return 0 }
        return (try? bus.subscriberCount(of: publication)) ?? 0
    }

    /// Publishes the node's health.
    ///
    /// - Parameter reasons: why it is not well; empty when it is.
    public func publishHealth(reasons: [HealthReason], counters: [Counter] = []) {
        let now = simulatedTime ?? WallClock.now()
        let statistics = bus.statistics
        let health = NodeHealth(
            stampNs: now, monotonicNs: MonotonicClock.now(), node: bus.name, state: reasons.isEmpty ? .ok : .degraded,
            reasons: reasons,
            topics: statistics.topics.map { topic in
                let isPublisher = topic.published > 0
                return TopicHealth(
                    topic: topic.topic, isPublisher: isPublisher,
                    messageCount: isPublisher ? topic.published : topic.received, lostCount: topic.lost,
                    droppedCount: topic.dropped, rejectedCount: topic.rejected)
            }, counters: counters, uptimeS: Double(MonotonicClock.now() - started) * 1e-9, bootId: bus.bootID)
        publish(health, on: TopicCatalogue.health(of: bus.name), stampNanoseconds: now)
    }

    private func publication(_ topic: String) throws(NodeError) -> Publication {
        if let known = publications[topic] { return known }
        guard let entry = TopicCatalogue.topic(named: topic) else {
            throw NodeError(.usage, "there is no topic '\(topic)' in the catalogue")
        }
        do throws(BusError) {
            let made = try bus.advertise(
                TopicDescription(
                    name: name(of: topic), typeName: entry.type.fullName,
                    schemaFingerprint: entry.type.schemaFingerprint, qos: QoS(entry.qos),
                    maximumPayloadSize: entry.maxSize))
            publications[topic] = made
            return made
        } catch {
            throw NodeError(.system, error.description)
        }
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
