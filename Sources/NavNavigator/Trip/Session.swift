import NavGeo
import NavMap
import NavMatching
import NavRouting

/// The state that lasts from the start of a trip to its end, however often its route changes.
struct Session {
    /// The trip; 0 when there is none.
    private(set) var id: UInt64 = 0
    /// The last trip's.
    private var lastID: UInt64 = 0
    /// The number of the last route, of this trip or of the one before: no two routes of a run have the same.
    private(set) var routes: UInt64 = 0
    private(set) var preferences = RoutePreferences()
    /// The edges of the route that the driver chose: the way along them is preferred for the whole trip.
    private(set) var chosenRoute: [EdgeKey] = []
    private(set) var chosenRouteID: UInt64 = 0

    mutating func begin(_ preferences: RoutePreferences, at stamp: Timestamp) {
        // Two trips that start at one moment are still two.
        id = max(UInt64(max(stamp.nanoseconds, 1)), lastID &+ 1)
        lastID = id
        self.preferences = preferences
        chosenRoute = []
        chosenRouteID = 0
    }

    /// Goes on with a trip of the process before; `alongSameRoute` when its route comes into force again under its number.
    mutating func resume(_ kept: TripSnapshot, alongSameRoute: Bool) {
        id = kept.sessionID
        lastID = max(lastID, id)
        routes = max(routes, alongSameRoute ? max(kept.routeID, 1) - 1 : kept.routeID)
        preferences = kept.order.preferences
        chosenRoute = kept.chosenRoute
        chosenRouteID = kept.chosenRouteID
    }

    mutating func end() { id = 0 }

    /// The number of another route. A faster route has one as soon as it is offered, and takes it along when it is refused.
    mutating func nextRoute() -> UInt64 {
        routes += 1
        return routes
    }

    /// Notes that the driver wants to go along a route.
    mutating func choose(_ route: Route, id: UInt64) {
        chosenRoute = route.edges.map(\.key)
        chosenRouteID = id
    }

    /// Gives the edges of the chosen route the names that they have in another map; those that are gone are left out.
    mutating func adopt(from old: RoadGraph, to new: RoadGraph) {
        guard old.mapVersion != new.mapVersion, !chosenRoute.isEmpty else { return }
        let translation = EdgeTranslation(from: old, to: new)
        chosenRoute = chosenRoute.compactMap { key in
            guard let edge = old.edge(key) else { return nil }
            let middle = old.position(at: Double(old.edgeLengths[edge.index]) / 2, of: edge).coordinate
            return translation.edge(edge, at: middle).map { new.key(of: $0) }
        }
    }
}
