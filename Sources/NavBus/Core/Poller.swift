internal import CZeroMQ
internal import Glibc

/// One descriptor for many: readable while one of those that it watches is.
final class Poller {
    private let file: FileDescriptor

    init() throws(BusError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else {
            throw BusError(.transport, "cannot create an epoll: \(FileSystem.reason()); raise the open files' limit")
        }
        file = FileDescriptor(descriptor)
    }

    var fileDescriptor: Int32 { file.rawValue }

    /// Watches a descriptor; `tag` is what ``collect(_:)`` says of it.
    func watch(_ descriptor: Int32, _ tag: UInt64) {
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: tag))
        epoll_ctl(file.rawValue, EPOLL_CTL_ADD, descriptor, &event)
    }

    /// Forgets a descriptor; before it is closed, which ZeroMQ does some time after its socket's end.
    func unwatch(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(file.rawValue, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Calls `body` with the tags of those that are readable, 32 at most: the others keep the descriptor readable.
    @inline(__always)
    func collect(_ body: (UInt64) -> Void) {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 32) { events in
            let count = epoll_wait(file.rawValue, events.baseAddress, Int32(events.count), 0)
            for event in events.prefix(max(0, Int(count))) { body(event.data.u64) }
        }
    }
}
