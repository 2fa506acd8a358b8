/// A moment on one clock: whole nanoseconds since that clock's origin.
///
/// Moments of different clocks are different types and do not mix: what lies between two moments of one clock is a
/// `Duration`, and a moment moved by a duration is one of the same clock. Nothing here traps: sums end at the ends of
/// the range, about ±292 years.
public protocol Moment: Sendable, Hashable, Comparable {
    /// Nanoseconds since the clock's origin.
    var nanoseconds: Int64 { get }

    /// The moment so many nanoseconds after the clock's origin.
    init(nanoseconds: Int64)
}

extension Moment {
    /// Earlier is less.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The time from `earlier` to this moment, exact; negative when it is later.
    @inlinable
    public func duration(since earlier: Self) -> Duration {
        // A Duration holds any difference of two Int64 in nanoseconds.
        Duration.nanoseconds(nanoseconds) - Duration.nanoseconds(earlier.nanoseconds)
    }

    /// This moment moved by `duration`; stays at the ends of the range instead of passing them.
    public func advanced(by duration: Duration) -> Self {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        guard overflow else { return Self(nanoseconds: sum) }
        return Self(nanoseconds: duration < .zero ? .min : .max)
    }

    /// See ``advanced(by:)``.
    public static func + (moment: Self, duration: Duration) -> Self { moment.advanced(by: duration) }

    /// See ``duration(since:)``.
    @inlinable
    public static func - (later: Self, earlier: Self) -> Duration { later.duration(since: earlier) }
}

extension Duration {
    /// Whole nanoseconds towards zero, limited to what an `Int64` holds.
    public var clampedNanoseconds: Int64 {
        // Beyond it even the count of seconds may not be an Int64.
        let longest = Duration.nanoseconds(Int64.max)
        if self >= longest { return .max }
        if self <= .nanoseconds(Int64.min) { return .min }
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLong || overflow ? (self < .zero ? .min : .max) : sum
    }

    /// Seconds, rounded as a `Double` is.
    public var inSeconds: Double {
        let (seconds, attoseconds) = limited.components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }

    /// A duration of so many seconds; nothing for what is not a number, and at most ±292 years.
    public init(clampingSeconds seconds: Double) {
        if seconds.isNaN {
            self = .zero
        } else if abs(seconds) < 9.2e9 {
            self = .nanoseconds(Int64((seconds * 1e9).rounded()))
        } else {
            self = .nanoseconds(seconds < 0 ? Int64.min : Int64.max)
        }
    }

    private var limited: Duration { min(max(self, .nanoseconds(Int64.min)), .nanoseconds(Int64.max)) }
}
