import NavBus
import NavTestBus
import Testing

/// The decision logic without a transport.
@Suite struct CoreTests {
    private func decode(_ bytes: [UInt8]) -> MessageHeader? { bytes.withUnsafeBytes { MessageHeader(decoding: $0) } }

    private let header = MessageHeader(
        sequence: 0x0102_0304_0506_0708, stampNanoseconds: -2, bootID: .max, schemaFingerprint: 3)

    @Test func aHeaderIsFourFixed64InFieldOrder() {
        let expected: [UInt8] =
            [0x09, 8, 7, 6, 5, 4, 3, 2, 1] + [0x11, 0xfe] + [UInt8](repeating: 0xff, count: 7)
            + [0x19] + [UInt8](repeating: 0xff, count: 8) + [0x21, 3, 0, 0, 0, 0, 0, 0, 0]
        #expect(header.encoded == expected)
        #expect(decode(expected) == header)
    }

    @Test func headerIsReadInAnyOrderWithUnknownOrMissingFields() {
        let fields = stride(from: 0, to: 36, by: 9).map { Array(header.encoded[$0..<$0 + 9]) }
        let unknown: [[UInt8]] = [
            [0x28, 0x96, 0x01], [0x32, 2, 7, 7], [0x3d, 1, 2, 3, 4], [0x41, 1, 2, 3, 4, 5, 6, 7, 8],
        ]
        #expect(decode(([fields[3], fields[1]] + unknown + [fields[2], fields[0]]).flatMap(\.self)) == header)
        var without = header
        without.schemaFingerprint = 0
        #expect(decode([fields[2], fields[0], fields[1]].flatMap(\.self)) == without)
        for missing in 0..<3 {
            #expect(decode(fields.enumerated().filter { $0.offset != missing }.flatMap(\.element)) == nil)
        }
    }

    @Test func truncatedAndChangedHeadersAreReadWithinBounds() {
        let bytes = header.encoded + [0x32, 3, 1, 2, 3]
        // Truncation before the fingerprint (from 27) or before unknown fields (from 36) is valid; a partial field is
        // not.
        for end in bytes.indices where end != 27 && end != 36 {
            #expect(decode(Array(bytes[..<end])) == nil, "cut at \(end)")
        }
        var zeros = 0
        for index in bytes.indices {
            for value in UInt8.min ... .max {
                var changed = bytes
                changed[index] = value
                if decode(changed)?.sequence == 0 { zeros += 1 }
            }
        }
        #expect(zeros == 0)
        #expect(decode([0x32] + [UInt8](repeating: 0xff, count: 9) + [1]) == nil)
        #expect(decode([UInt8](repeating: 0x80, count: 40)) == nil)
        #expect(decode(header.encoded + [0x2b]) == nil)
        #expect(decode(header.encoded + [UInt8](repeating: 0x28, count: 2000)) == nil)
    }

    @Test func gapsCountAsLossPerPublisherAndRepetitionsDoNot() {
        var tracker = LossTracker()
        #expect(tracker.classify(bootID: 1, sequence: 10) == .new(lost: 0))
        #expect(tracker.classify(bootID: 1, sequence: 11) == .new(lost: 0))
        #expect(tracker.classify(bootID: 2, sequence: 1) == .new(lost: 0))
        #expect(tracker.classify(bootID: 1, sequence: 15) == .new(lost: 3))
        #expect(tracker.classify(bootID: 1, sequence: 15) == .duplicate)
        #expect(tracker.classify(bootID: 2, sequence: 1) == .duplicate)
        #expect(tracker.classify(bootID: 1, sequence: 14) == .duplicate)
        #expect(tracker.classify(bootID: 2, sequence: .max) == .new(lost: .max - 2))
        #expect(tracker.classify(bootID: 3, sequence: .max) == .new(lost: 0))
        #expect(tracker.classify(bootID: 3, sequence: .max) == .duplicate)
    }

    @Test func trackerForgetsTheLeastRecentPublisher() {
        var tracker = LossTracker()
        let capacity = UInt64(LossTracker.capacity)
        for boot in 1...capacity { _ = tracker.classify(bootID: boot, sequence: 5) }
        #expect(tracker.classify(bootID: 1, sequence: 5) == .duplicate)
        #expect(tracker.classify(bootID: capacity + 1, sequence: 5) == .new(lost: 0))
        #expect(tracker.classify(bootID: 1, sequence: 5) == .duplicate)
        #expect(tracker.classify(bootID: 2, sequence: 5) == .new(lost: 0))
    }

    @Test func lossNeverOverflowsItsCounter() throws {
        let network = InProcessNetwork()
        let node = try InProcessBus(name: "n", network: network)
        _ = try node.subscribe(to: "/x")
        for boot in 1...3 {
            network.inject(frames("/x", sequence: 1, boot: UInt64(boot)))
            network.inject(frames("/x", sequence: .max, boot: UInt64(boot)))
        }
        for _ in 0..<6 { #expect(try node.poll(timeout: nil) != nil) }
        #expect(node.statistics[topic: "/x"]?.lost == .max)
    }

    @Test func aFullQueueDropsExactlyTheOldest() throws {
        let network = InProcessNetwork()
        let (publisher, subscriber) = (
            try InProcessBus(name: "p", network: network), try InProcessBus(name: "s", network: network)
        )
        let publication = try publisher.advertise(topic("/x"))
        let deep = try subscriber.subscribe(to: "/x", qos: .keepLast(3))
        let latest = try subscriber.subscribe(to: "/x", qos: .latest)
        for value in 1...10 { try publisher.publish([UInt8(value)], on: publication, stampNanoseconds: 0) }
        var heard: [SubscriptionID: [UInt8]] = [:]
        while let delivery = try subscriber.poll(timeout: nil) {
            heard[delivery.subscription, default: []] += delivery.payload.bytes
        }
        #expect(heard == [deep: [8, 9, 10], latest: [10]])
        #expect(subscriber.statistics[topic: "/x"]?.dropped == 16)
        #expect(subscriber.statistics[topic: "/x"]?.received == 10)
    }

    @Test func lastValueIsResentUntilDeliveredReplacedOrCleared() throws {
        var outbox = Outbox(node: 1)
        let publications = try ["/x", "/y"].map { try outbox.advertise(topic($0, .latched)) }
        let publish = { (publication: Publication) in
            _ = try [1 as UInt8].withUnsafeBytes { try outbox.stamp(publication, $0, 0, now: 0) }
        }
        for publication in publications { try publish(publication) }
        for settle in [
            { outbox.paid(0) }, { try publish(publications[0]) }, { try outbox.clearLatched(publications[0]) },
        ] {
            for index in 0..<2 { outbox.missed(index) }
            #expect(outbox.hasResends && outbox.resends == [0, 1])
            try settle()
            #expect(outbox.hasResends && outbox.resends == [1])
            try publish(publications[1])
            #expect(!outbox.hasResends && outbox.resends.isEmpty)
        }
    }

    @Test func inProcessBusUsesTheGivenTime() throws {
        let network = InProcessNetwork()
        let node = try InProcessBus(name: "n", network: network)
        _ = try node.subscribe(to: "/x")
        network.now = ReceiveTimes(monotonicNanoseconds: 11, utcNanoseconds: 22)
        network.inject(frames("/x", sequence: 1))
        #expect(try node.poll(timeout: nil)?.received == network.now)
    }

    @Test(arguments: [
        ("*", "/a", true), ("/nav/*", "/nav/a/b", true), ("/nav/*", "/nav", false), ("/nav", "/nav", true),
        ("*/state", "/nav/state", true), ("*/state", "/nav/states", false), ("/*/b/*d", "/a/b/c/b/d", true),
        ("", "/a", false), ("**", "/a", true), ("/a*a", "/a", false),
    ])
    func patternMatches(_ pattern: String, _ name: String, _ expected: Bool) {
        #expect(TopicFilter(include: [pattern]).matches(name) == expected)
        #expect(TopicFilter(exclude: [pattern]).matches(name) == !expected)
    }

    @Test func patternWithManyStarsMatchesInBoundedTime() {
        let pattern = String(repeating: "*a", count: 100) + "b"
        #expect(!TopicFilter(include: [pattern]).matches("/" + String(repeating: "a", count: 199)))
    }

    @Test func topicsBeyondTheLimitAreCountedAndAnEndedFilterFreesSlots() {
        var inbox = Inbox(node: 1, maximumQueuedBytes: 1 << 20)
        let first = inbox.subscribe(matching: TopicFilter(), qos: .keepLast(1), maximumPayloadSize: 10)
        let limit = Inbox.maximumDiscoveredTopics
        for number in 0...limit { inbox.discover("/t\(number)") }
        #expect(inbox.wantedTopics.count == limit)
        #expect(inbox.refusedTopics == 1)
        let isEnded = inbox.unsubscribe(first)
        #expect(isEnded)
        _ = inbox.subscribe(matching: TopicFilter(), qos: .keepLast(1), maximumPayloadSize: 10)
        inbox.discover("/t\(limit)")
        #expect(inbox.wantedTopics == ["/t\(limit)"])
        #expect(inbox.refusedTopics == 1)
    }

    @Test(arguments: [0, 100, 4_095, 4_096]) func smallPayloadIsCopiedForStorage(count: Int) {
        let bytes = [UInt8](repeating: 7, count: count)
        let payload = bytes.withUnsafeBytes { Payload(copying: $0) }
        let stored = payload.detached
        #expect(stored.bytes == bytes)
        let isShared = payload.withUnsafeBytes { $0.baseAddress } == stored.withUnsafeBytes { $0.baseAddress }
        #expect(isShared == (count >= 4_096))
    }

    @Test func manyTopicsAreDistinguished() throws {
        let network = InProcessNetwork(pipeDepth: 10_000)
        let node = try InProcessBus(name: "n", network: network)
        let names = (0..<500).map { "/t\($0)" }
        for name in names { _ = try node.subscribe(to: name) }
        for name in names { network.inject(frames(name, sequence: 1)) }
        for name in names { #expect(try node.poll(timeout: nil)?.topic == name) }
    }
}
