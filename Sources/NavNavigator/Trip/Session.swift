import NavGeo
import NavMap
import NavMatching
import NavRouting

/// The state that lasts from the start of a trip to its end, across reroutes.
struct Session {
    /// The id of the trip; 0 when there is none.
    private(set) var id: UInt64 = 0
    /// The id of the last trip.
    private var lastID: UInt64 = 0
    /// The number of the last route, of this trip or an earlier one: route numbers are unique within a run.
    private(set) var routes: UInt64 = 0
    private(set) var preferences = RoutePreferences()
    /// The edges of the route that the driver chose, which reroutes prefer for the whole trip.
    private(set) var chosenRoute: [EdgeKey] = []
    private(set) var chosenRouteID: UInt64 = 0

    mutating func begin(_ preferences: RoutePreferences, at stamp: Timestamp) {
        // Trips that start at the same moment get different ids.
        id = max(UInt64(max(stamp.nanoseconds, 1)), lastID &+ 1)
        lastID = id
        self.preferences = preferences
        chosenRoute = []
        chosenRouteID = 0
    }

    /// Resumes a trip of the previous process; `alongSameRoute` when its route comes into force again under the same number.
    mutating func resume(_ kept: TripSnapshot, alongSameRoute: Bool) {
        id = kept.sessionID
        lastID = max(lastID, id)
        routes = max(routes, alongSameRoute ? max(kept.routeID, 1) - 1 : kept.routeID)
        preferences = kept.order.preferences
        chosenRoute = kept.chosenRoute
        chosenRouteID = kept.chosenRouteID
    }

    mutating func end() { id = 0 }

    /// Returns the number for another route. A faster route gets a number when it is offered; the number of a refused route is not reused.
    mutating func nextRoute() -> UInt64 {
        routes += 1
        return routes
    }

    /// Records that the driver chose a route.
    mutating func choose(_ route: Route, id: UInt64) {
        chosenRoute = route.edges.map(\.key)
        chosenRouteID = id
    }

    /// Translates the chosen route's edges to another map version, leaving out those that no longer exist.
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
