/// When faster routes are looked for, and what becomes of them.
public struct FasterRouteConfig: Sendable, Hashable {
    /// The party that approves a faster route.
    public enum Approval: String, Sendable, Hashable, CaseIterable {
        /// None is required: the route is taken.
        case automatic = "auto"
        /// The owner's policy; no, when it is silent.
        case policy
        /// A user, by a call; no, when none comes in time.
        case manual
    }

    public var isEnabled = true
    /// Time between two looks, seconds. 120: Mapbox.
    public var interval = 120.0
    /// Shortest time left on the route for a look, seconds. 120: one interval, so that the last look of a drive still has something to
    /// gain. With Mapbox's 600 a drive through a city is never looked at.
    public var minimumRemaining = 120.0
    /// Shortest time to where the faster route leaves the one in force, seconds. 15: when Mapbox announces a maneuver. Mapbox itself wants
    /// 70 s to the next maneuver of any kind, which a city does not have.
    public var minimumToManeuver = 15.0
    /// The least gain as a share of the time left. 0.1: Mapbox.
    public var minimumGain = 0.1
    /// The least gain, seconds. 30: as from which MapLibre tells of another arrival.
    public var minimumGainSeconds = 30.0
    public var approval = Approval.automatic
    /// The time that a user has to approve it, seconds. 30: judgement; less than the time to the first maneuver.
    public var acceptFor = 30.0
}

/// When alternatives are looked for, and which are shown.
public struct AlternativesConfig: Sendable, Hashable {
    public enum Acceptance: String, Sendable, Hashable, CaseIterable {
        case unfiltered
        /// Those that take less time than the route in force.
        case faster
        /// Those that are shorter than the route in force.
        case shorter
    }

    public var isEnabled = true
    /// Time between two looks, seconds. 300, not below ``shortestInterval``: Mapbox.
    public var interval = 300.0
    /// The least that ``interval`` can be, seconds: Mapbox.
    public static let shortestInterval = 30.0
    /// The most alternatives, 0 ... 2.
    public var limit = 2
    public var acceptance = Acceptance.unfiltered
    /// The least movement between two looks, metres. 50: as between two reroutes; a vehicle that stands asks nothing.
    public var minimumMovement = 50.0
    /// The fixes in a row on an alternative, behind its fork, that take it. 2: one alone may be noise, and the debounce of a deviation would
    /// be too late.
    public var takingFixes = 2
    /// Probability of the alternative's road from which a fix counts.
    public var takingProbability = 0.6
}

/// When the route's durations are brought up to date.
public struct RefreshConfig: Sendable, Hashable {
    public var isEnabled = true
    /// Longest time between two refreshes, seconds. 120: Mapbox.
    public var interval = 120.0
    /// Shortest time between two refreshes for new traffic, seconds. 5: traffic may be told every second, and a route is a large message.
    public var minimumInterval = 5.0
}
