import NavBus
import NavTestKit
import Testing

/// The behaviour of topics, on the bus between processes and on its in-process double.
@Suite struct ConformanceTests {
    @Test(arguments: Implementation.allCases)
    func existingSubscriberGetsTheFirstMessage(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("a"), try bench.node("b"))
        let id = try subscriber.subscribe(to: "/x")
        let publication = try publisher.advertise(topic("/x"))
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        let payload = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        try publisher.publish(payload, on: publication, stampNanoseconds: -7)
        let delivery = try receive(subscriber)
        #expect(delivery.subscription == id)
        #expect(delivery.topic == "/x")
        #expect(
            delivery.header
                == MessageHeader(
                    sequence: 1, stampNanoseconds: -7, bootID: publisher.bootID, schemaFingerprint: 0xfeed))
        #expect(delivery.payload.count == 5000)
        #expect(delivery.payload.bytes == payload)
    }

    @Test(arguments: Implementation.allCases)
    func aLateJoinerOfALatchedTopicGetsTheLastValueOnce(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, early, late) = (try bench.node("a"), try bench.node("b"), try bench.node("c"))
        let publication = try publisher.advertise(topic("/x", .latched))
        _ = try early.subscribe(to: "/x", qos: .latched)
        try waitForSubscribers(1, of: publication, on: publisher, while: [early])
        for value in 1...3 { try publisher.publish([UInt8(value)], on: publication, stampNanoseconds: 0) }
        for value in 1...3 { #expect(try receive(early).payload.bytes == [UInt8(value)]) }
        _ = try late.subscribe(to: "/x", qos: .latched)
        #expect(try receive(late, while: [publisher]).payload.bytes == [3])
        try publisher.publish([4], on: publication, stampNanoseconds: 0)
        // A second copy of the value would arrive before this message.
        #expect(try receive(late).payload.bytes == [4])
        #expect(try receive(early).payload.bytes == [4])
        #expect(early.statistics[topic: "/x"]?.duplicates == 1)
        #expect(early.statistics[topic: "/x"]?.received == 4)
        #expect(late.statistics[topic: "/x"]?.lost == 0)
    }

    @Test(arguments: Implementation.allCases)
    func clearedLatchedValueReachesNoLateJoiner(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, late) = (try bench.node("a"), try bench.node("b"))
        let publication = try publisher.advertise(topic("/x", .latched))
        try publisher.publish([1], on: publication, stampNanoseconds: 0)
        try publisher.clearLatched(publication)
        _ = try late.subscribe(to: "/x", qos: .latched)
        try waitForSubscribers(1, of: publication, on: publisher, while: [late])
        try publisher.publish([2], on: publication, stampNanoseconds: 0)
        #expect(try receive(late, while: [publisher]).payload.bytes == [2])
        let other = try bench.node("c")
        #expect(busError { try other.clearLatched(publication) }?.code == .unknownHandle)
    }

    @Test(arguments: Implementation.allCases)
    func unlatchedTopicIsNotRepeated(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, late) = (try bench.node("a"), try bench.node("b"))
        let publication = try publisher.advertise(topic("/x"))
        try publisher.publish([1], on: publication, stampNanoseconds: 0)
        _ = try late.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: publisher, while: [late])
        try publisher.publish([2], on: publication, stampNanoseconds: 0)
        let delivery = try receive(late)
        #expect(delivery.payload.bytes == [2])
        #expect(delivery.header.sequence == 2)
        #expect(late.statistics[topic: "/x"]?.lost == 0)
    }

    @Test(arguments: Implementation.allCases)
    func relayForwardsReceivedPayloads(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (source, relay, sink) = (try bench.node("a"), try bench.node("b"), try bench.node("c"))
        let limit = 1 << 20
        _ = try relay.subscribe(to: "/in", qos: .keepLast(64), maximumPayloadSize: limit)
        _ = try sink.subscribe(to: "/out", qos: .keepLast(64), maximumPayloadSize: limit)
        let input = try source.advertise(topic("/in", maximumPayloadSize: limit))
        let output = try relay.advertise(topic("/out", maximumPayloadSize: limit))
        try waitForSubscribers(1, of: input, on: source, while: [relay])
        try waitForSubscribers(1, of: output, on: relay, while: [sink])
        // Small payloads are copied and large ones shared; the relay releases its payload before the sink reads the
        // message.
        let payloads = [10, 5_000, 200_000, limit].map { size in (0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) } }
        for payload in payloads {
            try source.publish(payload, on: input, stampNanoseconds: 0)
            try relay.publish(try receive(relay, while: [source]).payload, on: output, stampNanoseconds: 1)
        }
        for payload in payloads { #expect(try receive(sink, while: [relay]).payload.bytes == payload) }
        #expect(relay.statistics[topic: "/out"]?.publishedBytes == UInt64(payloads.reduce(0) { $0 + $1.count }))
    }

    @Test(arguments: Implementation.allCases)
    func aTopicIsMatchedExactlyAndNeverAsAPrefix(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let names = ["/a", "/ab", "/a/b"]
        let publications = try names.map { try publisher.advertise(topic($0)) }
        _ = try subscriber.subscribe(to: "/a")
        try waitForSubscribers(1, of: publications[0], on: publisher, while: [subscriber])
        #expect(try publisher.subscriberCount(of: publications[1]) == 0)
        for publication in publications.reversed() { try publisher.publish([9], on: publication, stampNanoseconds: 0) }
        try publisher.publish([10], on: publications[0], stampNanoseconds: 0)
        #expect(try receive(subscriber).payload.bytes == [9])
        #expect(try receive(subscriber).payload.bytes == [10])
        #expect(subscriber.statistics.topics.map(\.topic) == ["/a"])
        #expect(subscriber.statistics.unattributedRejections == 0)
    }

    @Test(arguments: Implementation.allCases, [true, false])
    func startOrderDoesNotMatter(_ implementation: Implementation, _ subscriberIsFirst: Bool) throws {
        let bench = try Bench(implementation)
        var nodes: [String: any Bus] = [:]
        var publication: Publication?
        for name in subscriberIsFirst ? ["s", "p"] : ["p", "s"] {
            let node = try bench.node(name)
            nodes[name] = node
            if name == "s" { _ = try node.subscribe(to: "/x") } else { publication = try node.advertise(topic("/x")) }
        }
        let (publisher, subscriber) = (try #require(nodes["p"]), try #require(nodes["s"]))
        let handle = try #require(publication)
        try waitForSubscribers(1, of: handle, on: publisher, while: [subscriber])
        try publisher.publish([1], on: handle, stampNanoseconds: 0)
        #expect(try receive(subscriber).payload.bytes == [1])
    }

    @Test(arguments: Implementation.allCases)
    func aSlowSubscriberNeverStopsThePublisherAndLossIsCountedExactly(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p", shallow: true), try bench.node("s", shallow: true))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x", qos: .keepLast(100_000))
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        let payload = [UInt8](repeating: 7, count: 4000)
        for _ in 0..<3000 { try publisher.publish(payload, on: publication, stampNanoseconds: 0) }
        var received: UInt64 = 0
        var last: UInt64 = 0
        try until("a message from after the flood") {
            try publisher.publish(payload, on: publication, stampNanoseconds: 0)
            while let delivery = try subscriber.poll(timeout: .milliseconds(1)) {
                received += 1
                #expect(delivery.header.sequence > last)
                last = delivery.header.sequence
            }
            return last > 3000
        }
        let statistics = try #require(subscriber.statistics[topic: "/x"])
        #expect(statistics.received == received)
        #expect(statistics.lost > 0)
        #expect(statistics.received + statistics.lost == last)
        #expect(statistics.dropped == 0)
    }

    @Test(arguments: Implementation.allCases, [QoS.keepLast(3), .latest])
    func aFullQueueDropsItsOldestAndCountsIt(_ implementation: Implementation, _ qos: QoS) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x", qos: qos)
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        for value in 1...8 { try publisher.publish([UInt8(value)], on: publication, stampNanoseconds: 0) }
        var sequences: [UInt64] = []
        while sequences.last != 8 { sequences.append(try receive(subscriber).header.sequence) }
        #expect(sequences == sequences.sorted())
        let statistics = try #require(subscriber.statistics[topic: "/x"])
        #expect(statistics.received == 8)
        #expect(statistics.lost == 0)
        #expect(Int(statistics.dropped) + sequences.count == 8)
    }

    @Test(arguments: Implementation.allCases)
    func repeatedSequencesOfOnePublisherAreDroppedAndCounted(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let subscriber = try bench.node("s")
        _ = try subscriber.subscribe(to: "/x")
        try bench.sendRaw(
            [
                frames("/x", sequence: 5), frames("/x", sequence: 5), frames("/x", sequence: 4),
                frames("/x", sequence: 4, boot: 0xbb), frames("/x", sequence: 8),
            ], topic: "/x", to: subscriber)
        let heard = try (0..<3).map { _ in try receive(subscriber).header }
        #expect(heard.map(\.sequence) == [5, 4, 8])
        #expect(heard.map(\.bootID) == [0xaa, 0xbb, 0xaa])
        #expect(subscriber.statistics[topic: "/x"]?.duplicates == 2)
        #expect(subscriber.statistics[topic: "/x"]?.lost == 2)
    }

    @Test(arguments: Implementation.allCases)
    func malformedMessagesAreRejectedAndCountedAndTheNextIsRead(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let subscriber = try bench.node("s")
        _ = try subscriber.subscribe(to: "/x")
        let key = Array("/x".utf8) + [0]
        let good = frames("/x", sequence: 1)
        var messages: [[[UInt8]]] = [
            [key], [key, good[1]], good + [[1]], good + [[1], [2], [3]],
            [key, [], [1]], [key, [0x09, 1, 2], [1]], [key, [UInt8](repeating: 0xff, count: 36), [1]],
            [key, [UInt8](repeating: 0, count: 5000), [1]], frames("/x", sequence: 0),
        ]
        if implementation == .inProcess { messages.removeLast(2) }
        let count = messages.count
        try bench.sendRaw(messages + [good], topic: "/x", to: subscriber)
        #expect(try receive(subscriber).header.sequence == 1)
        #expect(subscriber.statistics[topic: "/x"]?.rejected == UInt64(count))
        #expect(subscriber.statistics[topic: "/x"]?.received == 1)
    }

    @Test(arguments: Implementation.allCases)
    func lastRejectionHasItsCause(_ implementation: Implementation) throws {
        let key = Array("/x".utf8) + [0]
        let good = frames("/x", sequence: 2)
        let header = good[1]
        let cases: [([[UInt8]], String)] = [
            ([key], "1 frame instead of 3 (topic, header, payload)"),
            ([key, [1]], "2 frames instead of 3 (topic, header, payload)"),
            (good + [[1], [2]], "5 frames instead of 3 (topic, header, payload)"),
            ([key, [], [1]], "a header without sequence, stamp_ns, boot_id"),
            ([key, Array(header[..<9] + header[18..<27]), [1]], "a header without stamp_ns"),
            ([key, [UInt8](repeating: 0xff, count: 36), [1]], "a header that is not a navbus.v1.Header"),
            ([key, [UInt8](repeating: 0, count: 5000), [1]], "a header of 5000 bytes, over 1024"),
            (frames("/x", sequence: 0), "a header with sequence 0, which counts from 1"),
            (frames("/x", sequence: 1, [UInt8](repeating: 0, count: 11)), "a payload of 11 bytes, over 10"),
        ]
        for (bad, defect) in cases {
            let bench = try Bench(implementation)
            let subscriber = try bench.node("s")
            _ = try subscriber.subscribe(to: "/x", qos: .keepLast(10), maximumPayloadSize: 10)
            #expect(subscriber.statistics[topic: "/x"]?.lastRejection == nil)
            try bench.sendRaw([bad, good], topic: "/x", to: subscriber)
            #expect(try receive(subscriber).header.sequence == 2)
            #expect(subscriber.statistics[topic: "/x"]?.lastRejection == defect)
        }
    }

    @Test(arguments: Implementation.allCases)
    func restartedPublisherIsFoundAndCountsNoLoss(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let subscriber = try bench.node("s")
        _ = try subscriber.subscribe(to: "/x")
        var boots: [UInt64] = []
        for value in 1...3 {
            let publisher = try bench.node("p")
            let publication = try publisher.advertise(topic("/x"))
            try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
            for _ in 0..<value { try publisher.publish([UInt8(value)], on: publication, stampNanoseconds: 0) }
            for sequence in 1...value {
                let delivery = try receive(subscriber)
                #expect(delivery.payload.bytes == [UInt8(value)])
                #expect(delivery.header.sequence == UInt64(sequence))
            }
            boots.append(publisher.bootID)
            publisher.close()
        }
        #expect(Set(boots).count == 3)
        #expect(subscriber.statistics[topic: "/x"]?.received == 6)
        #expect(subscriber.statistics[topic: "/x"]?.lost == 0)
        #expect(subscriber.statistics[topic: "/x"]?.duplicates == 0)
    }

    @Test(arguments: Implementation.allCases)
    func usedNameIsRejectedUntilItIsFree(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let first = try bench.node("gnss")
        let error = busError { _ = try bench.node("gnss") }
        #expect(error?.code == .nameBusy)
        #expect(error?.description.contains("'gnss' is in use by") == true)
        first.close()
        let second = try bench.node("gnss")
        #expect(second.bootID != first.bootID)
    }

    @Test(arguments: Implementation.allCases)
    func publisherCountsItsSubscribers(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, one, two) = (try bench.node("p"), try bench.node("s1"), try bench.node("s2"))
        let publication = try publisher.advertise(topic("/x"))
        #expect(try publisher.subscriberCount(of: publication) == 0)
        let id = try one.subscribe(to: "/x")
        _ = try two.subscribe(to: "/x")
        try waitForSubscribers(2, of: publication, on: publisher, while: [one, two])
        two.close()
        try waitForSubscribers(1, of: publication, on: publisher, while: [one])
        try one.unsubscribe(id)
        try waitForSubscribers(0, of: publication, on: publisher, while: [one])
    }

    @Test(arguments: Implementation.allCases)
    func oversizedPayloadsAreRejectedOnBothSides(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x", maximumPayloadSize: 100))
        _ = try subscriber.subscribe(to: "/x", qos: .keepLast(10), maximumPayloadSize: 10)
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        let large = [UInt8](repeating: 0, count: 101)
        let error = busError { try publisher.publish(large, on: publication, stampNanoseconds: 0) }
        #expect(error?.code == .payloadTooLarge)
        #expect(error?.description.contains("101 bytes") == true)
        try publisher.publish([UInt8](repeating: 0, count: 11), on: publication, stampNanoseconds: 0)
        try publisher.publish([], on: publication, stampNanoseconds: 0)
        #expect(try receive(subscriber).payload.bytes.isEmpty)
        #expect(publisher.statistics[topic: "/x"]?.rejected == 1)
        #expect(publisher.statistics[topic: "/x"]?.published == 2)
        #expect(subscriber.statistics[topic: "/x"]?.rejected == 1)
        #expect(subscriber.statistics[topic: "/x"]?.lost == 0)
    }

    @Test(arguments: Implementation.allCases)
    func filterSubscribesToTopicsAsTheyAppear(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, recorder) = (try bench.node("p"), try bench.node("r"))
        let early = try publisher.advertise(topic("/nav/early"))
        let filter = TopicFilter(include: ["/nav/*", "/clock"], exclude: ["*/secret"])
        let id = try recorder.subscribe(matching: filter, qos: .keepLast(10), maximumPayloadSize: 100)
        let late = try publisher.advertise(topic("/nav/late"))
        let secret = try publisher.advertise(topic("/nav/secret"))
        let other = try publisher.advertise(topic("/other"))
        for publication in [early, late] {
            try waitForSubscribers(1, of: publication, on: publisher, while: [recorder])
        }
        for publication in [secret, other, late, early] {
            try publisher.publish([1], on: publication, stampNanoseconds: 0)
        }
        let deliveries = try (0..<2).map { _ in try receive(recorder) }
        #expect(deliveries.map(\.topic) == ["/nav/late", "/nav/early"])
        #expect(deliveries.allSatisfy { $0.subscription == id })
        #expect(recorder.statistics.topics.map(\.topic) == ["/nav/early", "/nav/late"])
    }

    @Test(arguments: Implementation.allCases)
    func nodeReceivesItsOwnTopicsOncePerSubscription(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let node = try bench.node("p")
        let publication = try node.advertise(topic("/x"))
        let first = try node.subscribe(to: "/x")
        let second = try node.subscribe(to: "/x", qos: .latest)
        try waitForSubscribers(1, of: publication, on: node, while: [node])
        try node.publish([5], on: publication, stampNanoseconds: 0)
        #expect(try receive(node).subscription == first)
        #expect(try receive(node).subscription == second)
        #expect(node.statistics[topic: "/x"]?.received == 1)
    }

    @Test(arguments: Implementation.allCases)
    func deliveriesKeepTheOrderOfArrivalAcrossTopics(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publications = try ["/a", "/b", "/c"].map { try publisher.advertise(topic($0)) }
        for name in ["/c", "/b", "/a"] { _ = try subscriber.subscribe(to: name) }
        for publication in publications {
            try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        }
        let order = [0, 1, 1, 2, 0, 2, 1]
        for index in order { try publisher.publish([1], on: publications[index], stampNanoseconds: 0) }
        let heard = try order.map { _ in try receive(subscriber).topic }
        #expect(heard == order.map { publications[$0].topic })
    }

    @Test(arguments: Implementation.allCases)
    func misuseIsReportedAsAnError(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        for name in ["", "..", "a/b", "A", String(repeating: "a", count: 65)] {
            #expect(busError { _ = try bench.node(name) }?.code == .invalidName)
        }
        let (node, other) = (try bench.node("p"), try bench.node("q"))
        for name in ["", "/", "x", "/x/", "//x", "/x y", "/x\0y", "/é", "/" + String(repeating: "a", count: 200)] {
            #expect(busError { _ = try node.advertise(topic(name)) }?.code == .invalidName)
            #expect(busError { _ = try node.subscribe(to: name) }?.code == .invalidName)
        }
        #expect(busError { _ = try node.subscribe(to: "/x", qos: .keepLast(0)) }?.code == .invalidArgument)
        #expect(busError { _ = try node.advertise(topic("/x", .keepLast(-1))) }?.code == .invalidArgument)
        let publication = try node.advertise(topic("/x"))
        #expect(busError { _ = try node.advertise(topic("/x")) }?.code == .topicConflict)
        #expect(busError { try other.publish([1], on: publication, stampNanoseconds: 0) }?.code == .unknownHandle)
        let id = try node.subscribe(to: "/x")
        #expect(busError { try other.unsubscribe(id) }?.code == .unknownHandle)
        node.close()
        node.close()
        #expect(busError { _ = try node.poll(timeout: .zero) }?.code == .closed)
        #expect(busError { try node.publish([1], on: publication, stampNanoseconds: 0) }?.code == .closed)
    }

    @Test(arguments: Implementation.allCases)
    func unsubscribedTopicIsNotDelivered(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publications = try ["/a", "/b"].map { try publisher.advertise(topic($0)) }
        let first = try subscriber.subscribe(to: "/a")
        _ = try subscriber.subscribe(to: "/b")
        for publication in publications {
            try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        }
        for publication in publications { try publisher.publish([1], on: publication, stampNanoseconds: 0) }
        try subscriber.unsubscribe(first)
        #expect(try receive(subscriber).topic == "/b")
        #expect(try subscriber.poll(timeout: .zero) == nil)
    }

    @Test(arguments: Implementation.allCases)
    func messagesBetweenTwoSubscriptionsAreNotLost(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x", .latched))
        let first = try subscriber.subscribe(to: "/x", qos: .latched)
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        try publisher.publish([1], on: publication, stampNanoseconds: 0)
        #expect(try receive(subscriber).payload.bytes == [1])
        try subscriber.unsubscribe(first)
        try waitForSubscribers(0, of: publication, on: publisher, while: [subscriber])
        for value in UInt8(2)...4 { try publisher.publish([value], on: publication, stampNanoseconds: 0) }
        _ = try subscriber.subscribe(to: "/x", qos: .latched)
        #expect(try receive(subscriber, while: [publisher]).payload.bytes == [4])
        #expect(subscriber.statistics[topic: "/x"]?.lost == 0)
    }
}
