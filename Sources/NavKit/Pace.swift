/// Recorded time and the time at which it is played, without an overflow whatever the stamps are.
package enum Pace {
    /// The longest wait, ns: ten years, so that a moment of the monotonic clock can still be added.
    private static let longest = 315_576_000e9

    /// Returns the delay of a record of `stamp` after `start` at a rate above 0, ns; 0 for one from before.
    package static func nanoseconds(from start: Int64, to stamp: Int64, rate: Double) -> Int64 {
        let (difference, overflow) = stamp.subtractingReportingOverflow(start)
        let span = overflow ? Double(stamp) - Double(start) : Double(difference)
        return span > 0 ? Int64(min(span / rate, longest)) : 0
    }

    /// The moment so many seconds after `first`, ns, at most the last there is.
    package static func moment(_ seconds: Double, after first: UInt64) -> UInt64 {
        guard seconds > 0 else { return first }
        let (sum, overflow) = first.addingReportingOverflow(UInt64(min(seconds * 1e9, longest)))
        return overflow ? .max : sum
    }
}
