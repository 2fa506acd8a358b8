import CNavProto
import NavMessages
import NavSimulation
import Testing

@Suite("Hostile and damaged bytes")
struct HostileInputTests {
    @Test("a string that is not UTF-8 is refused with its field")
    func invalidUTF8() {
        // Field 7 (frame_id) of two bytes, with a lone continuation byte.
        #expect(throws: MessageError.invalidString(field: "navbus.v1.GnssFix.frame_id")) {
            try GnssFix(decoding: [0x3a, 2, 0x80, 0x41])
        }
    }

    @Test("a NUL inside or at the end of a string is refused")
    func embeddedNUL() {
        for text in [[0x41, 0, 0x42], [0x41, 0], [0]] as [[UInt8]] {
            #expect(throws: MessageError.invalidString(field: "navbus.v1.GnssFix.frame_id")) {
                try GnssFix(decoding: [0x3a, UInt8(text.count)] + text)
            }
        }
    }

    @Test("a NUL in an outgoing string becomes U+FFFD")
    func sentNUL() throws {
        let fix = GnssFix(frameId: "a\0b", source: "\0")
        let back = try GnssFix(decoding: fix.encoded())
        #expect(back.frameId == "a\u{fffd}b")
        #expect(back.source == "\u{fffd}")
    }

    @Test("more bytes than the limit are refused before they are read")
    func tooLarge() {
        let bytes = GnssFixTests.full.encoded()
        #expect(throws: MessageError.tooLarge(type: "navbus.v1.GnssFix", size: bytes.count, limit: 10)) {
            try GnssFix(decoding: bytes, limit: 10)
        }
    }

    @Test("every truncation of a fix is an error or a shorter fix, never a trap")
    func truncated() throws {
        let bytes = GnssFixTests.full.encoded()
        var errors = 0
        for count in 0..<bytes.count {
            do { _ = try GnssFix(decoding: Array(bytes[0..<count])) } catch { errors += 1 }
        }
        #expect(errors > bytes.count / 2)
    }

    @Test(
        "impossible lengths are malformed",
        arguments: [
            [0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f],  // string of 4 GiB
            [0x22, 0xff, 0xff, 0xff, 0xff, 0x7f],  // packed doubles of 32 GiB
            [0x22, 0x07, 1, 2, 3, 4, 5, 6, 7],  // packed doubles of 7 bytes
            [0x32, 0x05, 0x08],  // inner message cut
            [0x0a, 0x01, 0x00],  // wrong wire type for a double
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],  // endless tag
            [0x0b],  // group
            [0x00],  // field zero
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) {
        #expect(throws: MessageError.malformed(type: "navbus.v1.GnssFix", size: bytes.count)) {
            try GnssFix(decoding: bytes)
        }
    }

    @Test("a megabyte that would expand to hundreds is refused")
    func expansion() {
        // Empty RouteStep messages of two bytes each inside one leg.
        let steps = [UInt8](repeating: 0, count: 1 << 20).enumerated().map { $0.offset % 2 == 0 ? UInt8(0x0a) : 0 }
        #expect {
            try RouteLeg(decoding: steps)
        } throws: { error in
            guard case .expandsTooMuch(let type, _, _)? = error as? MessageError else { return false }
            return type == "navbus.v1.RouteLeg"
        }
    }

    @Test("the last of many repetitions of a scalar counts, at bounded cost")
    func repetition() throws {
        let bytes = [UInt8](repeating: 0, count: 30_000).enumerated().map { index, _ -> UInt8 in
            index % 3 == 0 ? 0xc0 : index % 3 == 1 ? 0x01 : 5
        }
        #expect(try GnssFix(decoding: bytes).fixType == .differential)
    }

    static let fuzzed = [
        "navbus.v1.GnssFix", "navbus.v1.Route", "navbus.v1.JournalEntry", "navbus.v1.Horizon",
        "navbus.v1.NodeHealth", "navbus.v1.Alternatives", "navbus.v1.PolicyRequest", "navbus.v1.LoadRegionRequest",
    ]

    @Test("a hundred thousand damaged messages of each of several types are read or refused", arguments: fuzzed)
    func fuzz(name: String) throws {
        let descriptor = try #require(RandomMessageWriter.descriptor(name))
        let type = try #require(Schema.type(named: name))
        var random = SeededRandom(seed: 0x6e61_7662_7573)
        var seeds: [[UInt8]] = []
        for seed in 0..<16 as Range<UInt64> {
            var writer = RandomMessageWriter(seed: seed)
            writer.presence = 40
            seeds.append(writer.message(descriptor))
        }
        seeds = seeds.filter { !$0.isEmpty && $0.count < 2_000 }
        try #require(!seeds.isEmpty)
        var accepted = 0
        for round in 0..<100_000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2 where bytes.count > 1: bytes.removeSubrange(at..<min(bytes.count - 1, at + 4))
                default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
                }
            }
            guard let value = try? type.init(decoding: bytes, limit: 1 << 20) else { continue }
            accepted += 1
            if round % 64 == 0 { #expect(try reread(value), "round \(round)") }
        }
        #expect(accepted > 0)
    }

    /// Returns whether an accepted message survives a round trip, compared as bytes because of NaN.
    private func reread<M: Message>(_ value: M) throws -> Bool {
        let bytes = value.encoded()
        return try M(decoding: bytes).encoded() == bytes
    }
}
