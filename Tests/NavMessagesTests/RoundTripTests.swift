import CNavProto
import NavMessages
import Testing

/// Every type of the schema, with random content from a seed.
@Suite("Round trip of every message type")
struct RoundTripTests {
    static let names = MessageRegistry.all.map { $0.fullName }

    @Test("random content survives decoding and encoding, byte for byte", arguments: names)
    func everyType(name: String) throws {
        let descriptor = try #require(RandomMessageWriter.descriptor(name))
        let type = try #require(Schema.type(named: name))
        for seed in 0..<40 as Range<UInt64> {
            var writer = RandomMessageWriter(seed: seed)
            let bytes = writer.message(descriptor)
            try check(type, bytes, seed)
        }
    }

    private func check<M: Message>(_ type: M.Type, _ bytes: [UInt8], _ seed: UInt64) throws {
        let value = try M(decoding: bytes)
        let again = value.encoded()
        #expect(try M(decoding: again) == value, "seed \(seed)")
        // The writer uses the order of the field numbers, so the bytes must be the same, not only the values.
        #expect(again == bytes, "seed \(seed)")
    }

    @Test("an empty message of every type encodes to zero bytes and back", arguments: names)
    func empty(name: String) throws {
        let type = try #require(Schema.type(named: name))
        #expect(try type.init(decoding: []).encoded() == [])
    }

    @Test("encoding into a caller's buffer requests the exact size once")
    func intoBuffer() {
        let fix = GnssFixTests.full
        var sizes: [Int] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)
        defer { buffer.deallocate() }
        fix.encode { size in
            sizes.append(size)
            return buffer
        }
        let bytes = fix.encoded()
        #expect(sizes == [bytes.count])
        #expect(Array(buffer[0..<bytes.count]) == bytes)
    }

    @Test("a message larger than the stack's share of the arena survives")
    func large() throws {
        let line = Polyline((0..<20_000).map { (latitude: 60 + Double($0) * 1e-5, longitude: 24 - Double($0) * 1e-5) })
        let route = Route(
            routeId: 7, geometry: line,
            legs: (0..<200).map { RouteLeg(steps: [RouteStep(name: "Katu \($0)")], distanceM: Double($0)) })
        let back = try Route(decoding: route.encoded())
        #expect(back == route)
    }

    @Test("fields of a newer sender are ignored")
    func unknownFields() throws {
        let known = Coordinate(latitude: 1, longitude: 2)
        // Field 1000, length-delimited, with three bytes.
        let bytes = known.encoded() + [0xc2, 0x3e, 3, 1, 2, 3]
        #expect(try Coordinate(decoding: bytes) == known)
    }

    @Test("a oneof keeps the last of its members that was sent")
    func oneofLastWins() throws {
        let first = JournalEntry(event: .timer(TimerFired(dueNs: 1)))
        let second = JournalEntry(event: .fix(GnssFixTests.full))
        let back = try JournalEntry(decoding: first.encoded() + second.encoded())
        #expect(back == second)
    }
}
