import NavGeo
import NavTileCache
import NavTileStore
import NavSimulation
import Testing

@Suite("Download size estimates")
struct DownloadEstimateTests {
    private static let tiles: [TileID] = (5...12).flatMap { (zoom: UInt8) -> [TileID] in
        let side = min(UInt32(1) << UInt32(zoom), 80)
        return (0..<side).flatMap { x in (0..<side).map { SourceFixture.tile(zoom, x, $0) } }
    }

    /// Returns sizes as of towns with much sea in between: a few tiles are large, most are small, some do not exist.
    @Sendable private static func size(_ tile: TileID) -> Int64? {
        let (x, y) = (Double(tile.x) / 80, Double(tile.y) / 80)
        if (tile.x + tile.y) % 11 == 0 { return nil }
        let town = max(0, 1 - 6 * ((x - 0.3) * (x - 0.3) + (y - 0.6) * (y - 0.6)))
        var random = SeededRandom(seed: HilbertTileID.number(tile))
        let noise = 0.5 + Double(random.next() >> 11) * 0x1p-53
        return Int64(80 + 60_000 * town * town * town * noise)
    }

    @Test("A sampled estimate is within 10%, deterministic, and takes few requests")
    func samples() async throws {
        let source = DownloadTestSource(size: { Self.size($0).map { .bytes($0) } ?? .absent })
        let queue = try DownloadQueue([source])
        let truth = Self.tiles.compactMap(Self.size).reduce(0, +)
        let estimate = try await queue.estimate(Self.tiles, of: "map")
        #expect(abs(Double(estimate.bytes) / Double(truth) - 1) < 0.1)
        #expect(abs(Double(estimate.tileCount) / Double(Self.tiles.compactMap(Self.size).count) - 1) < 0.05)
        #expect(estimate.requestCount < 2_300 && estimate.uncertainty > 0)
        #expect(try await queue.estimate(Self.tiles.reversed(), of: "map") == estimate)
        await queue.stop()
    }

    @Test("Small areas are measured in full; a source without sizes is sampled by tiles")
    func exact() async throws {
        let source = DownloadTestSource(rule: { tile, _ in .success(DownloadTestSource.tile("map", tile, bytes: 33)) })
        let queue = try DownloadQueue([source])
        let estimate = try await queue.estimate(Array(Self.tiles.suffix(9)), of: "map")
        #expect(estimate == DownloadEstimate(tileCount: 9, bytes: 297, uncertainty: 0, requestCount: 9))
        await queue.stop()
    }

    @Test("Implausibly large sizes, such as those of sparse files, are added up without overflow")
    func impossibleSizes() async throws {
        let queue = try DownloadQueue([DownloadTestSource(knowsSizes: true, size: { _ in .bytes(.max) })])
        let estimate = try await queue.estimate(Array(Self.tiles.suffix(9)), of: "map")
        #expect(estimate.tileCount == 9 && estimate.bytes == 9 * EditionIndex.greatestSize)
        await queue.stop()
    }
}
