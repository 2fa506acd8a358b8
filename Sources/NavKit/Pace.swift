/// Conversions between recorded time and playback time that cannot overflow, whatever the stamps are.
package enum Pace {
    /// The longest wait, in nanoseconds: ten years, so that it can still be added to a monotonic time.
    private static let longest = 315_576_000e9

    /// Returns the delay of a record at `stamp` after `start` at a rate above 0, in nanoseconds; 0 for an earlier record.
    package static func nanoseconds(from start: Int64, to stamp: Int64, rate: Double) -> Int64 {
        let (difference, overflow) = stamp.subtractingReportingOverflow(start)
        let span = overflow ? Double(stamp) - Double(start) : Double(difference)
        return span > 0 ? Int64(min(span / rate, longest)) : 0
    }

    /// Returns the time `seconds` after `first`, in nanoseconds, clamped to the largest value.
    package static func moment(_ seconds: Double, after first: UInt64) -> UInt64 {
        guard seconds > 0 else { return first }
        let (sum, overflow) = first.addingReportingOverflow(UInt64(min(seconds * 1e9, longest)))
        return overflow ? .max : sum
    }
}
