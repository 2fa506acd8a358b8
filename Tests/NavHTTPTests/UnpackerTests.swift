import NavHTTP
import NavSimulation
import NavTestSystem
import Testing

@Suite("Bounded decompression")
struct UnpackerTests {
    private static let text: [UInt8] = {
        var random = SeededRandom(seed: 1)
        return Array("navbus ".utf8) + (0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()

    private static func packed(_ packing: String, _ bytes: [UInt8]) -> (Packing, [UInt8]) {
        switch packing {
        case "zstd": (.zstd, Packer.zstd(bytes))
        case "deflate": (.deflate, Packer.deflate(bytes, windowBits: 15))
        case "raw": (.deflate, Packer.deflate(bytes, windowBits: -15))
        default: (.gzip, Packer.gzip(bytes))
        }
    }

    @Test(
        "Any number of bytes round-trips", arguments: ["gzip", "zstd", "deflate", "raw"],
        [0, 1, 32_767, 32_768, 32_769, 65_536, 100_000])
    func back(packing: String, count: Int) throws {
        for text in [Array(Self.text.prefix(count)), [UInt8](repeating: 7, count: count)] {
            let (kind, bytes) = Self.packed(packing, text)
            #expect(try Unpacker.unpack(bytes, kind, limit: count) == text)
        }
    }

    @Test("A decompression bomb is rejected before it exhausts memory", arguments: ["gzip", "zstd", "deflate", "raw"])
    func bomb(packing: String) throws {
        let (kind, bytes) = Self.packed(packing, [UInt8](repeating: 0, count: 20_000_000))
        #expect(throws: Unpacker.Failure.tooLarge) { try Unpacker.unpack(bytes, kind, limit: 1_000_000) }
    }

    @Test("A body of exactly the limit is allowed, not one byte more", arguments: ["gzip", "zstd", "deflate", "raw"])
    func edge(packing: String) throws {
        let (kind, bytes) = Self.packed(packing, Self.text)
        #expect(try Unpacker.unpack(bytes, kind, limit: Self.text.count) == Self.text)
        #expect(throws: Unpacker.Failure.tooLarge) {
            try Unpacker.unpack(bytes, kind, limit: Self.text.count - 1)
        }
    }

    @Test("Truncated input is an error", arguments: ["gzip", "zstd", "deflate", "raw"])
    func cut(packing: String) throws {
        let (kind, bytes) = Self.packed(packing, Self.text)
        for count in [0, 1, 5, bytes.count / 2, bytes.count - 1] {
            #expect(throws: Unpacker.Failure.self) {
                try Unpacker.unpack(Array(bytes[..<count]), kind, limit: 1 << 20)
            }
        }
    }

    @Test("Concatenated members are one body; other trailing bytes are rejected")
    func members() throws {
        let two = Packer.gzip([1, 2]) + Packer.gzip([3])
        #expect(try Unpacker.unpack(two, .gzip, limit: 10) == [1, 2, 3])
        #expect(throws: Unpacker.Failure.damaged) { try Unpacker.unpack(two + [9, 9], .gzip, limit: 10) }
    }

    @Test("Damaged bytes fail with an error or unpack within the limit", arguments: ["gzip", "zstd", "deflate"])
    func damaged(packing: String) {
        let (kind, sound) = Self.packed(packing, Array(Self.text.prefix(5_000)))
        var random = SeededRandom(seed: 4)
        for _ in 0..<2_000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let made = try? Unpacker.unpack(bytes, kind, limit: 10_000)
            #expect((made?.count ?? 0) <= 10_000)
        }
    }
}
