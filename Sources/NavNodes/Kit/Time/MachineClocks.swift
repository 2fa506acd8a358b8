import Glibc
public import NavGeo

/// The machine's wall clock.
public enum WallClock {
    /// Now, UTC. It may jump when the clock is set.
    public static func now() -> NavGeo.Timestamp { NavGeo.Timestamp(nanoseconds: nanoseconds(CLOCK_REALTIME)) }
}

/// The machine's monotonic clock: for waits in the real world, whatever time a node lives by.
public enum MonotonicClock {
    /// Now, since an arbitrary start.
    public static func now() -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds(CLOCK_MONOTONIC)) }
}

private func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
