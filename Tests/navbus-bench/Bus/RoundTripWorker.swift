import Foundation
import NavBus
import NavKit
import NavTestBus

// Round trips over two topics: between two processes through the blocking API, and through the in-process bus.
extension BusWorker {
    private static let pingTopic = "/bench/ping"
    private static let pongTopic = "/bench/pong"
    /// The index of the message that ends the echo.
    private static let lastIndex = UInt64.max

    func echo() throws {
        let node = try makeNode("echo")
        _ = try node.subscribe(to: Self.pingTopic, qos: .keepLast(1024), maximumPayloadSize: size)
        let pong = try node.advertise(topic(Self.pongTopic))
        var echoed = 0
        while true {
            guard let ping = try node.poll(timeout: .seconds(1)) else { continue }
            let arrival = Clocks.monotonic()
            if Self.index(of: ping.payload) == Self.lastIndex { break }
            try node.publish(ping.payload, on: pong, stampNanoseconds: arrival)
            echoed += 1
        }
        print("echoed \(echoed)")
        node.close()
    }

    func ping() throws {
        let node = try makeNode("ping")
        _ = try node.subscribe(to: Self.pongTopic, qos: .keepLast(1024), maximumPayloadSize: size)
        let ping = try node.advertise(topic(Self.pingTopic))
        try meet(node, ping)
        var payload = payload
        try measure(&payload) { payload, start in
            try node.publish(payload, on: ping, stampNanoseconds: start)
            while true {
                if let pong = try node.poll(timeout: .seconds(1)) { return pong }
            }
        }
        Self.write(Self.lastIndex, to: &payload)
        try node.publish(payload, on: ping, stampNanoseconds: Clocks.monotonic())
        node.close()
    }

    /// Sends until an echo arrives, then waits until no message arrives, so that both directions are connected and
    /// empty.
    private func meet(_ node: BusNode, _ ping: Publication) throws {
        let payload = payload
        for _ in 0..<1000 {
            try node.publish(payload, on: ping, stampNanoseconds: 0)
            guard try node.poll(timeout: .milliseconds(20)) != nil else { continue }
            while try node.poll(timeout: .milliseconds(50)) != nil {}
            return
        }
        throw NodeError(.system, "the echo process does not answer")
    }

    func roundTripInProcess() throws {
        let network = InProcessNetwork()
        let near = try InProcessBus(name: "near", network: network)
        let far = try InProcessBus(name: "far", network: network)
        _ = try near.subscribe(to: Self.pongTopic, qos: .keepLast(1024), maximumPayloadSize: size)
        _ = try far.subscribe(to: Self.pingTopic, qos: .keepLast(1024), maximumPayloadSize: size)
        let ping = try near.advertise(topic(Self.pingTopic))
        let pong = try far.advertise(topic(Self.pongTopic))
        var payload = payload
        try measure(&payload) { payload, start in
            try near.publish(payload, on: ping, stampNanoseconds: start)
            guard let arrived = try far.poll(timeout: .zero) else { throw NodeError(.system, "a ping was lost") }
            let arrival = Clocks.monotonic()
            try arrived.payload.withUnsafeBytes { try far.publish($0, on: pong, stampNanoseconds: arrival) }
            guard let answer = try near.poll(timeout: .zero) else { throw NodeError(.system, "a pong was lost") }
            return answer
        }
    }

    /// Measures `trip`, which sends a payload with the given time as its stamp and returns the answer.
    @inline(__always)
    private func measure(
        _ payload: inout [UInt8], _ trip: (UnsafeRawBufferPointer, Int64) throws -> Delivery
    ) throws {
        // The options are read once, because each access goes through the argument parser's generic storage, which is
        // noticeable at 100 us.
        let (size, count, warmup, interval) = (size, count, warmup, interval)
        var trips: [Int64] = []
        var ways: [Int64] = []
        trips.reserveCapacity(count)
        ways.reserveCapacity(count)
        var next = Clocks.monotonic()
        for index in 0..<(warmup + count) {
            let isMeasured = index >= warmup
            if let interval, isMeasured {
                next += interval
                sleep(until: next)
            }
            Self.write(UInt64(index), to: &payload)
            let start = Clocks.monotonic()
            let answer = try payload.withUnsafeBytes { try trip($0, start) }
            let end = Clocks.monotonic()
            guard answer.payload.count == size, Self.index(of: answer.payload) == UInt64(index) else {
                throw NodeError(.system, "the answer to \(index) belongs to another request")
            }
            if isMeasured {
                trips.append(end - start)
                ways.append(answer.header.stampNanoseconds - start)
            } else {
                next = end
            }
        }
        try write(trips, "trip")
        try write(ways, "way")
        print("count \(trips.count)")
    }

    @inline(__always)
    private static func write(_ index: UInt64, to payload: inout [UInt8]) {
        payload.withUnsafeMutableBytes { $0.storeBytes(of: index, as: UInt64.self) }
    }

    @inline(__always)
    private static func index(of payload: Payload) -> UInt64 {
        payload.withUnsafeBytes { $0.count >= 8 ? $0.loadUnaligned(as: UInt64.self) : lastIndex }
    }
}
