internal import CZeroMQ

/// One libzmq message at a stable address, closed with its last reference.
///
/// The message is stored in the object's tail, so there is a single allocation. Its creator writes it once, and it is
/// read-only from then on; closing it is safe on any thread because libzmq counts references atomically.
final class MessageBuffer: ManagedBuffer<Void, zmq_msg_t> {
    /// An empty message, ready to receive into.
    static func empty() -> MessageBuffer {
        let buffer = unsafeDowncast(MessageBuffer.create(minimumCapacity: 1) { _ in }, to: MessageBuffer.self)
        zmq_msg_init(buffer.pointer)
        return buffer
    }

    /// Returns a message with a copy of `bytes`; empty when memory is exhausted.
    static func copy(of bytes: UnsafeRawBufferPointer) -> MessageBuffer {
        let buffer = unsafeDowncast(MessageBuffer.create(minimumCapacity: 1) { _ in }, to: MessageBuffer.self)
        guard zmq_msg_init_size(buffer.pointer, bytes.count) == 0 else {
            zmq_msg_init(buffer.pointer)
            return buffer
        }
        UnsafeMutableRawBufferPointer(start: zmq_msg_data(buffer.pointer), count: bytes.count).copyMemory(from: bytes)
        return buffer
    }

    deinit { zmq_msg_close(pointer) }

    var pointer: UnsafeMutablePointer<zmq_msg_t> { withUnsafeMutablePointerToElements { $0 } }

    /// Whether another frame of the same message follows.
    var hasMore: Bool { zmq_msg_more(pointer) != 0 }

    /// The frame's size, in bytes.
    var count: Int { zmq_msg_size(pointer) }

    /// The frame's bytes, valid while the buffer lives and nothing is received into it.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: zmq_msg_data(pointer), count: count)
    }
}
