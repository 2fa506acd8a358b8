internal import Glibc

/// A node on the bus between processes: ZeroMQ over Unix sockets, found through the file system.
///
/// Used by one thread; only a ``Waker`` crosses to others. The node's name is claimed until ``close()`` or the
/// object's end.
public final class BusNode: Bus {
    /// The node's name, unique among the live nodes of its domain.
    public let name: String
    /// The `boot_id` of every header the node sends, new at each start.
    public let bootID: UInt64

    private let configuration: BusConfiguration
    private let lock: NodeLock
    private let waker: Waker
    private var publisher: PublisherSide?
    private var subscriber: SubscriberSide?
    private var services: ServiceTransport?
    private var lastUpkeep: Int64 = 0
    private var signals = Signals()

    /// How long a node with queued messages may go without looking at its sockets, in nanoseconds.
    private static let upkeepInterval: Int64 = 1_000_000

    /// Joins the bus under `name`.
    ///
    /// - Throws: ``BusError`` when the name is taken or not valid, the directory's path is too long, or the directory
    ///   is unsafe or cannot be written.
    public init(name: String, configuration: BusConfiguration) throws(BusError) {
        try Names.checkDirectoryName(name, "node name")
        try configuration.check()
        let directory = configuration.directory
        try directory.checkSocketPath(of: name)
        try directory.prepare()
        NodeLock.sweep(directory)
        let lock = try NodeLock(name, in: directory)
        let bootID = UInt64.random(in: 1 ... .max)
        self.name = name
        self.configuration = configuration
        self.lock = lock
        self.bootID = bootID
        do throws(BusError) {
            waker = try Waker()
            (publisher, subscriber, services) = try Self.openSockets(name, bootID, configuration)
            try announce()
        } catch {
            // The sockets go before the name: their end removes the socket file of whoever holds the name.
            (publisher, subscriber, services) = (nil, nil, nil)
            lock.release()
            throw error
        }
    }

    deinit { close() }

    private static func openSockets(
        _ name: String, _ bootID: UInt64, _ configuration: BusConfiguration
    ) throws(BusError) -> (PublisherSide, SubscriberSide, ServiceTransport) {
        let endpoint = "ipc://" + configuration.directory.publisherPath(name)
        let (context, publisher, subscriber): (ZeroMQContext, PublisherSide, SubscriberSide)
        do throws(ZeroMQError) {
            context = try ZeroMQContext()
            publisher = try PublisherSide(in: context, endpoint: endpoint, bootID: bootID, configuration)
            subscriber = try SubscriberSide(in: context, bootID: bootID, configuration)
        } catch {
            throw error.asBusError
        }
        return (publisher, subscriber, try ServiceTransport(in: context, name, bootID: bootID, configuration))
    }

    /// What the node has seen since it started; empty once closed.
    public var statistics: BusStatistics {
        guard let publisher, let subscriber else { return BusStatistics(topics: [], unattributedRejections: 0) }
        return BusStatistics(inbox: subscriber.inbox, outbox: publisher.outbox)
    }

    // MARK: Publishing

    /// Starts publishing a topic and tells everybody, see ``Bus/advertise(_:)``.
    public func advertise(_ topic: TopicDescription) throws(BusError) -> Publication {
        guard let publisher else { throw .closed(name) }
        let publication = try publisher.advertise(topic)
        do throws(BusError) {
            try announce()
        } catch {
            publisher.withdrawLast()
            throw error
        }
        return publication
    }

    /// Publishes one message without waiting, see ``Bus/publish(_:on:stampNanoseconds:)``.
    public func publish(
        _ payload: UnsafeRawBufferPointer, on publication: Publication, stampNanoseconds: Int64
    ) throws(BusError) {
        guard let publisher else { throw .closed(name) }
        try publisher.publish(payload, on: publication, stampNanoseconds: stampNanoseconds)
    }

    /// How many subscriptions there are to a publication's topic now.
    public func subscriberCount(of publication: Publication) throws(BusError) -> Int {
        guard let publisher else { throw .closed(name) }
        try publisher.outbox.check(publication)
        try publisher.service()
        return publisher.outbox.subscriberCount(publication.index)
    }

    private func announce() throws(BusError) {
        guard let publisher else { return }
        let announcement = Announcement(
            node: name, processID: getpid(), bootID: bootID,
            publisherEndpoint: "ipc://" + configuration.directory.publisherPath(name),
            topics: publisher.outbox.descriptions,
            serviceEndpoint: services?.serviceEndpoint, services: services?.server.descriptions ?? [])
        let json = try announcement.json
        guard json.count <= Announcement.maximumSize else {
            throw BusError(.registry, "the announcement of '\(name)' is over \(Announcement.maximumSize) bytes")
        }
        try FileSystem.replace(configuration.directory.announcementPath(name), with: json)
    }

    // MARK: Subscribing

    /// Subscribes to one topic, see ``Bus/subscribe(to:qos:maximumPayloadSize:)``.
    public func subscribe(to topic: String, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID {
        guard let subscriber else { throw .closed(name) }
        try Names.checkTopic(topic)
        try Outbox.check(qos: qos, maximumPayloadSize: maximumPayloadSize, topic)
        return try subscriber.subscribe(to: topic, qos, maximumPayloadSize)
    }

    /// Subscribes to every topic a filter takes, see ``Bus/subscribe(matching:qos:maximumPayloadSize:)``.
    public func subscribe(
        matching filter: TopicFilter, qos: QoS, maximumPayloadSize: Int
    ) throws(BusError) -> SubscriptionID {
        guard let subscriber else { throw .closed(name) }
        try Outbox.check(qos: qos, maximumPayloadSize: maximumPayloadSize, filter.include.joined(separator: " "))
        return try subscriber.subscribe(matching: filter, qos, maximumPayloadSize)
    }

    /// Ends a subscription and drops what it had queued.
    public func unsubscribe(_ subscription: SubscriptionID) throws(BusError) {
        guard let subscriber else { throw .closed(name) }
        guard try subscriber.unsubscribe(subscription) else { throw .unknownSubscription(name) }
    }

    // MARK: The loop

    /// The oldest message, waiting at most `timeout` for one, see ``Bus/poll(timeout:)``.
    public func poll(timeout: Duration?) throws(BusError) -> Delivery? {
        guard let publisher, let subscriber, let services else { throw .closed(name) }
        var now = Clocks.monotonic()
        if subscriber.inbox.queued > 0 {
            if now - lastUpkeep > Self.upkeepInterval {
                signals = Signals()
                _ = try turn(publisher, subscriber, services, now)
            }
            return subscriber.next()
        }
        let deadline = timeout.map { now + $0.boundedNanoseconds } ?? .max
        while true {
            let isBusy = try turn(publisher, subscriber, services, now)
            if let delivery = subscriber.next() { return delivery }
            let until = isBusy ? now : min(deadline, subscriber.nextScan, services.nextTick)
            if wait(publisher, subscriber, services, until: until, now) { return nil }
            now = Clocks.monotonic()
            if now >= deadline {
                _ = try turn(publisher, subscriber, services, now)
                return subscriber.next()
            }
        }
    }

    /// A handle for other threads to end a wait with.
    public func makeWaker() -> Waker { waker }

    /// What may have something to do: all of it at first, then what a wait reported and nobody has looked at yet.
    private struct Signals {
        var services = true
        var subscriber = true
        var publisher = true
        var registry = false
    }

    /// Looks at what is signalled, runs handlers and timers, follows the registry.
    ///
    /// - Returns: true when more may be waiting although no descriptor says so.
    private func turn(
        _ publisher: PublisherSide, _ subscriber: SubscriberSide, _ services: ServiceTransport, _ now: Int64
    ) throws(BusError) -> Bool {
        let isSignalled = signals.services
        signals.services = false
        let isBusy = try services.run(now, isSignalled: isSignalled)
        if isClosed { throw .closed(name) }
        if signals.subscriber || subscriber.isDirty { signals.subscriber = try !subscriber.receive() }
        lastUpkeep = now
        if signals.publisher || publisher.isDirty {
            signals.publisher = false
            try publisher.service(now)
        }
        try subscriber.followRegistry(now, isSignalled: signals.registry)
        signals.registry = false
        return isBusy || signals.subscriber
    }

    /// Sleeps until a socket, the registry or the waker has something, a signal comes, or `until`.
    ///
    /// The sockets' descriptors are edge-triggered: each socket was found empty just before, which arms them.
    ///
    /// - Returns: true when the waker or a signal ended it.
    private func wait(
        _ publisher: PublisherSide, _ subscriber: SubscriberSide, _ services: ServiceTransport, until: Int64,
        _ now: Int64
    ) -> Bool {
        // Rounded up: a wait that ends early would spin through the rest of its last millisecond.
        let milliseconds = Int32(clamping: (max(0, min(until - now, .max - 999_999)) + 999_999) / 1_000_000)
        return withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 5) { entries in
            func watch(_ index: Int, _ descriptor: Int32) {
                entries.initializeElement(at: index, to: pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            }
            watch(0, waker.fileDescriptor)
            watch(1, services.fileDescriptor)
            watch(2, subscriber.fileDescriptor)
            watch(3, publisher.fileDescriptor)
            // poll passes over negative descriptors.
            watch(4, subscriber.registryFileDescriptor ?? -1)
            if Glibc.poll(entries.baseAddress, 5, milliseconds) < 0 { return true }
            if entries[1].revents != 0 { signals.services = true }
            if entries[2].revents != 0 { signals.subscriber = true }
            if entries[3].revents != 0 { signals.publisher = true }
            if entries[4].revents != 0 { signals.registry = true }
            return entries[0].revents != 0 && waker.reset()
        }
    }

    private var isClosed: Bool { publisher == nil }

    // MARK: Services

    /// What services have seen here, see ``Bus/serviceStatistics``.
    public var serviceStatistics: ServiceStatistics { services?.statistics ?? ServiceStatistics() }

    /// Serves and announces a service, see ``Bus/serve(_:handler:)``.
    public func serve(_ service: ServiceDescription, handler: @escaping (ServerCall) -> Void) throws(BusError) {
        guard let services else { throw .closed(name) }
        try services.server.serve(service, handler)
        do throws(BusError) {
            try services.open()
            try announce()
        } catch {
            services.server.withdraw(service.name)
            throw error
        }
    }

    /// Starts a call, see ``Bus/call(_:_:_:options:onEvent:)``.
    public func call(
        _ service: String, _ method: String, _ request: UnsafeRawBufferPointer, options: CallOptions,
        onEvent: @escaping (CallEvent) -> Void
    ) throws(BusError) -> CallID {
        guard let services else { throw .closed(name) }
        let now = Clocks.monotonic()
        services.lookAround(now)
        return try services.client.call(
            service, method, request, options, now: now, onEvent: onEvent)
    }

    /// Gives a call up, see ``Bus/cancel(_:)``.
    public func cancel(_ call: CallID) throws(BusError) {
        guard let services else { throw .closed(name) }
        services.client.cancel(call)
    }

    /// Lets a stream go on, see ``Bus/grant(_:messages:)``.
    public func grant(_ call: CallID, messages: Int) throws(BusError) {
        guard let services else { throw .closed(name) }
        services.client.grant(call, messages)
    }

    /// Serves calls and the registry, leaving topics' messages in their queues, see ``Bus/runServices(timeout:)``.
    public func runServices(timeout: Duration) throws(BusError) {
        guard let publisher, let subscriber, let services else { throw .closed(name) }
        let now = Clocks.monotonic()
        let before = services.taken
        let isBusy = try turn(publisher, subscriber, services, now)
        // The caller may have got what it waits for.
        if services.taken != before { return }
        let until = isBusy ? now : min(now + timeout.boundedNanoseconds, services.nextTick)
        _ = wait(publisher, subscriber, services, until: until, now)
        let isSignalled = signals.services
        signals.services = false
        _ = try services.run(Clocks.monotonic(), isSignalled: isSignalled)
    }

    /// Leaves the bus and frees the name; called again it does nothing.
    public func close() {
        guard publisher != nil else { return }
        // Nobody new should come while the last messages go out; and the name is freed only after libzmq has removed
        // the socket's file, which would otherwise be the next holder's.
        unlink(configuration.directory.announcementPath(name))
        let leaving = services
        services = nil
        leaving?.close()
        subscriber = nil
        publisher = nil
        lock.release()
    }
}
