internal import DequeModule

/// The subscriber's side without a transport: the subscribed topics, the sequences seen, and the queues of unread
/// messages.
///
/// A transport passes frames in and takes deliveries out; neither call blocks, and nothing here reads a clock.
/// Deliveries come in the order of arrival across all subscriptions.
package struct Inbox {
    /// The most topics that filters may add, so that a runaway registry cannot grow a node without bound.
    package static let maximumDiscoveredTopics = 4096

    private struct Topic {
        let name: String
        var statistics: TopicStatistics
        var tracker = LossTracker()
        var queues: [Int] = []
    }

    private struct Queue {
        let subscription: SubscriptionID
        let depth: Int
        let maximumPayloadSize: Int
        /// The waiting messages, oldest first.
        var waiting: Deque<Waiting> = []
        /// The arrival numbers of `waiting` across all queues.
        ///
        /// They are a separate array because reading a number stored beside its message would copy both.
        var arrivals: Deque<UInt64> = []
        /// The payload bytes of `waiting`.
        var bytes = 0

        var head: UInt64 { arrivals.first ?? .max }

        mutating func removeFirst() -> Waiting {
            arrivals.removeFirst()
            let message = waiting.removeFirst()
            bytes -= message.payload.count
            return message
        }
    }

    /// A queued message; its topic and queue supply the names.
    private struct Waiting {
        let topic: Int
        let header: MessageHeader
        let payload: Payload
        let received: ReceiveTimes
    }

    private struct FilteredSubscription {
        let id: SubscriptionID
        let filter: TopicFilter
        let qos: QoS
        let maximumPayloadSize: Int
    }

    package let node: UInt64
    private let maximumQueuedBytes: Int
    private var table = TopicTable()
    private var indices: [String: Int] = [:]
    private var topics: ContiguousArray<Topic> = []
    private var queues: ContiguousArray<Queue> = []
    /// The arrival number at the head of each queue, `.max` when the queue is empty; eight queues share a cache line.
    private var heads: ContiguousArray<UInt64> = []
    private var filters: [FilteredSubscription] = []
    private var arrivals: UInt64 = 0
    private var nextSubscription = 0
    /// The number of queues that filters have added.
    private var discovered = 0

    /// The number of messages whose topic frame is unknown.
    package private(set) var unattributedRejections: UInt64 = 0
    /// The number of topics refused to a filter because filters had already added ``maximumDiscoveredTopics``.
    package private(set) var refusedTopics: UInt64 = 0
    /// The number of messages queued and not yet taken.
    package private(set) var queued = 0

    /// The topic frame of the running probe, and the boot ids of the publishers that have answered it.
    package var probe: [UInt8]?
    package private(set) var answers: Set<UInt64> = []

    /// Creates an empty inbox for the node with boot id `node`.
    ///
    /// - Parameter maximumQueuedBytes: the most payload bytes in one queue, in addition to the limit on its depth; one message
    ///   always fits.
    package init(node: UInt64, maximumQueuedBytes: Int) {
        self.node = node
        self.maximumQueuedBytes = maximumQueuedBytes
    }

    // MARK: Probes

    /// Begins a probe whose answers have the topic frame `key`.
    package mutating func beginProbe(_ key: [UInt8]) { (probe, answers) = (key, []) }

    package mutating func endProbe() -> [UInt8]? {
        defer { (probe, answers) = (nil, []) }
        return probe
    }

    /// Returns a number that changes with each message accepted from a publisher.
    package func progress(of bootID: UInt64) -> UInt64 {
        topics.reduce(0) { $0 &+ ($1.tracker.sequence(of: bootID) ?? 0) }
    }

    // MARK: Subscriptions

    /// The topics that are wanted now, in the order of subscription.
    package var wantedTopics: [String] { topics.filter { !$0.queues.isEmpty }.map(\.name) }

    /// Subscribes to one topic; the caller has checked the arguments.
    package mutating func subscribe(_ topic: String, qos: QoS, maximumPayloadSize: Int) -> SubscriptionID {
        let id = makeSubscription()
        addQueue(id, topic, qos, maximumPayloadSize)
        return id
    }

    /// Subscribes to every topic later passed to ``discover(_:)`` that `filter` matches.
    package mutating func subscribe(
        matching filter: TopicFilter, qos: QoS, maximumPayloadSize: Int
    ) -> SubscriptionID {
        let id = makeSubscription()
        filters.append(
            FilteredSubscription(id: id, filter: filter, qos: qos, maximumPayloadSize: maximumPayloadSize))
        return id
    }

    /// Offers a newly published topic to the filters that have not taken it yet.
    package mutating func discover(_ topic: String) {
        for entry in filters where entry.filter.matches(topic) {
            let isTaken = indices[topic].map { index in
                topics[index].queues.contains { queues[$0].subscription == entry.id }
            }
            guard isTaken != true else { continue }
            guard discovered < Self.maximumDiscoveredTopics else {
                refusedTopics &+= 1
                continue
            }
            discovered += 1
            addQueue(entry.id, topic, entry.qos, entry.maximumPayloadSize)
        }
    }

    /// Ends a subscription and drops what it had queued; its statistics stay.
    ///
    /// - Returns: false when the subscription does not belong to this node.
    package mutating func unsubscribe(_ id: SubscriptionID) -> Bool {
        let before = queues.count + filters.count
        let kept = queues.filter { $0.subscription != id }
        if filters.contains(where: { $0.id == id }) { discovered -= queues.count - kept.count }
        filters.removeAll { $0.id == id }
        for index in topics.indices {
            topics[index].queues = topics[index].queues.compactMap { old in
                guard queues[old].subscription != id else { return nil }
                return old - queues[..<old].count { $0.subscription == id }
            }
            // Messages published until the next subscription do not count as lost, and it needs the latched message again.
            if topics[index].queues.isEmpty { topics[index].tracker = LossTracker() }
        }
        queues = ContiguousArray(kept)
        heads = ContiguousArray(queues.map(\.head))
        queued = queues.reduce(0) { $0 + $1.waiting.count }
        return queues.count + filters.count < before
    }

    private mutating func makeSubscription() -> SubscriptionID {
        nextSubscription += 1
        return SubscriptionID(node: node, number: nextSubscription)
    }

    private mutating func addQueue(_ id: SubscriptionID, _ topic: String, _ qos: QoS, _ maximumPayloadSize: Int) {
        let topicIndex: Int
        if let known = indices[topic] {
            topicIndex = known
        } else {
            topicIndex = table.insert(topic)
            indices[topic] = topicIndex
            topics.append(Topic(name: topic, statistics: TopicStatistics(topic: topic)))
        }
        topics[topicIndex].queues.append(queues.count)
        queues.append(Queue(subscription: id, depth: qos.depth, maximumPayloadSize: maximumPayloadSize))
        heads.append(.max)
    }

    // MARK: Messages

    /// Rejects a message whose number of frames, `count`, is not three.
    package mutating func rejectFrames(topic: UnsafeRawBufferPointer, count: Int) {
        if let index = table.find(topic) {
            reject(index, "\(count) \(count == 1 ? "frame" : "frames") instead of 3 (topic, header, payload)")
        } else {
            unattributedRejections &+= 1
        }
    }

    private mutating func reject(_ index: Int, _ defect: String) {
        topics[index].statistics.rejected &+= 1
        topics[index].statistics.lastRejection = defect
    }

    /// Accepts a message: checks its sequence, counts it, and queues it for each subscription of its topic.
    package mutating func accept(
        topic frame: UnsafeRawBufferPointer, header: UnsafeRawBufferPointer, payload: Payload, received: ReceiveTimes
    ) {
        guard let (index, header) = admit(frame, header, received) else { return }
        var isQueued = false
        for position in topics[index].queues.indices {
            let queue = topics[index].queues[position]
            guard payload.count <= queues[queue].maximumPayloadSize else { continue }
            isQueued = true
            let dropped = makeRoom(on: queue, for: payload.count)
            if dropped > 0 { topics[index].statistics.dropped &+= dropped }
            enqueue(Waiting(topic: index, header: header, payload: payload, received: received), on: queue)
        }
        count(index, payload.count, isQueued: isQueued)
    }

    /// Accepts a message like ``accept(topic:header:payload:received:)``, but returns it directly when nothing else is
    /// queued and exactly one subscription matches it.
    @inline(__always)
    package mutating func acceptNext(
        topic frame: UnsafeRawBufferPointer, header headerFrame: UnsafeRawBufferPointer, payload: Payload,
        received: ReceiveTimes
    ) -> Delivery? {
        guard queued == 0, let known = table.find(frame), topics[known].queues.count == 1 else {
            accept(topic: frame, header: headerFrame, payload: payload, received: received)
            return next()
        }
        guard let (index, header) = admit(frame, headerFrame, received) else { return nil }
        let queue = topics[index].queues[0]
        let isTaken = payload.count <= queues[queue].maximumPayloadSize
        count(index, payload.count, isQueued: isTaken)
        guard isTaken else { return nil }
        return Delivery(
            subscription: queues[queue].subscription, topic: topics[index].name, header: header, payload: payload,
            received: received)
    }

    /// Returns the topic and header of a message that is wanted, well-formed and new; counts any other message.
    @inline(__always)
    private mutating func admit(
        _ frame: UnsafeRawBufferPointer, _ headerFrame: UnsafeRawBufferPointer, _ received: ReceiveTimes
    ) -> (index: Int, header: MessageHeader)? {
        guard let index = table.find(frame) else {
            rejectUnknown(frame, headerFrame)
            return nil
        }
        guard let header = MessageHeader(decoding: headerFrame) else {
            rejectHeader(headerFrame, of: index)
            return nil
        }
        let isNew = topics.withUnsafeMutableBufferPointer { topics in
            guard !topics[index].queues.isEmpty else { return false }
            guard case .new(let lost) = topics[index].tracker.classify(bootID: header.bootID, sequence: header.sequence)
            else {
                topics[index].statistics.duplicates &+= 1
                return false
            }
            let (sum, overflow) = topics[index].statistics.lost.addingReportingOverflow(lost)
            topics[index].statistics.lost = overflow ? .max : sum
            topics[index].statistics.lastReceivedNanoseconds = received.monotonicNanoseconds
            return true
        }
        return isNew ? (index, header) : nil
    }

    @inline(never)
    private mutating func rejectHeader(_ frame: UnsafeRawBufferPointer, of index: Int) {
        reject(index, MessageHeader.defect(of: frame))
    }

    @inline(never)
    private mutating func rejectUnknown(_ frame: UnsafeRawBufferPointer, _ headerFrame: UnsafeRawBufferPointer) {
        if let probe, frame.elementsEqual(probe), let header = MessageHeader(decoding: headerFrame) {
            if answers.count < Self.maximumDiscoveredTopics { answers.insert(header.bootID) }
        } else {
            unattributedRejections &+= 1
        }
    }

    @inline(__always)
    private mutating func count(_ index: Int, _ size: Int, isQueued: Bool) {
        if isQueued {
            topics[index].statistics.received &+= 1
            topics[index].statistics.receivedBytes &+= UInt64(size)
        } else {
            rejectPayload(size, of: index)
        }
    }

    @inline(never)
    private mutating func rejectPayload(_ size: Int, of index: Int) {
        let limit = topics[index].queues.map { queues[$0].maximumPayloadSize }.max() ?? 0
        reject(index, "a payload of \(size) bytes, over \(limit)")
    }

    /// Removes and returns the oldest queued message.
    package mutating func next() -> Delivery? {
        guard queued > 0 else { return nil }
        var oldest = 0
        for index in heads.indices where heads[index] < heads[oldest] { oldest = index }
        queued -= 1
        let message = queues[oldest].removeFirst()
        heads[oldest] = queues[oldest].head
        return Delivery(
            subscription: queues[oldest].subscription, topic: topics[message.topic].name, header: message.header,
            payload: message.payload, received: message.received)
    }

    /// Drops the oldest messages of a queue until one of `size` bytes fits, and returns how many were dropped.
    @inline(__always)
    private mutating func makeRoom(on queue: Int, for size: Int) -> UInt64 {
        var dropped: UInt64 = 0
        while !queues[queue].waiting.isEmpty,
            queues[queue].waiting.count >= queues[queue].depth
                || queues[queue].bytes + size > maximumQueuedBytes
        {
            _ = queues[queue].removeFirst()
            queued -= 1
            dropped += 1
        }
        if dropped > 0 { heads[queue] = queues[queue].head }
        return dropped
    }

    @inline(__always)
    private mutating func enqueue(_ message: consuming Waiting, on queue: Int) {
        arrivals &+= 1
        queued += 1
        if queues[queue].arrivals.isEmpty { heads[queue] = arrivals }
        queues[queue].bytes += message.payload.count
        queues[queue].arrivals.append(arrivals)
        queues[queue].waiting.append(message)
    }

    /// The statistics of every topic that was ever subscribed to.
    package var statistics: [TopicStatistics] {
        topics.map { topic in
            var statistics = topic.statistics
            statistics.publishers = topic.tracker.publisherCount
            return statistics
        }
    }
}
