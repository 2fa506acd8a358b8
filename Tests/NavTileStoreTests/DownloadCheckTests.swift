import NavGeo
import NavHTTP
import NavTestSystem
import NavTileCache
import NavTileStore
import Synchronization
import Testing

/// A source of compressed tiles, which the queue checks.
private final class PackedTestSource: TileSource {
    let tileset = "map"
    let place = "a test"
    let isRemote = true
    let knowsSizes = false
    private let asked = Mutex<[TileID: Int]>([:])
    private let bytes: @Sendable (TileID, Int) -> [UInt8]

    /// - Parameter bytes: the bytes of a tile at the n-th request.
    init(_ bytes: @escaping @Sendable (TileID, Int) -> [UInt8]) { self.bytes = bytes }

    func receive(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let count = asked.withLock { asked in
            asked[tile, default: 0] += 1
            return asked[tile, default: 0]
        }
        return try UncheckedTile(
            TileAddress(tileset, tile), edition: "", bytes: bytes(tile, count), packing: .gzip, form: .unknown,
            limit: 100_000, validators: Validators(), place: { "the tile \(tile)" }
        ).arrival()
    }

    func edition(known: Validators?) async throws(TileSourceError) -> EditionAnswer {
        .edition(TilesetEdition(tileset: tileset, domain: .maps, version: "", zooms: 0...14), Validators())
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize { .unknown }

    func close() async {}
}

@Suite("Checks of downloaded tiles", .timeLimit(.minutes(2)))
struct DownloadCheckTests {
    private static func tile(_ index: Int) -> TileID { SourceFixture.tile(14, UInt32(index), 0) }

    private static func queue(
        _ source: PackedTestSource, _ change: (inout DownloadConfiguration) -> Void = { _ in }
    ) throws -> DownloadQueue {
        var configuration = DownloadConfiguration()
        configuration.concurrency = 3
        configuration.firstPause = 0.001
        configuration.retries = 2
        change(&configuration)
        return try DownloadQueue([source], configuration)
    }

    private static func results(_ queue: DownloadQueue, _ count: Int) async -> [DownloadResult] {
        queue.setDemands(
            (0..<count).map { TileDemand(TileAddress("map", tile($0))) }, for: DownloadOwner(.region, "home"))
        var results: [DownloadResult] = []
        while results.count < count, let batch = await queue.next() { results += batch }
        return results
    }

    private static func content(_ tile: TileID) -> [UInt8] { Array("tile \(tile.x)".utf8) }

    @Test("Each tile is delivered once, still compressed")
    func delivered() async throws {
        let queue = try Self.queue(PackedTestSource { tile, _ in Packer.gzip(Self.content(tile)) })
        let results = await Self.results(queue, 1_000)
        #expect(results.count == 1_000 && Set(results.map(\.address.tile.x)) == Set(0..<1_000))
        for result in results {
            let part = try #require(try result.outcome.get().tile?.parts.first)
            #expect(part.contentEncoding == "gzip")
            #expect(try Unpacker.unpack(part.data, .gzip, limit: 100) == Self.content(result.address.tile))
        }
        #expect(queue.statistics.fetchedCount == 1_000 && queue.statistics.runningCount == 0)
        await queue.stop()
    }

    @Test("A damaged tile is retried; permanent damage and bombs fail without holding up other tiles")
    func damaged() async throws {
        let bomb = Packer.gzip([UInt8](repeating: 0, count: 100_001))
        let queue = try Self.queue(
            PackedTestSource { tile, count in
                let sound = Packer.gzip(Self.content(tile))
                switch tile.x {
                case 7 where count == 1: return Array(sound.dropLast(4))
                case 8: return Array(sound.dropLast(4))
                case 9: return bomb
                default: return sound
                }
            })
        let results = await Self.results(queue, 60)
        let failures = results.compactMap { result -> (UInt32, TileSourceError.Code)? in
            guard case .failure(let error) = result.outcome else { return nil }
            return (result.address.tile.x, error.code)
        }.sorted { $0.0 < $1.0 }
        #expect(failures.map(\.0) == [8, 9] && failures.map(\.1) == [.truncated, .tooLarge])
        #expect(results.first { $0.address.tile.x == 7 }?.attempts == 2)
        #expect(queue.statistics.corruptCount >= 3 && queue.statistics.failedCount == 2)
        await queue.stop()
    }

    @Test("A requested tile is delivered whatever else is pending")
    func requestedTileFirst() async throws {
        let queue = try Self.queue(PackedTestSource { tile, _ in Packer.gzip(Self.content(tile)) })
        queue.setDemands(
            (0..<500).map { TileDemand(TileAddress("map", Self.tile($0))) }, for: DownloadOwner(.region, "home"))
        let answers = try await withThrowingTaskGroup(of: TileAnswer.self) { group in
            for index in 400..<420 {
                group.addTask { try await queue.fetch(TileDemand(TileAddress("map", Self.tile(index)))) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(answers.compactMap { $0.tile?.address.tile.x }) == Set(400..<420))
        await queue.stop()
    }

    @Test("A queue stopped during checks ends", arguments: [0, 1, 30, 300])
    func stopped(after count: Int) async throws {
        let queue = try Self.queue(PackedTestSource { tile, _ in Packer.gzip(Self.content(tile)) })
        async let results = Self.results(queue, 5_000)
        while queue.statistics.fetchedCount < count { await Task.yield() }
        await queue.stop()
        #expect(await results.count <= 5_000)
        #expect(await queue.next() == nil)
    }

    @Test("An arrived tile makes room for the next and survives going offline")
    func arrival() {
        var configuration = DownloadConfiguration()
        configuration.concurrency = 1
        var plan = DownloadPlan(configuration, sources: [("map", true)])
        plan.setDemands(
            (0..<3).map { TileDemand(TileAddress("map", Self.tile($0))) }, for: DownloadOwner(.region, "home"))
        let first = plan.starts(at: .zero)
        #expect(first.count == 1 && plan.starts(at: .zero).isEmpty)
        plan.noteArrival(first[0].key, bytes: 10)
        plan.noteArrival(first[0].key, bytes: 10)
        let second = plan.starts(at: .zero)
        #expect(second.count == 1 && plan.starts(at: .zero).isEmpty)
        #expect(plan.remoteFlights == second.map(\.key))
        #expect(plan.isUnderWay(first[0].key))
        #expect(plan.totals.runningCount == 2 && plan.totals.pendingCount == 1)
        let answer = DownloadTestSource.tile("map", first[0].key.address.tile)
        #expect(plan.finish(first[0].key, .success(answer), at: .zero) != nil)
        #expect(plan.starts(at: .zero).isEmpty, "the second tile occupies the only slot")
        #expect(plan.finish(second[0].key, .success(answer), at: .zero) != nil)
        #expect(plan.starts(at: .zero).count == 1)
    }

    @Test("A single arrival is handled at once, later ones in the next batch")
    func batches() {
        var beat = BatchTimer()
        func step(_ milliseconds: Double, isUrgent: Bool = false) -> Duration? {
            switch beat.step(isUrgent: isUrgent, at: .milliseconds(milliseconds)) {
            case .now: .zero
            case .later(let moment): moment
            case .pending: nil
            }
        }
        #expect(step(0) == .zero)
        #expect(step(1) == .milliseconds(4))
        #expect(step(2) == nil, "another worker handles the pending batch")
        #expect(step(3, isUrgent: true) == .zero)
        beat.wake()
        #expect(step(5) == .milliseconds(7))
        beat.wake()
        #expect(step(7) == .zero)
        #expect(step(100) == .zero)
    }
}
