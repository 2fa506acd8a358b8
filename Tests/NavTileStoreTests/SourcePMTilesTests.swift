import Foundation
import NavGeo
import NavHTTP
import NavTestKit
import NavTestSystem
import NavTileCache
import NavTileStore
import NavSimulation
import Testing

@Suite("PMTiles archives")
struct SourcePMTilesTests {
    @Test("Tile ids match the specification and round-trip")
    func numbers() {
        // The specification's examples: 0/0/0, the four tiles of zoom 1, one tile of zoom 2, and 12/3423/1763.
        let known: [(UInt8, UInt32, UInt32, UInt64)] = [
            (0, 0, 0, 0), (1, 0, 0, 1), (1, 0, 1, 2), (1, 1, 1, 3), (1, 1, 0, 4), (2, 0, 0, 5),
            (12, 3_423, 1_763, 19_078_479),
        ]
        for (zoom, x, y, number) in known {
            #expect(HilbertTileID.number(SourceFixture.tile(zoom, x, y)) == number)
        }
        var random = SeededRandom(seed: 1)
        for _ in 0..<20_000 {
            let zoom = UInt8.random(in: 0...22, using: &random)
            let side = UInt32(1) << UInt32(zoom)
            let tile = SourceFixture.tile(
                zoom, UInt32.random(in: 0..<side, using: &random), UInt32.random(in: 0..<side, using: &random))
            #expect(HilbertTileID.tile(HilbertTileID.number(tile)) == tile)
        }
        #expect(HilbertTileID.tile(HilbertTileID.first(23)) == nil)
        #expect(HilbertTileID.tile(.max) == nil)
    }

    private func open(
        _ bytes: [UInt8], configure: (inout TileSourceConfiguration) -> Void = { _ in }
    ) throws -> (any TileSource, TemporaryFolder) {
        let folder = try TemporaryFolder()
        try folder.write("map.pmtiles", bytes)
        var configuration = TileSourceConfiguration("map", .maps, address: folder.path + "/map.pmtiles")
        configure(&configuration)
        return (try configuration.open(), folder)
    }

    @Test("Tiles come from root or leaves, in any compression", arguments: ["gzip", "zstd", "none"], [nil, 3])
    func tiles(packing: String, leafSize: Int?) async throws {
        var archive = SourceArchive()
        archive.packing = Packing(contentEncoding: packing)
        archive.leafSize = leafSize
        archive.zooms = 0...5
        var tiles: [TileID: [UInt8]] = [:]
        for x in 0..<32 as Range<UInt32> {
            tiles[SourceFixture.tile(5, x, 7)] = SourceFixture.vectorTile(30 + Int(x), seed: UInt64(x))
        }
        let (source, folder) = try open(archive.archive(tiles))
        defer { withExtendedLifetime(folder) {} }
        let edition = try await SourceFixture.edition(source)
        #expect(edition.tiles?.count == 32)
        #expect(edition.attribution == "nobody")
        #expect(edition.bounds == BoundingBox(south: 41, west: -9, north: 42, east: -8))
        for (tile, bytes) in tiles {
            let answer = try await source.fetch(tile, edition: edition.version, known: nil, meter: nil)
            #expect(answer.tile?.parts.map(\.data) == [bytes])
            #expect(try await source.size(of: tile) == .bytes(Int64(bytes.count)))
        }
        guard case .absent = try await source.fetch(SourceFixture.tile(5, 0, 8), edition: nil, known: nil, meter: nil)
        else { throw Failure("not absent") }
        guard case .absent = try await source.fetch(SourceFixture.tile(6, 0, 8), edition: nil, known: nil, meter: nil)
        else { throw Failure("a tile beyond the zoom levels is not absent") }
    }

    @Test("Tiles of a run are identical, and their neighbours are absent")
    func runs() async throws {
        var archive = SourceArchive()
        archive.zooms = 0...3
        let sea = SourceFixture.vectorTile(20)
        let numbers = (HilbertTileID.first(3) + 10)..<(HilbertTileID.first(3) + 30)
        let tiles = numbers.compactMap { HilbertTileID.tile($0) }
        let (source, folder) = try open(archive.archive(Dictionary(uniqueKeysWithValues: tiles.map { ($0, sea) })))
        defer { withExtendedLifetime(folder) {} }
        for tile in tiles {
            let answer = try await source.fetch(tile, edition: nil, known: nil, meter: nil)
            #expect(answer.tile?.parts.map(\.data) == [sea])
        }
        for number in [numbers.lowerBound - 1, numbers.upperBound] {
            #expect(try await source.size(of: #require(HilbertTileID.tile(number))) == .absent)
        }
        #expect(try await SourceFixture.edition(source).tiles?.count == 20)
    }

    @Test("The least recently used directories are dropped beyond a limit")
    func directoryLimit() throws {
        let entry = SourceArchive.Entry(id: 1, offset: 0, length: 1, run: 1)
        let directory = try #require(PMTilesDirectory(SourceArchive.directory([entry]), data: 1, leaves: 0))
        var cache = DirectoryCache(limit: 10 * directory.cost)
        let key = { (index: UInt64) in DirectoryCache.Key(edition: "a", offset: index, length: 1) }
        for index in 0..<50 {
            cache.keep(directory, for: key(UInt64(index)))
            _ = cache.take(key(3))
        }
        let kept = (0..<50 as Range<UInt64>).filter { cache.take(key($0)) != nil }
        #expect(kept == [3] + Array(41..<50))
    }

    @Test("A changed file is a new edition")
    func changes() async throws {
        let tile = SourceFixture.tile(3, 1, 1)
        let archive = SourceArchive()
        let (source, folder) = try open(archive.archive([tile: SourceFixture.vectorTile(20)]))
        let edition = try await SourceFixture.edition(source)
        try folder.write("map.pmtiles", archive.archive([tile: SourceFixture.vectorTile(20, seed: 2)]))
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(tile, edition: edition.version, known: nil, meter: nil)
        }
        #expect(error?.code == .editionChanged)
        #expect(try await SourceFixture.edition(source).version != edition.version)
    }

    // Hostile archives.

    private typealias Entry = SourceArchive.Entry

    private func failure(_ bytes: [UInt8], _ tile: TileID = SourceFixture.tile(1, 0, 0)) async throws
        -> TileSourceError?
    {
        let (source, folder) = try open(bytes) { $0.limits.tileBytes = 1 << 20 }
        defer { withExtendedLifetime(folder) {} }
        return await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(tile, edition: nil, known: nil, meter: nil)
        }
    }

    @Test("Directories with invalid counts, numbers, runs and offsets are rejected")
    func hostileDirectories() async throws {
        var archive = SourceArchive()
        archive.packing = nil
        let data = SourceFixture.vectorTile(20)
        let sound = SourceArchive.directory([Entry(id: 1, offset: 0, length: UInt64(data.count), run: 1)])
        #expect(try await failure(archive.archive(root: sound, leaves: [], data: data)) == nil)
        let maximum = SourceArchive.varint(.max)
        let roots: [[UInt8]] = [
            [], [0], maximum, SourceArchive.varint(1 << 40) + sound, Array(sound.dropLast()), sound + [0],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
            SourceArchive.directory([Entry(id: 1, offset: 0, length: 0, run: 1)]),
            SourceArchive.directory([Entry(id: 1, offset: 21, length: 2, run: 1)]),
            SourceArchive.directory([Entry(id: 1, offset: 1 << 62, length: 20, run: 1)]),
            SourceArchive.directory([Entry(id: 1, offset: UInt64.max - 1, length: 20, run: 1)]),
            SourceArchive.directory([Entry(id: 1, offset: 0, length: 20, run: 1 << 32)]),
            SourceArchive.directory([Entry(id: .max, offset: 0, length: 20, run: 2)]),
            SourceArchive.directory([
                Entry(id: 1, offset: 0, length: 5, run: 3), Entry(id: 2, offset: 0, length: 5, run: 1),
            ]),
            SourceArchive.directory([
                Entry(id: 2, offset: 0, length: 5, run: 1), Entry(id: 2, offset: 0, length: 5, run: 1),
            ]),
            // A leaf beyond the leaves.
            SourceArchive.directory([Entry(id: 0, offset: 0, length: 5, run: 0)]),
        ]
        for (index, root) in roots.enumerated() {
            #expect(
                try await failure(archive.archive(root: root, leaves: [], data: data))?.code == .malformed, "\(index)")
        }
    }

    @Test("Leaves that refer to themselves do not loop forever")
    func loops() async throws {
        var archive = SourceArchive()
        archive.packing = nil
        let leaf = SourceArchive.directory([Entry(id: 0, offset: 0, length: 5, run: 0)])
        let root = SourceArchive.directory([Entry(id: 0, offset: 0, length: UInt64(leaf.count), run: 0)])
        let (source, folder) = try open(archive.archive(root: root, leaves: leaf, data: [1], count: 5))
        defer { withExtendedLifetime(folder) {} }
        let error = await SourceFixture.failure { () throws(TileSourceError) in try await source.edition(known: nil) }
        #expect(error == nil || error?.code == .malformed)
        #expect(try await failure(archive.archive(root: root, leaves: leaf, data: [1]))?.code == .malformed)
    }

    @Test("Listing stops at the directory with which the number of entries exceeds the limit")
    func crowdedDirectories() async throws {
        var archive = SourceArchive()
        archive.packing = nil
        func leaf(_ first: UInt64) -> [UInt8] {
            SourceArchive.directory((first..<first + 60).map { Entry(id: $0, offset: 0, length: 1, run: 1) })
        }
        // Reading the third leaf would fail.
        let leaves = [leaf(5), leaf(65), [0]]
        var root: [Entry] = []
        for (index, leaf) in leaves.enumerated() {
            let offset = leaves[..<index].reduce(0) { $0 + $1.count }
            root.append(
                Entry(id: 5 + 60 * UInt64(index), offset: UInt64(offset), length: UInt64(leaf.count), run: 0))
        }
        let bytes = archive.archive(
            root: SourceArchive.directory(root), leaves: leaves.flatMap { $0 }, data: [1], count: 100)
        let (source, folder) = try open(bytes) { $0.limits.listedTiles = 100 }
        defer { withExtendedLifetime(folder) {} }
        #expect(try await SourceFixture.edition(source).tiles == nil)
    }

    @Test("A directory and a tile that exceed the limit when decompressed are rejected")
    func bombs() async throws {
        let zeros = [UInt8](repeating: 0, count: 40 << 20)
        let archive = SourceArchive()
        let bomb = archive.archive(root: Array(Packer.gzip(zeros).prefix(16_000)), leaves: [], data: [1])
        #expect(try await failure(bomb)?.code == .malformed)
        var packed = SourceArchive()
        packed.tilePacking = 2
        let tile = packed.archive([SourceFixture.tile(1, 0, 0): Packer.gzip(zeros)])
        #expect(try await failure(tile)?.code == .tooLarge)
    }

    @Test("Inconsistent headers are rejected")
    func headers() async throws {
        let tile = SourceFixture.tile(1, 0, 0)
        let sound = SourceArchive().archive([tile: SourceFixture.vectorTile(20)])
        let changes: [(Int, [UInt8])] = [
            (0, [0]), (7, [2]), (8, [0, 0]), (14, [255, 255]), (16, [255, 255, 255, 255, 255, 255, 255, 255]),
            (16, [0, 0]), (24, [0, 0, 0, 0, 0, 0, 0, 128]), (40, [255, 255, 255, 255, 255, 255, 255, 255]), (97, [3]),
            (97, [9]), (98, [0]), (100, [9, 3]), (100, [200, 201]),
        ]
        for (offset, bytes) in changes {
            var archive = sound
            for (index, byte) in bytes.enumerated() { archive[offset + index] = byte }
            if offset == 40 { archive[48] = 1 }
            #expect(try await failure(archive, tile)?.code == .malformed, "\(offset)")
        }
        for count in [0, 1, 126, 127, 130] {
            #expect(try await failure(Array(sound.prefix(count)), tile) != nil)
        }
    }

    @Test("Randomly corrupted archives fail without a crash", arguments: 0..<8 as Range<UInt64>)
    func fuzz(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var archive = SourceArchive()
        archive.packing = nil
        archive.leafSize = 4
        archive.zooms = 0...4
        var tiles: [TileID: [UInt8]] = [:]
        for x in 0..<16 as Range<UInt32> { tiles[SourceFixture.tile(4, x, x)] = SourceFixture.vectorTile(40) }
        let sound = archive.archive(tiles)
        let interesting: [UInt8] = [0, 1, 0x7f, 0x80, 0xff]
        for round in 0..<60 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 8..<min(bytes.count, 420), using: &random)
                bytes[place] =
                    Bool.random(using: &random)
                    ? interesting.randomElement(using: &random) ?? 0 : UInt8.random(in: 0...255, using: &random)
            }
            if round % 7 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
            let (source, folder) = try open(bytes) { $0.limits.tileBytes = 1 << 20 }
            defer { withExtendedLifetime(folder) {} }
            for tile in tiles.keys.sorted().prefix(4) {
                let answer = try? await source.fetch(tile, edition: nil, known: nil, meter: nil)
                #expect((answer?.tile?.parts.first?.data.count ?? 0) <= 1 << 20)
            }
        }
    }
}
