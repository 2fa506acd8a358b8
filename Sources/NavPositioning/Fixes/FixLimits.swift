public import NavMatching

/// The limits that a fix must meet to be accepted, each with its unit and source.
public struct FixLimits: Sendable, Hashable {
    /// Worst horizontal accuracy (1 σ per axis, derived from HDOP where nothing else is known), metres. 100: Mapbox's
    /// `isQualified`.
    public var maximumAccuracy = 100.0
    /// Worst horizontal accuracy of the first fix, metres. 20: Mapbox's limit for starting a route.
    public var startMaximumAccuracy = 20.0
    /// The lowest accepted type of a fix; ``FixType/unknown`` accepts any.
    ///
    /// Lane-level planning needs carrier phase.
    public var minimumType = FixType.unknown
    /// The number of consecutive fixes with contradicting stamps after which the clock is assumed to have been set.
    public var clockSetFixes = 3
    /// The longest delay of a fix's arrival beyond the usual one, seconds. 2: receivers deliver within 0.3 s, so older
    /// fixes come from a queue.
    public var maximumAge = 2.0
    /// The greatest lead of a fix's stamp over the usual one, seconds: a leap second is one whole second.
    public var maximumFuture = 0.7
    /// The same limit for a fix without an arrival time, seconds; it may only seem early because earlier fixes were delayed.
    public var maximumLead = 5.0
    /// The longest step between stamps that is accepted without other evidence of time, seconds. 3,000: less than the error of one hour of
    /// a wrong time zone, and longer than outages while driving; a longer pause costs ``clockSetFixes`` − 1 fixes.
    public var maximumStep = 3_000.0
    /// The speed of the fastest road vehicle, m/s.
    public var maximumSpeed = 70.0
    /// The distance a vehicle must drive before an exactly repeated position counts as frozen, metres. 2: beyond the
    /// coarsest coordinate resolution in NMEA (four decimals of a minute, 0.19 m).
    public var frozenDistance = 2.0
    /// Speed from which a position can be frozen, m/s; receivers report less at rest.
    public var frozenSpeed = 1.0
    /// Distance from the expected position that counts as a jump, in standard deviations of the expectation and the fix.
    public var jumpDeviations = 8.0
    /// The least distance that counts as a jump, metres: errors from reflections between buildings are smaller.
    public var jumpDistance = 40.0
    /// Change of velocity that is allowed when fixes are more than a second apart, m/s²: as reached by drivers in bends
    /// and when braking.
    public var gapAcceleration = 4.0
    /// The time for which fixes must stay at an unreachable place to be accepted, seconds; single wrong fixes return sooner.
    public var jumpConfirmation = 0.9
    /// The same time while another receiver has positions, seconds; long enough for the jumping receiver to be replaced first.
    public var comparedConfirmation = 2.5
    /// The same time while the wheels turn, which excludes transport of the vehicle, seconds. 15: reflections have ended by then, and a
    /// wrong earlier place is not kept for longer.
    public var drivenConfirmation = 15.0
    /// The same time for a reachable place, seconds: reflections last some seconds.
    public var slideConfirmation = 6.0

    /// Receivers with ids below this number are preferred to all others, in ascending order.
    public var preferredReceivers = 0

    public init() {}
}
