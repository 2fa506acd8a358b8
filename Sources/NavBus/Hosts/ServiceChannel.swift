internal import CZeroMQ

/// Messages of the services' protocol on a ROUTER or DEALER, see <doc:Services>.
struct ServiceChannel {
    /// A whole message.
    enum Incoming {
        case malformed
        case message(address: [UInt8], ServiceFrame, Payload)
    }

    let socket: ZeroMQSocket
    let fileDescriptor: Int32
    private let isRouter: Bool
    private let scratch = MessageBuffer.empty()

    init(_ socket: ZeroMQSocket, isRouter: Bool) throws(ZeroMQError) {
        (self.socket, self.isRouter) = (socket, isRouter)
        fileDescriptor = try socket.fileDescriptor()
    }

    /// The next message; nil when none waits.
    func receive() throws(ZeroMQError) -> Incoming? {
        guard try socket.receive(into: scratch.pointer) else { return nil }
        var address: [UInt8] = []
        if isRouter {
            address = [UInt8](scratch.bytes)
            guard scratch.hasMore, try socket.receive(into: scratch.pointer) else { return .malformed }
        }
        let frame = ServiceFrame(decoding: scratch.bytes)
        guard scratch.hasMore else { return .malformed }
        let payload = MessageBuffer.empty()
        guard try socket.receive(into: payload.pointer) else { return .malformed }
        guard payload.hasMore else {
            return frame.map { .message(address: address, $0, Payload(received: payload)) } ?? .malformed
        }
        while try socket.receive(into: scratch.pointer), scratch.hasMore {}
        return .malformed
    }

    /// Sends without waiting; false when it was not taken.
    func send(_ frame: ServiceFrame, _ payload: UnsafeRawBufferPointer, to address: ArraySlice<UInt8> = []) -> Bool {
        if isRouter, address.withUnsafeBytes({ socket.send($0, more: true) }) != nil { return false }
        guard frame.boundedEncoding.withUnsafeBytes({ socket.send($0, more: true) }) == nil else { return false }
        return socket.send(payload, more: false) == nil
    }

    /// Sends a header without a payload.
    func send(_ frame: ServiceFrame, to address: ArraySlice<UInt8> = []) -> Bool {
        send(frame, UnsafeRawBufferPointer(start: nil, count: 0), to: address)
    }
}
