/// A moment of wall time: nanoseconds since 1970-01-01T00:00:00 UTC, used to stamp messages.
///
/// Wall time may jump. Intervals that a jump must not affect are measured with ``MonotonicInstant``.
public struct Timestamp: Moment {
    /// Nanoseconds since the epoch.
    public var nanoseconds: Int64

    /// Creates a moment from nanoseconds since the epoch.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Creates a moment from seconds since the epoch; nil when not finite or beyond ±292 years.
    public init?(seconds: Double) {
        guard let nanoseconds = nanosecondCount(seconds) else { return nil }
        self.nanoseconds = nanoseconds
    }

    /// Seconds since the epoch, with a resolution of about 0.2 µs at today's dates.
    @inlinable
    public var seconds: Double { Double(nanoseconds) * 1e-9 }

    /// Returns the seconds from `earlier` to this moment; negative when `earlier` is later. Saturates instead of overflowing.
    @inlinable
    public func seconds(since earlier: Timestamp) -> Double {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return overflow ? (nanoseconds < earlier.nanoseconds ? -9.3e9 : 9.3e9) : Double(difference) * 1e-9
    }

    /// Returns this moment moved by `seconds`; saturates at the ends of the range, and ignores a NaN.
    public func advanced(bySeconds seconds: Double) -> Timestamp {
        guard !seconds.isNaN else { return self }
        let end = Timestamp(nanoseconds: seconds < 0 ? .min : .max)
        guard let delta = nanosecondCount(seconds) else { return end }
        let (sum, overflow) = nanoseconds.addingReportingOverflow(delta)
        return overflow ? end : Timestamp(nanoseconds: sum)
    }
}

/// A moment of a machine's monotonic clock: nanoseconds since an arbitrary start, never running backwards.
public struct MonotonicInstant: Moment {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: Int64

    /// Creates a moment from nanoseconds since the clock's start.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}

/// A moment of `/clock`: the time of a playback or simulation, nanoseconds since 1970-01-01T00:00:00 UTC.
///
/// It stops while the playback is paused, and otherwise runs at the playback's rate. It may restart: see the clock's epoch.
public struct SimulatedTime: Moment {
    /// Nanoseconds since the Unix epoch.
    public var nanoseconds: Int64

    /// Creates a moment from nanoseconds since the Unix epoch.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
}

extension Timestamp {
    /// Returns the stamp for a message created at this moment of `/clock`.
    @inlinable
    public init(_ simulated: SimulatedTime) { nanoseconds = simulated.nanoseconds }
}

/// Returns `seconds` as whole nanoseconds; nil when not finite or not representable.
func nanosecondCount(_ seconds: Double) -> Int64? {
    let scaled = (seconds * 1e9).rounded()
    return abs(scaled) < 9.2e18 ? Int64(scaled) : nil
}
