public import NavMap
import NavRouting

/// A trip as it is kept outside of the core, so that it outlives the process.
///
/// It says what was decided: where to, which legs are done, which route. Where the vehicle is, the next fix says.
public struct TripSnapshot: Sendable, Equatable {
    /// The trip; 0 while it waits for its first position.
    public var sessionID: UInt64
    public var routeID: UInt64
    /// The number of the route that the driver chose, and its edges on the map of the route in force.
    public var chosenRouteID: UInt64
    /// See ``chosenRouteID``.
    public var chosenRoute: [EdgeKey]
    /// The leg that is driven, or at whose end the vehicle is, from 0.
    public var leg: Int
    /// Whether the vehicle is at the end of the leg; `isHeld` when the next one waits for a command.
    public var isAtStop: Bool
    /// See ``isAtStop``.
    public var isHeld: Bool
    /// The route in force; nil when there is none, or it fits the map no more.
    public var plan: RoutePlan?
    /// The waypoints still ahead, and the preferences for their route.
    public var order: RouteOrder

    public init(
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

/// A digest of the kept parts of a trip, to compare after each event.
enum TripMark: Equatable {
    case driven(
        sessionID: UInt64, routeID: UInt64, leg: Int, isAtStop: Bool, isHeld: Bool, waypointsAhead: Int,
        mapVersion: String)
    /// It waits for its first position, or for its first route.
    indirect case ordered(sessionID: UInt64, RouteOrder)
}
