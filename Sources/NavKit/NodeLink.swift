public import NavBus
public import NavGeo
public import NavMessages

/// A node's topics on the bus: it encodes messages of catalogue topics and remaps their names.
///
/// It belongs to the thread that polls the bus.
public final class NodeLink {
    /// The bus through which the node sends and receives.
    public let bus: any Bus
    private let remaps: [String: String]
    private var outlets: [String: Outlet] = [:]

    /// The topics whose publication failed, each already logged.
    private var reportedFailures: Set<String> = []
    private let log: NodeLog

    /// The node's time.
    public let clock: NodeClock
    /// The node's part in lockstep playback.
    let participant: LockstepParticipant

    /// Creates a link over a bus.
    ///
    /// - Parameters:
    ///   - remaps: the names on this bus, by catalogue name.
    ///   - simTime: whether the node's time comes from `/clock`.
    ///   - directory: the registry in which players' names are looked up; without it, players are still distinguished
    ///     by boot id.
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
            let topic = name(of: Topics.clock)
            clock.players = { directory.players(for: bus, on: topic) }
            participant.nodes = { directory.liveNodes }
        }
        participant.publications = { [unowned self] in published.map(\.publication) }
    }

    func name(of topic: any CatalogueTopic) -> String { remaps[topic.name] ?? topic.name }

    /// Announces topics, so that subscribers find them before the first message.
    public func advertise(_ topics: [any CatalogueTopic]) throws(NodeError) {
        for topic in topics { try advertise(topic.entry) }
    }

    func advertise(_ topic: TopicEntry) throws(NodeError) { _ = try outlet(topic) }

    /// Publishes a message.
    ///
    /// A failure is logged once per topic and never stops the node.
    public func publish<Content>(_ message: Content, on topic: Topic<Content>, stamp: NavGeo.Timestamp) {
        publish(message, on: topic.entry, stamp: stamp)
    }

    func publish(_ message: any Message, on topic: TopicEntry, stamp: NavGeo.Timestamp) {
        do {
            let outlet = try outlet(topic)
            let bytes = message.encoded()
            do {
                try bus.publish(bytes, on: outlet.publication, stampNanoseconds: stamp.nanoseconds)
            } catch {
                outlet.refused += 1
                throw error
            }
            outlet.count += 1
            outlet.bytes += UInt64(bytes.count)
            outlet.lastAt = clock.epochNanoseconds
        } catch {
            if reportedFailures.insert(topic.name).inserted { log.error("cannot publish \(topic.name): \(error)") }
        }
    }

    /// Subscribes to a topic with its quality of service.
    ///
    /// - Parameter qos: the rule for the queue; by default that of the catalogue.
    public func subscribe(to topic: any CatalogueTopic, qos: QoS? = nil) throws(NodeError) -> SubscriptionID {
        let entry = topic.entry
        do throws(BusError) {
            return try bus.subscribe(
                to: name(of: topic), qos: qos ?? QoS(entry.qos), maximumPayloadSize: entry.maxSize)
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// Returns the number of subscribers to a topic of this node.
    public func subscriberCount(of topic: any CatalogueTopic) -> Int { subscriberCount(of: topic.name) }

    func subscriberCount(of topic: String) -> Int {
        guard let outlet = outlets[topic] else { return 0 }
        return (try? bus.subscriberCount(of: outlet.publication)) ?? 0
    }

    /// Withdraws the latched values, except the health, because they are no longer valid for late joiners.
    func forgetLatched() {
        let health = Topics.health(of: bus.name).name
        for outlet in published where outlet.entry.qos == .latched && outlet.entry.name != health {
            try? bus.clearLatched(outlet.publication)
        }
    }

    /// The published topics, sorted by name.
    var published: [Outlet] { outlets.values.sorted { $0.name < $1.name } }

    private func outlet(_ entry: TopicEntry) throws(NodeError) -> Outlet {
        if let known = outlets[entry.name] { return known }
        let name = remaps[entry.name] ?? entry.name
        do throws(BusError) {
            let made = try bus.advertise(
                TopicDescription(
                    name: name, typeName: entry.type.fullName, schemaFingerprint: entry.type.schemaFingerprint,
                    qos: QoS(entry.qos), maximumPayloadSize: entry.maxSize))
            let outlet = Outlet(made, entry, name: name)
            outlets[entry.name] = outlet
            return outlet
        } catch {
            throw NodeError(.system, error.description)
        }
    }
}

/// A topic that a node publishes, with the statistics of its messages.
final class Outlet {
    let publication: Publication
    /// The topic's catalogue entry, with `<node>` replaced.
    let entry: TopicEntry
    let name: String
    var count: UInt64 = 0
    var bytes: UInt64 = 0
    /// The number of messages that the bus refused, for example as too large.
    var refused: UInt64 = 0
    /// The time of the last message, in ``NodeClock/epochNanoseconds``.
    var lastAt: Int64?

    init(_ publication: Publication, _ entry: TopicEntry, name: String) {
        self.publication = publication
        self.entry = entry
        self.name = name
    }
}

extension QoS {
    /// Converts a catalogue entry's quality of service.
    package init(_ qos: TopicQoS) {
        switch qos {
        case .latched: self = .latched
        case .keepLast(let count): self = .keepLast(count)
        case .latest: self = .latest
        }
    }
}
