import NavHTTP
import Synchronization
import Testing

@Suite("The rate limit")
struct TransferMeterTests {
    /// A clock that is advanced by hand.
    private final class Clock: Sendable {
        private let time = Mutex(Duration.zero)
        var now: Duration { time.withLock { $0 } }
        func advance(by seconds: Double) { time.withLock { $0 += .seconds(seconds) } }
    }

    private let clock = Clock()

    private func meter(_ bytesPerSecond: Double?) -> TransferMeter {
        TransferMeter(bytesPerSecond: bytesPerSecond, now: { [clock] in clock.now })
    }

    /// Notes bytes, advances the clock by their pauses, and returns the total delay in seconds.
    private func take(_ bytes: Int, _ meter: TransferMeter) -> Double {
        let began = clock.now
        guard let ticket = meter.note(bytes) else { return 0 }
        while let pause = meter.pause(ticket) {
            #expect(pause > 0 && pause <= 0.1)
            clock.advance(by: pause)
        }
        return (clock.now - began) / .seconds(1)
    }

    @Test("Bytes beyond the rate are delayed correctly in portions of any size")
    func waits() {
        let meter = meter(1_000)
        #expect(abs(take(5_000, meter) - 5) < 0.3)
        #expect(abs((0..<50).reduce(0) { sum, _ in sum + take(100, meter) } - 5) < 0.3)
        #expect(meter.received == 10_000)
    }

    @Test("Without a rate nothing is delayed, and the rate can change during a delay")
    func changes() throws {
        let meter = meter(nil)
        #expect(take(1 << 30, meter) == 0)
        meter.bytesPerSecond = 1_000
        let ticket = try #require(meter.note(1_000_000))
        #expect(meter.pause(ticket) != nil)
        meter.bytesPerSecond = nil
        #expect(meter.pause(ticket) == nil)
        #expect(meter.received == (1 << 30) + 1_000_000)
    }
}
