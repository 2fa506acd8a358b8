import NavBus
public import NavGeo

/// The machine's wall clock.
public enum WallClock {
    /// The earliest plausible time of a clock that has been set, 2025-01-01: before navbus existed.
    package static let earliest = NavGeo.Timestamp(nanoseconds: 1_735_689_600_000_000_000)

    /// Returns the time now, UTC. It may jump when the clock is set.
    public static func now() -> NavGeo.Timestamp { NavGeo.Timestamp(nanoseconds: Clocks.wall()) }
}

/// The machine's monotonic clock, for waits in real time, whichever clock a node uses.
public enum MonotonicClock {
    /// Returns the time now, since an arbitrary start.
    public static func now() -> MonotonicInstant { MonotonicInstant(nanoseconds: Clocks.monotonic()) }
}
