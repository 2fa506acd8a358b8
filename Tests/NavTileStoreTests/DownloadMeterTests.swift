import NavTileStore
import Synchronization
import Testing

@Suite("Bytes per second", .timeLimit(.minutes(1)))
struct DownloadMeterTests {
    /// Moves the clock until a task has ended; the seconds it took.
    private func run(
        _ clock: DownloadTestClock, _ work: @escaping @Sendable () async throws -> Void
    ) async throws -> Double {
        let began = clock.now
        let isDone = Mutex(false)
        let task = Task {
            try await work()
            isDone.withLock { $0 = true }
        }
        while !isDone.withLock({ $0 }) {
            if clock.sleeperCount > 0 { clock.advance(by: 0.01) }
            await Task.yield()
        }
        try await task.value
        return (clock.now - began) / .seconds(1)
    }

    @Test("Bytes beyond the rate wait as long as they should, however they come")
    func waits() async throws {
        let clock = DownloadTestClock()
        let meter = TransferMeter(bytesPerSecond: 1_000, clock: clock.clock)
        #expect(abs(try await run(clock) { try await meter.take(5_000) } - 5) < 0.3)
        let parts = try await run(clock) { for _ in 0..<50 { try await meter.take(100) } }
        #expect(abs(parts - 5) < 0.3)
        #expect(meter.received == 10_000)
    }

    @Test("Without a rate nothing waits, and a rate can be set and lifted while bytes wait")
    func changes() async throws {
        let clock = DownloadTestClock()
        let meter = TransferMeter(clock: clock.clock)
        #expect(try await run(clock) { try await meter.take(1 << 30) } == 0)
        meter.bytesPerSecond = 1_000
        let lifted = try await run(clock) {
            let waiting = Task { try await meter.take(1_000_000) }
            while clock.sleeperCount == 0 { await Task.yield() }
            meter.bytesPerSecond = nil
            try await waiting.value
        }
        #expect(lifted < 0.3)
    }

    @Test("Who leaves does not wait on")
    func leaves() async throws {
        let clock = DownloadTestClock()
        let meter = TransferMeter(bytesPerSecond: 1_000, clock: clock.clock)
        let task = Task { try await meter.take(1_000_000) }
        try await eventually { clock.sleeperCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
