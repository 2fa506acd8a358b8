internal import CZeroMQ

/// Sends and receives messages of the services' protocol, see <doc:Services>; one instance's storage serves all sockets of a side.
final class ServiceWire {
    enum Incoming {
        case malformed
        case message(ServiceFrame, Payload)
    }

    private let scratch = MessageBuffer.empty()
    // Unchecked exclusivity for the same reason as in SubscriberSide.
    @exclusivity(unchecked) private var spare = MessageBuffer.empty()
    @exclusivity(unchecked) private var names: NameCache? = NameCache()
    private let header = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ServiceFrame.maximumEncodedSize, alignment: 16)

    deinit { header.deallocate() }

    /// Sends without waiting.
    @inline(__always)
    func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        through socket: ZeroMQSocket
    ) -> Transmission {
        let count = frame.encode(boundedInto: header)
        let front = UnsafeRawBufferPointer(rebasing: header[..<count])
        guard let error = socket.send(front, more: true) ?? socket.send(payload, more: false) else { return .sent }
        return error.code == .again ? .full : .unreachable
    }

    /// Sends to a client of a ROUTER without waiting.
    @inline(__always)
    func send(
        _ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        to client: ClientAddress, through router: ZeroMQSocket
    ) -> Transmission {
        if let error = client.withBytes({ router.send($0, more: true) }) {
            return error.code == .again ? .full : .unreachable
        }
        return send(frame, payload, through: router)
    }

    /// Receives the next message of a DEALER; nil when none waits.
    @inline(__always)
    func receive(from socket: ZeroMQSocket) throws(ZeroMQError) -> Incoming? {
        guard try socket.receive(into: scratch.pointer) else { return nil }
        return try finish(socket)
    }

    /// Receives the next message of a ROUTER and its sender; nil when none waits.
    @inline(__always)
    func receive(
        fromClientsOf router: ZeroMQSocket, areRemote: Bool = false
    ) throws(ZeroMQError) -> (ClientAddress, Incoming)? {
        guard try router.receive(into: scratch.pointer) else { return nil }
        let address = ClientAddress(scratch.bytes, isRemote: areRemote)
        guard scratch.hasMore, try router.receive(into: scratch.pointer) else { return (address, .malformed) }
        return (address, try finish(router))
    }

    /// Receives the remaining frames of a message whose header is in `scratch`; the payload follows.
    private func finish(_ socket: ZeroMQSocket) throws(ZeroMQError) -> Incoming {
        let frame = ServiceFrame(decoding: scratch.bytes, &names)
        guard scratch.hasMore, try socket.receive(into: spare.pointer) else { return .malformed }
        if spare.hasMore {
            while try socket.receive(into: scratch.pointer), scratch.hasMore {}
            return .malformed
        }
        guard let frame else { return .malformed }
        guard frame.carriesPayload else { return .message(frame, .none) }
        defer { spare = MessageBuffer.empty() }
        return .message(frame, Payload(received: spare))
    }
}
