public import NavGeo
public import NavMap

/// Whether a vehicle may turn round where it comes to a waypoint.
public enum WaypointTurns: Sendable, Hashable {
    /// At stops, not at pass-through points.
    case atStops
    /// At every waypoint.
    case everywhere
    /// Nowhere: it goes on in the direction in which it came.
    case never
}

/// On which side of the road a waypoint is passed.
public enum Approach: Sendable, Hashable {
    /// On either.
    case unrestricted
    /// On the vehicle's own: a passenger gets out at the kerb. On the right where traffic keeps to the right. A waypoint
    /// on the line, and one at a one-way street, has no other side.
    case kerb
}

/// A part of the world that a route keeps out of: every edge of which some point lies inside.
public struct ExcludedArea: Sendable, Hashable {
    /// The corners of a polygon, at least three; the last is joined to the first, and a crossing boundary counts by the
    /// even-odd rule.
    public var corners: [Coordinate]

    public static let greatestCorners = 1_000
    /// The greatest distance of a corner from the corners' middle, metres.
    public static let greatestReach = 100_000.0

    public init(corners: [Coordinate]) { self.corners = corners }

    public init(_ box: BoundingBox) {
        corners = [
            Coordinate(latitude: box.south, longitude: box.west), Coordinate(latitude: box.south, longitude: box.east),
            Coordinate(latitude: box.north, longitude: box.east), Coordinate(latitude: box.north, longitude: box.west),
        ]
    }
}

/// Wishes for one route, beyond its waypoints.
public struct RouteOptions: Sendable, Hashable {
    /// Edges that are not used, each in its direction; those that are not loaded do not matter.
    public var excludedEdges: [EdgeKey] = []
    /// Areas that are not entered. At most ``greatestAreas``.
    public var excludedAreas: [ExcludedArea] = []
    /// Within this distance of the start maneuvers cost ``initialManeuverPenalty`` more, metres, 0 ...
    /// ``greatestInitialRadius``: a driver needs time to take a new route in.
    public var initialManeuverAvoidance = 0.0
    /// The edges of the route that the driver chose, in travel order; empty for none.
    public var chosenRoute: [EdgeKey] = []
    /// The factor of the cost along the chosen route from where it is joined, above 0 and at most 1.
    public var chosenRouteFactor = 0.85
    /// When the vehicle departs, on the clocks of the place (see ``/NavMap/LocalTime``); nil for the time that the router
    /// is for. Times of departure at which the same conditions hold for the vehicle are one to the router.
    public var departure: LocalTime?
    /// The waypoints at which the vehicle may turn round.
    public var waypointTurns = WaypointTurns.atStops

    /// The penalty of a maneuver near the start for the choice, not the clock, seconds: rather a detour of two minutes.
    public static let initialManeuverPenalty = 120.0
    /// A turn by less is no maneuver, radians: 30°.
    public static let leastManeuver = Double.pi / 6
    /// The greatest ``initialManeuverAvoidance``, metres.
    public static let greatestInitialRadius = 5_000.0
    public static let greatestAreas = 50

    public init() {}

    var excludes: Bool { !excludedEdges.isEmpty || !excludedAreas.isEmpty }

    /// Why the options make no sense; nil when they do.
    package var fault: String? {
        guard (0...Self.greatestInitialRadius).contains(initialManeuverAvoidance) else {
            return "the radius without maneuvers is not within 0 ... \(Int(Self.greatestInitialRadius)) m"
        }
        guard chosenRouteFactor > 0, chosenRouteFactor <= 1 else {
            return "the factor of the chosen route is not above 0 and at most 1"
        }
        guard excludedAreas.count <= Self.greatestAreas else {
            return "more than \(Self.greatestAreas) areas are excluded"
        }
        for (index, area) in excludedAreas.enumerated() {
            guard (3...ExcludedArea.greatestCorners).contains(area.corners.count),
                area.corners.allSatisfy(\.isValid), AreaShape(area).reach <= ExcludedArea.greatestReach
            else {
                return "excluded area \(index) is no polygon of 3 ... \(ExcludedArea.greatestCorners) corners within "
                    + "\(Int(ExcludedArea.greatestReach / 1_000)) km of its middle"
            }
        }
        return nil
    }
}
