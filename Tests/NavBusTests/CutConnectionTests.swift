import NavBus
import NavTestKit
import Testing

/// A publisher whose messages exceed the subscriber's size limit.
@Suite struct CutConnectionTests {
    @Test func publisherIsReceivedAgainAfterAnOversizedFrame() throws {
        let bench = try Bench(.zeroMQ)
        let publisher = try bench.node("publisher")
        var narrow = BusConfiguration(directory: bench.directory)
        narrow.maximumMessageSize = 1000
        let subscriber = try BusNode(name: "subscriber", configuration: narrow)
        let large = try publisher.advertise(topic("/large"))
        let small = try publisher.advertise(topic("/small"))
        _ = try subscriber.subscribe(to: "/large")
        _ = try subscriber.subscribe(to: "/small")
        try waitForSubscribers(1, of: large, on: publisher, while: [subscriber])
        for _ in 0..<2 {
            try publisher.publish([UInt8](repeating: 1, count: 10_000), on: large, stampNanoseconds: 0)
            var count: UInt8 = 0
            try until("a small message after the large one") {
                count &+= 1
                try publisher.publish([count], on: small, stampNanoseconds: 0)
                _ = try publisher.poll(timeout: .zero)
                return try subscriber.poll(timeout: .milliseconds(20)) != nil
            }
            while try subscriber.poll(timeout: .milliseconds(20)) != nil {}
        }
        #expect(subscriber.statistics.cutConnections == 2)
        #expect(subscriber.statistics[topic: "/large"]?.received == 0)
    }
}
