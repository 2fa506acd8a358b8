internal import CZeroMQ
internal import Glibc

/// Owns a libzmq context, one I/O thread.
///
/// Every ``ZeroMQSocket`` holds its context: `zmq_ctx_term` waits for the sockets to close, so a context that went
/// first would wait for ever.
package final class ZeroMQContext {
    let handle: UnsafeMutableRawPointer

    /// Creates a context; fails when the process is out of memory or file descriptors.
    package init() throws(ZeroMQError) {
        guard let handle = zmq_ctx_new() else { throw ZeroMQError("create a context") }
        self.handle = handle
    }

    deinit {
        // EINTR means that a signal arrived before the I/O thread was done: ask again.
        while zmq_ctx_term(handle) != 0 && zmq_errno() == EINTR {}
    }
}
