internal import CZeroMQ

/// Options and endpoints of sockets between hosts.
extension ZeroMQSocket {
    /// Returns the endpoint of the last `bind`, with the port chosen by the system.
    package func lastEndpoint() throws(ZeroMQError) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        var size = buffer.count
        guard zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, &buffer, &size) == 0 else {
            throw ZeroMQError("read the endpoint")
        }
        return String(decoding: buffer.prefix(size).prefix { $0 != 0 }, as: UTF8.self)
    }

    func serveCurve(_ keys: CurveKeyPair) throws(ZeroMQError) {
        try set(ZMQ_CURVE_SERVER, 1)
        try set(ZMQ_CURVE_SECRETKEY, keys.secret)
        try set(ZMQ_ZAP_DOMAIN, Array(Authenticator.domain.utf8))
    }

    /// Makes the socket's next connections CURVE clients of the server with `key`.
    func useCurve(_ keys: CurveKeyPair, server key: CurvePublicKey) throws(ZeroMQError) {
        try set(ZMQ_CURVE_PUBLICKEY, keys.publicKey.bytes)
        try set(ZMQ_CURVE_SECRETKEY, keys.secret)
        try set(ZMQ_CURVE_SERVERKEY, key.bytes)
    }

    /// Reports the socket's `events` on a new PAIR socket without a queue limit, at which an I/O thread would block.
    func monitor(_ events: Int32, name: String, in context: ZeroMQContext) throws(ZeroMQError) -> ZeroMQSocket {
        let endpoint = "inproc://navbus.monitor.\(name)"
        guard zmq_socket_monitor(handle, endpoint, events) == 0 else { throw ZeroMQError("monitor a socket") }
        let pair = try ZeroMQSocket(.pair, in: context)
        try pair.set(ZMQ_RCVHWM, 0)
        try pair.set(ZMQ_LINGER, 0)
        try pair.connect(endpoint)
        return pair
    }

    /// Ends the monitor; the PAIR must exist until then, because the socket waits for its reader.
    func endMonitor() { zmq_socket_monitor(handle, nil, 0) }

    /// Returns all frames of the next message, at most `limit` of them; nil when no message waits.
    package func receiveFrames(limit: Int) throws(ZeroMQError) -> [[UInt8]]? {
        let buffer = MessageBuffer.empty()
        guard try receive(into: buffer.pointer) else { return nil }
        var frames = [[UInt8](buffer.bytes)]
        while buffer.hasMore, try receive(into: buffer.pointer) {
            if frames.count < limit { frames.append([UInt8](buffer.bytes)) }
        }
        return frames
    }

    /// Sends frames as one message; frames that the socket does not accept are lost.
    func sendFrames(_ frames: [[UInt8]]) {
        for (index, frame) in frames.enumerated() {
            guard frame.withUnsafeBytes({ send($0, more: index < frames.count - 1) }) == nil else { return }
        }
    }
}

struct MonitorEvent {
    let event: Int32
    let value: UInt32
    let endpoint: String

    /// Parses the two frames of a monitor event: 16 bits of event and 32 of value in native byte order, and the endpoint.
    init?(_ frames: [[UInt8]]) {
        guard frames.count == 2, frames[0].count == 6 else { return nil }
        (event, value) = frames[0].withUnsafeBytes { bytes in
            (
                Int32(bytes.loadUnaligned(fromByteOffset: 0, as: UInt16.self)),
                bytes.loadUnaligned(fromByteOffset: 2, as: UInt32.self)
            )
        }
        endpoint = String(decoding: frames[1].prefix(128), as: UTF8.self)
    }
}
