import ArgumentParser
import NavBag
import NavBagFormats
import NavBus
import NavGeo
import NavHTTPServer
import NavKit
import NavMessages

/// `navbus bridge`.
struct BridgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge", abstract: "Serve the bus to other tools.", subcommands: [BridgeFoxglove.self])
}

/// `navbus bridge foxglove`.
struct BridgeFoxglove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "foxglove", abstract: "Serve the topics of the bus to Foxglove, live, until Ctrl-C.",
        discussion: """
            In Foxglove: open a connection to ws://localhost:8765. All topics come with their protobuf schemas; for map panels the \
            fixes and matched positions are also offered as foxglove.LocationFix and the route as foxglove.GeoJSON. The bridge \
            reads the bus and changes nothing on it. A client that is too slow misses messages and is notified of their number.
            """)

    @Option(help: ArgumentHelp("The address to listen on; port 0 picks a free one.", valueName: "HOST:PORT"))
    var listen = "127.0.0.1:8765"
    @Flag(help: "Allow an address that other machines can reach; they can read all topics, without a password.")
    var allowRemote = false
    @Option(
        help: ArgumentHelp(
            "Also accept web pages of this origin, in addition to Foxglove's and this machine's; may be given several times.",
            valueName: "ORIGIN"))
    var allowOrigin: [String] = []

    func run() throws {
        let tool = try ToolBus("bridge")
        defer { tool.close() }
        try tool.subscribe(["*"], depth: 1_000)
        let bridge = FoxgloveBridge(origins: allowOrigin)
        let server = try WebServer(listen, allowsRemote: allowRemote, bridge)
        defer { server.stop() }
        var output = Output()
        output.line("ws://\(server.address)")
        output.flush()
        var source = BridgedTopics(tool: tool, bridge: bridge)
        var drawing = FoxgloveDrawing()
        while !tool.stop.isStopped {
            try source.look()
            guard let delivery = try tool.poll(.milliseconds(100)) else { continue }
            guard let channel = try source.channel(of: delivery.topic) else { continue }
            let record = Record(
                channel: channel, logTime: UInt64(clamping: delivery.received.utcNanoseconds),
                publishTime: UInt64(clamping: delivery.header.stampNanoseconds), data: delivery.payload.bytes[...])
            bridge.send(record)
            if let drawn = drawing.drawn(record) {
                bridge.advertise(drawn.channel, isLatched: drawn.channel.schemaName == FoxgloveGeoJSON.fullName)
                bridge.send(drawn)
            }
        }
    }
}

/// The current topics of the bus as channels of a bridge.
private struct BridgedTopics {
    /// The interval between checks of the nodes, seconds.
    private static let interval = 1.0
    /// The interval between checks for the publisher of an unknown topic, seconds.
    private static let fastInterval = 0.1

    let tool: ToolBus
    let bridge: FoxgloveBridge
    private var channels: [String: RecordChannel] = [:]
    /// The types whose schema could not be obtained, by topic.
    private var refused: [String: String] = [:]
    private var lastLook: MonotonicInstant?

    init(tool: ToolBus, bridge: FoxgloveBridge) { (self.tool, self.bridge) = (tool, bridge) }

    /// Returns the channel of a topic; nil when its type is not known.
    mutating func channel(of topic: String) throws -> RecordChannel? {
        // The publisher may have joined after the last check.
        if channels[topic] == nil, refused[topic] == nil { try look(every: Self.fastInterval) }
        return channels[topic]
    }

    /// Advertises new topics, and withdraws those whose publishers have left.
    mutating func look(every interval: Double = Self.interval) throws {
        let now = MonotonicClock.now()
        if let lastLook, now < lastLook + .seconds(interval) { return }
        lastLook = now
        var present: Set<String> = []
        for node in try tool.snapshot().nodes {
            for topic in node.topics where present.insert(topic.name).inserted {
                try add(topic, of: node)
            }
        }
        for gone in Set(channels.keys).subtracting(present) {
            channels[gone] = nil
            bridge.withdraw(gone)
        }
        refused = refused.filter { present.contains($0.key) }
    }

    private mutating func add(_ topic: TopicDescription, of node: Announcement) throws {
        let type = topic.typeName
        if let known = channels[topic.name] {
            guard known.schemaName != type else { return }
            channels[topic.name] = nil
            bridge.withdraw(topic.name)
        }
        guard refused[topic.name] != type, channels.count < FoxgloveBridge.mostChannels else { return }
        var channel: RecordChannel?
        if Schema.type(named: type) != nil {
            channel = .protobuf(topic.name, named: type)
        } else {
            switch try tool.descriptors(of: type, from: node) {
            case .success(let set):
                channel = RecordChannel(
                    topic: topic.name, messageEncoding: "protobuf", schemaName: type, schemaEncoding: "protobuf",
                    schemaData: set)
            case .failure(let error):
                refused[topic.name] = type
                Console.note("\(topic.name) is not served: \(error)")
            }
        }
        guard let channel else { return }
        channels[topic.name] = channel
        bridge.advertise(channel, isLatched: topic.qos == .latched)
    }
}
