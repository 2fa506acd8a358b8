/// The descriptors of one node's wait.
final class WaitList {
    /// The causes that ended a wait; empty after a timeout.
    struct Ready: OptionSet {
        let rawValue: UInt16

        static let waker = Ready(rawValue: 1)
        static let registry = Ready(rawValue: 2)
        static let subscriber = Ready(rawValue: 4)
        static let publisher = Ready(rawValue: 8)
        static let services = Ready(rawValue: 16)
        /// Traffic of other hosts: messages, and subscribers.
        static let remoteSubscriber = Ready(rawValue: 32)
        static let remotePublisher = Ready(rawValue: 64)
        /// Connections to publishers were made or ended.
        static let connections = Ready(rawValue: 128)
        /// A signal arrived; it counts as a wake.
        static let interrupted = Ready(rawValue: 256)
    }

    // epoll rather than poll(2): the cost of a wait is then independent of the number of descriptors, and a busy subscriber
    // waits once for every few messages.
    private let poller: Poller
    private var registry: Int32 = -1
    private var remoteSubscriber: Int32 = -1

    init(
        waker: Int32, subscriber: Int32, publisher: Int32, services: Int32, remotePublisher: Int32?,
        connections: Int32
    ) throws(BusError) {
        poller = try Poller()
        let watched: [(Int32?, Ready)] = [
            (waker, .waker), (subscriber, .subscriber), (publisher, .publisher), (services, .services),
            (connections, .connections), (remotePublisher, .remotePublisher),
        ]
        for case (let descriptor?, let cause) in watched where !watch(descriptor, cause) {
            throw BusError(
                .transport, "cannot watch a socket: \(FileSystem.reason()); raise fs.epoll.max_user_watches")
        }
    }

    private func watch(_ descriptor: Int32, _ cause: Ready) -> Bool {
        poller.watch(descriptor, UInt64(cause.rawValue))
    }

    /// Sleeps until a descriptor is readable, a signal arrives, or the time is over.
    ///
    /// - Parameters:
    ///   - registry: the registry's descriptor, which may be created later than the node.
    ///   - remoteSubscriber: likewise the descriptor of messages from other hosts, negative while there is none.
    @inline(__always)
    func wait(registry: Int32?, remoteSubscriber: Int32?, nanoseconds: Int64) -> Ready {
        // Rounded up: a wait that ended early would busy-loop through its last millisecond.
        let milliseconds = Int32(clamping: (max(0, min(nanoseconds, .max - 999_999)) + 999_999) / 1_000_000)
        if registry ?? -1 != self.registry { replace(&self.registry, with: registry ?? -1, .registry) }
        if remoteSubscriber ?? -1 != self.remoteSubscriber {
            replace(&self.remoteSubscriber, with: remoteSubscriber ?? -1, .remoteSubscriber)
        }
        var bits: UInt16 = 0
        let isWhole = poller.collect(milliseconds: milliseconds) { bits |= UInt16(truncatingIfNeeded: $0) }
        return isWhole ? Ready(rawValue: bits) : [.waker, .interrupted]
    }

    private func replace(_ descriptor: inout Int32, with new: Int32, _ cause: Ready) {
        if descriptor >= 0 { poller.unwatch(descriptor) }
        // A failed registration is retried at the next wait.
        descriptor = new < 0 || watch(new, cause) ? new : -1
    }
}
