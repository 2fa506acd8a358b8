internal import Glibc

/// The bus's only look at the clocks.
enum Clocks {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    @inline(__always)
    static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

    /// Both clocks, now.
    @inline(__always)
    static func receiveTimes() -> ReceiveTimes {
        ReceiveTimes(monotonicNanoseconds: read(CLOCK_MONOTONIC), utcNanoseconds: read(CLOCK_REALTIME))
    }

    @inline(__always)
    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension Duration {
    /// Whole nanoseconds, limited to 0 and about 31 years so that sums with a clock cannot overflow.
    var boundedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        return min(seconds, 1_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
