import NavGeo
import Testing

/// Arithmetic of moments up to the ends of their range.
struct MomentTests {
    @Test func differencesAreExactAcrossTheWholeRange() {
        let (first, last) = (SimulatedTime(nanoseconds: .min), SimulatedTime(nanoseconds: .max))
        #expect(last - first == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
        #expect(first - last == .zero - (last - first))
        #expect(MonotonicInstant(nanoseconds: 7) - MonotonicInstant(nanoseconds: 10) == .nanoseconds(-3))
    }

    @Test func sumsSaturate() {
        let late = Timestamp(nanoseconds: .max - 5)
        #expect((late + .nanoseconds(3)).nanoseconds == .max - 2)
        #expect((late + .seconds(1)).nanoseconds == .max)
        #expect((late + .seconds(Int64.max)).nanoseconds == .max)
        #expect((Timestamp(nanoseconds: -5) + .seconds(Int64.min)).nanoseconds == .min)
        #expect((Timestamp(nanoseconds: 0) + (.seconds(Int64.max) * 10)).nanoseconds == .max)
    }

    @Test(arguments: [(0.5, 500_000_000), (-1.25, -1_250_000_000), (.nan, 0), (1e300, Int64.max), (-.infinity, .min)])
    func secondsConvertToDurationsWithoutTrapping(seconds: Double, nanoseconds: Int64) {
        #expect(Duration(clampingSeconds: seconds).clampedNanoseconds == nanoseconds)
    }

    @Test func durationsConvertToSeconds() {
        #expect(Duration.milliseconds(1_500).inSeconds == 1.5)
        #expect((Duration.seconds(Int64.max) * 10).inSeconds > 9.2e9)
    }

    @Test func aSimulatedStampConvertsToTheSameMoment() {
        #expect(Timestamp(SimulatedTime(nanoseconds: 42)) == Timestamp(nanoseconds: 42))
    }
}
