public import NavGeo
public import NavGuidance
public import NavPositioning
internal import NavRouting

/// The thresholds of the navigator, each with its unit and where it comes from.
public struct NavigatorConfig: Sendable, Hashable {
    public var positioning = PositioningConfig()
    /// Whether a provider of routes on the network is asked first.
    public var hasOnlineProvider = false
    /// The language and units of guidance, where a request names none.
    public var wording = Wording()

    /// Distance from the route that is always tolerated, metres. 25: Mapbox near intersections, openpilot.
    public var deviationMinimumDistance = 25.0
    /// Metres added to twice the fix's σ. 15: Mapbox's snapping distance.
    public var deviationBaseDistance = 15.0
    /// Distance from the route that is never tolerated, metres. 60: OsmAnd, and the largest of the apps compared.
    public var deviationMaximumDistance = 60.0
    /// Difference between course and route that speaks against the route, radians. 45°: Mapbox.
    public var deviationCourse = Double.pi / 4
    /// Speed above which the course counts, m/s. 3: Mapbox.
    public var deviationCourseMinimumSpeed = 3.0
    /// The time that the evidence must last, seconds. 3: MapLibre Android.
    public var deviationDebounce = 3.0
    /// The fixes that must agree. 4: Mapbox.
    public var deviationDebounceFixes = 4
    /// Probability of an edge beside the route from which it speaks against the route.
    public var deviationEdgeProbability = 0.6
    /// Distance from the route from which the matcher's edge speaks against it, metres. 12.5: half of the smallest distance that speaks by
    /// itself; a receiver in a street is often as far off, and a road that runs beside the route is nearer still.
    public var deviationEdgeDistance = 12.5
    /// The way to the side of the route by speed and course from which its distance is believed, metres. 10: a lane and
    /// a half more than changing lanes takes. Reflected signals move the position, but not the velocity.
    public var deviationExcursion = 10.0
    /// The time that a distance must last that speed and course do not bear out, seconds. 20: reflections in streets last for some ten.
    public var deviationUnexplained = 20.0
    /// Speed up to which the vehicle counts as standing and goes nowhere wrong, m/s. 1: Mapbox.
    public var deviationMinimumSpeed = 1.0
    /// σ assumed of a fix that gives none, metres. 5: usual for a receiver under free sky.
    public var deviationUnknownSigma = 5.0
    /// The fixes in a row on the route that bring the vehicle back to it, or to a part of it further ahead.
    public var deviationReturnFixes = 2
    /// The way back along the route that tells of the wrong direction, metres. 50: Mapbox.
    public var wrongWayDistance = 50.0
    /// The least number of fixes in the wrong direction that tell of it, over that distance or the time of the debounce. 3: Mapbox.
    public var wrongWayFixes = 3

    /// The distance behind the furthest point reached to which noise may put the vehicle, metres.
    public var cursorBackwardReach = 80.0
    /// The distance ahead of what it can have driven at which the vehicle may be seen on its leg, metres.
    public var cursorForwardReach = 100.0
    /// The same behind the leg's end and where the road is not known, metres; the fix's noise is added.
    public var cursorSlack = 20.0
    /// The time that a reported speed tells the way of the vehicle, seconds; longer between fixes is a gap.
    public var cursorSpeedValidity = 10.0
    /// Speed assumed for gaps, m/s: as fast as cars go.
    public var cursorGapSpeed = 45.0
    /// Longest gap that counts, seconds.
    public var cursorLongestGap = 600.0

    /// The greatest distance that a place of a route is moved to a road, metres.
    public var snapRadius = RouteRequest.defaultSnapRadius
    /// The same for the position of the vehicle.
    public var positionSnapRadius = RouteRequest.defaultPositionSnapRadius

    /// The origin of routes as long as no position is known; nil for none.
    public var originFallback: Coordinate?

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
    /// The longest wait for a route, at the start of a trip and when rerouting, seconds.
    public var rerouteDeadline = 10.0
    /// For how many seconds at the present speed a new route avoids maneuvers. 8: Mapbox.
    public var rerouteManeuverAvoidance = 8.0
    /// The same as a distance, metres; nil goes by the speed.
    public var rerouteManeuverAvoidanceDistance: Double?
    /// Time to the first maneuver of a new route below which it is proposed and not imposed, seconds; 0 for never. Autoware: 10 s.
    public var rerouteMinimumCommitTime = 0.0
    /// The number of routes with a maneuver that is too near that are refused in a row before one is taken: there may be no other way.
    public var rerouteGreatestRefusals = 2
    /// The cost factor of the rest of the chosen route in the search for a new one, 0.5 ... 1; 1 for no preference. 0.85: the
    /// preference must decide between equals and not lead astray.
    public var chosenRouteFactor = 0.85
    public var faster = FasterRouteConfig()
    public var alternatives = AlternativesConfig()
    /// When durations are brought up to date.
    public var refresh = RefreshConfig()
    /// The policy client and the decisions that it is asked for.
    public var policy = PolicyConfig()

    /// The least probability of the direction of a slow or standing vehicle for a route to start in it. 0.8: judgement; a direction that nobody
    /// knows yet has 0.5.
    public var originDirectionProbability = 0.8

    /// Time before a junction from which its lanes are told, seconds. 15: when Mapbox announces a maneuver.
    public var laneApproach = 15.0
    /// The least distance from which they are told, metres: about as far as lanes are marked in towns.
    public var laneApproachDistance = 150.0

    /// Distance to a waypoint at which it is reached, metres. 20: Organic Maps. Autoware: 1.
    public var arrivalRadius = 20.0
    /// Greatest speed at which a waypoint is reached, m/s; nil for any.
    public var arrivalMaximumSpeed: Double?
    /// Greatest difference between course and route at which a waypoint is reached, degrees; nil for any. Autoware: 45.
    public var arrivalCourse: Double?
    /// The time that all that must hold, seconds. Autoware: 1.
    public var arrivalDwell = 0.0
    /// Time before a waypoint from which the approach is announced, seconds.
    public var arrivalApproach = 30.0
    /// Whether leaving the route near a waypoint leads to no new one.
    public var arrivalSuppresses = true
    /// Distance from a waypoint, both along the route and in a straight line, within which leaving the route does not lead to a new one, metres.
    public var arrivalSuppressReroute = 60.0
    /// Whether the next leg starts by itself at a waypoint.
    public var legsAutoAdvance = true

    public init() {}
}
