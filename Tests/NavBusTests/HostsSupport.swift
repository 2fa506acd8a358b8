import CZeroMQ
import Foundation
import NavBench
import NavBus
import NavTestKit
import NavTestSystem
import Synchronization
import Testing

/// Events of a node's authenticator and peers, collected from any thread.
final class EventLog: Sendable {
    private let events = Mutex<[HostEvent]>([])

    var all: [HostEvent] { events.withLock { $0 } }

    func add(_ event: HostEvent) { events.withLock { $0.append(event) } }
}

/// A value that another thread sets once.
final class Box<Value: Sendable>: Sendable {
    private let content = Mutex<(isSet: Bool, value: Value?)>((false, nil))

    var isSet: Bool { content.withLock { $0.isSet } }
    var value: Value? { content.withLock { $0.value } }

    func set(_ value: Value?) { content.withLock { $0 = (true, value) } }
}

/// A host with a separate directory, a key pair and a list of allowed keys.
final class TestHost {
    let directory: BusDirectory
    let keys: CurveKeyPair
    let events = EventLog()
    private let temporary: TemporaryFolder

    init() throws {
        temporary = try TemporaryFolder()
        directory = try BusDirectory(path: temporary.path)
        keys = try CurveKeyPair.generate()
    }

    /// Creates a node that listens on loopback, by default at a port chosen by the system.
    func listener(
        _ name: String, allowing allowed: Set<CurvePublicKey>?, at endpoint: TCPEndpoint? = nil
    ) throws -> BusNode {
        let listen = try endpoint ?? TCPEndpoint("tcp://127.0.0.1:0")
        return try node(name, HostConfiguration(listen: listen, security: security(allowed)))
    }

    /// Creates a node with a configured peer.
    func node(
        _ name: String, peer: TCPEndpoint, key: CurvePublicKey?, plain: Bool = false, maximumMessageSize: Int? = nil
    ) throws -> BusNode {
        let peer = HostConfiguration.Peer(endpoint: peer, key: key)
        return try node(
            name, HostConfiguration(peers: [peer], security: security(plain ? nil : [])),
            maximumMessageSize: maximumMessageSize)
    }

    func node(_ name: String, _ hosts: HostConfiguration?, maximumMessageSize: Int? = nil) throws -> BusNode {
        var configuration = BusConfiguration(directory: directory)
        configuration.rescanMilliseconds = 100
        if let maximumMessageSize { configuration.maximumMessageSize = maximumMessageSize }
        configuration.hosts = hosts
        configuration.hosts?.onEvent = { [events] in events.add($0) }
        return try BusNode(name: name, configuration: configuration)
    }

    private func security(_ allowed: Set<CurvePublicKey>?) -> HostConfiguration.Security {
        allowed.map { .curve(keys, allowed: $0) } ?? .insecure
    }
}

/// Two hosts: `server` listens and publishes, `client` connects to it.
struct TwoHosts {
    let vehicle: TestHost
    let desk: TestHost
    let server: BusNode
    let client: BusNode

    init(plain: Bool = false, maximumMessageSize: Int? = nil) throws {
        (vehicle, desk) = (try TestHost(), try TestHost())
        server = try vehicle.listener("server", allowing: plain ? nil : [desk.keys.publicKey])
        client = try desk.node(
            "client", peer: try #require(server.listeningEndpoint), key: plain ? nil : vehicle.keys.publicKey,
            plain: plain, maximumMessageSize: maximumMessageSize)
    }

    /// Waits until the client has found the server.
    func meet() throws {
        _ = try client.subscribe(to: "/nothing")
        try turn("the peer") { client.hostStatistics.peersPresent == 1 }
    }

    /// Polls both nodes until a condition holds; no messages may be queued.
    func turn(_ what: String, _ condition: () throws -> Bool) throws {
        try until(what) {
            for node in [server, client] { try node.runServices(timeout: .milliseconds(2)) }
            return try condition()
        }
    }
}

/// A peer that consists of a bare socket and answers every message with an announcement.
final class RawPeer {
    private let router: ZeroMQSocket
    let port: UInt16

    /// Listens on loopback, by default at a port chosen by the system.
    init(port: UInt16? = nil) throws {
        router = try ZeroMQSocket(.router, in: ZeroMQContext())
        try router.set(ZMQ_LINGER, 0)
        try router.bind("tcp://127.0.0.1:\(port.map(String.init) ?? "*")")
        self.port = try #require(try router.lastEndpoint().split(separator: ":").last.flatMap { UInt16($0) })
    }

    /// Answers the received messages with `json`, an announcement of run 1.
    func answer(_ json: String) throws {
        var announcement = ServiceFrame(.announcement)
        (announcement.serverBootID, announcement.sequence) = (1, 1)
        while let client = try router.receiveFrames(limit: 1)?.first {
            for frame in [client, announcement.encoded] { _ = frame.withUnsafeBytes { router.send($0, more: true) } }
            _ = Array(json.utf8).withUnsafeBytes { router.send($0, more: false) }
        }
    }
}

/// A bare TCP connection that sends invalid bytes.
final class BareConnection {
    private let descriptor: Int32

    init(port: UInt16) throws {
        descriptor = try LoopbackSocket.connect(to: port)
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        _ = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
