import NavTileStore
import Testing

@Suite("Bytes per second")
struct DownloadMeterTests {
    private let clock = DownloadTestClock()

    /// Lets bytes come in, and moves the clock for as long as they have to wait; the seconds that it took.
    private func take(_ bytes: Int, _ meter: TransferMeter) -> Double {
        let began = clock.now
        guard let ticket = meter.note(bytes) else { return 0 }
        while let pause = meter.pause(ticket) {
            #expect(pause > 0 && pause <= 0.1)
            clock.advance(by: pause)
        }
        return (clock.now - began) / .seconds(1)
    }

    @Test("Bytes beyond the rate wait as long as they should, however they come")
    func waits() {
        let meter = TransferMeter(bytesPerSecond: 1_000, clock: clock.clock)
        #expect(abs(take(5_000, meter) - 5) < 0.3)
        #expect(abs((0..<50).reduce(0) { sum, _ in sum + take(100, meter) } - 5) < 0.3)
        #expect(meter.received == 10_000)
    }

    @Test("Without a rate nothing waits, and a rate can be set and lifted while bytes wait")
    func changes() throws {
        let meter = TransferMeter(clock: clock.clock)
        #expect(take(1 << 30, meter) == 0)
        meter.bytesPerSecond = 1_000
        let ticket = try #require(meter.note(1_000_000))
        #expect(meter.pause(ticket) != nil)
        meter.bytesPerSecond = nil
        #expect(meter.pause(ticket) == nil)
        #expect(meter.received == (1 << 30) + 1_000_000)
    }
}
