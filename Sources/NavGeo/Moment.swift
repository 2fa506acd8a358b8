/// A moment on one clock: whole nanoseconds since that clock's origin.
///
/// Moments of different clocks are different types and do not mix. The difference of two moments of one clock is a `Duration`, and a moment
/// plus a duration is a moment of the same clock. Nothing here traps: sums saturate at the ends of the range, about ±292 years.
public protocol Moment: Sendable, Hashable, Comparable {
    /// Nanoseconds since the clock's origin.
    var nanoseconds: Int64 { get }

    /// Creates the moment at some nanoseconds after the clock's origin.
    init(nanoseconds: Int64)
}

extension Moment {
    /// Whether one moment is earlier than another.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the exact time from `earlier` to this moment; negative when `earlier` is later.
    @inlinable
    public func duration(since earlier: Self) -> Duration {
        // A Duration holds any difference of two Int64 in nanoseconds.
        Duration.nanoseconds(nanoseconds) - Duration.nanoseconds(earlier.nanoseconds)
    }

    /// Returns this moment moved by `duration`; saturates at the ends of the range.
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
    /// Whole nanoseconds, rounded towards zero and clamped to the range of `Int64`.
    public var clampedNanoseconds: Int64 {
        // For longer durations even the count of seconds may exceed Int64.
        let longest = Duration.nanoseconds(Int64.max)
        if self >= longest { return .max }
        if self <= .nanoseconds(Int64.min) { return .min }
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isTooLong || overflow ? (self < .zero ? .min : .max) : sum
    }

    /// The duration in seconds, rounded to a `Double`.
    public var inSeconds: Double {
        let (seconds, attoseconds) = limited.components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }

    /// Creates a duration from seconds, clamped to ±292 years; zero for a NaN.
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
