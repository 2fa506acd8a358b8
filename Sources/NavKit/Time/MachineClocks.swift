import NavBus
public import NavGeo

/// The machine's wall clock.
public enum WallClock {
    /// Now, UTC. It may jump when the clock is set.
    public static func now() -> NavGeo.Timestamp { NavGeo.Timestamp(nanoseconds: Clocks.wall()) }
}

/// The machine's monotonic clock: for waits in the real world, whatever time a node lives by.
public enum MonotonicClock {
    /// Now, since an arbitrary start.
    public static func now() -> MonotonicInstant { MonotonicInstant(nanoseconds: Clocks.monotonic()) }
}
