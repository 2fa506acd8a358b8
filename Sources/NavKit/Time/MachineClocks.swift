import NavBus
public import NavGeo

/// The machine's wall clock.
public enum WallClock {
    /// Returns the time now, UTC. It may jump when the clock is set.
    public static func now() -> NavGeo.Timestamp { NavGeo.Timestamp(nanoseconds: Clocks.wall()) }
}

/// The machine's monotonic clock, for waits in real time, whichever clock a node uses.
public enum MonotonicClock {
    /// Returns the time now, since an arbitrary start.
    public static func now() -> MonotonicInstant { MonotonicInstant(nanoseconds: Clocks.monotonic()) }
}
