import NavMessages
import Testing

/// Speeds read one by one are those of the whole message.
struct TrafficReadingTests {
    private static let message = TrafficSpeeds(
        stampNs: 1_767_258_000_000_000_000, provider: "city", replacesAll: true,
        speeds: (0..<40).map { index in
            TrafficSpeed(
                wayId: index % 3 == 0 ? nil : Int64(index) << 20, fromNode: Int64(index) << 27, toNode: -Int64(index),
                speedMps: index % 5 == 0 ? nil : Double(index) / 3, closed: index % 4 == 0 ? index % 8 == 0 : nil,
                validUntilNs: index % 2 == 0 ? nil : Int64(index))
        })

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

    @Test func aMessageIsReadAsAWhole() {
        #expect(read(Self.message.encoded()) == Self.message)
        #expect(read([]) == TrafficSpeeds())
    }

    @Test func whatIsCutOffOrDamagedIsReadAsTheDecoderReadsIt() {
        let bytes = Self.message.encoded()
        for count in 0..<bytes.count {
            let part = Array(bytes[..<count])
            #expect(read(part) == (try? TrafficSpeeds(decoding: part)))
        }
        var state: UInt64 = 7
        for _ in 0..<4_000 {
            var damaged = bytes
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            damaged[Int(state >> 33) % bytes.count] = UInt8(truncatingIfNeeded: state >> 24)
            // What the decoder refuses for an odd field that is not its own may pass here; never the other way round.
            if let whole = try? TrafficSpeeds(decoding: damaged) { #expect(read(damaged) == whole) }
        }
    }

    @Test func moreThanTheLimitIsRefused() {
        let bytes = Self.message.encoded()
        let error = #expect(throws: MessageError.self) {
            try bytes.withUnsafeBytes { try TrafficSpeeds.read($0, limit: 10) { _ in } }
        }
        #expect(error == .tooLarge(type: "navbus.v1.TrafficSpeeds", size: bytes.count, limit: 10))
    }
}
