import NavMessages
import NavSimulation
import Testing

/// Streaming reads of traffic speeds, which must equal decoding the whole message.
struct TrafficReadingTests {
    private static let message = TrafficSpeeds(
        stampNs: 1_767_258_000_000_000_000, provider: "city", replacesAll: true,
        speeds: (0..<40).map(speed))

    /// Returns a speed; each of its fields is absent at some index.
    private static func speed(_ index: Int) -> TrafficSpeed {
        var speed = TrafficSpeed()
        if index % 3 != 0 { speed.wayId = Int64(index) << 20 }
        speed.fromNode = Int64(index) << 27
        speed.toNode = -Int64(index)
        if index % 5 != 0 { speed.speedMps = Double(index) / 3 }
        if index % 4 == 0 { speed.closed = index % 8 == 0 }
        if index % 2 != 0 { speed.validUntilNs = Int64(index) }
        return speed
    }

    private func read(_ bytes: [UInt8]) -> TrafficSpeeds? {
        var speeds: [TrafficSpeed] = []
        guard
            var message = bytes.withUnsafeBytes({ bytes in
                try? TrafficSpeeds.read(bytes, limit: 1 << 20) { speeds.append($0) }
            })
        else { return nil }
        message.speeds = speeds
        return message
    }

    @Test func completeMessageIsRead() {
        #expect(read(Self.message.encoded()) == Self.message)
        #expect(read([]) == TrafficSpeeds())
    }

    @Test func truncatedOrDamagedMessageIsReadAsByTheDecoder() {
        let bytes = Self.message.encoded()
        for count in 0..<bytes.count {
            let part = Array(bytes[..<count])
            #expect(read(part) == (try? TrafficSpeeds(decoding: part)))
        }
        var random = SeededRandom(seed: 7)
        for _ in 0..<4_000 {
            var damaged = bytes
            let (place, byte) = (random.below(bytes.count), UInt8(truncatingIfNeeded: random.next()))
            damaged[place] = byte
            // The decoder may refuse an odd unknown field that is accepted here. The reverse is possible only for a
            // field number that protobuf does not have (0, or over 2^29 - 1, whose tag begins with a byte over 127),
            // and for the flags (fields 3 of the message and 5 of a speed), whose wire type protobuf-c does not check.
            guard let whole = try? TrafficSpeeds(decoding: damaged) else { continue }
            let message = read(damaged)
            let context = "byte \(place) of \(bytes.count) from \(bytes[place]) to \(byte)"
            let isOdd = byte < 8 || byte > 127 || [3, 5].contains(byte >> 3)
            #expect(message == whole || message == nil && isOdd, "\(context)")
        }
    }

    @Test func messageOverTheLimitIsRefused() {
        let bytes = Self.message.encoded()
        let error = #expect(throws: MessageError.self) {
            try bytes.withUnsafeBytes { try TrafficSpeeds.read($0, limit: 10) { _ in } }
        }
        #expect(error == .tooLarge(type: "navbus.v1.TrafficSpeeds", size: bytes.count, limit: 10))
    }
}
