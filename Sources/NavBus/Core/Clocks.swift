internal import Glibc

/// The machine's clocks, in nanoseconds; no other code of the bus reads them.
package enum Clocks {
    /// Returns the time since an arbitrary start; it never runs backwards (`CLOCK_MONOTONIC`).
    @inline(__always)
    package static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

    /// Returns ``monotonic()`` as of the kernel's last tick, 1 to 10 ms ago, at a fifth of the cost
    /// (`CLOCK_MONOTONIC_COARSE`, clock_gettime(2)).
    @inline(__always)
    static func coarse() -> Int64 { read(CLOCK_MONOTONIC_COARSE) }

    /// Returns the time since 1970, UTC; it jumps when the clock is set.
    package static func wall() -> Int64 { read(CLOCK_REALTIME) }

    /// Returns the processor time of all threads of this process.
    package static func processor() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

    /// Returns both clocks at this moment.
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
    package var boundedNanoseconds: Int64 {
        // Durations up to 18 s, as most waits are, fit in one machine word.
        if let attoseconds = UInt64(exactly: attoseconds) { return Int64(attoseconds / 1_000_000_000) }
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        return min(seconds, 1_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
