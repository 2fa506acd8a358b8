import NavKit
import Testing

/// Percentiles of durations.
struct LatencyHistogramTests {
    @Test func aPercentileIsWithinThreePercent() {
        for scale in [1, 40, 1_000, 123_456, 10_000_000] as [Int64] {
            var histogram = LatencyHistogram()
            for value in 1...10_000 as ClosedRange<Int64> { histogram.record(value * scale) }
            for share in [0.01, 0.5, 0.9, 0.99, 0.999] {
                let exact = share * 10_000 * Double(scale)
                let found = Double(histogram.quantile(share) ?? 0)
                #expect(found >= exact * 0.999 && found <= exact * 1.033 + 1, "\(share) of \(scale)")
            }
            #expect(histogram.quantile(1) == 10_000 * scale && histogram.maximum == 10_000 * scale)
        }
    }

    @Test func smallDurationsAreExact() {
        var histogram = LatencyHistogram()
        for value in 0..<32 as Range<Int64> { histogram.record(value) }
        #expect(histogram.quantile(0.5) == 15)
    }

    @Test(arguments: [Int64.min, -1, 0, 1 << 40, 1 << 41, .max])
    func everyDurationIsRecorded(_ value: Int64) {
        var histogram = LatencyHistogram()
        histogram.record(value)
        histogram.record(value)
        #expect(histogram.count == 2)
        #expect(histogram.quantile(0.5).map { $0 >= 0 && $0 <= max(0, value) } == true)
    }

    @Test func emptyHistogramHasNoPercentile() {
        #expect(LatencyHistogram().quantile(0.5) == nil)
    }

    @Test func oldSamplesExpire() {
        let recorder = LatencyRecorder("x", now: 0)
        recorder.record(nanoseconds: 5)
        #expect(recorder.recent(29_000_000_000).count == 1)
        #expect(recorder.recent(31_000_000_000).count == 1)
        recorder.record(nanoseconds: 7)
        #expect(recorder.recent(59_000_000_000).count == 2)
        #expect(recorder.recent(62_000_000_000).count == 1)
        #expect(recorder.recent(200_000_000_000).count == 0)
    }
}
