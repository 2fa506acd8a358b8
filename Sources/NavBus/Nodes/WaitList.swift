internal import Glibc

/// The descriptors of one node's wait, in storage that is kept from one wait to the next.
final class WaitList {
    /// What ended a wait; empty when its time was over.
    struct Ready: OptionSet {
        let rawValue: UInt8

        static let waker = Ready(rawValue: 1)
        static let registry = Ready(rawValue: 2)
        static let subscriber = Ready(rawValue: 4)
        static let publisher = Ready(rawValue: 8)
        static let services = Ready(rawValue: 16)
        /// A signal arrived: as good as a wake.
        static let interrupted = Ready(rawValue: 32)
    }

    /// The services' descriptors, appended after ``begin(waker:registry:subscriber:publisher:)``.
    var services: [Int32] = []

    private var entries: UnsafeMutableBufferPointer<pollfd>

    private static let fixed = 4

    init() { entries = .allocate(capacity: 8) }

    deinit { entries.deallocate() }

    /// Starts a list; poll(2) passes over negative descriptors.
    @inline(__always)
    func begin(waker: Int32, registry: Int32?, subscriber: Int32, publisher: Int32) {
        let readable = Int16(POLLIN)
        entries[0] = pollfd(fd: waker, events: readable, revents: 0)
        entries[1] = pollfd(fd: registry ?? -1, events: readable, revents: 0)
        entries[2] = pollfd(fd: subscriber, events: readable, revents: 0)
        entries[3] = pollfd(fd: publisher, events: readable, revents: 0)
        services.removeAll(keepingCapacity: true)
    }

    /// Sleeps until a descriptor is readable, a signal comes, or the time is over.
    @inline(__always)
    func wait(nanoseconds: Int64) -> Ready {
        // Rounded up: a wait that ends early would spin through the rest of its last millisecond.
        let milliseconds = Int32(clamping: (max(0, min(nanoseconds, .max - 999_999)) + 999_999) / 1_000_000)
        let count = Self.fixed + services.count
        if count > entries.count { grow(count) }
        for index in services.indices {
            entries[Self.fixed + index] = pollfd(fd: services[index], events: Int16(POLLIN), revents: 0)
        }
        let found = Glibc.poll(entries.baseAddress, nfds_t(count), milliseconds)
        if found < 0 { return [.waker, .interrupted] }
        if found == 0 { return [] }
        var ready: Ready = []
        if entries[0].revents != 0 { ready.insert(.waker) }
        if entries[1].revents != 0 { ready.insert(.registry) }
        if entries[2].revents != 0 { ready.insert(.subscriber) }
        if entries[3].revents != 0 { ready.insert(.publisher) }
        for index in Self.fixed..<count where entries[index].revents != 0 { ready.insert(.services) }
        return ready
    }

    private func grow(_ count: Int) {
        let larger = UnsafeMutableBufferPointer<pollfd>.allocate(capacity: count * 2)
        for index in 0..<Self.fixed { larger[index] = entries[index] }
        entries.deallocate()
        entries = larger
    }
}
