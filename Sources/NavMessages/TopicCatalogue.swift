/// How a topic keeps messages for a subscriber.
public enum TopicQoS: Sendable, Equatable {
    /// A late joiner gets the last value at once.
    case latched
    /// A slow subscriber keeps the last `n` messages and loses older ones.
    case keepLast(Int)
    /// A slow subscriber keeps only the newest message.
    case latest
}

extension TopicQoS: CustomStringConvertible {
    /// The word of the design, for example `keep_last(16)`.
    public var description: String {
        switch self {
        case .latched: "latched"
        case .keepLast(let count): "keep_last(\(count))"
        case .latest: "latest"
        }
    }
}

/// One topic of the bus.
public struct Topic: Sendable {
    /// Name; `<node>` in it stands for the name of the publishing node.
    public let name: String
    /// Type of its messages.
    public let type: any Message.Type
    /// How it keeps messages.
    public let qos: TopicQoS
    /// Messages per second in a usual drive, for queues and liveness; `nil`: on events only.
    public let nominalRateHz: Double?
    /// Most bytes of one message; more are refused on decoding.
    public let maxSize: Int
    /// Whether a recorder takes it unless told otherwise.
    public let isRecorded: Bool
    /// When it is published, in one line.
    public let when: String

    /// Name of the node in a topic name that this entry stands for; empty where the name has no `<node>`.
    func node(in name: String) -> Substring? {
        guard let open = self.name.firstIndex(of: "<") else { return name == self.name ? "" : nil }
        let prefix = self.name[..<open]
        let node = name.dropFirst(prefix.count)
        return name.hasPrefix(prefix) && !node.isEmpty && !node.contains("/") ? node : nil
    }
}

/// The one table of the bus: recorder, liveness, command line and reference derive from it.
public enum TopicCatalogue {
    /// All topics in the order of the reference.
    public static let all: [Topic] = [
        Topic(
            name: "/gnss/fix", type: GnssFix.self, qos: .keepLast(64), nominalRateHz: 10, maxSize: 16 << 10,
            isRecorded: true, when: "each fix, 1 to 20 Hz"),
        Topic(
            name: "/vehicle/odometry", type: VehicleOdometry.self, qos: .keepLast(256), nominalRateHz: 50,
            maxSize: 4 << 10, isRecorded: true, when: "10 to 100 Hz, optional"),
        Topic(
            name: "/traffic/speeds", type: TrafficSpeeds.self, qos: .keepLast(16), nominalRateHz: nil,
            maxSize: 16 << 20, isRecorded: true, when: "on update"),
        Topic(
            name: "/nav/state", type: NavigationState.self, qos: .latched, nominalRateHz: nil, maxSize: 16 << 10,
            isRecorded: true, when: "on change"),
        Topic(
            name: "/nav/position", type: MatchedPosition.self, qos: .keepLast(64), nominalRateHz: 10,
            maxSize: 64 << 10, isRecorded: true, when: "each fix"),
        Topic(
            name: "/nav/progress", type: RouteProgress.self, qos: .keepLast(64), nominalRateHz: 10,
            maxSize: 16 << 10, isRecorded: true, when: "each fix in guidance"),
        Topic(
            name: "/nav/route", type: Route.self, qos: .latched, nominalRateHz: nil, maxSize: 16 << 20,
            isRecorded: true, when: "on change"),
        Topic(
            name: "/nav/preview", type: RoutePreview.self, qos: .latched, nominalRateHz: nil, maxSize: 48 << 20,
            isRecorded: true, when: "on change"),
        Topic(
            name: "/nav/reroute", type: RerouteEvent.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 256 << 10, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/alternatives", type: Alternatives.self, qos: .latched, nominalRateHz: nil,
            maxSize: 32 << 20, isRecorded: true, when: "on change"),
        Topic(
            name: "/nav/alternative_switch", type: AlternativeSwitch.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 256 << 10, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/faster_route", type: FasterRoute.self, qos: .keepLast(16), nominalRateHz: nil,
            maxSize: 16 << 20, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/route_refresh", type: RouteRefresh.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 256 << 10, isRecorded: true, when: "on refresh"),
        Topic(
            name: "/nav/instruction/visual", type: VisualInstruction.self, qos: .latched, nominalRateHz: nil,
            maxSize: 64 << 10, isRecorded: true, when: "once per instruction point"),
        Topic(
            name: "/nav/instruction/spoken", type: SpokenInstruction.self, qos: .keepLast(16), nominalRateHz: nil,
            maxSize: 64 << 10, isRecorded: true, when: "once per instruction point"),
        Topic(
            name: "/nav/arrival", type: ArrivalEvent.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 16 << 10, isRecorded: true, when: "on event; while approaching each fix"),
        Topic(
            name: "/nav/fix_rejected", type: FixRejected.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 32 << 10, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/receiver", type: ReceiverSelection.self, qos: .latched, nominalRateHz: nil,
            maxSize: 16 << 10, isRecorded: true, when: "on change of the receiver in use"),
        Topic(
            name: "/nav/simulation", type: SimulationEvent.self, qos: .keepLast(16), nominalRateHz: nil,
            maxSize: 16 << 10, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/policy/request", type: PolicyRequest.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 16 << 20, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/policy/decision", type: PolicyDecision.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 256 << 10, isRecorded: true, when: "on event"),
        Topic(
            name: "/nav/horizon", type: Horizon.self, qos: .latched, nominalRateHz: 1, maxSize: 4 << 20,
            isRecorded: true, when: "as the vehicle moves"),
        Topic(
            name: "/nav/journal", type: JournalEntry.self, qos: .keepLast(1024), nominalRateHz: 60,
            maxSize: 64 << 20, isRecorded: true, when: "each event that enters the core"),
        Topic(
            name: "/tiles/state", type: TilesState.self, qos: .latched, nominalRateHz: nil, maxSize: 256 << 10,
            isRecorded: true, when: "on change"),
        Topic(
            name: "/tiles/region_event", type: RegionEvent.self, qos: .keepLast(64), nominalRateHz: nil,
            maxSize: 4 << 20, isRecorded: true, when: "on change"),
        Topic(
            name: "/health/<node>", type: NodeHealth.self, qos: .latched, nominalRateHz: 1, maxSize: 256 << 10,
            isRecorded: true, when: "1 Hz"),
        Topic(
            name: "/log", type: LogEntry.self, qos: .keepLast(256), nominalRateHz: nil, maxSize: 16 << 10,
            isRecorded: true, when: "on event"),
        Topic(
            name: "/clock", type: Clock.self, qos: .latest, nominalRateHz: 100, maxSize: 1 << 10,
            isRecorded: false, when: "from the player"),
    ]

    /// The topic of that name; `/health/gnss-node` finds `/health/<node>`.
    public static func topic(named name: String) -> Topic? { all.first { $0.node(in: name) != nil } }

    /// The topic of all nodes' log lines.
    public static let log = "/log"

    /// The health topic of a node.
    public static func health(of node: String) -> String { "/health/\(node)" }

    /// The topics as a table in Markdown, in the order of the catalogue.
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
    /// The services with their methods as a table in Markdown, in the order of the schema.
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
