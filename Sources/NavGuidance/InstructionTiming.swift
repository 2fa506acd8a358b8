/// The timing of instructions: a lead in seconds at the present speed, within bounds in metres.
///
/// The times are those of the Mapbox SDKs (125 s, 70 s, 15 s, and "continue" above 2,000 m). The bounds are our own judgement: a slow
/// driver hears the instruction before the junction comes into view, a fast driver not so early that it is confusing.
public struct InstructionTiming: Sendable, Hashable {
    /// The lead of one announcement.
    public struct Lead: Sendable, Hashable {
        /// Seconds before the maneuver.
        public var seconds: Double
        /// The shortest lead, metres.
        public var minimum: Double
        /// The longest lead, metres.
        public var maximum: Double

        /// A lead.
        public init(seconds: Double, minimum: Double, maximum: Double) {
            self.seconds = seconds
            self.minimum = minimum
            self.maximum = maximum
        }

        /// Returns the lead in metres at a speed in m/s.
        func distance(speed: Double) -> Double { min(max(seconds * speed, minimum), maximum) }
    }

    /// The leads for one kind of road.
    public struct Leads: Sendable, Hashable {
        /// The first announcement; nil for none.
        public var far: Lead?
        /// The announcement in time to change lanes.
        public var prepare: Lead
        /// The announcement shortly before the maneuver.
        public var near: Lead
        /// The announcement at the maneuver: early enough to finish speaking there. A longer one begins earlier.
        public var now: Lead

        /// Leads.
        public init(far: Lead?, prepare: Lead, near: Lead, now: Lead) {
            self.far = far
            self.prepare = prepare
            self.near = near
            self.now = now
        }
    }

    /// The leads on roads with an expected speed below ``fastSpeed``.
    public var ordinary = Leads(
        far: nil, prepare: Lead(seconds: 70, minimum: 150, maximum: 1_000),
        near: Lead(seconds: 15, minimum: 60, maximum: 400), now: Lead(seconds: 4, minimum: 15, maximum: 80))
    /// The leads on faster roads.
    public var fast = Leads(
        far: Lead(seconds: 125, minimum: 2_000, maximum: 2_500),
        prepare: Lead(seconds: 70, minimum: 400, maximum: 1_200),
        near: Lead(seconds: 15, minimum: 250, maximum: 600), now: Lead(seconds: 4, minimum: 50, maximum: 150))
    /// The lead at a waypoint by which earlier announcements end. If there were none and the arrival does not follow at once, the waypoint
    /// is announced here; the arrival itself is announced when it happens, usually 20 m before the waypoint.
    public var arrival = Lead(seconds: 4.5, minimum: 35, maximum: 90)
    /// The least time between the end of an announcement and its maneuver, seconds.
    public var actingTime = 2.0
    /// The latest time before a maneuver for the announcement at it, however ambiguous the place, seconds: ``actingTime``, and half a
    /// second for an accelerating vehicle.
    public var latest = 2.5
    /// The time within which a maneuver is not announced again in the same words, seconds.
    public var repeatGap = 8.0
    /// The greatest share of the distance at its last announcement at which a maneuver is announced ahead again: an accelerating vehicle
    /// would otherwise hear nearly the same distance twice.
    public var repeatShare = 0.7
    /// The least speed for ``fast``, m/s (72 km/h).
    public var fastSpeed = 20.0
    /// The distance to the next maneuver from which "Continue on …" is spoken, metres.
    public var continueDistance = 2_000.0
    /// The largest time between two maneuvers that "…, then …" joins, seconds.
    public var chainSeconds = 8.0
    /// The largest time between the next two maneuvers for the banner to show the second below the first, seconds.
    public var subBannerSeconds = 10.0
    /// The least silence between the announcement shortly before a maneuver and the one at it, seconds. They also begin at least
    /// ``repeatGap`` plus two seconds apart, for an accelerating vehicle.
    public var pause = 3.0
    /// The least silence after an earlier announcement, seconds; an announcement with less room is omitted.
    public var longPause = 10.0
    /// The longest announcement shortly before a maneuver that may also name the maneuver after it, seconds.
    public var longestAnnouncement = 6.5
    /// The distance past the previous maneuver from which announcements other than the last may be spoken, metres.
    public var settleDistance = 15.0

    public init() {}
}
