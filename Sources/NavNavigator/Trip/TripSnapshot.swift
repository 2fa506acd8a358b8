package import NavMap
import NavRouting

/// The persistent state of a trip, with which it survives a restart of the process.
///
/// Contains decisions only: the destination, the completed legs, the route. The vehicle's position comes from the next
/// fix.
package struct TripSnapshot: Sendable, Equatable {
    /// The id of the trip; 0 while it waits for its first position.
    package var sessionID: UInt64
    package var routeID: UInt64
    /// The number of the route that the driver chose, and its edges in the map of the route in force.
    package var chosenRouteID: UInt64
    /// See ``chosenRouteID``.
    package var chosenRoute: [EdgeKey]
    /// The current leg, or the completed one while the vehicle is at its stop; from 0.
    package var leg: Int
    /// Whether the vehicle is at the leg's end; `isHeld` when only a command starts the next leg.
    package var isAtStop: Bool
    /// See ``isAtStop``.
    package var isHeld: Bool
    /// The route in force; nil when there is none, or it no longer fits the map.
    package var plan: RoutePlan?
    /// The waypoints still ahead, and the preferences for their route.
    package var order: RouteOrder

    package init(
        sessionID: UInt64 = 0, routeID: UInt64 = 0, chosenRouteID: UInt64 = 0, chosenRoute: [EdgeKey] = [],
        leg: Int = 0, isAtStop: Bool = false, isHeld: Bool = false, plan: RoutePlan? = nil, order: RouteOrder
    ) {
        self.sessionID = sessionID
        self.routeID = routeID
        self.chosenRouteID = chosenRouteID
        self.chosenRoute = chosenRoute
        self.leg = leg
        self.isAtStop = isAtStop
        self.isHeld = isHeld
        self.plan = plan
        self.order = order
    }
}

/// A digest of a trip's persistent state, compared after each event.
enum TripDigest: Equatable {
    case driven(
        sessionID: UInt64, routeID: UInt64, leg: Int, isAtStop: Bool, isHeld: Bool, waypointsAhead: Int,
        mapVersion: String)
    /// The trip waits for its first position, or for its first route.
    indirect case ordered(sessionID: UInt64, RouteOrder)
}
