/// The configuration of searches for faster routes and their approval.
package struct FasterRouteConfig: Sendable, Hashable {
    /// The party that approves a faster route.
    package enum Approval: String, Sendable, Hashable, CaseIterable {
        /// No approval: the route is taken.
        case automatic = "auto"
        /// The owner's policy; a missing answer is a refusal.
        case policy
        /// A user, by a call; a missing call is a refusal.
        case manual
    }

    package var isEnabled = true
    /// Time between two searches, seconds. 120: Mapbox.
    package var interval = 120.0
    /// Shortest remaining time for a search, seconds. 120: one interval, so that the last search of a drive can still yield a gain. With
    /// Mapbox's 600, city drives would never be searched.
    package var minimumRemaining = 120.0
    /// Shortest time to where the faster route leaves the one in force, seconds. 15: Mapbox's time to announce a maneuver. Mapbox itself
    /// requires 70 s to the next maneuver of any kind, which is rare in a city.
    package var minimumToManeuver = 15.0
    /// The least gain as a share of the remaining time. 0.1: Mapbox.
    package var minimumGain = 0.1
    /// The least gain, seconds. 30: MapLibre's threshold for reporting a new arrival time.
    package var minimumGainSeconds = 30.0
    package var approval = Approval.automatic
    /// The time limit for a user's approval, seconds. 30: our own estimate; less than the time to the first maneuver.
    package var acceptFor = 30.0
}

/// The configuration of searches for alternatives.
package struct AlternativesConfig: Sendable, Hashable {
    package enum Acceptance: String, Sendable, Hashable, CaseIterable {
        case unfiltered
        /// Alternatives that take less time than the route in force.
        case faster
        /// Alternatives that are shorter than the route in force.
        case shorter
    }

    package var isEnabled = true
    /// Time between two searches, seconds. 300, not below ``shortestInterval``: Mapbox.
    package var interval = 300.0
    /// The lower limit of ``interval``, seconds: Mapbox.
    package static let shortestInterval = 30.0
    /// The largest number of alternatives, 0 ... 2.
    package var limit = 2
    package var acceptance = Acceptance.unfiltered
    /// The least movement between two searches, metres. 50: as between two reroutes; no search is made while the vehicle is stationary.
    package var minimumMovement = 50.0
    /// The consecutive fixes on an alternative, past its fork, that switch to it. 2: a single fix may be noise, and the debounce of a
    /// deviation would be too late.
    package var takingFixes = 2
    /// The least matching probability of the alternative's road for a fix to count.
    package var takingProbability = 0.6
    /// The least matching probability with which a single fix suffices whose course turns away from the route and follows the alternative:
    /// a reflected signal shifts the position, but not the course.
    package var takingCertainty = 0.95
}

/// The configuration of refreshes of the route's durations.
package struct RefreshConfig: Sendable, Hashable {
    package var isEnabled = true
    /// Longest time between two refreshes, seconds. 120: Mapbox.
    package var interval = 120.0
    /// Shortest time between two refreshes for new traffic, seconds. 5: traffic may change every second, and a route is a large message.
    package var minimumInterval = 5.0
}
