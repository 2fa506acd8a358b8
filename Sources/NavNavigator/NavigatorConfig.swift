package import NavGeo
package import NavGuidance
package import NavPositioning
package import NavMap
internal import NavRouting

/// The navigator's thresholds, each with its unit and source.
package struct NavigatorConfig: Sendable, Hashable {
    package var positioning = PositioningConfig()
    /// Whether an online route provider is queried first.
    package var hasOnlineProvider = false
    /// The language and units of guidance when a request has none, and the notices other than maneuvers.
    package var wording = Wording()
    /// The local clocks' offset from UTC, minutes; nil when unknown, in which case time-dependent rules are ignored.
    package var minutesAheadOfUTC: Int?

    /// Distance from the route that is always tolerated, metres. 25: Mapbox near intersections, openpilot.
    package var deviationMinimumDistance = 25.0
    /// Metres added to twice the fix's σ. 15: Mapbox's snapping distance.
    package var deviationBaseDistance = 15.0
    /// Distance from the route that is never tolerated, metres. 60: OsmAnd, and the largest of the apps compared.
    package var deviationMaximumDistance = 60.0
    /// Difference between course and route that counts against the route, radians. 45°: Mapbox.
    package var deviationCourse = Double.pi / 4
    /// Speed above which the course counts, m/s. 3: Mapbox.
    package var deviationCourseMinimumSpeed = 3.0
    /// The least duration of the evidence, seconds. 3: MapLibre Android.
    package var deviationDebounce = 3.0
    /// The least number of fixes that agree. 4: Mapbox.
    package var deviationDebounceFixes = 4
    /// The least probability of an edge off the route for the edge to count against the route.
    package var deviationEdgeProbability = 0.6
    /// The least distance from the route for the matched edge to count against it, metres. 12.5: half of the smallest distance that counts
    /// by itself. Receivers between buildings often have this error, and parallel roads are even closer.
    package var deviationEdgeDistance = 12.5
    /// The least probability of an edge off the route from which ``deviationFirmDistance`` applies instead of ``deviationEdgeDistance``.
    package var deviationFirmProbability = 0.95
    /// The least distance from the route for such an edge to count against it, metres. 6: ramps run this close to their motorway for up to
    /// half a kilometre.
    package var deviationFirmDistance = 6.0
    /// Lateral movement, computed from speed and course, from which the distance from the route is trusted, metres. 10: a lane and a half
    /// more than a lane change. Reflected signals move the position, but not the velocity.
    package var deviationExcursion = 10.0
    /// The least duration of a distance that speed and course do not confirm, seconds. 20: reflections in streets last some ten seconds.
    package var deviationUnexplained = 20.0
    /// Speed up to which the vehicle counts as stationary and is never off-route, m/s. 1: Mapbox.
    package var deviationMinimumSpeed = 1.0
    /// σ assumed for a fix without one, metres. 5: usual for a receiver under open sky.
    package var deviationUnknownSigma = 5.0
    /// The consecutive fixes on the route that return the vehicle to it, or move it to a part further ahead.
    package var deviationReturnFixes = 2
    /// The distance driven back along the route that indicates the wrong direction, metres. 50: Mapbox.
    package var wrongWayDistance = 50.0
    /// The least number of fixes in the wrong direction that indicate it, over that distance or the debounce time. 3: Mapbox.
    package var wrongWayFixes = 3

    /// The greatest distance behind the furthest point reached to which noise may move the vehicle, metres.
    package var cursorBackwardReach = 80.0
    /// The greatest distance beyond the vehicle's possible progress at which it may be located on its leg, metres.
    package var cursorForwardReach = 100.0
    /// The same limit beyond the leg's end and where the road is unknown, metres; the fix's noise is added.
    package var cursorSlack = 20.0
    /// The time for which a reported speed is extrapolated, seconds; a longer interval between fixes is a gap.
    package var cursorSpeedValidity = 10.0
    /// Speed assumed during gaps, m/s: the upper limit for cars.
    package var cursorGapSpeed = 45.0
    /// Longest gap that is considered, seconds.
    package var cursorLongestGap = 600.0

    /// The greatest distance by which a waypoint is moved to a road, metres.
    package var snapRadius = RouteRequest.defaultSnapRadius
    /// The same for the vehicle's position.
    package var positionSnapRadius = RouteRequest.defaultPositionSnapRadius

    /// The origin of routes while no position is known; nil for none.
    package var originFallback: Coordinate?

    /// Whether a deviation leads to a reroute; it is reported in either case.
    package var rerouteDetect = true
    /// Shortest time between two reroutes, seconds. 5: Ferrostar.
    package var rerouteCooldown = 5.0
    /// Shortest distance between two reroutes, metres. 50: Ferrostar.
    package var rerouteMinimumMovement = 50.0
    /// First backoff after a failed reroute, seconds; doubled with each failure. 1: openpilot.
    package var rerouteBackoffFirst = 1.0
    /// Longest backoff after failed reroutes, seconds. 64: openpilot.
    package var rerouteBackoffLongest = 64.0
    /// The longest wait for a route, at the start of a trip and when rerouting, seconds.
    package var rerouteDeadline = 10.0
    /// The time at the present speed within which a new route avoids maneuvers, seconds. 8: Mapbox.
    package var rerouteManeuverAvoidance = 8.0
    /// The same limit as a distance, metres; nil to derive it from the speed.
    package var rerouteManeuverAvoidanceDistance: Double?
    /// Time to the first maneuver below which a new route is only proposed, not imposed, seconds; 0 for none. Autoware: 10 s.
    package var rerouteMinimumCommitTime = 0.0
    /// The number of consecutive routes rejected for a maneuver that is too near before one is accepted: there may be no other route.
    package var rerouteGreatestRefusals = 2
    /// The cost factor of the rest of the chosen route in a reroute, 0.5 ... 1; 1 for no preference. 0.85: the preference decides between
    /// nearly equal routes without causing detours.
    package var chosenRouteFactor = 0.85
    package var faster = FasterRouteConfig()
    package var alternatives = AlternativesConfig()
    /// The configuration of refreshes.
    package var refresh = RefreshConfig()
    /// The policy client and the kinds of decisions that are requested from it.
    package var policy = PolicyConfig()

    /// The least probability of a slow or stationary vehicle's direction for a route to start in that direction. 0.8: our own estimate; an
    /// unknown direction has 0.5.
    package var originDirectionProbability = 0.8

    /// Time before a junction from which its lanes are shown, seconds. 15: Mapbox's time to announce a maneuver.
    package var laneApproach = 15.0
    /// The least distance from which they are shown, metres: about as far as lanes are marked in towns.
    package var laneApproachDistance = 150.0

    /// Distance to a waypoint at which it is reached, metres. 20: Organic Maps. Autoware: 1.
    package var arrivalRadius = 20.0
    /// Greatest speed at which a waypoint is reached, m/s; nil for any.
    package var arrivalMaximumSpeed: Double?
    /// Greatest difference between course and route at which a waypoint is reached, degrees; nil for any. Autoware: 45.
    package var arrivalCourse: Double?
    /// The time for which all these conditions must hold, seconds. Autoware: 1.
    package var arrivalDwell = 0.0
    /// Time before a waypoint from which the approach is announced, seconds.
    package var arrivalApproach = 30.0
    /// Whether a deviation near a waypoint leads to no reroute.
    package var arrivalSuppresses = true
    /// Distance from a waypoint, both along the route and in a straight line, within which a deviation leads to no reroute, metres.
    package var arrivalSuppressReroute = 60.0
    /// Whether the next leg starts automatically at a waypoint.
    package var legsAutoAdvance = true

    package init() {}

    /// Returns the local time at a moment; nil when the offset is unknown.
    package func localTime(at moment: Timestamp) -> LocalTime? {
        minutesAheadOfUTC.map { LocalTime(moment, minutesAheadOfUTC: $0) }
    }
}
