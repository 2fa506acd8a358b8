/// The rule by which a topic keeps messages for a subscriber.
public enum TopicQoS: Sendable, Equatable {
    /// A late joiner receives the last value immediately.
    case latched
    /// A slow subscriber keeps the last `n` messages and loses older ones.
    case keepLast(Int)
    /// A slow subscriber keeps only the newest message.
    case latest
}

extension TopicQoS: CustomStringConvertible {
    /// The name in the catalogue, for example `keep_last(16)`.
    public var description: String {
        switch self {
        case .latched: "latched"
        case .keepLast(let count): "keep_last(\(count))"
        case .latest: "latest"
        }
    }
}

/// The description of a topic: a row of the catalogue.
public struct TopicEntry: Sendable {
    /// The name; `<node>` in it stands for the name of the publishing node.
    public fileprivate(set) var name: String
    /// The message type.
    public let type: any Message.Type
    /// The rule by which messages are kept.
    public let qos: TopicQoS
    /// The messages per second in a usual drive, for queues and liveness; `nil` when published only on events.
    public let nominalRateHz: Double?
    /// The most bytes of one message; decoding refuses larger ones.
    public let maxSize: Int
    /// Whether a recorder records it by default.
    public let isRecorded: Bool
    /// Whether its publisher may be silent for long, for example without guidance, so that silence is not an error.
    public let mayPause: Bool
    /// The occasion of its messages, in a few words.
    public let when: String

    /// Returns the node's name in a topic name that this entry matches; empty when the entry has no `<node>`.
    func node(in name: String) -> Substring? {
        guard let open = self.name.firstIndex(of: "<") else { return name == self.name ? "" : nil }
        let prefix = self.name[..<open]
        let node = name.dropFirst(prefix.count)
        return name.hasPrefix(prefix) && !node.isEmpty && !node.contains("/") ? node : nil
    }
}

/// A topic of the catalogue, whatever its messages.
public protocol CatalogueTopic: Sendable {
    var entry: TopicEntry { get }
}

extension CatalogueTopic {
    /// The topic's name in the catalogue.
    public var name: String { entry.name }
}

/// A topic that carries messages of one type.
public struct Topic<Content: Message>: CatalogueTopic {
    /// The topic's row of the catalogue.
    public fileprivate(set) var entry: TopicEntry

    fileprivate init(
        _ name: String, _ qos: TopicQoS, rateHz: Double? = nil, maxSize: Int, isRecorded: Bool = true,
        mayPause: Bool = false, when: String
    ) {
        entry = TopicEntry(
            name: name, type: Content.self, qos: qos, nominalRateHz: rateHz, maxSize: maxSize, isRecorded: isRecorded,
            mayPause: mayPause, when: when)
    }
}

/// The table of the bus, one row per topic, from which recorder, liveness, command line and reference derive.
public struct TopicTable: Sendable {
    /// Fixes of GNSS receivers.
    public let gnssFix = Topic<GnssFix>(
        "/gnss/fix", .keepLast(64), rateHz: 10, maxSize: 16 << 10, when: "each fix, 1 to 20 Hz")
    /// The vehicle's own speed and rate of turn.
    public let odometry = Topic<VehicleOdometry>(
        "/vehicle/odometry", .keepLast(256), rateHz: 50, maxSize: 4 << 10, when: "10 to 100 Hz, optional")
    /// Speeds and closures of road segments.
    public let trafficSpeeds = Topic<TrafficSpeeds>(
        "/traffic/speeds", .keepLast(16), maxSize: 16 << 20, when: "on update")
    /// The phase of navigation and the health of positioning.
    public let state = Topic<NavigationState>(
        "/nav/state", .latched, maxSize: 16 << 10, when: "on change")
    /// The matched position.
    public let position = Topic<MatchedPosition>(
        "/nav/position", .keepLast(64), rateHz: 10, maxSize: 64 << 10, when: "each fix")
    /// The progress along the active route.
    public let progress = Topic<RouteProgress>(
        "/nav/progress", .keepLast(64), rateHz: 10, maxSize: 16 << 10, mayPause: true, when: "each fix in guidance")
    /// The active route.
    public let route = Topic<Route>(
        "/nav/route", .latched, maxSize: 16 << 20, when: "on change")
    /// Routes to choose from before the start.
    public let preview = Topic<RoutePreview>(
        "/nav/preview", .latched, maxSize: 48 << 20, when: "on change")
    /// Steps of rerouting.
    public let reroute = Topic<RerouteEvent>(
        "/nav/reroute", .keepLast(64), maxSize: 256 << 10, when: "on event")
    /// The alternatives to the active route.
    public let alternatives = Topic<Alternatives>(
        "/nav/alternatives", .latched, maxSize: 32 << 20, when: "on change")
    /// Steps of switching to an alternative.
    public let alternativeSwitch = Topic<AlternativeSwitch>(
        "/nav/alternative_switch", .keepLast(64), maxSize: 256 << 10, when: "on event")
    /// Steps of taking a faster route.
    public let fasterRoute = Topic<FasterRoute>(
        "/nav/faster_route", .keepLast(16), maxSize: 16 << 20, when: "on event")
    /// Steps of refreshing durations.
    public let routeRefresh = Topic<RouteRefresh>(
        "/nav/route_refresh", .keepLast(64), maxSize: 256 << 10, when: "on refresh")
    /// The instruction on the screen.
    public let visualInstruction = Topic<VisualInstruction>(
        "/nav/instruction/visual", .latched, maxSize: 64 << 10, when: "once per instruction point")
    /// Instructions to be spoken.
    public let spokenInstruction = Topic<SpokenInstruction>(
        "/nav/instruction/spoken", .keepLast(16), maxSize: 64 << 10, when: "once per instruction point")
    /// Approaches to waypoints and arrivals.
    public let arrival = Topic<ArrivalEvent>(
        "/nav/arrival", .keepLast(64), maxSize: 16 << 10, when: "on event; while approaching each fix")
    /// Rejected fixes, with the reason.
    public let fixRejected = Topic<FixRejected>(
        "/nav/fix_rejected", .keepLast(64), maxSize: 32 << 10, when: "on event")
    /// The receiver in use.
    public let receiver = Topic<ReceiverSelection>(
        "/nav/receiver", .latched, maxSize: 16 << 10, when: "on change of the receiver in use")
    /// Steps of simulated and predicted driving.
    public let simulation = Topic<SimulationEvent>(
        "/nav/simulation", .keepLast(16), maxSize: 16 << 10, when: "on event")
    /// Requests to the owner's policy.
    public let policyRequest = Topic<PolicyRequest>(
        "/nav/policy/request", .keepLast(64), maxSize: 16 << 20, when: "on event")
    /// Decisions of the policy.
    public let policyDecision = Topic<PolicyDecision>(
        "/nav/policy/decision", .keepLast(64), maxSize: 256 << 10, when: "on event")
    /// The electronic horizon.
    public let horizon = Topic<Horizon>(
        "/nav/horizon", .latched, rateHz: 1, maxSize: 4 << 20, mayPause: true, when: "as the vehicle moves")
    /// Every event that entered the core.
    public let journal = Topic<JournalEntry>(
        "/nav/journal", .keepLast(1024), rateHz: 60, maxSize: 64 << 20, when: "each event that enters the core")
    /// Totals and coverage of the tile cache.
    public let tilesState = Topic<TilesState>(
        "/tiles/state", .latched, maxSize: 256 << 10, when: "on change")
    /// Events of offline regions.
    public let regionEvent = Topic<RegionEvent>(
        "/tiles/region_event", .keepLast(64), maxSize: 4 << 20, when: "on change")
    /// The health of a node.
    public let nodeHealth = Topic<NodeHealth>(
        "/health/<node>", .latched, rateHz: 1, maxSize: 256 << 10, when: "1 Hz")
    /// The log lines of all nodes.
    public let log = Topic<LogEntry>(
        "/log", .keepLast(256), maxSize: 16 << 10, when: "on event")
    /// The simulated time of the player.
    public let clock = Topic<Clock>(
        "/clock", .latest, rateHz: 100, maxSize: 1 << 10, isRecorded: false, when: "from the player")
}

/// The topics of the bus with the types of their messages: `Topics.progress` is a `Topic<RouteProgress>`.
@dynamicMemberLookup
public enum Topics {
    @usableFromInline static let table = TopicTable()

    /// Returns a row of the table; inlined, because a constant key path then costs nothing.
    @inlinable
    public static subscript<Content>(dynamicMember path: KeyPath<TopicTable, Topic<Content>>) -> Topic<Content> {
        table[keyPath: path]
    }

    /// Returns the health topic of a node.
    public static func health(of node: String) -> Topic<NodeHealth> {
        var topic = table.nodeHealth
        topic.entry.name = "/health/\(node)"
        return topic
    }
}

/// The topics of the bus by their names.
public enum TopicCatalogue {
    /// All topics in the order of the table.
    public static let all: [TopicEntry] = Mirror(reflecting: Topics.table).children.compactMap {
        ($0.value as? any CatalogueTopic)?.entry
    }

    /// Returns the topic with a name; `/health/gnss-node` finds `/health/<node>`.
    public static func topic(named name: String) -> TopicEntry? { all.first { $0.node(in: name) != nil } }

    /// Returns the topics as a Markdown table, in the order of the catalogue.
    public static func markdownTable() -> String {
        var lines = ["| topic | message | QoS | when | largest |", "|---|---|---|---|---|"]
        for topic in all {
            let type = topic.type.fullName.split(separator: ".").last ?? ""
            lines.append("| `\(topic.name)` | \(type) | \(topic.qos) | \(topic.when) | \(size(topic.maxSize)) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func size(_ bytes: Int) -> String {
        bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
    }
}

extension ServiceCatalogue {
    /// Returns the services with their methods as a Markdown table, in the order of the schema.
    public static func markdownTable() -> String {
        var lines = ["| service | method | answer | what it does |", "|---|---|---|---|"]
        for service in all {
            for method in service.methods {
                let answer = method.isServerStreaming ? "stream" : "one"
                lines.append("| `\(service.name)` | `\(method.name)` | \(answer) | \(method.summary) |")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
