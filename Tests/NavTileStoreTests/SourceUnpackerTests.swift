import NavTileStore
import Testing

@Suite("Unpacking as bytes come, within bounds")
struct SourceUnpackerTests {
    private static let text = Array("navbus ".utf8) + SourceFixture.vectorTile(100_000)

    private static func packed(_ packing: String, _ bytes: [UInt8]) -> (Packing, [UInt8]) {
        switch packing {
        case "zstd": (.zstd, SourceFixture.zstd(bytes))
        case "deflate": (.deflate, SourceFixture.deflate(bytes, windowBits: 15))
        case "raw": (.deflate, SourceFixture.deflate(bytes, windowBits: -15))
        default: (.gzip, SourceFixture.gzip(bytes))
        }
    }

    @Test(
        "Bytes come back, however they are cut", arguments: ["gzip", "zstd", "deflate", "raw"], [1, 7, 4_096, 1 << 20])
    func back(packing: String, step: Int) throws {
        let (kind, bytes) = Self.packed(packing, Self.text)
        let unpacker = try Unpacker(kind, limit: Self.text.count)
        for start in stride(from: 0, to: bytes.count, by: step) {
            try bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { try unpacker.update($0) }
        }
        try unpacker.finish()
        #expect(unpacker.takeOutput() == Self.text)
    }

    @Test("A bomb is refused before it fills memory", arguments: ["gzip", "zstd", "deflate", "raw"])
    func bomb(packing: String) throws {
        let (kind, bytes) = Self.packed(packing, [UInt8](repeating: 0, count: 20_000_000))
        let unpacker = try Unpacker(kind, limit: 1_000_000)
        #expect(throws: Unpacker.Failure.tooLarge) { try bytes.withUnsafeBytes { try unpacker.update($0) } }
        #expect(unpacker.output.count <= 1_000_000)
    }

    @Test("Exactly the limit is allowed, one byte less is not", arguments: ["gzip", "zstd", "deflate", "raw"])
    func edge(packing: String) throws {
        let (kind, bytes) = Self.packed(packing, Self.text)
        #expect(try Unpacker.unpack(bytes, kind, limit: Self.text.count) == Self.text)
        #expect(throws: Unpacker.Failure.tooLarge) {
            try Unpacker.unpack(bytes, kind, limit: Self.text.count - 1)
        }
    }

    @Test("What ends early is told", arguments: ["gzip", "zstd", "deflate", "raw"])
    func cut(packing: String) throws {
        let (kind, bytes) = Self.packed(packing, Self.text)
        for count in [0, 1, 5, bytes.count / 2, bytes.count - 1] {
            #expect(throws: Unpacker.Failure.self) {
                try Unpacker.unpack(Array(bytes[..<count]), kind, limit: 1 << 20)
            }
        }
    }

    @Test("Members one after the other are one content; anything else after the end is refused")
    func members() throws {
        let two = SourceFixture.gzip([1, 2]) + SourceFixture.gzip([3])
        #expect(try Unpacker.unpack(two, .gzip, limit: 10) == [1, 2, 3])
        #expect(throws: Unpacker.Failure.damaged) { try Unpacker.unpack(two + [9, 9], .gzip, limit: 10) }
    }

    @Test("Damaged bytes never do more than fail", arguments: ["gzip", "zstd", "deflate"])
    func damaged(packing: String) {
        let (kind, sound) = Self.packed(packing, Array(Self.text.prefix(5_000)))
        var random = SourceRandom(seed: 4)
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
