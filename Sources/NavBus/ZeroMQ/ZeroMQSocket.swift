package import CZeroMQ
internal import Glibc

/// A libzmq socket; used by one thread at a time.
package final class ZeroMQSocket {
    /// The socket patterns the bus uses.
    package enum Kind {
        case subscriber, publisher, router, dealer, reply, pair

        var rawValue: Int32 {
            switch self {
            case .subscriber: ZMQ_SUB
            case .publisher: ZMQ_XPUB
            case .router: ZMQ_ROUTER
            case .dealer: ZMQ_DEALER
            case .reply: ZMQ_REP
            case .pair: ZMQ_PAIR
            }
        }
    }

    private let context: ZeroMQContext
    let handle: UnsafeMutableRawPointer

    /// Opens a socket in `context`, which it keeps alive.
    package init(_ kind: Kind, in context: ZeroMQContext) throws(ZeroMQError) {
        guard let handle = zmq_socket(context.handle, kind.rawValue) else { throw ZeroMQError("open a socket") }
        self.handle = handle
        self.context = context
    }

    deinit { zmq_close(handle) }

    /// Sets an `int` option, for example `ZMQ_SNDHWM`.
    package func set(_ option: Int32, _ value: Int32) throws(ZeroMQError) {
        var value = value
        guard zmq_setsockopt(handle, option, &value, MemoryLayout<Int32>.size) == 0 else {
            throw ZeroMQError("set option \(option) to \(value)")
        }
    }

    /// Sets an `int64_t` option, for example `ZMQ_MAXMSGSIZE`.
    package func set(_ option: Int32, wide value: Int64) throws(ZeroMQError) {
        var value = value
        guard zmq_setsockopt(handle, option, &value, MemoryLayout<Int64>.size) == 0 else {
            throw ZeroMQError("set option \(option) to \(value)")
        }
    }

    /// Sets a bytes option, for example `ZMQ_SUBSCRIBE`.
    package func set(_ option: Int32, _ bytes: [UInt8]) throws(ZeroMQError) {
        guard zmq_setsockopt(handle, option, bytes, bytes.count) == 0 else {
            throw ZeroMQError("set option \(option)")
        }
    }

    package func bind(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_bind(handle, endpoint) == 0 else { throw ZeroMQError("bind \(endpoint)") }
    }

    package func connect(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_connect(handle, endpoint) == 0 else { throw ZeroMQError("connect to \(endpoint)") }
    }

    package func disconnect(_ endpoint: String) throws(ZeroMQError) {
        guard zmq_disconnect(handle, endpoint) == 0 else { throw ZeroMQError("disconnect from \(endpoint)") }
    }

    /// Returns the descriptor that becomes readable, edge-triggered, when the socket is ready.
    ///
    /// Wait on it only after a receive has found nothing.
    package func fileDescriptor() throws(ZeroMQError) -> Int32 {
        var descriptor: Int32 = -1
        var size = MemoryLayout<Int32>.size
        guard zmq_getsockopt(handle, ZMQ_FD, &descriptor, &size) == 0 else {
            throw ZeroMQError("read the descriptor")
        }
        return descriptor
    }

    /// Sends one frame without ever waiting; `more` means that another frame follows in the same message.
    ///
    /// - Returns: nil when libzmq accepted the frame.
    @inline(__always)
    package func send(_ bytes: UnsafeRawBufferPointer, more: Bool) -> ZeroMQError? {
        let flags = more ? ZMQ_DONTWAIT | ZMQ_SNDMORE : ZMQ_DONTWAIT
        while zmq_send(handle, bytes.baseAddress, bytes.count, flags) < 0 {
            let error = ZeroMQError("send")
            if error.code != .interrupted { return error }
        }
        return nil
    }

    /// Sends a payload as a message's last frame without copying it; it is released when the last connection has sent it.
    ///
    /// - Returns: nil when libzmq accepted the payload.
    func send(_ payload: SharedPayload) -> ZeroMQError? {
        var message = zmq_msg_t()
        let hint = Unmanaged.passRetained(payload).toOpaque()
        let release: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = { _, hint in
            if let hint { Unmanaged<SharedPayload>.fromOpaque(hint).release() }
        }
        let bytes = UnsafeMutableRawPointer(mutating: payload.bytes.baseAddress)
        guard zmq_msg_init_data(&message, bytes, payload.bytes.count, release, hint) == 0 else {
            Unmanaged<SharedPayload>.fromOpaque(hint).release()
            return ZeroMQError("send")
        }
        while zmq_msg_send(&message, handle, ZMQ_DONTWAIT) < 0 {
            let error = ZeroMQError("send")
            guard error.code == .interrupted else {
                zmq_msg_close(&message)
                return error
            }
        }
        return nil
    }

    /// Receives one frame into `message` if one is available.
    ///
    /// - Returns: false when nothing is waiting.
    @inline(__always)
    package func receive(into message: UnsafeMutablePointer<zmq_msg_t>) throws(ZeroMQError) -> Bool {
        while zmq_msg_recv(message, handle, ZMQ_DONTWAIT) < 0 {
            switch zmq_errno() {
            case EAGAIN: return false
            case EINTR: continue
            default: throw ZeroMQError("receive")
            }
        }
        return true
    }
}
