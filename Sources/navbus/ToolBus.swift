import Foundation
import NavBus
import NavConfig
import NavSpelling
import NavGeo
import NavKit
import NavMessages

/// A tool's connection to the bus under its own name, and the tools' requests to other nodes.
final class ToolBus {
    /// The largest response that tools accept, in bytes.
    static let maximumResponseSize = 64 << 20

    let bus: BusNode
    let directory: BusDirectory
    let stop: StopSignal

    init(_ tool: String) throws {
        (bus, directory) = try NodeArguments.join(name: "navbus-\(tool)-\(ProcessInfo.processInfo.processIdentifier)")
        stop = StopSignal(waking: bus.makeWaker())
    }

    /// Returns the nodes of this host and of the peers in `NAVBUS_HOSTS`, without joining the bus; unreadable entries are reported.
    static func registry() throws -> RegistrySnapshot {
        let hosts = try HostOptions.peers()
        return try attempt { () throws(BusError) in
            var snapshot = try BusDirectory.fromEnvironment().inspect()
            if let others = try hosts?.inspect() {
                snapshot.add(others.nodes)
                snapshot.problems += others.problems
            }
            for problem in snapshot.problems { Console.note(problem) }
            return snapshot
        }
    }

    /// Returns the current nodes of this host and of the peers that have identified themselves to this tool.
    func snapshot() throws -> RegistrySnapshot {
        var snapshot = try Self.attempt { () throws(BusError) in try directory.inspect() }
        snapshot.add(bus.peerAnnouncements)
        return snapshot
    }

    private func snapshotOfHost() throws -> [String] {
        try Self.attempt { () throws(BusError) in try directory.inspect().nodes.map(\.node) }
    }

    func poll(_ timeout: Duration) throws -> Delivery? {
        try Self.attempt { () throws(BusError) in try bus.poll(timeout: timeout) }
    }

    /// Subscribes to topics, in which `*` matches any text; returns whether any of them is a pattern.
    @discardableResult
    func subscribe(_ topics: [String], depth: Int) throws -> Bool {
        let isPattern = topics.contains { $0.contains("*") }
        try Self.attempt { () throws(BusError) in
            if isPattern {
                let filter = TopicFilter(include: topics)
                _ = try bus.subscribe(matching: filter, qos: .keepLast(depth), maximumPayloadSize: 64 << 20)
            } else {
                for topic in topics {
                    _ = try bus.subscribe(to: topic, qos: .keepLast(depth), maximumPayloadSize: 64 << 20)
                }
            }
        }
        return isPattern
    }

    static func attempt<Value>(_ body: () throws(BusError) -> Value) throws(NodeError) -> Value {
        do throws(BusError) {
            return try body()
        } catch {
            let isUsage = error.code == .invalidName || error.code == .invalidArgument
            throw NodeError(isUsage ? .usage : .system, error.description)
        }
    }

    /// The time at which this tool stops waiting for peers, so that it waits for an absent peer only once.
    private lazy var peerDeadline = MonotonicClock.now() + .seconds(2)

    /// Waits until peers have identified themselves, up to two seconds from the first wait; earlier calls to their nodes fail.
    ///
    /// - Parameter nodes: the required nodes; nil for all.
    func meetPeers(of nodes: Set<String>? = nil) throws {
        let away = try nodes?.subtracting(snapshotOfHost())
        while bus.hostStatistics.peersPresent < bus.hostStatistics.peers, MonotonicClock.now() < peerDeadline,
            !stop.isStopped, away?.isSubset(of: bus.peerAnnouncements.map(\.node)) != true
        {
            try Self.attempt { () throws(BusError) in try bus.runServices(timeout: .milliseconds(20)) }
        }
    }

    // MARK: Calls

    /// Makes all calls concurrently and waits until they end; a stop ends the wait.
    ///
    /// - Returns: for each call in order, its last response, or the error that ended it.
    func call(
        _ calls: [(node: String, method: String, request: [UInt8])], timeout: Duration = .seconds(1)
    ) throws -> [Result<[UInt8], CallStatus>] {
        try meetPeers(of: Set(calls.map(\.node)))
        var ends: [Result<[UInt8], CallStatus>?] = calls.map { _ in nil }
        var responses: [[UInt8]] = calls.map { _ in [] }
        for (index, call) in calls.enumerated() {
            var options = CallOptions(timeout: timeout)
            options.node = call.node
            options.isIdempotent = true
            options.maximumResponseSize = Self.maximumResponseSize
            try Self.attempt { () throws(BusError) in
                _ = try bus.call(NodeService.name, call.method, call.request, options: options) { event in
                    switch event {
                    case .response(let payload): responses[index] = payload.bytes
                    case .end(let status):
                        ends[index] = status.code == .ok ? .success(responses[index]) : .failure(status)
                    }
                }
            }
        }
        while ends.contains(where: { $0 == nil }), !stop.isStopped {
            try Self.attempt { () throws(BusError) in try bus.runServices(timeout: .milliseconds(100)) }
        }
        return ends.map { $0 ?? .failure(CallStatus(.cancelled, "stopped")) }
    }

    // MARK: Schemas

    /// Returns the schema of a type or service as served by a node, or the reason why the node does not serve it.
    func schema(of name: String, from node: Announcement) throws -> Result<SchemaPool, NodeError> {
        try descriptors(of: name, from: node).flatMap { set in
            do {
                return .success(try SchemaPool(fileDescriptorSet: set))
            } catch {
                return .failure(
                    NodeError(.invalid, "node '\(node.node)' returned a schema that cannot be read: \(error)"))
            }
        }
    }

    /// Returns the same schema as an unparsed FileDescriptorSet.
    func descriptors(of name: String, from node: Announcement) throws -> Result<[UInt8], NodeError> {
        guard node.services.contains(where: { $0.name == NodeService.name }) else {
            return .failure(NodeError(.missing, "node '\(node.node)' does not serve \(NodeService.name)"))
        }
        let answer = try call(
            [(node.node, "GetSchema", GetSchemaRequest(type: name).encoded())], timeout: .seconds(3))[0]
        switch answer {
        case .failure(let status):
            return .failure(.printable(.missing, "node '\(node.node)' returned no schema: \(status.text)"))
        case .success(let bytes):
            let response = try? GetSchemaResponse(decoding: bytes)
            guard let set = response?.fileDescriptorSet, !set.isEmpty else {
                let reason =
                    response.map { $0.error?.message ?? "the response is empty" } ?? "the response cannot be read"
                return .failure(.printable(.missing, "node '\(node.node)' returned no schema: \(reason)"))
            }
            return .success(set)
        }
    }

    func close() { bus.close() }
}

extension StatusCode {
    private static let names = [
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
        "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
        "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
    ]

    var name: String { Self.names.indices.contains(Int(rawValue)) ? Self.names[Int(rawValue)] : "UNKNOWN" }
}

extension CallStatus {
    /// The name, message, details and trailers on one line.
    var text: String {
        var text = code.name + (message.isEmpty ? "" : ": \(message)")
        if !details.isEmpty {
            let known = try? MessageJSON.text(decoding: details, as: ErrorInfo.fullName)
            text += " (details: \(known ?? Data(details).base64EncodedString()))"
        }
        for entry in trailers { text += " [\(entry.key): \(String(decoding: entry.value, as: UTF8.self))]" }
        return text
    }
}

extension RegistrySnapshot {
    /// Adds nodes of other hosts; a node of this host that is also a peer is already present.
    mutating func add(_ others: [Announcement]) {
        let known = Set(nodes.map(\.bootID))
        nodes = (nodes + others.filter { !known.contains($0.bootID) }).sorted {
            ($0.node, $0.bootID) < ($1.node, $1.bootID)
        }
    }

    /// Returns the nodes that publish a topic, with the topic's description.
    func publishers(of topic: String) -> [(node: Announcement, topic: TopicDescription)] {
        nodes.flatMap { node in node.topics.filter { $0.name == topic }.map { (node, $0) } }
    }

    func servers(of service: String) -> [Announcement] {
        nodes.filter { node in node.services.contains { $0.name == service } }
    }

    /// Returns a node by its name, or throws an error that suggests the nearest one.
    func node(named name: String) throws(NodeError) -> Announcement {
        if let node = nodes.first(where: { $0.node == name }) { return node }
        let near = suggestion(for: name, among: nodes.map(\.node), quote: "'")
        throw NodeError(.missing, "no node '\(name)' is on the bus (navbus node list)\(near)")
    }
}

extension QoS {
    var word: String {
        switch self {
        case .latched: "latched"
        case .keepLast(let count): "keep_last(\(count))"
        case .latest: "latest"
        }
    }
}

/// A FileDescriptorSet in a file, as written by `protoc --include_imports --descriptor_set_out`.
struct DescriptorFile {
    let bytes: [UInt8]
    let pool: SchemaPool

    init(_ path: String) throws(NodeError) {
        do throws(ConfigError) {
            bytes = try TextFile.bytes(path, limit: 64 << 20)
        } catch {
            throw NodeError(
                .missing, "\(error.description); protoc --include_imports --descriptor_set_out=FILE makes one")
        }
        do throws(SchemaError) {
            pool = try SchemaPool(fileDescriptorSet: bytes)
        } catch {
            throw NodeError(
                .invalid,
                "\(path): \(error); protoc --include_imports --descriptor_set_out=FILE makes a file of descriptors")
        }
    }
}
