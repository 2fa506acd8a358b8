/// The thresholds of the navigator, each with its unit and where it comes from.
public struct NavigatorConfig: Sendable, Hashable {
    /// Worst horizontal accuracy (1 σ) of a fix that counts, metres. 100: Mapbox's `isQualified`.
    public var fixMaximumAccuracy = 100.0
    /// Worst horizontal accuracy of the fix that starts navigation, metres. 20: Mapbox's limit for starting a route.
    public var fixStartMaximumAccuracy = 20.0
    /// How far back a fix's stamp may lie behind the newest one before the clock is taken to have been set, seconds.
    public var fixMaximumStep = 3_600.0

    /// Distance from the route that is always tolerated, metres. 25: Mapbox near intersections, openpilot.
    public var deviationMinimumDistance = 25.0
    /// Metres added to twice the fix's σ. 15: Mapbox's snapping distance.
    public var deviationBaseDistance = 15.0
    /// Distance from the route that is never tolerated, metres. 60: OsmAnd, and the largest of the apps compared.
    public var deviationMaximumDistance = 60.0
    /// Difference between course and route that speaks against the route, radians. 45°: Mapbox.
    public var deviationCourse = 0.785
    /// Speed above which the course counts, m/s. 3: Mapbox.
    public var deviationCourseMinimumSpeed = 3.0
    /// How long the evidence must last, seconds. 3: MapLibre Android.
    public var deviationDebounce = 3.0
    /// How many fixes must agree. 4: Mapbox.
    public var deviationDebounceFixes = 4
    /// Probability of an edge beside the route from which it speaks against the route.
    public var deviationEdgeProbability = 0.6
    /// How far back along the route tells of the wrong direction, metres. 50: Mapbox.
    public var wrongWayDistance = 50.0
    /// How many fixes in the wrong direction tell of it. 3: Mapbox.
    public var wrongWayFixes = 3

    /// Whether leaving the route leads to a new one; the deviation is reported either way.
    public var rerouteDetect = true
    /// Shortest time between two reroutes, seconds. 5: Ferrostar.
    public var rerouteCooldown = 5.0
    /// Shortest way between two reroutes, metres. 50: Ferrostar.
    public var rerouteMinimumMovement = 50.0
    /// First pause after a failed reroute, seconds; doubled with each failure. 1: openpilot.
    public var rerouteBackoffFirst = 1.0
    /// Longest pause after failed reroutes, seconds. 64: openpilot.
    public var rerouteBackoffLongest = 64.0
    /// How long an answer is waited for, seconds.
    public var rerouteDeadline = 10.0

    /// Distance to a waypoint at which it is reached, metres. 20: Organic Maps.
    public var arrivalRadius = 20.0
    /// Time before a waypoint from which the approach is announced, seconds.
    public var arrivalApproach = 30.0
    /// Distance before a waypoint within which leaving the route does not lead to a new one, metres.
    public var arrivalSuppressReroute = 60.0
    /// Whether the next leg starts by itself at a waypoint.
    public var legsAutoAdvance = true

    /// The defaults.
    public init() {}
}
