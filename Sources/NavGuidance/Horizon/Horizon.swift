package import NavGeo
package import NavMap
package import NavRouting

/// The electronic horizon: the road ahead along the most probable path, and the roads that leave it.
package struct Horizon: Sendable, Equatable {
    /// The main path first, then the stubs, nearest first.
    package var paths: [HorizonPath]
    /// Metres from the beginning of the main path, at the start of the vehicle's edge, to the vehicle.
    package var offset: Double
    /// Whether a path ends early because tiles are missing.
    package var isTruncated: Bool
}

/// A path of the horizon: the main path or a stub.
package struct HorizonPath: Sendable, Equatable {
    /// The identity: ``mainID``, or for a stub a number derived from its first edge.
    package var id: UInt32
    /// The path that it leaves, with the distance from that path's beginning; nil for the main path.
    package var parent: Parent?
    /// Probability that the vehicle follows the main path to its end, or enters the stub.
    package var probability: Double
    /// The line from the beginning of the first edge.
    package var line: Polyline
    /// Length in metres, according to the edges.
    package var length: Double
    package var edges: [EdgeKey]
    /// The attributes, sorted by their beginnings.
    package var spans: [HorizonSpan] = []
    /// The points, sorted by their offsets.
    package var points: [HorizonPoint] = []
    /// The angle between the parent and the stub, radians, clockwise; nil for the main path.
    package var turnAngle: Double?
    package var isOnRoute: Bool

    /// A place on another path.
    package struct Parent: Sendable, Equatable {
        package var id: UInt32
        package var offset: Double
    }

    /// The identity of the main path.
    package static let mainID: UInt32 = 1
}

/// An attribute of a part of a path.
package struct HorizonSpan: Sendable, Equatable {
    package enum Attribute: Sendable, Hashable {
        /// m/s.
        case speedLimit(Double, SpeedLimit.Source)
        /// The road is known to have no speed limit.
        case speedUnlimited(SpeedLimit.Source)
        /// m/s, traffic included.
        case expectedSpeed(Double)
        /// 1/m, positive to the right.
        case curvature(Double)
        case laneCount(Int)
        case roadClass(RoadClass)
        case tunnel, bridge, roundabout, toll, link, unpaved
        case name(String)
        case reference(String)
    }

    /// Metres from the beginning of the path.
    package var begin: Double
    /// Metres from the beginning of the path.
    package var end: Double
    package var attribute: Attribute
}

/// A feature at a point of a path.
package struct HorizonPoint: Sendable, Equatable {
    package enum Kind: Sendable, Hashable, CaseIterable {
        case junction, trafficSignal, stop, giveWay, crossing, toll, barrier, exit, maneuver, trafficCalming, border
        case waypoint
    }

    /// Metres from the beginning of the path.
    package var offset: Double
    package var kind: Kind
    /// The OSM node; nil for a point without one, such as a waypoint.
    package var nodeID: Int64?
    /// The lanes before a junction from left to right; those that continue along the path are valid.
    package var lanes: [Lane] = []
    /// The number of an exit, the country code beyond a border, the name of a waypoint; empty when there is none.
    package var text = ""
}

/// The extent of a horizon.
package struct HorizonExtent: Sendable, Hashable {
    /// Metres ahead of the vehicle. 2000: a minute at 120 km/h.
    package var length = 2_000.0
    /// Metres of a stub; 0 for no stubs. 200: as far as the next junction of most streets.
    package var stubLength = 200.0
    /// The largest number of paths, including the main one.
    package var mostPaths = 32

    package init() {}
}

/// The part of a route that a horizon follows.
package struct HorizonRoute: Sendable {
    package let route: Route
    package let guidance: RouteGuidance
    /// The index of the route's edge that the vehicle is on.
    package let piece: Int

    /// Creates the route's part near a distance from its start; nil when the vehicle is not on an edge of the route there.
    package init?(_ route: Route, _ guidance: RouteGuidance, edge: EdgeKey, near offset: Double) {
        func distance(_ piece: RouteEdge) -> Double {
            max(piece.routeOffset - offset, offset - piece.routeOffset - piece.length, 0)
        }
        let candidates = route.edges.indices.filter { route.edges[$0].key == edge }
        guard let nearest = candidates.min(by: { distance(route.edges[$0]) < distance(route.edges[$1]) }),
            distance(route.edges[nearest]) < Self.reach
        else { return nil }
        self.route = route
        self.guidance = guidance
        piece = nearest
    }

    /// The largest difference between the position and the progress along the route, metres. 100: the limit of progress tracking.
    private static let reach = 100.0

    /// Metres from the route's start to the beginning of the vehicle's edge.
    var begin: Double { route.edges[piece].routeOffset - route.edges[piece].startOffset }
}
