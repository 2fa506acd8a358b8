/// The publisher's side without a transport: topics, sequences, last values and subscribers.
package struct Outbox {
    /// The most distinct subscription keys of peers that are counted; peers with further keys are served but not counted.
    package static let maximumSubscriptionKeys = 65_536

    /// The last message of a latched topic.
    package struct Latched {
        package var header: MessageHeader
        package var payload: [UInt8]
    }

    private struct Topic {
        let description: TopicDescription
        let key: [UInt8]
        let maximumPayloadSize: Int
        let schemaFingerprint: UInt64
        let isLatched: Bool
        var latched: Latched?
        /// Whether ``latched`` was dropped for some subscriber and must be sent again.
        var needsResend = false
        /// The topic's counts; `published` doubles as the sequence.
        var statistics: TopicStatistics

        init(_ description: TopicDescription) {
            self.description = description
            key = TopicTable.key(description.name)
            maximumPayloadSize = description.maximumPayloadSize
            schemaFingerprint = description.schemaFingerprint
            isLatched = description.qos == .latched
            statistics = TopicStatistics(topic: description.name)
        }
    }

    /// The boot id written in the headers.
    package let node: UInt64
    private var topics: ContiguousArray<Topic> = []
    private var subscribers: [[UInt8]: Int] = [:]
    /// Whether ``resends`` is non-empty.
    package private(set) var hasResends = false

    package init(node: UInt64) { self.node = node }

    /// The topics in the order they were advertised.
    package var descriptions: [TopicDescription] { topics.map(\.description) }

    package var statistics: [TopicStatistics] {
        topics.indices.map { index in
            var statistics = topics[index].statistics
            statistics.subscribers = subscriberCount(index)
            return statistics
        }
    }

    /// Adds a topic after checking its description.
    package mutating func advertise(_ description: TopicDescription) throws(BusError) -> Publication {
        try Names.checkTopic(description.name)
        try Self.check(qos: description.qos, maximumPayloadSize: description.maximumPayloadSize, description.name)
        guard (1...255).contains(description.typeName.utf8.count) else {
            throw BusError(
                .invalidArgument,
                "topic '\(description.name)' needs its message's full type name, 1 to 255 bytes, "
                    + "such as navbus.v1.GnssFix")
        }
        guard !topics.contains(where: { $0.description.name == description.name }) else {
            throw BusError(
                .topicConflict,
                "this node already publishes '\(description.name)': keep the publication and use it again")
        }
        guard topics.count < Announcement.maximumTopics else {
            throw BusError(.invalidArgument, "a node publishes at most \(Announcement.maximumTopics) topics")
        }
        topics.append(Topic(description))
        return Publication(node: node, index: topics.count - 1, topic: description.name)
    }

    /// Undoes the latest ``advertise(_:)``, when it could not be announced.
    package mutating func withdrawLast() { topics.removeLast() }

    package static func check(qos: QoS, maximumPayloadSize: Int, _ topic: String) throws(BusError) {
        guard (1...QoS.maximumDepth).contains(qos.depth) else {
            throw BusError(
                .invalidArgument, "topic '\(topic)': a queue holds 1 to \(QoS.maximumDepth) messages, not \(qos.depth)")
        }
        guard (1...BusConfiguration.maximumMessageSizeLimit).contains(maximumPayloadSize) else {
            throw BusError(
                .invalidArgument,
                "topic '\(topic)': the maximum payload must be 1 to \(BusConfiguration.maximumMessageSizeLimit) bytes, "
                    + "not \(maximumPayloadSize)")
        }
    }

    /// Counts a message about to be sent, returns its header, and stores the message when the topic is latched.
    @inline(__always)
    package mutating func stamp(
        _ publication: Publication, _ payload: UnsafeRawBufferPointer, _ stampNanoseconds: Int64, now: Int64
    ) throws(BusError) -> MessageHeader {
        let index = publication.index
        guard publication.node == node, index >= 0, index < topics.count else { throw unknown(publication) }
        let header = topics.withUnsafeMutableBufferPointer { topics -> MessageHeader? in
            guard payload.count <= topics[index].maximumPayloadSize else {
                topics[index].statistics.rejected &+= 1
                return nil
            }
            topics[index].statistics.published &+= 1
            topics[index].statistics.publishedBytes &+= UInt64(payload.count)
            topics[index].statistics.lastPublishedNanoseconds = now
            let header = MessageHeader(
                sequence: topics[index].statistics.published, stampNanoseconds: stampNanoseconds, bootID: node,
                schemaFingerprint: topics[index].schemaFingerprint)
            if topics[index].isLatched {
                topics[index].latched = Latched(header: header, payload: [UInt8](payload))
                if topics[index].needsResend { topics[index].statistics.dropped &+= 1 }
                topics[index].needsResend = false
            }
            return header
        }
        if hasResends { updateHasResends() }
        guard let header else {
            throw BusError(
                .payloadTooLarge,
                "a message of \(payload.count) bytes was not published on '\(publication.topic)', which carries at "
                    + "most \(topics[index].description.maximumPayloadSize): make it smaller or raise the topic's limit"
            )
        }
        return header
    }

    private func unknown(_ publication: Publication) -> BusError {
        BusError(.unknownHandle, "the publication of '\(publication.topic)' belongs to another node")
    }

    package func check(_ publication: Publication) throws(BusError) {
        guard publication.node == node, topics.indices.contains(publication.index) else {
            throw unknown(publication)
        }
    }

    package func key(_ index: Int) -> [UInt8] { topics[index].key }

    /// Returns the last value of a latched topic, nil before the first.
    package func latched(_ index: Int) -> Latched? { topics[index].latched }

    /// Forgets the last value of a latched topic.
    package mutating func clearLatched(_ publication: Publication) throws(BusError) {
        try check(publication)
        topics[publication.index].latched = nil
        paid(publication.index)
    }

    // MARK: Full queues

    /// Records that the last message of a topic may not have reached every subscriber.
    ///
    /// It counts as dropped. On a latched topic it is scheduled for resending instead, because there may be no later message
    /// to reveal the gap.
    package mutating func missed(_ index: Int) {
        if topics[index].latched == nil {
            topics[index].statistics.dropped &+= 1
        } else {
            topics[index].needsResend = true
            hasResends = true
        }
    }

    /// The latched topics whose last value has not reached every subscriber.
    package var resends: [Int] { hasResends ? topics.indices.filter { topics[$0].needsResend } : [] }

    /// Records that the last value of a topic has reached every subscriber, or need not be sent again.
    package mutating func paid(_ index: Int) {
        topics[index].needsResend = false
        updateHasResends()
    }

    private mutating func updateHasResends() { hasResends = topics.contains(where: \.needsResend) }

    // MARK: Subscribers

    /// Handles the frame by which a subscriber begins (1 and the key) or ends (0 and the key) a subscription.
    ///
    /// - Returns: the latched topics with a value that match the new subscription.
    package mutating func subscriptionChanged(_ frame: UnsafeRawBufferPointer) -> [Int] {
        guard let kind = frame.first, kind <= 1, frame.count <= 256 else { return [] }
        let key = [UInt8](frame.dropFirst())
        if kind == 0 {
            if let count = subscribers[key] { subscribers[key] = count > 1 ? count - 1 : nil }
            return []
        }
        if let count = subscribers[key] {
            subscribers[key] = count + 1
        } else if subscribers.count < Self.maximumSubscriptionKeys {
            subscribers[key] = 1
        }
        return topics.indices.filter { topics[$0].latched != nil && topics[$0].key.starts(with: key) }
    }

    /// Returns the number of current subscriptions that match a publication's topic.
    package func subscriberCount(_ index: Int) -> Int {
        let key = topics[index].key
        // A sum does not depend on the dictionary's order.
        return subscribers.reduce(0) { $0 + (key.starts(with: $1.key) ? $1.value : 0) }
    }
}
