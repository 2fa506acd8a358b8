public import NavBus
public import NavGeo
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

    /// The time the node lives by.
    public let clock: NodeClock
    /// The node's part in lockstep playback.
    package let participant: LockstepParticipant
    private var subscribed: [SubscriptionID: String] = [:]

    /// A link over a bus.
    ///
    /// - Parameters:
    ///   - remaps: catalogue names and what they are called on this bus.
    ///   - simTime: whether the node lives by `/clock`.
    ///   - directory: where players are looked up by name; without it they are told apart all the same.
    public init(
        _ bus: any Bus, remaps: [String: String] = [:], simTime: Bool = false, directory: BusDirectory? = nil,
        log: NodeLog
    ) {
        self.bus = bus
        self.remaps = remaps
        self.log = log
        clock = NodeClock(isSimulated: simTime) { log.warning($0) }
        participant = LockstepParticipant(bus, clock: clock) { log.warning($0) }
        if let directory {
            clock.players = { directory.players }
            participant.nodes = { directory.liveNodes }
        }
        participant.subscribed = { [unowned self] in subscribedTopics }
        participant.publications = { [unowned self] in allPublications }
    }

    /// The topics of this bus that the node subscribes to.
    public var subscribedTopics: Set<String> { Set(subscribed.values) }

    /// The name of a catalogue topic on this bus.
    public func name(of topic: String) -> String { remaps[topic] ?? topic }

    /// Announces catalogue topics, so that subscribers find them before the first message.
    public func advertise(_ topics: [String]) throws(NodeError) {
        for topic in topics { _ = try publication(topic) }
    }

    /// Publishes a message. What cannot be published is logged once per topic and never stops the node.
    public func publish(_ message: any Message, on topic: String, stamp: NavGeo.Timestamp) {
        do {
            let publication = try publication(topic)
            try bus.publish(message.encoded(), on: publication, stampNanoseconds: stamp.nanoseconds)
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
            let id = try bus.subscribe(to: name(of: topic), qos: QoS(entry.qos), maximumPayloadSize: entry.maxSize)
            subscribed[id] = name(of: topic)
            return id
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
        // Who waits for /clock says so by the machine's.
        let now = clock.stamp ?? WallClock.now()
        let statistics = bus.statistics
        let health = NodeHealth(
            stampNs: now.nanoseconds, monotonicNs: MonotonicClock.now().nanoseconds, node: bus.name, state: reasons.isEmpty ? .ok : .degraded,
            reasons: reasons,
            topics: statistics.topics.map { topic in
                let isPublisher = topic.published > 0
                return TopicHealth(
                    topic: topic.topic, isPublisher: isPublisher,
                    messageCount: isPublisher ? topic.published : topic.received, lostCount: topic.lost,
                    droppedCount: topic.dropped, rejectedCount: topic.rejected)
            }, counters: counters, uptimeS: (MonotonicClock.now() - started).inSeconds, bootId: bus.bootID)
        publish(health, on: TopicCatalogue.health(of: bus.name), stamp: now)
    }

    /// What the node publishes.
    package var allPublications: [Publication] { publications.values.sorted { $0.topic < $1.topic } }

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
    init(_ qos: TopicQoS) {
        switch qos {
        case .latched: self = .latched
        case .keepLast(let count): self = .keepLast(count)
        case .latest: self = .latest
        }
    }
}
