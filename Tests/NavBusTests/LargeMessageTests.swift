import CZeroMQ
import Foundation
import NavBus
import NavTestBus
import NavTestKit
import NavTestSystem
import Testing

/// Large payloads on every kind of connection, and their effects on other messages.
@Suite(.serialized) struct LargeMessageTests {
    /// Sizes around every limit: payloads queued within a bound in bytes (over 4 KiB), the kernel's buffers, and 64 MB.
    private static let sizes = [4_096, 4_097, 67_000, 70_000, 130_000, 1 << 20, 63 << 20]

    @Test(arguments: sizes, [QoS.latched, .keepLast(16), .latest])
    func publisherIsReceivedAfterLargeMessages(_ size: Int, _ qos: QoS) throws {
        let bench = try Bench(.zeroMQ)
        let publisher = try BusNode(name: "publisher", configuration: BusConfiguration(directory: bench.directory))
        let large = try publisher.advertise(topic("/large", qos, maximumPayloadSize: 64 << 20))
        let small = try publisher.advertise(topic("/small"))
        let payload = [UInt8](repeating: 1, count: size)
        // A latched message that is published before the connection arrives with the subscription.
        try publisher.publish(payload, on: large, stampNanoseconds: 0)
        let subscriber = try BusNode(name: "subscriber", configuration: BusConfiguration(directory: bench.directory))
        _ = try subscriber.subscribe(to: "/large", qos: qos, maximumPayloadSize: 64 << 20)
        _ = try subscriber.subscribe(to: "/small", qos: .keepLast(4000), maximumPayloadSize: 1000)
        let client = try RawSubscriber(to: bench.directory.publisherPath("publisher"), ["/large", "/small"])
        try until("both subscribers") {
            _ = try publisher.poll(timeout: .milliseconds(2))
            _ = try subscriber.poll(timeout: .zero)
            return try publisher.subscriberCount(of: small) == 2
        }
        // On an idle connection, among many small messages, and in a burst.
        for phase in [0, 700, 1500, 1501] {
            try publisher.publish(payload, on: large, stampNanoseconds: 0)
            for number in 0..<(phase == 1500 ? 0 : 2000) {
                try publisher.publish([UInt8(phase % 7)], on: small, stampNanoseconds: 0)
                if number == phase { try publisher.publish(payload, on: large, stampNanoseconds: 0) }
                if number % 100 == 0 {
                    while try subscriber.poll(timeout: .zero) != nil {}
                    while try client.receive() != nil {}
                }
            }
        }
        var heard = (node: false, client: false)
        try until("a message on every connection") {
            try publisher.publish([99], on: small, stampNanoseconds: 0)
            _ = try publisher.poll(timeout: .milliseconds(2))
            while let delivery = try subscriber.poll(timeout: .zero) {
                heard.node = heard.node || delivery.topic == "/small" && delivery.payload.bytes == [99]
            }
            while let frames = try client.receive() { heard.client = heard.client || frames.last == [99] }
            return heard.node && heard.client
        }
        #expect(subscriber.statistics.silentConnections == 0)
    }

    @Test func stuckSubscriberIsDisconnectedAndReconnects() throws {
        let bench = try Bench(.zeroMQ)
        var configuration = BusConfiguration(directory: bench.directory)
        configuration.maximumQueuedBytes = 8 << 20
        let publisher = try BusNode(name: "publisher", configuration: configuration)
        let publication = try publisher.advertise(topic("/x", maximumPayloadSize: 1 << 20))
        let stuck = try RawSubscriber(to: bench.directory.publisherPath("publisher"), ["/x"], highWaterMark: 1)
        let subscriber = try bench.node("subscriber")
        _ = try subscriber.subscribe(to: "/x", qos: .latest, maximumPayloadSize: 1 << 20)
        try waitForSubscribers(2, of: publication, on: publisher, while: [subscriber])
        let payload = [UInt8](repeating: 1, count: 1 << 20)
        try until("the cut") {
            try publisher.publish(payload, on: publication, stampNanoseconds: 0)
            _ = try publisher.poll(timeout: .milliseconds(10))
            _ = try subscriber.poll(timeout: .zero)
            return publisher.statistics.stuckSubscribers == 1
        }
        // The other subscriber keeps receiving, as does the disconnected one once it reads again.
        let dropped = try #require(publisher.statistics[topic: "/x"]).dropped
        #expect(dropped > 0)
        let before = try #require(subscriber.statistics[topic: "/x"]).received
        var last: [UInt8]?
        try until("the return") {
            try publisher.publish([7], on: publication, stampNanoseconds: 0)
            _ = try publisher.poll(timeout: .milliseconds(10))
            _ = try subscriber.poll(timeout: .zero)
            while let frames = try stuck.receive() { last = frames.last }
            return last == [7]
        }
        let seen = try #require(subscriber.statistics[topic: "/x"])
        #expect(seen.received > before)
        #expect(publisher.statistics.stuckSubscribers == 1)
    }

    @Test func latestValueReachesASubscriberAfterAFullQueue() throws {
        let bench = try Bench(.zeroMQ)
        var configuration = BusConfiguration(directory: bench.directory)
        // With these limits, messages of 10 kB are bounded by their number.
        (configuration.sendHighWaterMark, configuration.maximumQueuedBytes) = (1000, 16 << 20)
        let publisher = try BusNode(name: "publisher", configuration: configuration)
        let flood = try publisher.advertise(topic("/flood"))
        let state = try publisher.advertise(topic("/state", .latched))
        let slow = try RawSubscriber(to: bench.directory.publisherPath("publisher"), ["/flood", "/state"])
        try until("the subscriber") {
            _ = try publisher.poll(timeout: .milliseconds(2))
            return try publisher.subscriberCount(of: state) == 1
        }
        let payload = [UInt8](repeating: 1, count: 10_000)
        for _ in 0..<5000 { try publisher.publish(payload, on: flood, stampNanoseconds: 0) }
        try publisher.publish([42], on: state, stampNanoseconds: 0)
        let statistics = try #require(publisher.statistics[topic: "/flood"])
        #expect(statistics.dropped > 1000)
        // Without a further publication the value still arrives, and the counts of both sides agree.
        var (received, last): (UInt64, [UInt8]?) = (0, nil)
        try until("the last value") {
            _ = try publisher.poll(timeout: .milliseconds(5))
            while let frames = try slow.receive() {
                if frames.first == Array("/state\0".utf8) { last = frames.last } else { received += 1 }
            }
            return last == [42]
        }
        #expect(received + statistics.dropped == 5000)
    }

    @Test func queueIsBoundedInBytes() throws {
        let network = InProcessNetwork()
        let (publisher, subscriber) = (
            try InProcessBus(name: "p", network: network), try InProcessBus(name: "s", network: network)
        )
        let publication = try publisher.advertise(topic("/x", maximumPayloadSize: 64 << 20))
        _ = try subscriber.subscribe(to: "/x", qos: .keepLast(1000), maximumPayloadSize: 64 << 20)
        for size in [30, 30, 10, 1, 60] {
            try publisher.publish([UInt8](repeating: 1, count: size << 20), on: publication, stampNanoseconds: 0)
        }
        var sizes: [Int] = []
        while let delivery = try subscriber.poll(timeout: .zero) { sizes.append(delivery.payload.count >> 20) }
        #expect(sizes == [1, 60])
        #expect(subscriber.statistics[topic: "/x"]?.dropped == 3)
    }
}

/// Publishers that are alive but silent.
@Suite struct SilenceTests {
    private let second: Int64 = 1_000_000_000

    @Test func silentPublisherIsReconnected() throws {
        let bench = try Bench(.zeroMQ)
        let mute = try RawPublisher("mute", topic: "/x", in: bench.directory, answersProbes: true)
        var configuration = BusConfiguration(directory: bench.directory)
        configuration.silenceMilliseconds = 100
        let subscriber = try BusNode(name: "subscriber", configuration: configuration)
        let quiet = try bench.node("quiet")
        let publication = try quiet.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x")
        var subscriptions = 0
        let key = [1] + Array("/x\0".utf8)
        try until("a second connection") {
            _ = try quiet.poll(timeout: .zero)
            _ = try subscriber.poll(timeout: .milliseconds(5))
            while let frame = try mute.subscription() { if frame == key { subscriptions += 1 } }
            return subscriptions >= 2
        }
        #expect(subscriber.statistics.silentConnections == 1)
        // The publisher that answers keeps its connection, and its messages arrive.
        #expect(try quiet.subscriberCount(of: publication) == 1)
        try quiet.publish([3], on: publication, stampNanoseconds: 0)
        #expect(try receive(subscriber, while: [quiet]).payload.bytes == [3])
        #expect(subscriber.statistics.unattributedRejections == 0)
    }

    @Test func publishersThatSendOrAnswerAreNotReconnected() {
        var monitor = SilenceMonitor(interval: 5 * second)
        #expect(monitor.next == .max)
        monitor.arm(0)
        #expect(step(&monitor, 5, [(1, 10), (2, 10)]) == .wait)
        #expect(step(&monitor, 10, [(1, 11), (2, 10)]) == .probe)
        #expect(monitor.next == 12 * second)
        #expect(step(&monitor, 12, [(1, 11), (2, 10)], answered: [2]) == .finish(reconnect: []))
        #expect(step(&monitor, 17, [(1, 11), (2, 11)]) == .probe)
        #expect(step(&monitor, 19, [(1, 12), (2, 11)]) == .finish(reconnect: []))
        #expect(step(&monitor, 24, []) == .wait)
        #expect(monitor.next == .max)
    }

    @Test func publishersThatReturnAreCheckedAgain() {
        var monitor = SilenceMonitor(interval: 5 * second)
        monitor.arm(0)
        #expect(step(&monitor, 5, []) == .wait)
        #expect(monitor.next == .max)
        monitor.arm(6 * second)
        #expect(step(&monitor, 11, [(1, 10)]) == .wait)
        #expect(step(&monitor, 16, [(1, 10)]) == .probe)
        // An additional publisher does not shorten the first one's time to answer.
        monitor.arm(16 * second)
        #expect(monitor.next == 18 * second)
    }

    @Test func reconnectionsBackOff() {
        var monitor = SilenceMonitor(interval: 5 * second)
        monitor.arm(0)
        var (attempts, seconds): ([Int64], Int64) = ([], 0)
        while attempts.count < 8 {
            seconds = monitor.next / second
            if step(&monitor, seconds, [(1, 7)]) == .finish(reconnect: [1]) { attempts.append(seconds) }
        }
        let pauses = zip(attempts, attempts.dropFirst()).map { $1 - $0 }
        #expect(pauses == pauses.sorted())
        #expect(pauses[0] < 15)
        #expect(pauses.allSatisfy { $0 <= 75 })
    }

    @Test func ownStallIsNotMistakenForSilence() {
        var monitor = SilenceMonitor(interval: 5 * second)
        monitor.arm(0)
        #expect(step(&monitor, 5, [(1, 7)]) == .wait)
        #expect(step(&monitor, 30, [(1, 7)]) == .wait)
        #expect(step(&monitor, 35, [(1, 7)]) == .probe)
        #expect(step(&monitor, 60, [(1, 7)]) == .finish(reconnect: []))
    }

    @Test func connectionIsStuckAfterTwoSecondsWithoutProgress() {
        var stuck = StuckConnections()
        for _ in 0..<20 { #expect(stuck.sample(unread: [1, 2], releaseCount: 5) == []) }
        // A connection whose queue was empty in between is not stuck.
        #expect(stuck.sample(unread: [2], releaseCount: 5) == [2])
        #expect(stuck.sample(unread: [1, 2], releaseCount: 5) == [2])
        #expect(stuck.sample(unread: [1, 2], releaseCount: 6) == [])
    }

    private func step(
        _ monitor: inout SilenceMonitor, _ seconds: Int64, _ heard: [(UInt64, UInt64)], answered: Set<UInt64> = []
    ) -> SilenceMonitor.Step {
        monitor.step(seconds * second, heard: heard.map { (bootID: $0.0, progress: $0.1) }, answered: answered)
    }
}

/// A subscriber that consists of a bare socket with libzmq's default options, as in programs written in C or Python.
final class RawSubscriber {
    private let socket: ZeroMQSocket

    init(to path: String, _ topics: [String], highWaterMark: Int32 = 1000) throws {
        socket = try ZeroMQSocket(.subscriber, in: ZeroMQContext())
        try socket.set(ZMQ_RCVHWM, highWaterMark)
        try socket.connect("ipc://" + path)
        for topic in topics { try socket.set(ZMQ_SUBSCRIBE, Array(topic.utf8) + [0]) }
    }

    /// Returns the frames of the next message; nil if none is queued.
    func receive() throws -> [[UInt8]]? { try socket.receiveFrames(limit: 3) }
}
