import NavTileCache
import Testing

/// The pace of the scrub.
@Suite struct ScrubPaceTests {
    private static let second: Int64 = 1_000_000_000

    @Test(arguments: [1, 5_000, 250_000, 100_000_000] as [Int64])
    func longRunRateMatchesTheLimit(rate: Int64) {
        var pace = ScrubPace(bytesPerSecond: rate)
        // Files of 300 kB: a step ends with the file that exceeds the step's limit.
        let file: Int64 = 300_000
        var (moment, bytes, steps) = (Int64(0), Int64(0), 0)
        while steps < 1_000 {
            let step = pace.step(isBusy: false, at: moment)
            #expect(step.map { $0 >= ScrubPace.leastStep && $0 <= ScrubPace.greatestStep } == true)
            let spent = ((step ?? 0) + file - 1) / file * file
            #expect(pace.step(isBusy: false, at: moment) == step)
            pace.note(spent, isRound: false, at: moment)
            (bytes, steps) = (bytes + spent, steps + 1)
            #expect(pace.due > moment && pace.step(isBusy: false, at: pace.due - 1) == nil)
            moment = pace.due
        }
        let allowed = Double(rate) * Double(moment) / 1e9
        #expect(abs(Double(bytes) - allowed) <= 0.001 * allowed, "\(bytes) bytes, \(allowed) allowed")
    }

    @Test func scrubPausesWhileBusyAndAfterFailure() {
        var pace = ScrubPace(bytesPerSecond: 100_000)
        #expect(pace.step(isBusy: true, at: 0) == nil && pace.due == Self.second)
        #expect(pace.step(isBusy: false, at: Self.second - 1) == nil)
        #expect(pace.step(isBusy: true, at: Self.second) == nil && pace.due == 2 * Self.second)
        #expect(pace.step(isBusy: false, at: 2 * Self.second) == 100_000)
        pace.fail(at: 2 * Self.second)
        #expect(pace.due == 62 * Self.second)
        #expect(pace.step(isBusy: false, at: 62 * Self.second) == 100_000)
    }

    @Test func smallOrEmptyStoreIsNotScrubbedContinuously() {
        var pace = ScrubPace(bytesPerSecond: 250_000)
        pace.note(0, isRound: true, at: 0)
        #expect(pace.due == 5 * Self.second)
        pace.note(0, isRound: false, at: 0)
        #expect(pace.due == Self.second / 100)
        pace.note(2_500_000, isRound: true, at: 0)
        #expect(pace.due == 10 * Self.second)
    }

    @Test func zeroRateDisablesScrub() {
        for rate in [0, -5] as [Int64] {
            var pace = ScrubPace(bytesPerSecond: rate)
            #expect(pace.due == .max && pace.step(isBusy: false, at: .max) == nil)
            pace.note(10, isRound: true, at: 0)
            pace.fail(at: 0)
            #expect(pace.due == .max)
        }
    }

    @Test func extremeNumbersNeverTrap() {
        var pace = ScrubPace(bytesPerSecond: 1)
        pace.note(.max, isRound: false, at: .max - 1)
        #expect(pace.due == .max)
        pace = ScrubPace(bytesPerSecond: .max)
        pace.note(0, isRound: false, at: 0)
        #expect(pace.due > 0 && pace.step(isBusy: false, at: pace.due) == ScrubPace.greatestStep)
    }
}
