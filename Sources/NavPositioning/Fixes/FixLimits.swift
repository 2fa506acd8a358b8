public import NavMatching

/// The limits that a fix must keep to count, each with its unit and its source.
public struct FixLimits: Sendable, Hashable {
    /// Worst horizontal accuracy (1 σ per axis, by the dilution of precision where that is all that is known), metres. 100: Mapbox's `isQualified`.
    public var maximumAccuracy = 100.0
    /// Worst horizontal accuracy of the first fix, metres. 20: Mapbox's limit for starting a route.
    public var startMaximumAccuracy = 20.0
    /// The least type of a fix; ``FixType/unknown`` for any. What a planner needs: lane-level work wants carrier phase.
    public var minimumType = FixType.unknown
    /// The fixes in a row that must lie on the wrong side of the newest one before the clock is taken to have been set.
    public var clockSetFixes = 3
    /// Longest delay between a fix's time and its arrival beyond the usual one, seconds. 2: receivers deliver within 0.3 s; what is older
    /// comes from a queue.
    public var maximumAge = 2.0
    /// The greatest lead of a fix's time over the usual, seconds: a leap second is one whole second.
    public var maximumFuture = 0.7
    /// The same for a fix that does not say when it arrived, seconds: those that were held up before it let it appear early.
    public var maximumLead = 5.0
    /// Fastest road vehicle, m/s.
    public var maximumSpeed = 70.0
    /// Metres that a vehicle must have driven before a position that stays exactly the same counts as frozen. 2: beyond the coarsest
    /// resolution of a coordinate in NMEA (four decimals of a minute, 0.19 m).
    public var frozenDistance = 2.0
    /// Speed from which it can be frozen, m/s: what receivers report at rest is less.
    public var frozenSpeed = 1.0
    /// Distance from where the vehicle is expected, in standard deviations of that and of the fix, that is a jump.
    public var jumpDeviations = 8.0
    /// Metres that are no jump in any case: reflections between buildings.
    public var jumpDistance = 40.0
    /// Change of velocity that is no jump where fixes are more than a second apart, m/s²: what drivers take in bends and when they brake.
    public var gapAcceleration = 4.0
    /// The time that fixes must stay at another place to be believed, seconds, if a vehicle cannot get there; single wrong fixes come back.
    public var jumpConfirmation = 0.9
    /// The same while another receiver has positions: the one that jumps is replaced before.
    public var comparedConfirmation = 2.5
    /// The same while the wheels turn, so that nothing carries the vehicle there. 15: reflections have ended by then, and a place that was wrong
    /// before is not kept for longer.
    public var drivenConfirmation = 15.0
    /// The same, if a vehicle can get there: reflections last for some seconds.
    public var slideConfirmation = 6.0

    /// Receivers with numbers below this are preferred to all others, in the order of their numbers.
    public var preferredReceivers = 0

    public init() {}
}
