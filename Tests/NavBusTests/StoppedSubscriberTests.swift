import Foundation
import NavBus
import NavTestKit
import NavTestSystem
import Testing

/// A subscriber process that is stopped with SIGSTOP and later continued.
@Suite(.serialized) struct StoppedSubscriberTests {
    @Test func stoppedSubscriberAccountsForEveryMessage() throws {
        let report = try publishWhileStopped(count: 20_000, size: 200) { $0.sendHighWaterMark = 1000 }
        #expect(report["received", default: 0] + report["lost", default: 0] == report["sequence"])
        #expect(report["delivered", default: 0] + report["dropped", default: 0] == report["received"])
        #expect(report["lost", default: 0] > 10_000)
    }

    @Test func queueOfAStoppedSubscriberIsBoundedInBytes() throws {
        let report = try publishWhileStopped(count: 3000, size: 100_000) {
            ($0.sendHighWaterMark, $0.maximumQueuedBytes) = (1000, 4 << 20)
        }
        #expect(report["received", default: 0] + report["lost", default: 0] == report["sequence"])
        // About 31 messages in the publisher's queue, plus those in the kernel's buffers and in the batch being sent.
        #expect(report["received", default: 0] < 300)
    }

    /// Publishes `count` messages while a subscriber is stopped, then continues it and returns its report.
    private func publishWhileStopped(
        count: Int, size: Int, _ configure: (inout BusConfiguration) -> Void = { _ in }
    ) throws -> [String: Int] {
        let bench = try Bench(.zeroMQ)
        var configuration = BusConfiguration(directory: bench.directory)
        configure(&configuration)
        let node = try BusNode(name: "publisher", configuration: configuration)
        defer { node.close() }
        let publication = try node.advertise(topic("/x", maximumPayloadSize: 1 << 20))
        let probe = try Probe("NavBusProbe", ["subscriber", bench.directory.path, "subscriber", "/x", "1000000"])
        try until("the probe's subscription") {
            _ = try node.poll(timeout: .milliseconds(2))
            return try node.subscriberCount(of: publication) == 1
        }
        probe.send(SIGSTOP)
        try until("the stop") { probe.state == "T" }
        let payload = [UInt8](repeating: 7, count: size)
        for _ in 0..<count { try node.publish(payload, on: publication, stampNanoseconds: 0) }
        probe.send(SIGCONT)
        // The queue may still be full, so the end is sent until it is received.
        try until("the report") {
            try node.publish([1], on: publication, stampNanoseconds: 0)
            _ = try node.poll(timeout: .milliseconds(20))
            return probe.hasEnded()
        }
        let words = probe.output.split(separator: " ").map(String.init)
        var report: [String: Int] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) { report[words[index]] = Int(words[index + 1]) }
        return report
    }
}
