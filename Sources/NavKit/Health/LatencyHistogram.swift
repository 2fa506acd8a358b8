/// A histogram of durations in buckets of fixed relative width, like HdrHistogram: 32 buckets per octave, so that a
/// percentile is within 3.2 %.
///
/// It covers 1 ns to 18 minutes, and longer durations count as the longest. It takes 5 kB, with no allocation per sample.
package struct LatencyHistogram {
    private static let subBits = 5
    private static let subBuckets = 1 << subBits
    private static let greatestBit = 40
    private static let bucketCount = (greatestBit - subBits + 2) << subBits

    private var counts = ContiguousArray<UInt32>(repeating: 0, count: LatencyHistogram.bucketCount)
    package private(set) var count: UInt64 = 0
    package private(set) var maximum: Int64 = 0

    package init() {}

    /// Counts a duration, in nanoseconds; a negative one counts as 0.
    @inline(__always)
    package mutating func record(_ nanoseconds: Int64) {
        let value = max(0, nanoseconds)
        let index = LatencyHistogram.bucket(value)
        counts[index] = counts[index] == .max ? .max : counts[index] + 1
        count += 1
        if value > maximum { maximum = value }
    }

    private static func bucket(_ value: Int64) -> Int {
        if value < Int64(subBuckets) { return Int(value) }
        let bit = 63 - value.leadingZeroBitCount
        guard bit <= greatestBit else { return bucketCount - 1 }
        let shift = bit - subBits
        return ((shift + 1) << subBits) + (Int(value >> Int64(shift)) & (subBuckets - 1))
    }

    /// Returns the longest duration in a bucket, in nanoseconds.
    private static func upperBound(_ index: Int) -> Int64 {
        guard index >= subBuckets else { return Int64(index) }
        let shift = (index >> subBits) - 1
        return (Int64(subBuckets + (index & (subBuckets - 1)) + 1) << Int64(shift)) - 1
    }

    mutating func add(_ other: LatencyHistogram) {
        for index in counts.indices {
            counts[index] = UInt32(clamping: UInt64(counts[index]) + UInt64(other.counts[index]))
        }
        count += other.count
        maximum = max(maximum, other.maximum)
    }

    /// Returns the duration that a share of the samples does not exceed, in nanoseconds; nil without samples.
    package func quantile(_ share: Double) -> Int64? {
        guard count > 0 else { return nil }
        let wanted = max(1, UInt64((share * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (index, part) in counts.enumerated() {
            seen += UInt64(part)
            if seen >= wanted { return min(LatencyHistogram.upperBound(index), maximum) }
        }
        return maximum
    }
}

/// A recorder of one kind of latency over the last 30 to 60 seconds.
///
/// It belongs to the node's thread.
public final class LatencyRecorder {
    /// The length of an interval, in nanoseconds; two intervals are kept.
    private static let stretch: Int64 = 30_000_000_000

    let name: String
    private var current = LatencyHistogram()
    private var previous = LatencyHistogram()
    private var begun: Int64

    package init(_ name: String, now: Int64) {
        self.name = name
        begun = now
    }

    /// Counts a duration, in nanoseconds.
    @inline(__always)
    public func record(nanoseconds: Int64) { current.record(nanoseconds) }

    /// Drops outdated samples and returns the rest.
    package func recent(_ now: Int64) -> LatencyHistogram {
        if now - begun >= LatencyRecorder.stretch {
            previous = now - begun >= 2 * LatencyRecorder.stretch ? LatencyHistogram() : current
            current = LatencyHistogram()
            begun = now
        }
        var both = current
        both.add(previous)
        return both
    }
}

/// A monotonic counter, identified by its name in the node's health.
///
/// It belongs to the node's thread.
public final class NodeCounter {
    let name: String
    /// The total since the node started.
    public private(set) var value: UInt64 = 0

    init(_ name: String) { self.name = name }

    /// Increases the count.
    public func add(_ count: Int = 1) { value &+= UInt64(clamping: count) }

    /// Sets the total from a count kept elsewhere.
    package func set(_ total: Int) { value = max(value, UInt64(clamping: total)) }
}
