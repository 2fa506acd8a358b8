internal import CZeroMQ
internal import Glibc

/// An epoll descriptor that is readable while any watched descriptor is.
final class Poller {
    private let file: FileDescriptor

    init() throws(BusError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else {
            throw BusError(.transport, "cannot create an epoll: \(FileSystem.reason()); raise the open-file limit")
        }
        file = FileDescriptor(descriptor)
    }

    var fileDescriptor: Int32 { file.rawValue }

    /// Watches a descriptor; ``collect(_:)`` reports it as `tag`.
    ///
    /// - Returns: false when the system refuses, for example for lack of memory.
    @discardableResult
    func watch(_ descriptor: Int32, _ tag: UInt64) -> Bool {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: tag))
        return epoll_ctl(file.rawValue, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    /// Stops watching a descriptor; must be called before the descriptor is closed, which ZeroMQ does some time after the socket's end.
    func unwatch(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(file.rawValue, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Calls `body` with the tags of readable descriptors, 32 at most; while more are readable, so is this descriptor.
    ///
    /// - Parameter milliseconds: the longest wait for the first one; 0 returns at once, -1 waits indefinitely.
    /// - Returns: false when a signal ended the wait.
    @inline(__always) @discardableResult
    func collect(milliseconds: Int32 = 0, _ body: (UInt64) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 32) { events in
            let count = epoll_wait(file.rawValue, events.baseAddress, Int32(events.count), milliseconds)
            for event in events.prefix(max(0, Int(count))) { body(event.data.u64) }
            return count >= 0
        }
    }
}
