import NavGeo
import NavStorage
import NavTestKit
import NavTileCache
import NavTileStore
import Synchronization
import NavSimulation
import Testing

@Suite("The download queue", .timeLimit(.minutes(2)))
struct DownloadQueueTests {
    private static func tile(_ index: Int) -> TileID { SourceFixture.tile(14, UInt32(index), 0) }

    private static func demand(_ index: Int, need: Double = 0) -> TileDemand {
        TileDemand(TileAddress("map", tile(index)), need: need, size: 10)
    }

    private static let owner = DownloadOwner(.predicted, "drive")

    private static func queue(
        _ source: DownloadTestSource, clock: DownloadTestClock = DownloadTestClock(),
        _ change: (inout DownloadConfiguration) -> Void = { _ in }
    ) throws -> DownloadQueue {
        var configuration = DownloadConfiguration()
        configuration.concurrency = 3
        change(&configuration)
        return try DownloadQueue([source], configuration, clock: clock.clock)
    }

    /// Reads results until there are at least `count`.
    private static func results(_ queue: DownloadQueue, _ count: Int) async -> [DownloadResult] {
        var results: [DownloadResult] = []
        while results.count < count, let batch = await queue.next() { results += batch }
        return results
    }

    @Test("Every wanted tile is delivered once, within the concurrency limit")
    func delivered() async throws {
        let source = DownloadTestSource(rule: { tile, _ in .success(DownloadTestSource.tile("map", tile)) })
        let queue = try Self.queue(source)
        queue.setDemands((0..<500).map { Self.demand($0) }, for: Self.owner)
        let results = await Self.results(queue, 500)
        #expect(Set(results.map(\.address.tile)) == Set((0..<500).map(Self.tile)))
        #expect(results.count == 500 && source.asked.count == 500)
        #expect(queue.statistics.fetchedCount == 500)
        await queue.stop()
        #expect(await queue.next() == nil)
    }

    @Test("The concurrency limit is used fully and never exceeded")
    func concurrency() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source)
        queue.setDemands((0..<10).map { Self.demand($0, need: Double($0)) }, for: Self.owner)
        try await eventually("the tiles are requested") { source.waitingTiles.count == 3 }
        #expect(source.waitingTiles == (0..<3).map(Self.tile))
        for index in 0..<10 {
            try await eventually("the tiles are requested") { source.waitingTiles.contains(Self.tile(index)) }
            source.answer(Self.tile(index), .success(.absent(Validators())))
        }
        _ = await Self.results(queue, 10)
        #expect(source.greatest == 3)
        await queue.stop()
    }

    @Test("A delivered tile is fetched again only after its reader has released it")
    func released() async throws {
        let source = DownloadTestSource(rule: { tile, _ in .success(DownloadTestSource.tile("map", tile)) })
        let queue = try Self.queue(source)
        queue.setDemands([Self.demand(1)], for: Self.owner)
        #expect(await queue.next()?.map(\.address.tile) == [Self.tile(1)])
        // The reader may be storing the tile.
        queue.setDemands([Self.demand(1)], for: Self.owner)
        #expect(queue.statistics.pendingCount == 0 && queue.statistics.runningCount == 0)
        // The reader released the tile without storing it: a new demand downloads it again.
        queue.release()
        queue.setDemands([Self.demand(1)], for: Self.owner)
        try await eventually("the requests are made") { source.asked.count == 2 }
        #expect(await queue.next()?.map(\.address.tile) == [Self.tile(1)])
        await queue.stop()
    }

    @Test("A caller gets a tile that has arrived and is not stored yet without another request")
    func heldForCaller() async throws {
        let source = DownloadTestSource(rule: { tile, _ in .success(DownloadTestSource.tile("map", tile)) })
        let queue = try Self.queue(source)
        queue.setDemands([Self.demand(1)], for: Self.owner)
        #expect(await queue.next()?.map(\.address.tile) == [Self.tile(1)])
        #expect(try await queue.fetch(Self.demand(1)).tile?.address.tile == Self.tile(1))
        #expect(source.asked.count == 1)
        queue.release()
        #expect(try await queue.fetch(Self.demand(1)).tile?.address.tile == Self.tile(1))
        #expect(source.asked.count == 2)
        await queue.stop()
    }

    @Test("Several callers of one tile share a download, and the tile is delivered too")
    func waiters() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source)
        queue.setDemands([Self.demand(1)], for: Self.owner)
        let waiters = (0..<5).map { _ in Task { try await queue.fetch(Self.demand(1)) } }
        // A caller that arrives after the answer starts another download.
        try await eventually("all callers wait") { source.waitingTiles == [Self.tile(1)] && queue.callerCount == 5 }
        source.answer(Self.tile(1), .success(DownloadTestSource.tile("map", Self.tile(1))))
        for waiter in waiters { #expect(try await waiter.value.tile?.address.tile == Self.tile(1)) }
        #expect(await Self.results(queue, 1).map(\.address.tile) == [Self.tile(1)])
        await queue.stop()
    }

    @Test("A caller may cancel; a pending download without callers is dropped")
    func callerCancels() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source) { $0.concurrency = 1 }
        queue.setDemands([Self.demand(0)], for: Self.owner)
        try await eventually("the tiles are requested") { source.waitingTiles == [Self.tile(0)] }
        let waiter = Task { try await queue.fetch(Self.demand(1)) }
        try await eventually("the queue has taken the tiles") { queue.statistics.pendingCount == 1 }
        waiter.cancel()
        await #expect(throws: TileSourceError.self) { try await waiter.value }
        source.answer(Self.tile(0), .success(.absent(Validators())))
        _ = await Self.results(queue, 1)
        #expect(source.asked == [Self.tile(0)])
        await queue.stop()
    }

    @Test("Abandoning an owner cancels the downloads that no other owner demands")
    func abandoned() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source) { $0.concurrency = 4 }
        let region = DownloadOwner(.region, "porto")
        queue.setDemands((0..<10).map { Self.demand($0, need: Double($0)) }, for: region)
        try await eventually("the tiles are requested") { source.waitingTiles == (0..<4).map(Self.tile) }
        queue.setDemands([Self.demand(1)], for: Self.owner)
        let waiter = Task { try await queue.fetch(Self.demand(2)) }
        try await eventually("the queue has taken the tiles") { queue.statistics.pendingCount >= 8 }
        queue.abandon(region)
        try await eventually("the tiles are requested") { source.waitingTiles == [Self.tile(1), Self.tile(2)] }
        for tile in [1, 2] { source.answer(Self.tile(tile), .success(.absent(Validators()))) }
        _ = try await waiter.value
        #expect(Set(await Self.results(queue, 2).map(\.address.tile)) == [Self.tile(1), Self.tile(2)])
        try await eventually("no download runs") { queue.statistics.runningCount == 0 }
        #expect(source.asked.count == 4 && queue.statistics.failedCount == 0)
        await queue.stop()
    }

    @Test("A failed tile is retried after its pause")
    func retried() async throws {
        let clock = DownloadTestClock()
        let source = DownloadTestSource(rule: { tile, count in
            count < 3 ? .failure(TileSourceError(.server, "busy")) : .success(DownloadTestSource.tile("map", tile))
        })
        let queue = try Self.queue(source, clock: clock)
        queue.setDemands([Self.demand(1)], for: Self.owner)
        for count in 1...2 {
            try await eventually("the requests are made") { source.asked.count == count && clock.sleeperCount == 1 }
            clock.advance(by: 4)
        }
        let results = await Self.results(queue, 1)
        #expect(results.map(\.attempts) == [3])
        #expect(queue.statistics.failedAttempts == 2)
        await queue.stop()
    }

    @Test("Going offline cancels downloads and fails callers; back online the tiles are fetched")
    func offline() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source)
        queue.setDemands([Self.demand(1)], for: Self.owner)
        let waiter = Task { () -> TileSourceError? in
            await SourceFixture.failure { () throws(TileSourceError) in try await queue.fetch(Self.demand(2)) }
        }
        try await eventually("the tiles are requested") { source.waitingTiles.count == 2 }
        queue.network = .offline
        #expect(await waiter.value?.code == .offline)
        try await eventually("no download runs") { source.waitingTiles.isEmpty && queue.statistics.runningCount == 0 }
        let late = await SourceFixture.failure { () throws(TileSourceError) in try await queue.fetch(Self.demand(3)) }
        #expect(late?.code == .offline)
        let edition = await SourceFixture.failure { () throws(TileSourceError) in try await queue.edition(of: "map") }
        #expect(edition?.code == .offline)
        #expect(source.asked.count == 2)
        queue.network = .unmetered
        try await eventually("the tiles are requested") { source.waitingTiles == [Self.tile(1)] }
        source.answer(Self.tile(1), .success(.absent(Validators())))
        #expect(await Self.results(queue, 1).map(\.address.tile) == [Self.tile(1)])
        await queue.stop()
    }

    @Test("A metered network that allows no requested tiles fails callers at once, but not those of running downloads")
    func meteredWithoutAsked() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source) { ($0.metered, $0.concurrency) = ([.predicted], 1) }
        let waiters = (1...2).map { index in
            Task { () -> TileSourceError? in
                await SourceFixture.failure { () throws(TileSourceError) in try await queue.fetch(Self.demand(index)) }
            }
        }
        try await eventually("all callers wait") { queue.callerCount == 2 && source.waitingTiles.count == 1 }
        let running = try #require(source.waitingTiles.first)
        let waiting = running == Self.tile(1) ? waiters[1] : waiters[0]
        queue.network = .metered
        let released = await waiting.value
        #expect(released?.code == .offline)
        let late = await SourceFixture.failure { () throws(TileSourceError) in try await queue.fetch(Self.demand(3)) }
        #expect(late?.code == .offline && late?.message.contains("the network mode is metered") == true)
        // The edition may still be polled.
        _ = try await queue.edition(of: "map")
        #expect(queue.callerCount == 1 && source.asked.count == 1)
        source.answer(running, .success(.absent(Validators())))
        for waiter in waiters where waiter != waiting { #expect(await waiter.value == nil) }
        await queue.stop()
    }

    @Test("No download begins while its reader holds too many bytes")
    func backPressure() async throws {
        let source = DownloadTestSource(rule: { tile, _ in .success(DownloadTestSource.tile("map", tile, bytes: 10)) })
        let queue = try Self.queue(source) { $0.undeliveredBytes = 40 }
        queue.setDemands((0..<20).map { Self.demand($0, need: Double($0)) }, for: Self.owner)
        try await eventually("the requests are made") { source.asked.count == 4 && queue.statistics.runningCount == 0 }
        #expect(source.asked.count == 4)
        let first = await queue.next()
        #expect(first?.count == 4)
        #expect(source.asked.count == 4, "the reader still holds the tiles")
        let rest = await Self.results(queue, 16)
        #expect(rest.count == 16)
        await queue.stop()
    }

    @Test("Stopping ends downloads and fails all callers")
    func stops() async throws {
        let source = DownloadTestSource()
        let queue = try Self.queue(source)
        queue.setDemands((0..<10).map { Self.demand($0) }, for: Self.owner)
        let waiter = Task { () -> TileSourceError? in
            await SourceFixture.failure { () throws(TileSourceError) in try await queue.fetch(Self.demand(2)) }
        }
        let reader = Task { await queue.next() }
        try await eventually("the tiles are requested") { source.waitingTiles.count == 3 }
        await queue.stop()
        #expect(source.waitingTiles.isEmpty)
        let code = await waiter.value?.code
        #expect(code == .closed)
        #expect(await reader.value == nil)
        await queue.stop()
    }

    @Test(
        "A random mix of demands, failures, calls and cancellations completes",
        arguments: 0..<6 as Range<UInt64>)
    func mixture(seed: UInt64) async throws {
        let source = DownloadTestSource(rule: { tile, count in
            guard (Int(tile.x) * 31 + count) % 5 == 0 else {
                return .success(DownloadTestSource.tile("map", tile))
            }
            return .failure(TileSourceError(count % 2 == 0 ? .server : .truncated, "busy"))
        })
        var configuration = DownloadConfiguration()
        configuration.firstPause = 0.001
        configuration.longestPause = 0.002
        configuration.firstOpenTime = 0.002
        configuration.longestOpenTime = 0.004
        configuration.seed = seed
        configuration.undeliveredBytes = 300
        let queue = try DownloadQueue([source], configuration)
        let seen = Mutex<Set<TileID>>([])
        let reader = Task {
            while let batch = await queue.next() {
                seen.withLock { $0.formUnion(batch.map(\.address.tile)) }
            }
        }
        var random = SeededRandom(seed: seed)
        var last: [TileDemand] = []
        for _ in 0..<200 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: queue.isPaused = Bool.random(using: &random)
            case 1:
                let index = Int.random(in: 0..<200, using: &random)
                let waiter = Task { try? await queue.fetch(Self.demand(index)) }
                if Bool.random(using: &random) { waiter.cancel() }
            case 2: queue.network = Bool.random(using: &random) ? .offline : .unmetered
            default:
                last = (0..<50).map { _ in Self.demand(Int.random(in: 0..<200, using: &random)) }
                queue.setDemands(last, for: DownloadOwner(.region, "\(Int.random(in: 0..<3, using: &random))"))
            }
            await Task.yield()
        }
        queue.network = .unmetered
        queue.isPaused = false
        seen.withLock { $0 = [] }
        queue.setDemands(last, for: DownloadOwner(.predicted, "last"))
        try await eventually("no download runs") {
            let totals = queue.statistics
            return totals.runningCount == 0 && totals.pendingCount == 0
        }
        await queue.stop()
        await reader.value
    }
}
