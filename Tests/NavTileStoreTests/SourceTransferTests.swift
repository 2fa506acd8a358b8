import NavHTTP
import NavTestKit
import NavTestSystem
import NavTileCache
import NavTileStore
import Testing

@Suite("Rate-limited tile transfers", .timeLimit(.minutes(1)))
struct SourceTransferTests {
    /// Fetches a tile through a meter whose clock is advanced by hand.
    private func fetch(
        _ size: Int, _ body: (DownloadTestClock, TransferMeter, Task<TileAnswer?, Never>) async throws -> Void
    ) async throws {
        let bytes = SourceFixture.vectorTile(size)
        let server = try LoopbackServer(.answer(body: bytes))
        let source = try TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}.pbf").open()
        let clock = DownloadTestClock()
        let meter = TransferMeter(bytesPerSecond: 100_000, now: { clock.now })
        let task = Task {
            try? await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: meter)
        }
        try await body(clock, meter, task)
        await source.close()
    }

    @Test("A rate-limited body arrives complete", arguments: [2_000, 200_000])
    func metered(size: Int) async throws {
        try await fetch(size) { clock, meter, task in
            let bytes = SourceFixture.vectorTile(size)
            // The meter lets a part through; the sockets already buffer more.
            try await eventually("bytes arrive") { meter.received > 0 }
            try await Task.sleep(for: .milliseconds(100))
            #expect(meter.received < 100_000)
            while meter.received < Int64(bytes.count) {
                clock.advance(by: 0.5)
                try await Task.sleep(for: .milliseconds(1))
            }
            clock.advance(by: 60)
            #expect(await task.value?.tile?.parts.map(\.data) == [bytes])
            #expect(meter.received == Int64(bytes.count))
        }
    }

    @Test("A rate-limited tile is not delivered early and can be cancelled")
    func cancelled() async throws {
        try await fetch(5_000) { _, meter, task in
            try await eventually("bytes arrive") { meter.received > 5_000 }
            task.cancel()
            #expect(await task.value == nil)
        }
    }
}
