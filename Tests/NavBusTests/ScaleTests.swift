import Foundation
import NavBus
import NavTestKit
import Testing

/// A node's activity while idle, and the small amount it reads after a change.
@Suite struct ScaleTests {
    private let second: Int64 = 1_000_000_000

    // MARK: The schedule of reads

    @Test func scheduleReadsEverythingOnceAndThenChangedNodes() {
        var schedule = RegistrySchedule(interval: 30 * second)
        expect(schedule.take(second), .everything)
        #expect(schedule.next == 31 * second)
        expect(schedule.take(2 * second), .nothing)
        schedule.changed("b", lockClosed: false, now: 2 * second)
        schedule.changed("a", lockClosed: false, now: 2 * second)
        schedule.changed("a", lockClosed: false, now: 2 * second)
        #expect(schedule.next == 2 * second)
        expect(schedule.take(2 * second), .nodes(["a", "b"]))
        expect(schedule.take(30 * second), .nothing)
        expect(schedule.take(31 * second), .everything)
    }

    @Test func burstOfEventsIsReadOnceAndAgainAfterALockCloses() {
        var schedule = RegistrySchedule(interval: 30 * second)
        _ = schedule.take(second)
        let start = 2 * second
        schedule.changed("a", lockClosed: false, now: start)
        expect(schedule.take(start), .nodes(["a"]))
        for step in 1...10 { schedule.changed("a", lockClosed: false, now: start + Int64(step)) }
        expect(schedule.take(start + RegistrySchedule.coalescingNanoseconds - 1), .nothing)
        expect(schedule.take(start + RegistrySchedule.coalescingNanoseconds), .nodes(["a"]))
        let later = 3 * second
        schedule.changed("b", lockClosed: true, now: later)
        expect(schedule.take(later), .nodes(["b"]))
        #expect(schedule.next == later + RegistrySchedule.secondLookNanoseconds)
        expect(schedule.take(schedule.next), .nodes(["b"]))
        #expect(schedule.next == 31 * second)
    }

    @Test func lostOrTooManyEventsTriggerAFullRead() {
        var schedule = RegistrySchedule(interval: 30 * second)
        _ = schedule.take(second)
        schedule.lostEvents(2 * second)
        expect(schedule.take(2 * second), .everything)
        for index in 0..<5000 { schedule.changed("n\(index)", lockClosed: true, now: 4 * second) }
        expect(schedule.take(4 * second), .everything)
    }

    // MARK: Nodes

    @Test func anIdleNodeAmongManyReadsNothingAndSleepsForSeconds() throws {
        let bench = try Bench(.zeroMQ)
        var others: [BusNode] = []
        for index in 0..<12 {
            let node = try BusNode(name: "n\(index)", configuration: BusConfiguration(directory: bench.directory))
            for number in 0..<10 { _ = try node.advertise(topic("/n\(index)/t\(number)")) }
            others.append(node)
        }
        var configuration = BusConfiguration(directory: bench.directory)
        configuration.silenceMilliseconds = 60_000
        let node = try BusNode(name: "watcher", configuration: configuration)
        for index in 0..<12 { _ = try node.subscribe(to: "/n\(index)/t3") }
        // Each node is read once, whatever the number of subscriptions; events of the start may add a few reads.
        #expect(node.registryLooks < 60)
        try until("rest") {
            let before = node.registryLooks
            _ = try node.poll(timeout: .milliseconds(50))
            return node.registryLooks == before
        }
        let settled = node.registryLooks
        for _ in 0..<500 { _ = try node.poll(timeout: .zero) }
        #expect(node.registryLooks == settled)
        let asleepUntil = try node.nextWakeup()
        #expect(asleepUntil - monotonicNanoseconds() > 5 * second)
        // Only the new node is read, not the others.
        let late = try BusNode(name: "late", configuration: BusConfiguration(directory: bench.directory))
        let publication = try late.advertise(topic("/n3/t3"))
        try until("the newcomer's subscription") {
            _ = try node.poll(timeout: .milliseconds(5))
            return try late.subscriberCount(of: publication) == 1
        }
        #expect(node.registryLooks - settled < 12)
        withExtendedLifetime(others) {}
    }

    @Test func publishingNodeNeverReadsTheRegistry() throws {
        let bench = try Bench(.zeroMQ)
        let node = try BusNode(name: "n", configuration: BusConfiguration(directory: bench.directory))
        let publication = try node.advertise(topic("/x"))
        for _ in 0..<100 {
            try node.publish([1], on: publication, stampNanoseconds: 0)
            _ = try node.poll(timeout: .zero)
        }
        #expect(node.registryLooks == 0)
    }

    @Test(arguments: Implementation.allCases)
    func statisticsIncludeBytesTimesAndPeers(_ implementation: Implementation) throws {
        let bench = try Bench(implementation)
        let (publisher, subscriber) = (try bench.node("p"), try bench.node("s"))
        let publication = try publisher.advertise(topic("/x"))
        _ = try subscriber.subscribe(to: "/x")
        try waitForSubscribers(1, of: publication, on: publisher, while: [subscriber])
        for size in [10, 20, 30] {
            try publisher.publish([UInt8](repeating: 0, count: size), on: publication, stampNanoseconds: 0)
        }
        var last: Delivery?
        for _ in 0..<3 { last = try receive(subscriber) }
        let sent = try #require(publisher.statistics[topic: "/x"])
        let got = try #require(subscriber.statistics[topic: "/x"])
        #expect((sent.publishedBytes, sent.subscribers, sent.receivedBytes) == (60, 1, 0))
        #expect((got.receivedBytes, got.publishers, got.publishedBytes) == (60, 1, 0))
        #expect(got.lastReceivedNanoseconds == last?.received.monotonicNanoseconds)
        #expect(got.lastReceivedNanoseconds >= sent.lastPublishedNanoseconds)
    }

    /// Applies `#expect` to the value of a mutating call, which the macro does not support.
    private func expect<Value: Equatable>(
        _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }

    private func monotonicNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
