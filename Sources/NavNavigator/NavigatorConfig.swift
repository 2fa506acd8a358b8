public import NavGeo
public import NavGuidance
public import NavPositioning
public import NavMap
internal import NavRouting

/// The navigator's thresholds, each with its unit and source.
public struct NavigatorConfig: Sendable, Hashable {
    public var positioning = PositioningConfig()
    /// Whether an online route provider is asked first.
    public var hasOnlineProvider = false
    /// The language and units of guidance when a request names none, and what is told besides the turns.
    public var wording = Wording()
    /// The local clocks' offset from UTC, minutes; nil when unknown, in which case time-dependent rules are ignored.
    public var minutesAheadOfUTC: Int?

    /// Distance from the route that is always tolerated, metres. 25: Mapbox near intersections, openpilot.
    public var deviationMinimumDistance = 25.0
    /// Metres added to twice the fix's σ. 15: Mapbox's snapping distance.
    public var deviationBaseDistance = 15.0
    /// Distance from the route that is never tolerated, metres. 60: OsmAnd, and the largest of the apps compared.
    public var deviationMaximumDistance = 60.0
    /// Difference between course and route that counts against the route, radians. 45°: Mapbox.
    public var deviationCourse = Double.pi / 4
    /// Speed above which the course counts, m/s. 3: Mapbox.
    public var deviationCourseMinimumSpeed = 3.0
    /// The least duration of the evidence, seconds. 3: MapLibre Android.
    public var deviationDebounce = 3.0
    /// The least number of fixes that agree. 4: Mapbox.
    public var deviationDebounceFixes = 4
    /// The least probability of an edge off the route for the edge to count against the route.
    public var deviationEdgeProbability = 0.6
    /// The least distance from the route for the matched edge to count against it, metres. 12.5: half of the smallest distance that counts
    /// by itself. A receiver in a street is often this far off, and a parallel road is nearer still.
    public var deviationEdgeDistance = 12.5
    /// The least probability of an edge off the route from which ``deviationFirmDistance`` applies instead of ``deviationEdgeDistance``.
    public var deviationFirmProbability = 0.95
    /// The least distance from the route for such an edge to count against it, metres. 6: ramps run beside their motorway this closely, for
    /// up to half a kilometre.
    public var deviationFirmDistance = 6.0
    /// Lateral movement, computed from speed and course, from which the distance from the route is trusted, metres. 10: a lane and a half
    /// more than a lane change takes. Reflected signals move the position, but not the velocity.
    public var deviationExcursion = 10.0
    /// The least duration of a distance that speed and course do not confirm, seconds. 20: reflections in streets last some ten seconds.
    public var deviationUnexplained = 20.0
    /// Speed up to which the vehicle counts as stationary and is never off-route, m/s. 1: Mapbox.
    public var deviationMinimumSpeed = 1.0
    /// σ assumed for a fix without one, metres. 5: usual for a receiver under open sky.
    public var deviationUnknownSigma = 5.0
    /// The consecutive fixes on the route that return the vehicle to it, or move it to a part further ahead.
    public var deviationReturnFixes = 2
    /// The distance driven back along the route that indicates the wrong direction, metres. 50: Mapbox.
    public var wrongWayDistance = 50.0
    /// The least number of fixes in the wrong direction that indicate it, over that distance or the debounce time. 3: Mapbox.
    public var wrongWayFixes = 3

    /// The greatest distance behind the furthest point reached to which noise may move the vehicle, metres.
    public var cursorBackwardReach = 80.0
    /// The greatest distance beyond the vehicle's possible progress at which it may be located on its leg, metres.
    public var cursorForwardReach = 100.0
    /// The same limit beyond the leg's end and where the road is unknown, metres; the fix's noise is added.
    public var cursorSlack = 20.0
    /// The time for which a reported speed is extrapolated, seconds; a longer interval between fixes is a gap.
    public var cursorSpeedValidity = 10.0
    /// Speed assumed during gaps, m/s: as fast as cars go.
    public var cursorGapSpeed = 45.0
    /// Longest gap that is taken into account, seconds.
    public var cursorLongestGap = 600.0

    /// The greatest distance by which a waypoint is moved to a road, metres.
    public var snapRadius = RouteRequest.defaultSnapRadius
    /// The same for the vehicle's position.
    public var positionSnapRadius = RouteRequest.defaultPositionSnapRadius

    /// The origin of routes while no position is known; nil for none.
    public var originFallback: Coordinate?

    /// Whether a deviation leads to a reroute; it is reported either way.
    public var rerouteDetect = true
    /// Shortest time between two reroutes, seconds. 5: Ferrostar.
    public var rerouteCooldown = 5.0
    /// Shortest distance between two reroutes, metres. 50: Ferrostar.
    public var rerouteMinimumMovement = 50.0
    /// First backoff after a failed reroute, seconds; doubled with each failure. 1: openpilot.
    public var rerouteBackoffFirst = 1.0
    /// Longest backoff after failed reroutes, seconds. 64: openpilot.
    public var rerouteBackoffLongest = 64.0
    /// The longest wait for a route, at the start of a trip and when rerouting, seconds.
    public var rerouteDeadline = 10.0
    /// The time at the present speed within which a new route avoids maneuvers, seconds. 8: Mapbox.
    public var rerouteManeuverAvoidance = 8.0
    /// The same limit as a distance, metres; nil to derive it from the speed.
    public var rerouteManeuverAvoidanceDistance: Double?
    /// Time to the first maneuver below which a new route is only proposed, not imposed, seconds; 0 for never. Autoware: 10 s.
    public var rerouteMinimumCommitTime = 0.0
    /// The number of consecutive routes rejected for a maneuver that is too near before one is accepted: there may be no other way.
    public var rerouteGreatestRefusals = 2
    /// The cost factor of the rest of the chosen route in a reroute, 0.5 ... 1; 1 for no preference. 0.85: the preference must decide
    /// between near-equals without causing detours.
    public var chosenRouteFactor = 0.85
    public var faster = FasterRouteConfig()
    public var alternatives = AlternativesConfig()
    /// When durations are refreshed.
    public var refresh = RefreshConfig()
    /// The policy client and the decisions that it is asked to take.
    public var policy = PolicyConfig()

    /// The least probability of a slow or stationary vehicle's direction for a route to start in that direction. 0.8: our own judgement; an
    /// unknown direction has 0.5.
    public var originDirectionProbability = 0.8

    /// Time before a junction from which its lanes are shown, seconds. 15: when Mapbox announces a maneuver.
    public var laneApproach = 15.0
    /// The least distance from which they are shown, metres: about as far as lanes are marked in towns.
    public var laneApproachDistance = 150.0

    /// Distance to a waypoint at which it is reached, metres. 20: Organic Maps. Autoware: 1.
    public var arrivalRadius = 20.0
    /// Greatest speed at which a waypoint is reached, m/s; nil for any.
    public var arrivalMaximumSpeed: Double?
    /// Greatest difference between course and route at which a waypoint is reached, degrees; nil for any. Autoware: 45.
    public var arrivalCourse: Double?
    /// The time for which all these conditions must hold, seconds. Autoware: 1.
    public var arrivalDwell = 0.0
    /// Time before a waypoint from which the approach is announced, seconds.
    public var arrivalApproach = 30.0
    /// Whether a deviation near a waypoint leads to no reroute.
    public var arrivalSuppresses = true
    /// Distance from a waypoint, both along the route and in a straight line, within which a deviation leads to no reroute, metres.
    public var arrivalSuppressReroute = 60.0
    /// Whether the next leg starts automatically at a waypoint.
    public var legsAutoAdvance = true

    public init() {}

    /// Returns the local time at a moment; nil when the offset is unknown.
    public func localTime(at moment: Timestamp) -> LocalTime? {
        minutesAheadOfUTC.map { LocalTime(moment, minutesAheadOfUTC: $0) }
    }
}
