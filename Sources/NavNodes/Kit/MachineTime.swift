import Glibc

/// Raw readings of the machine's clocks, nanoseconds, for what measures and never decides.
package enum MachineTime {
    /// Since an arbitrary start; never runs backwards.
    package static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }

    /// Since 1970, UTC; jumps when the clock is set.
    package static func utc() -> Int64 { read(CLOCK_REALTIME) }

    /// Processor time of all threads of this process.
    package static func processor() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
