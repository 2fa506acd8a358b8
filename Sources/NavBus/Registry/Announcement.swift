internal import FoundationEssentials

/// A node's description of itself for other nodes, stored in `announcement.json`.
///
/// UTF-8 JSON, at most ``maximumSize`` bytes, replaced atomically on every change:
///
/// ```json
/// {
///   "answers_probes": true,
///   "boot_id": "9f3c0a5527e1d84b",
///   "endpoints": { "pub": "ipc:///run/user/1000/navbus/0/gnss/pub" },
///   "format": 1,
///   "node": "gnss",
///   "pid": 4711,
///   "topics": [
///     {
///       "max_bytes": 65536,
///       "name": "/gnss/fix",
///       "qos": { "depth": 16, "kind": "keep_last" },
///       "schema_fingerprint": "00c1d2e3f4a5b697",
///       "type": "navbus.v1.GnssFix"
///     }
///   ]
/// }
/// ```
///
/// - `format`: 1. A reader refuses other numbers, and ignores unknown keys.
/// - `answers_probes`: whether the node answers subscriptions to topics below `/bus/probe/` (<doc:FileSystemRegistry>);
///   absent when it does not.
/// - `boot_id`: 16 hexadecimal digits, the `boot_id` of every header the node sends; new at each start.
/// - `endpoints`: where the sockets are bound. `pub` is always present; `rpc` only while the node serves something. Both
///   are `ipc://` and lie in the node's own directory, whatever path a reader uses for the domain's directory. To other
///   hosts a node announces `tcp://*:PORT` instead, and the reader fills in the address (<doc:Hosts>).
/// - `qos.kind`: `latched`, `keep_last` (with `depth`) or `latest`.
/// - `services`: absent when the node serves nothing, else a list of `{"name": "navbus.v1.Navigation", "methods":
///   [{"name": "SetRoute", "server_streaming": false}]}`.
/// - `schema_fingerprint`: 16 hexadecimal digits, zeros when unknown.
///
/// The topic frame of a message is the topic's name followed by one NUL byte: subscribe with
/// `name.encode() + b"\0"`, and no other topic's messages arrive.
public struct Announcement: Sendable, Hashable {
    /// The format this module writes and reads.
    public static let format = 1
    /// The largest announcement read, in bytes.
    public static let maximumSize = 1 << 20
    /// The most topics of one node.
    public static let maximumTopics = 1024

    /// The node's name, equal to the name of its directory.
    public var node: String
    /// The node's process id.
    public var processID: Int32
    /// A random number chosen at each start of the node.
    public var bootID: UInt64
    /// The `ipc://` endpoint of its publications.
    public var publisherEndpoint: String
    /// The endpoint of its services, nil when it serves nothing.
    public var serviceEndpoint: String?
    /// Whether it answers probes, so that a subscriber can distinguish a quiet publisher from an unreachable one.
    public var answersProbes = false
    /// The published topics, in the order they were advertised.
    public var topics: [TopicDescription]
    /// The services, by name; limits are not announced and have their defaults here.
    public var services: [ServiceDescription] = []

    package var json: [UInt8] {
        get throws(BusError) {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            do {
                return [UInt8](try encoder.encode(Document(self))) + [UInt8(ascii: "\n")]
            } catch {
                throw BusError(.registry, "cannot encode the announcement of '\(node)': \(error)")
            }
        }
    }

    /// Parses a file's untrusted content.
    package init(json: [UInt8], node: String) throws(BusError) {
        let document = try Document(json: json, node: node)
        guard Self.isLocal(document.endpoints.pub, node, "pub"),
            document.endpoints.rpc.map({ Self.isLocal($0, node, "rpc") }) ?? true
        else {
            throw BusError(
                .registry, "the announcement of node '\(node)' has an endpoint that is not ipc:// in its own directory")
        }
        try self.init(document, node: node)
    }

    /// Parses the untrusted announcement of a node on another host.
    ///
    /// Its sockets are at the peer's address, so only the port of topics is taken from its endpoints.
    package init(json: [UInt8], peer: TCPEndpoint) throws(BusError) {
        var document = try Document(json: json, node: peer.description)
        guard Names.isDirectoryName(document.node) else {
            throw BusError(.registry, "the announcement of the peer at \(peer) has an invalid node name")
        }
        guard let port = TCPEndpoint.announcedPort(document.endpoints.pub) else {
            throw BusError(.registry, "the announcement of the peer at \(peer) has no endpoint tcp://*:PORT")
        }
        document.endpoints = .init(
            pub: peer.socketEndpoint(port), rpc: document.services == nil ? nil : peer.socketEndpoint(peer.port))
        try self.init(document, node: document.node)
    }

    private init(_ document: Document, node: String) throws(BusError) {
        guard document.format == Self.format else {
            throw BusError(
                .registry,
                "the announcement of node '\(node)' has format \(document.format), this program reads \(Self.format): "
                    + "update the older of the two")
        }
        guard document.node == node else {
            throw BusError(.registry, "the announcement in the directory of node '\(node)' names another node")
        }
        guard let bootID = UInt64(document.boot_id, radix: 16) else {
            throw BusError(.registry, "the announcement of node '\(node)' has no hexadecimal boot_id")
        }
        guard document.topics.count <= Self.maximumTopics else {
            throw BusError(.registry, "the announcement of node '\(node)' has more than \(Self.maximumTopics) topics")
        }
        self.node = node
        self.bootID = bootID
        processID = document.pid
        answersProbes = document.answers_probes ?? false
        publisherEndpoint = document.endpoints.pub
        serviceEndpoint = document.endpoints.rpc
        topics = []
        for topic in document.topics { topics.append(try topic.description(of: node)) }
        let announced = document.services ?? []
        guard announced.count <= ServiceDescription.maximumServices else {
            throw BusError(.registry, "the announcement of node '\(node)' has too many services")
        }
        services = announced.map(\.description)
        for service in services { try service.check() }
    }

    init(
        node: String, processID: Int32, bootID: UInt64, publisherEndpoint: String, topics: [TopicDescription],
        serviceEndpoint: String? = nil, services: [ServiceDescription] = []
    ) {
        self.node = node
        self.processID = processID
        self.bootID = bootID
        self.publisherEndpoint = publisherEndpoint
        self.topics = topics
        self.serviceEndpoint = serviceEndpoint
        self.services = services
    }

    private static func isLocal(_ endpoint: String, _ node: String, _ socket: String) -> Bool {
        endpoint.hasPrefix("ipc:///") && endpoint.hasSuffix("/\(node)/\(socket)")
    }
}

// MARK: - The JSON's shape

private struct Document: Codable {
    var answers_probes: Bool?
    var format: Int
    var node: String
    var pid: Int32
    var boot_id: String
    var endpoints: Endpoints
    var topics: [Topic]
    var services: [Service]?

    struct Service: Codable {
        var name: String
        var methods: [Method]

        struct Method: Codable {
            var name: String
            var server_streaming: Bool
        }

        var description: ServiceDescription {
            ServiceDescription(
                name: name,
                methods: methods.map { MethodDescription($0.name, isServerStreaming: $0.server_streaming) })
        }
    }

    struct Endpoints: Codable {
        var pub: String
        var rpc: String?
    }

    struct Topic: Codable {
        var name: String
        var type: String
        var schema_fingerprint: String
        var max_bytes: Int
        var qos: Quality

        init(_ topic: TopicDescription) {
            name = topic.name
            type = topic.typeName
            schema_fingerprint = hexadecimal(topic.schemaFingerprint)
            max_bytes = topic.maximumPayloadSize
            qos = Quality(topic.qos)
        }

        func description(of node: String) throws(BusError) -> TopicDescription {
            guard Names.isTopic(name), type.utf8.count <= 255, let qos = qos.value,
                let fingerprint = UInt64(schema_fingerprint, radix: 16), max_bytes > 0
            else {
                throw BusError(.registry, "the announcement of node '\(node)' has an invalid topic")
            }
            return TopicDescription(
                name: name, typeName: type, schemaFingerprint: fingerprint, qos: qos, maximumPayloadSize: max_bytes)
        }
    }

    struct Quality: Codable {
        var kind: String
        var depth: Int?

        init(_ qos: QoS) {
            switch qos {
            case .latched: kind = "latched"
            case .latest: kind = "latest"
            case .keepLast(let count): (kind, depth) = ("keep_last", count)
            }
        }

        var value: QoS? {
            switch (kind, depth) {
            case ("latched", _): .latched
            case ("latest", _): .latest
            case ("keep_last", let depth?) where (1...QoS.maximumDepth).contains(depth): .keepLast(depth)
            default: nil
            }
        }
    }

    init(json: [UInt8], node: String) throws(BusError) {
        do {
            self = try JSONDecoder().decode(Document.self, from: Data(json))
        } catch {
            throw BusError(.registry, "the announcement of node '\(node)' is not valid JSON of the expected shape")
        }
    }

    init(_ announcement: Announcement) {
        answers_probes = announcement.answersProbes ? true : nil
        format = Announcement.format
        node = announcement.node
        pid = announcement.processID
        boot_id = hexadecimal(announcement.bootID)
        endpoints = Endpoints(pub: announcement.publisherEndpoint, rpc: announcement.serviceEndpoint)
        if !announcement.services.isEmpty {
            services = announcement.services.map { service in
                Service(
                    name: service.name,
                    methods: service.methods.map { .init(name: $0.name, server_streaming: $0.isServerStreaming) })
            }
        }
        topics = announcement.topics.map(Topic.init)
    }
}

/// Formats a number as 16 hexadecimal digits, lower case.
private func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
