internal import DequeModule
import NavBus

/// The services of an ``InProcessBus``: the real client and server, connected by bounded pipes instead of sockets.
final class InProcessServices {
    private struct Message {
        let isRequest: Bool
        let peer: String
        let header: [UInt8]
        let payload: [UInt8]
    }

    private static let pipeDepth = 8192

    private let name: String
    private let bootID: UInt64
    private let waker: Waker
    private let find: (String) -> InProcessServices?
    private var pipe: Deque<Message> = []

    private(set) lazy var client = ServiceClient(maximumMessageSize: 64 << 20) { [unowned self] peer, frame, payload in
        guard let other = find(peer.info.node), other.bootID == peer.info.bootID else { return .unreachable }
        return other.put(Message(isRequest: true, peer: name, header: frame.boundedEncoding, payload: [UInt8](payload)))
    }

    private(set) lazy var server = ServiceServer(
        bootID: bootID, waker: waker, heartbeat: HeartbeatConfiguration(), maximumResponseSize: 64 << 20
    ) { [unowned self] client, frame, payload in
        let peer = client.withBytes { String(decoding: $0, as: UTF8.self) }
        guard let other = find(peer) else { return .unreachable }
        return other.put(
            Message(isRequest: false, peer: name, header: frame.boundedEncoding, payload: [UInt8](payload)))
    }

    init(_ name: String, _ bootID: UInt64, _ waker: Waker, find: @escaping (String) -> InProcessServices?) {
        (self.name, self.bootID, self.waker, self.find) = (name, bootID, waker, find)
    }

    /// The node's entry in the registry; nil while it serves no service.
    var info: ServerInfo? {
        let services = server.descriptions
        return services.isEmpty ? nil : ServerInfo(node: name, bootID: bootID, services: services)
    }

    /// The servers of which the client has not been informed yet.
    var announced: [ServerInfo]?

    var statistics: ServiceStatistics { ServiceStatistics(client, server) }

    private func put(_ message: Message) -> Transmission {
        guard pipe.count < Self.pipeDepth else { return .full }
        pipe.append(message)
        return .sent
    }

    /// Puts a message into the pipe as a foreign client could.
    func inject(header: [UInt8], payload: [UInt8]) {
        _ = put(Message(isRequest: true, peer: "foreign", header: header, payload: payload))
    }

    /// Handles the messages in the pipe and fires timers.
    ///
    /// - Returns: whether there was a message.
    func run(_ now: Int64) -> Bool {
        let hadMessages = !pipe.isEmpty
        while let message = pipe.popFirst() {
            let payload = message.payload.withUnsafeBytes { Payload(copying: $0) }
            guard let frame = message.header.withUnsafeBytes({ ServiceFrame(decoding: $0) }) else {
                message.isRequest ? server.rejected() : client.rejected()
                continue
            }
            if message.isRequest {
                server.receive(frame, payload, from: ClientAddress(message.peer), now: now)
            } else {
                if let peer = client.peer(message.peer) { client.receive(frame, payload, from: peer, now: now) }
            }
        }
        followServers(now)
        client.advance(now)
        server.advance(now)
        return hadMessages
    }

    /// Informs the client of the servers, after handling the messages that a server sent before it left.
    func followServers(_ now: Int64) {
        guard let announced else { return }
        self.announced = nil
        client.serversChanged(announced, now: now)
    }

    func close() {
        let servers = client.busyPeers.map(\.info.node)
        client.close()
        for node in servers {
            let goodbye = ServiceFrame(.goodbye).encoded
            _ = find(node)?.put(Message(isRequest: true, peer: name, header: goodbye, payload: []))
        }
        server.close()
    }
}

extension ServiceFrame {
    /// The encoded header; message, details and metadata are omitted if they exceed the limits of a reader.
    fileprivate var boundedEncoding: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.maximumEncodedSize) { buffer, count in
            count = encode(boundedInto: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
