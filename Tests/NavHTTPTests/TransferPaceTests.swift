import NavHTTP
import Testing

@Suite("Time and rate limits of responses")
struct TransferPaceTests {
    private var limits: HTTPLimits {
        var limits = HTTPLimits()
        limits.idleTimeout = 10
        limits.totalTimeout = 100
        limits.slowestRate = 100
        limits.slowestWindow = 5
        return limits
    }

    @Test("Connecting counts only towards the total time; silence counts after the request")
    func idle() {
        var pace = TransferPace(limits, at: .seconds(1))
        #expect(pace.fault(at: .seconds(90)) == nil)
        #expect(pace.fault(at: .seconds(102)) == .total)
        pace.noteSent(at: .seconds(50))
        #expect(pace.fault(at: .seconds(60)) == nil)
        #expect(pace.fault(at: .seconds(61)) == .idle)
        pace.noteWaiting()
        #expect(pace.fault(at: .seconds(61)) == nil)
    }

    @Test("A body below the minimum rate is too slow, excluding time spent in the rate limit")
    func rate() {
        var pace = TransferPace(limits, at: .zero)
        pace.noteSent(at: .zero)
        pace.noteHead(at: .seconds(1))
        pace.note(600, at: .seconds(5))
        #expect(pace.fault(at: .seconds(6)) == nil)
        pace.note(400, at: .seconds(10))
        pace.hold(at: .seconds(10))
        #expect(pace.fault(at: .seconds(1_000)) == nil)
        pace.release(at: .seconds(1_000))
        #expect(pace.fault(at: .seconds(1_000.5)) == nil)
        #expect(pace.fault(at: .seconds(1_002)) == .slow)
    }

    @Test("The total timeout is exact and is extended by time spent in the rate limit")
    func exactEnd() {
        var pace = TransferPace(limits, at: .seconds(1))
        #expect(pace.nextCheck(after: .seconds(50)) < .seconds(52))
        #expect(pace.nextCheck(after: .seconds(100.5)) == .seconds(101))
        #expect(pace.fault(at: .seconds(101)) == .total)
        pace.hold(at: .seconds(90))
        #expect(pace.nextCheck(after: .seconds(100.5)) > .seconds(101), "time in the rate limit does not count")
        pace.release(at: .seconds(110))
        #expect(pace.nextCheck(after: .seconds(120.5)) == .seconds(121))
    }
}
