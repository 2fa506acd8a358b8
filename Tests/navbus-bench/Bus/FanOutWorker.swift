import Foundation
import NavBus

// One publisher and any number of subscribers, each in a separate process: throughput, fan-out, one-way latency.
extension BusWorker {
    private static let dataTopic = "/bench/data"

    func publishToAll() throws {
        let node = try makeNode("publisher")
        let data = try node.advertise(topic(Self.dataTopic))
        while try node.subscriberCount(of: data) < subscribers { _ = try node.poll(timeout: .milliseconds(20)) }
        // Read once, as in `measure`.
        let (payload, count, interval) = (payload, count, interval)
        let start = Clocks.monotonic()
        var next = start
        try payload.withUnsafeBytes { bytes in
            for _ in 0..<count {
                if let interval {
                    next += interval
                    sleep(until: next)
                }
                try node.publish(bytes, on: data, stampNanoseconds: interval == nil ? start : Clocks.monotonic())
            }
        }
        let end = Clocks.monotonic()
        print("count \(count)\nstart \(start)\nend \(end)")
        // Subscribers exit once they have received all messages.
        while try node.subscriberCount(of: data) > 0 { _ = try node.poll(timeout: .milliseconds(20)) }
        node.close()
    }

    func receiveAll() throws {
        let node = try makeNode(name)
        _ = try node.subscribe(to: Self.dataTopic, qos: queue, maximumPayloadSize: size)
        let (count, isPaced) = (count, rate > 0)
        var ways: [Int64] = []
        ways.reserveCapacity(isPaced ? count : 0)
        var received = 0
        while received < count {
            guard let message = try node.poll(timeout: .seconds(1)) else { continue }
            if isPaced { ways.append(Clocks.monotonic() - message.header.stampNanoseconds) }
            received += 1
        }
        print("count \(received)\nend \(Clocks.monotonic())")
        if isPaced { try write(ways, "way") }
        node.close()
    }
}
