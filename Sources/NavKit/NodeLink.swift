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
    private var outlets: [String: Outlet] = [:]

    /// Topics that could not be published, with the reason, each told once.
    private var toldFailures: Set<String> = []
    private let log: NodeLog

    /// The time the node lives by.
    public let clock: NodeClock
    /// The node's part in lockstep playback.
    let participant: LockstepParticipant

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
        participant.publications = { [unowned self] in published.map(\.publication) }
    }

    func name(of topic: any CatalogueTopic) -> String { remaps[topic.name] ?? topic.name }

    /// Announces topics, so that subscribers find them before the first message.
    public func advertise(_ topics: [any CatalogueTopic]) throws(NodeError) {
        for topic in topics { try advertise(topic.entry) }
    }

    func advertise(_ topic: TopicEntry) throws(NodeError) { _ = try outlet(topic) }

    /// Publishes a message. What cannot be published is logged once per topic and never stops the node.
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
            if toldFailures.insert(topic.name).inserted { log.error("cannot publish \(topic.name): \(error)") }
        }
    }

    /// Subscribes to a topic with its quality of service.
    public func subscribe(to topic: any CatalogueTopic) throws(NodeError) -> SubscriptionID {
        let entry = topic.entry
        do throws(BusError) {
            return try bus.subscribe(to: name(of: topic), qos: QoS(entry.qos), maximumPayloadSize: entry.maxSize)
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// The number of subscribers of a topic of this node.
    public func subscriberCount(of topic: any CatalogueTopic) -> Int { subscriberCount(of: topic.name) }

    func subscriberCount(of topic: String) -> Int {
        guard let outlet = outlets[topic] else { return 0 }
        return (try? bus.subscriberCount(of: outlet.publication)) ?? 0
    }

    /// Takes back from late joiners what was latched, but for the health: the node does not stand by it any more.
    func forgetLatched() {
        let health = Topics.health(of: bus.name).name
        for outlet in published where outlet.entry.qos == .latched && outlet.entry.name != health {
            try? bus.clearLatched(outlet.publication)
        }
    }

    /// The published topics, in the order of their names.
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

/// A topic that a node publishes, with what has gone out on it.
final class Outlet {
    let publication: Publication
    /// The topic's row, its `<node>` replaced.
    let entry: TopicEntry
    let name: String
    var count: UInt64 = 0
    var bytes: UInt64 = 0
    /// Messages that the bus refused, as too large for one.
    var refused: UInt64 = 0
    /// The moment when the last message went out, ns of ``NodeClock/epochNanoseconds``.
    var lastAt: Int64?

    init(_ publication: Publication, _ entry: TopicEntry, name: String) {
        self.publication = publication
        self.entry = entry
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
