/// When instructions are due: so many seconds before the maneuver at the speed driven, within bounds in metres.
///
/// The times are those of the Mapbox SDKs (125 s, 70 s, 15 s, and "continue" above 2,000 m). The bounds are judgement: a slow vehicle
/// is told in time to see the junction, a fast one not before it can be understood.
public struct InstructionTiming: Sendable, Hashable {
    /// One announcement's lead.
    public struct Lead: Sendable, Hashable {
        /// Seconds before the maneuver.
        public var seconds: Double
        /// Never later than this, metres.
        public var minimum: Double
        /// Never earlier than this, metres.
        public var maximum: Double

        /// A lead.
        public init(seconds: Double, minimum: Double, maximum: Double) {
            self.seconds = seconds
            self.minimum = minimum
            self.maximum = maximum
        }

        /// Metres before the maneuver at a speed in m/s.
        func distance(speed: Double) -> Double { min(max(seconds * speed, minimum), maximum) }
    }

    /// The leads of one kind of road.
    public struct Leads: Sendable, Hashable {
        /// The first announcement; nil for none.
        public var far: Lead?
        /// In time to change lanes.
        public var prepare: Lead
        /// Shortly before.
        public var near: Lead
        /// At the maneuver: long enough before it that the words end there.
        public var now: Lead

        /// Leads.
        public init(far: Lead?, prepare: Lead, near: Lead, now: Lead) {
            self.far = far
            self.prepare = prepare
            self.near = near
            self.now = now
        }
    }

    /// On roads with an expected speed below ``fastSpeed``.
    public var ordinary = Leads(
        far: nil, prepare: Lead(seconds: 70, minimum: 150, maximum: 1_000),
        near: Lead(seconds: 15, minimum: 60, maximum: 400), now: Lead(seconds: 4, minimum: 15, maximum: 80))
    /// On faster roads.
    public var fast = Leads(
        far: Lead(seconds: 125, minimum: 2_000, maximum: 2_500),
        prepare: Lead(seconds: 70, minimum: 400, maximum: 1_200),
        near: Lead(seconds: 15, minimum: 250, maximum: 600), now: Lead(seconds: 4, minimum: 50, maximum: 150))
    /// At a waypoint.
    public var arrival = Lead(seconds: 3, minimum: 20, maximum: 40)
    /// The announcement at a maneuver comes no later than this before it, whatever it could be mistaken for, seconds: 2 s to act, and
    /// half a second for a vehicle that gathers speed.
    public var latest = 2.5
    /// A maneuver is not told in the same words again within this time, seconds.
    public var repeatGap = 8.0
    /// The least speed of ``fast``, m/s (72 km/h).
    public var fastSpeed = 20.0
    /// "Continue on …" is said when the next maneuver is further than this, metres.
    public var continueDistance = 2_000.0
    /// "…, then …" joins two maneuvers that are no further apart than this, seconds.
    public var chainSeconds = 8.0
    /// A banner has the maneuver after the next below it when the two are no further apart than this, seconds.
    public var subBannerSeconds = 10.0
    /// Silence between the announcement shortly before a maneuver and that at the maneuver, at least, seconds. They begin
    /// ``repeatGap`` and two seconds apart too, for a vehicle that gathers speed.
    public var pause = 3.0
    /// Silence after an earlier announcement, at least, seconds; where there is less room it is left out.
    public var longPause = 10.0
    /// The announcement shortly before a maneuver names the one after it too unless saying both takes longer than this, seconds.
    public var longestAnnouncement = 6.5
    /// Speech before any announcement but the last waits until the vehicle is this far past the maneuver before, metres.
    public var settleDistance = 15.0

    /// The defaults.
    public init() {}
}
