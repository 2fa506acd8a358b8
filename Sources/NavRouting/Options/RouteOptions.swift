public import NavGeo
public import NavMap

/// The waypoints at which a vehicle may make a U-turn.
public enum WaypointTurns: Sendable, Hashable {
    /// At stops, not at pass-through points.
    case atStops
    /// At every waypoint.
    case everywhere
    /// Nowhere: the vehicle continues in its direction of travel.
    case never
}

/// The side of the road on which a waypoint is passed.
public enum Approach: Sendable, Hashable {
    /// On either side.
    case unrestricted
    /// On the side that traffic keeps to, so that a passenger gets out at the kerb: the right side in right-hand
    /// traffic.
    ///
    /// Waypoints on the road's line or at a one-way street have no other side.
    case kerb
}

/// An area that a route avoids: it excludes every edge with a point inside.
public struct ExcludedArea: Sendable, Hashable {
    /// The corners of a polygon, at least three; the last is joined to the first.
    ///
    /// A self-intersecting boundary follows the even-odd rule.
    public var corners: [Coordinate]
    /// Polygons within the area that are not part of it, each of at least three corners.
    public var holes: [[Coordinate]] = []

    public static let greatestCorners = 1_000
    /// The greatest distance of a corner from the middle of the corners, metres.
    public static let greatestReach = 100_000.0

    public init(corners: [Coordinate], holes: [[Coordinate]] = []) {
        self.corners = corners
        self.holes = holes
    }

    var rings: [[Coordinate]] { [corners] + holes }

    /// Returns whether a place lies in the area, and in none of its holes.
    package func contains(_ place: Coordinate) -> Bool {
        guard rings.allSatisfy({ $0.count >= 3 }) else { return false }
        let shape = AreaShape(self)
        return shape.contains(shape.frame.point(place))
    }

    public init(_ box: BoundingBox) {
        corners = [
            Coordinate(latitude: box.south, longitude: box.west), Coordinate(latitude: box.south, longitude: box.east),
            Coordinate(latitude: box.north, longitude: box.east), Coordinate(latitude: box.north, longitude: box.west),
        ]
    }
}

/// The options of one route, in addition to its waypoints.
public struct RouteOptions: Sendable, Hashable {
    /// Edges to avoid, each in its direction; edges that are not loaded are ignored.
    public var excludedEdges: [EdgeKey] = []
    /// Areas to avoid, at most ``greatestAreas``.
    public var excludedAreas: [ExcludedArea] = []
    /// The distance from the start within which maneuvers cost ``initialManeuverPenalty`` more, metres, 0 ...
    /// ``greatestInitialRadius``.
    ///
    /// A driver needs time to take in a new route.
    public var initialManeuverAvoidance = 0.0
    /// The edges of the route that the driver chose, in travel order; empty for none.
    public var chosenRoute: [EdgeKey] = []
    /// The cost factor along the chosen route from where it is joined, above 0 and at most 1.
    public var chosenRouteFactor = 0.85
    /// The departure in local time (see ``/NavMap/LocalTime``); nil for the router's own time.
    ///
    /// Departures at which the same conditions hold for the vehicle are equivalent.
    public var departure: LocalTime?
    /// The waypoints at which the vehicle may make a U-turn.
    public var waypointTurns = WaypointTurns.atStops

    /// The penalty of a maneuver near the start, seconds; it affects the choice of route, not the travel time.
    ///
    /// Avoiding a maneuver thus justifies a detour of two minutes.
    public static let initialManeuverPenalty = 120.0
    /// The least turn that counts as a maneuver, radians: 30°.
    public static let leastManeuver = Double.pi / 6
    /// The greatest ``initialManeuverAvoidance``, metres.
    public static let greatestInitialRadius = 5_000.0
    public static let greatestAreas = 50

    public init() {}

    var excludes: Bool { !excludedEdges.isEmpty || !excludedAreas.isEmpty }

    /// The reason why the options are invalid; nil when they are valid.
    package var fault: String? {
        guard (0...Self.greatestInitialRadius).contains(initialManeuverAvoidance) else {
            return "the radius of maneuver avoidance is not within 0 ... \(Int(Self.greatestInitialRadius)) m"
        }
        guard chosenRouteFactor > 0, chosenRouteFactor <= 1 else {
            return "the factor of the chosen route must be above 0 and at most 1"
        }
        guard excludedAreas.count <= Self.greatestAreas else {
            return "more than \(Self.greatestAreas) areas are excluded"
        }
        for (index, area) in excludedAreas.enumerated() {
            guard area.rings.allSatisfy({ $0.count >= 3 && $0.allSatisfy(\.isValid) }),
                area.rings.reduce(0, { $0 + $1.count }) <= ExcludedArea.greatestCorners,
                AreaShape(area).reach <= ExcludedArea.greatestReach
            else {
                return "excluded area \(index) is not a polygon of 3 ... \(ExcludedArea.greatestCorners) corners "
                    + "within \(Int(ExcludedArea.greatestReach / 1_000)) km of its centre"
            }
            guard AreaShape(area).holesAreInside else { return "a hole of excluded area \(index) lies outside of it" }
        }
        return nil
    }
}
