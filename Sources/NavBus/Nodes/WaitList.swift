internal import Glibc

/// The descriptors of one node's wait, in storage reused between waits.
final class WaitList {
    /// The causes that ended a wait; empty after a timeout.
    struct Ready: OptionSet {
        let rawValue: UInt16

        static let waker = Ready(rawValue: 1)
        static let registry = Ready(rawValue: 2)
        static let subscriber = Ready(rawValue: 4)
        static let publisher = Ready(rawValue: 8)
        static let services = Ready(rawValue: 16)
        /// Of other hosts: messages, and subscribers.
        static let remoteSubscriber = Ready(rawValue: 32)
        static let remotePublisher = Ready(rawValue: 64)
        /// Connections to publishers were made or ended.
        static let connections = Ready(rawValue: 128)
        /// A signal arrived; it counts as a wake.
        static let interrupted = Ready(rawValue: 256)
    }

    private let entries: UnsafeMutableBufferPointer<pollfd>

    init(
        waker: Int32, subscriber: Int32, publisher: Int32, services: Int32, remotePublisher: Int32?,
        connections: Int32
    ) {
        entries = .allocate(capacity: 8)
        // In the order of the bits of `Ready`. poll(2) ignores negative descriptors.
        let descriptors = [waker, -1, subscriber, publisher, services, -1, remotePublisher ?? -1, connections]
        for (index, descriptor) in descriptors.enumerated() {
            entries.initializeElement(at: index, to: pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        }
    }

    deinit { entries.deallocate() }

    /// Sleeps until a descriptor is readable, a signal arrives, or the time is over.
    @inline(__always)
    func wait(registry: Int32?, remoteSubscriber: Int32?, nanoseconds: Int64) -> Ready {
        // Rounded up: a wait that ends early would busy-loop through its last millisecond.
        let milliseconds = Int32(clamping: (max(0, min(nanoseconds, .max - 999_999)) + 999_999) / 1_000_000)
        entries[1].fd = registry ?? -1
        entries[5].fd = remoteSubscriber ?? -1
        let found = Glibc.poll(entries.baseAddress, nfds_t(entries.count), milliseconds)
        if found < 0 { return [.waker, .interrupted] }
        if found == 0 { return [] }
        var bits: UInt16 = 0
        for index in entries.indices where entries[index].revents != 0 { bits |= 1 << UInt16(index) }
        return Ready(rawValue: bits)
    }
}
