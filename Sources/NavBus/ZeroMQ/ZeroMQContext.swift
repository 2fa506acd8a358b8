internal import CZeroMQ
internal import Glibc

/// A libzmq context with one I/O thread.
///
/// Every ``ZeroMQSocket`` retains its context: `zmq_ctx_term` waits for the sockets to close, so ending the context first
/// would block indefinitely.
package final class ZeroMQContext {
    let handle: UnsafeMutableRawPointer
    /// Called after every socket has ended, with its last messages sent or given up.
    var whenEnded: () -> Void = {}

    /// Creates a context; fails when the process is out of memory or file descriptors.
    package init() throws(ZeroMQError) {
        guard let handle = zmq_ctx_new() else { throw ZeroMQError("create a context") }
        self.handle = handle
    }

    /// Gives the I/O thread a real-time priority, 1 to 99; call it before the first socket is opened.
    ///
    /// libzmq aborts the process when the system refuses, so the permission is first tested on the calling thread.
    func setPriority(_ priority: Int32) throws(BusError) {
        var (parameter, before) = (sched_param(), sched_param())
        parameter.sched_priority = priority
        let policy = sched_getscheduler(0)
        guard policy >= 0, sched_getparam(0, &before) == 0, sched_setscheduler(0, SCHED_FIFO, &parameter) == 0 else {
            throw BusError(
                .invalidArgument,
                "ioThreadPriority \(priority) is not allowed (\(FileSystem.reason())): grant CAP_SYS_NICE or raise "
                    + "ulimit -r, or leave it unset")
        }
        sched_setscheduler(0, policy, &before)
        zmq_ctx_set(handle, ZMQ_THREAD_SCHED_POLICY, SCHED_FIFO)
        zmq_ctx_set(handle, ZMQ_THREAD_PRIORITY, priority)
    }

    deinit {
        // EINTR means that a signal arrived before the I/O thread finished: call again.
        while zmq_ctx_term(handle) != 0 && zmq_errno() == EINTR {}
        whenEnded()
    }
}
