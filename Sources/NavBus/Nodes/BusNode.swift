internal import Glibc

/// A node on the bus between processes: ZeroMQ over Unix sockets, with discovery through the file system.
///
/// Used by one thread; only a ``Waker`` may be used by others. The node holds its name until ``close()`` or deinitialization.
public final class BusNode: Bus {
    /// The node's name, unique among the live nodes of its domain.
    public let name: String
    /// The `boot_id` of every header the node sends, new at each start.
    public let bootID: UInt64

    private let configuration: BusConfiguration
    private let lock: NodeLock
    private let waker: Waker
    @exclusivity(unchecked) private var publisher: PublisherSide?
    @exclusivity(unchecked) private var subscriber: SubscriberSide?
    @exclusivity(unchecked) private var services: ServiceTransport?
    @exclusivity(unchecked) private var hosts: HostSide?
    private let registry: Lazy<RegistryFollower>
    private let waitList: WaitList
    @exclusivity(unchecked) private var lastUpkeep: Int64 = 0
    /// Whether messages were queued since the last wait.
    @exclusivity(unchecked) private var isStreaming = false
    /// The time of the next check of the node's files, in monotonic nanoseconds.
    @exclusivity(unchecked) private var nextCheck: Int64

    /// The reason why other nodes cannot find this one; nil when they can.
    package private(set) var registryProblem: String?

    /// The longest time for which a node with queued messages runs without checking its sockets, in nanoseconds; a kernel tick may add to
    /// it.
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
        nextCheck = Clocks.monotonic() + configuration.safetyNetNanoseconds
        registry = Lazy { RegistryFollower(configuration) }
        do throws(BusError) {
            waker = try Waker()
            if let wanted = configuration.hosts { hosts = try HostSide(bootID: bootID, configuration, wanted) }
            let sides = try Self.openSockets(name, bootID, registry, configuration, hosts)
            waitList = try WaitList(
                waker: waker.fileDescriptor, subscriber: sides.1.fileDescriptor, publisher: sides.0.fileDescriptor,
                services: sides.2.fileDescriptor, remotePublisher: hosts?.listener?.publisherFileDescriptor,
                connections: sides.1.connectionsFileDescriptor)
            (publisher, subscriber, services) = sides
            try announce()
            // A handler may close the node while its loop still uses the sockets, so the lock is released only after
            // them.
            sides.2.context.whenEnded = { lock.release() }
        } catch {
            // The sockets must close before the name is freed: its next holder binds to the same files.
            (publisher, subscriber, services) = (nil, nil, nil)
            hosts?.close()
            hosts = nil
            lock.release()
            throw error
        }
    }

    deinit { close() }

    private static func openSockets(
        _ name: String, _ bootID: UInt64, _ registry: Lazy<RegistryFollower>, _ configuration: BusConfiguration,
        _ hosts: HostSide?
    ) throws(BusError) -> (PublisherSide, SubscriberSide, ServiceTransport) {
        let path = configuration.directory.publisherPath(name)
        let (context, publisher, subscriber): (ZeroMQContext, PublisherSide, SubscriberSide)
        do throws(ZeroMQError) {
            context = try ZeroMQContext()
        } catch {
            throw error.asBusError
        }
        if let priority = configuration.ioThreadPriority { try context.setPriority(priority) }
        do throws(ZeroMQError) {
            publisher = try PublisherSide(
                in: context, path: path, bootID: bootID, configuration, listener: hosts?.listener)
            subscriber = try SubscriberSide(
                in: context, bootID: bootID, registry, configuration, peers: hosts?.peers)
        } catch {
            throw error.asBusError
        }
        return (
            publisher, subscriber,
            try ServiceTransport(in: context, name, bootID: bootID, registry, configuration, hosts)
        )
    }

    /// The node's counts since it started; empty once closed.
    public var statistics: BusStatistics {
        guard let publisher, let subscriber else { return BusStatistics(topics: [], unattributedRejections: 0) }
        var statistics = BusStatistics(inbox: subscriber.inbox, outbox: publisher.outbox)
        statistics.cutConnections = subscriber.cutConnections
        statistics.silentConnections = subscriber.silentConnections
        statistics.stuckSubscribers = publisher.stuckSubscribers
        return statistics
    }

    /// The node's counts of other hosts, all zero without ``BusConfiguration/hosts``.
    public var hostStatistics: HostStatistics { hosts?.statistics ?? HostStatistics() }

    /// The address at which other hosts reach the node, with the actual ports; nil when it does not listen.
    public var listeningEndpoint: TCPEndpoint? { hosts?.listener?.endpoint }

    /// The announcements of the present peers; peers are connected to from the first subscription or call on.
    public var peerAnnouncements: [Announcement] { hosts?.peers.announcements(excluding: []) ?? [] }

    // MARK: Publishing

    /// Starts publishing a topic and announces it, see ``Bus/advertise(_:)``.
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

    /// Publishes a received payload, sharing its bytes, see ``Bus/publish(_:on:stampNanoseconds:)``.
    public func publish(
        _ payload: Payload, on publication: Publication, stampNanoseconds: Int64
    ) throws(BusError) {
        guard let publisher else { throw .closed(name) }
        try payload.withUnsafeBytes { bytes throws(BusError) in
            try publisher.publish(bytes, of: payload, on: publication, stampNanoseconds: stampNanoseconds)
        }
    }

    /// Forgets the last value of a latched topic, see ``Bus/clearLatched(_:)``.
    public func clearLatched(_ publication: Publication) throws(BusError) {
        guard let publisher else { throw .closed(name) }
        try publisher.clearLatched(publication)
    }

    /// Returns the number of current subscriptions to a publication's topic.
    public func subscriberCount(of publication: Publication) throws(BusError) -> Int {
        guard let publisher else { throw .closed(name) }
        try publisher.outbox.check(publication)
        try publisher.service()
        return publisher.outbox.subscriberCount(publication.index)
    }

    private func announce() throws(BusError) {
        guard let publisher else { return }
        var announcement = Announcement(
            node: name, processID: getpid(), bootID: bootID,
            publisherEndpoint: "ipc://" + configuration.directory.publisherPath(name),
            topics: publisher.outbox.descriptions,
            serviceEndpoint: services?.serviceEndpoint, services: services?.server.descriptions ?? [])
        announcement.answersProbes = true
        let json = try announcement.json
        guard json.count <= Announcement.maximumSize else {
            throw BusError(.registry, "the announcement of '\(name)' is over \(Announcement.maximumSize) bytes")
        }
        try FileSystem.replace(configuration.directory.announcementPath(name), with: json)
        try hosts?.listener?.announce(announcement, Clocks.monotonic())
    }

    /// Restores the node's files if they were removed, for example with the whole registry, so that other nodes find it
    /// again.
    private func checkFiles(_ publisher: PublisherSide, _ services: ServiceTransport, _ now: Int64) {
        nextCheck = now + configuration.safetyNetNanoseconds
        let directory = configuration.directory
        func isMissing(_ path: String) -> Bool { access(path, F_OK) != 0 }
        let isServing = services.serviceEndpoint != nil
        let (topics, calls) = (directory.publisherPath(name), directory.servicePath(name))
        registryProblem = nil
        if lock.isInPlace, !isMissing(directory.announcementPath(name)), !isMissing(topics),
            !isServing || !isMissing(calls)
        {
            return
        }
        do throws(BusError) {
            if !lock.isInPlace {
                try directory.prepare()
                try lock.renew()
            }
            if isMissing(topics) { try publisher.bindAgain() }
            if isServing, isMissing(calls) { try services.bindAgain() }
            try announce()
        } catch {
            registryProblem = "the files in \(directory.nodePath(name)) were removed: \(error.description)"
        }
    }

    // MARK: Subscribing

    /// Subscribes to one topic, see ``Bus/subscribe(to:qos:maximumPayloadSize:)``.
    public func subscribe(to topic: String, qos: QoS, maximumPayloadSize: Int) throws(BusError) -> SubscriptionID {
        guard let subscriber else { throw .closed(name) }
        try Names.checkTopic(topic)
        try Outbox.check(qos: qos, maximumPayloadSize: maximumPayloadSize, topic)
        return try subscriber.subscribe(to: topic, qos, maximumPayloadSize)
    }

    /// Subscribes to every topic that a filter matches, see ``Bus/subscribe(matching:qos:maximumPayloadSize:)``.
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

    /// Returns the oldest message, waiting at most `timeout` for one, see ``Bus/poll(timeout:)``.
    public func poll(timeout: Duration?) throws(BusError) -> Delivery? {
        // A fast path for the rest of a batch: the full path would cost as much as receiving the message.
        if let subscriber, subscriber.inbox.queued > 0, Clocks.coarse() - lastUpkeep <= Self.upkeepInterval {
            return subscriber.next()
        }
        guard let publisher, let subscriber, let services else { throw .closed(name) }
        var now = Clocks.monotonic()
        let deadline = timeout.map { now + $0.boundedNanoseconds } ?? .max
        while true {
            if subscriber.isDirty, subscriber.inbox.queued == 0 { try subscriber.receive() }
            if subscriber.inbox.queued > 0 {
                isStreaming = true
                if now - lastUpkeep > Self.upkeepInterval { try keepUp(publisher, subscriber, services, now) }
                return subscriber.next()
            }
            if isStreaming, now < deadline {
                // Under load, each wake-up costs four system calls, shared by the messages that have arrived by then. Yielding to other
                // threads first, including libzmq's, increases that number; on an idle machine, the call returns at once.
                isStreaming = false
                sched_yield()
                now = Clocks.monotonic()
                try subscriber.receive()
                continue
            }
            let due = try beforeWaiting(publisher, subscriber, services, now)
            // A handler that waited for a call of its own may have queued messages.
            if subscriber.inbox.queued > 0 { return subscriber.next() }
            let ready = wait(until: min(deadline, due), now)
            now = Clocks.monotonic()
            try attend(ready, publisher, subscriber, services, now)
            if ready.contains(.waker) { return nil }
            if ready.contains(.remoteSubscriber) { try subscriber.receive() }
            // The socket was empty before the wait, so its first message is delivered directly.
            if ready.contains(.subscriber), let delivery = try subscriber.receiveOne(now) { return delivery }
            if now >= deadline { return subscriber.next() }
        }
    }

    /// Makes a handle with which other threads end a wait.
    public func makeWaker() -> Waker { waker }

    /// Runs everything that a flood of messages or calls must not starve.
    private func keepUp(
        _ publisher: PublisherSide, _ subscriber: SubscriberSide, _ services: ServiceTransport, _ now: Int64
    ) throws(BusError) {
        lastUpkeep = now
        if now >= nextCheck { checkFiles(publisher, services, now) }
        try followRegistry(subscriber, now)
        try run(services, now, isSignalled: true)
        try subscriber.receive()
        try publisher.service(now)
    }

    private func followRegistry(_ subscriber: SubscriberSide, _ now: Int64) throws(BusError) {
        registry.value?.follow(now)
        try subscriber.followRegistry(now)
    }

    private func run(_ services: ServiceTransport, _ now: Int64, isSignalled: Bool) throws(BusError) {
        try services.run(now, isSignalled: isSignalled)
        if isClosed { throw .closed(name) }
    }

    /// Does the work that no descriptor signals, and returns the time until which a wait may last.
    ///
    /// ZeroMQ's descriptors are edge-triggered, and any operation on a socket may consume the signal, so each side tracks
    /// whether its sockets need a check without one.
    private func beforeWaiting(
        _ publisher: PublisherSide, _ subscriber: SubscriberSide, _ services: ServiceTransport, _ now: Int64
    ) throws(BusError) -> Int64 {
        if now >= nextCheck { checkFiles(publisher, services, now) }
        if services.isDirty || now >= services.nextTick { try run(services, now, isSignalled: false) }
        if now >= registry.value?.next ?? .max || now >= subscriber.nextUpkeep || subscriber.peersHaveChanged {
            try followRegistry(subscriber, now)
        }
        let publisherIsDue = try publisher.beforeWaiting(now)
        if services.isDirty || subscriber.isDirty { return now }
        let othersAreDue = min(
            min(registry.value?.next ?? .max, nextCheck), min(subscriber.nextUpkeep, services.nextTick))
        return min(publisherIsDue, othersAreDue)
    }

    /// Sleeps until a socket, the registry or the waker is ready, a signal arrives, or the time is `until`.
    private func wait(until: Int64, _ now: Int64) -> WaitList.Ready {
        var ready = waitList.wait(
            registry: registry.value?.fileDescriptor, remoteSubscriber: hosts?.peers.subscriberFileDescriptor,
            nanoseconds: until - now)
        if ready.contains(.waker), !ready.contains(.interrupted), !waker.reset() { ready.remove(.waker) }
        return ready
    }

    /// Handles the events that a wait reported; the caller reads the messages.
    private func attend(
        _ ready: WaitList.Ready, _ publisher: PublisherSide, _ subscriber: SubscriberSide,
        _ services: ServiceTransport, _ now: Int64
    ) throws(BusError) {
        if !ready.isDisjoint(with: [.publisher, .remotePublisher]) { try publisher.service(now) }
        if !ready.isDisjoint(with: [.registry, .connections]) { try followRegistry(subscriber, now) }
        if ready.contains(.services) { try run(services, now, isSignalled: true) }
    }

    /// Returns the time of the node's next wakeup if nothing happens, in monotonic nanoseconds.
    package func nextWakeup() throws(BusError) -> Int64 {
        guard let publisher, let subscriber, let services else { throw .closed(name) }
        return try beforeWaiting(publisher, subscriber, services, Clocks.monotonic())
    }

    /// The number of locks and announcements that the node has checked in the registry.
    package var registryLooks: Int { registry.value?.looks ?? 0 }

    private var isClosed: Bool { publisher == nil }

    // MARK: Services

    /// The service counts of this node, see ``Bus/serviceStatistics``.
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

    /// Returns whether a service can be called, see ``Bus/isServed(_:by:)``.
    public func isServed(_ service: String, by node: String?) throws(BusError) -> Bool {
        guard let services else { throw .closed(name) }
        services.lookAround(Clocks.monotonic())
        return services.client.isServed(service, by: node)
    }

    /// Cancels a call, see ``Bus/cancel(_:)``.
    public func cancel(_ call: CallID) throws(BusError) {
        guard let services else { throw .closed(name) }
        services.client.cancel(call)
    }

    /// Allows a stream to continue, see ``Bus/grant(_:messages:)``.
    public func grant(_ call: CallID, messages: Int) throws(BusError) {
        guard let services else { throw .closed(name) }
        services.client.grant(call, messages)
    }

    /// Serves calls and the registry, leaving topics' messages in their queues, see ``Bus/runServices(timeout:)``.
    public func runServices(timeout: Duration) throws(BusError) {
        guard let publisher, let subscriber, let services else { throw .closed(name) }
        var now = Clocks.monotonic()
        let before = services.taken
        if now - lastUpkeep > Self.upkeepInterval { try keepUp(publisher, subscriber, services, now) }
        if subscriber.isDirty { try subscriber.receive() }
        let due = try beforeWaiting(publisher, subscriber, services, now)
        // The caller may already have received the message that it waits for.
        if services.taken != before { return }
        let ready = wait(until: min(now + timeout.boundedNanoseconds, due), now)
        now = Clocks.monotonic()
        try attend(ready, publisher, subscriber, services, now)
        if !ready.isDisjoint(with: [.subscriber, .remoteSubscriber]) { try subscriber.receive() }
        if services.isDirty || now >= services.nextTick { try run(services, now, isSignalled: false) }
    }

    /// Leaves the bus and frees the name, see ``Bus/close()``.
    public func close() {
        guard publisher != nil else { return }
        // No new subscriber should connect while the last messages are sent. The name is freed only after that, when the context ends:
        // clients give up a server whose lock is free.
        if !lock.isTaken { unlink(configuration.directory.announcementPath(name)) }
        let leaving = services
        services = nil
        leaving?.close()
        subscriber = nil
        publisher = nil
        hosts?.close()
        hosts = nil
    }
}
