package import NavGeo
package import NavGuidance
package import NavRouting

/// The preferences for the routes of a trip, reroutes included.
package struct RoutePreferences: Sendable, Hashable {
    /// Roads and areas to avoid, and where U-turns are allowed.
    package var options = RouteOptions()
    /// The vehicle profile; nil for the node's own.
    package var vehicle: VehicleProfile?
    /// The planned departure; nil for now.
    package var departure: Timestamp?
    /// Whether a configured online provider may be queried.
    package var allowsOnline = true
    /// Whether live traffic is used.
    package var usesTraffic = true
    /// The language of instructions, a BCP 47 tag; nil for the node's.
    package var language: String?
    /// The units of spoken and shown distances; nil for the node's.
    package var units: DistanceUnits?
    /// The number of alternatives requested with the route; nil when unspecified.
    package var alternatives: Int?

    package init() {}

    package init(options: RouteOptions, vehicle: VehicleProfile? = nil, allowsOnline: Bool = true) {
        self.options = options
        self.vehicle = vehicle
        self.allowsOnline = allowsOnline
    }

    /// Returns the node's own wording in the requested language and units.
    package func wording(_ own: Wording) -> Wording {
        var wording = own
        (wording.language, wording.units) = (language ?? own.language, units ?? own.units)
        return wording
    }
}

package struct RouteOrder: Sendable, Hashable {
    /// The origin; nil for the vehicle's position.
    package var origin: Waypoint?
    /// Stops and pass-through points; the last one is the destination.
    package var waypoints: [Waypoint]
    package var preferences: RoutePreferences
    /// The number of alternatives to the best route, 0 ... 2.
    package var alternatives: Int

    package init(
        origin: Waypoint? = nil, waypoints: [Waypoint], preferences: RoutePreferences = RoutePreferences(),
        alternatives: Int = 0
    ) {
        self.origin = origin
        self.waypoints = waypoints
        self.preferences = preferences
        self.alternatives = alternatives
    }
}

/// A simulated drive along the route, for demonstrations and for tests of consumers.
package struct SimulatedDrive: Sendable, Hashable {
    /// The multiple of the traffic speed, within ``speedRange``.
    package var speedFactor: Double

    /// The valid speed factors.
    package static let speedRange = 0.1...10.0

    package init(speedFactor: Double = 1) { self.speedFactor = speedFactor }
}

package enum PreviewChoice: Sendable, Hashable {
    /// The index among the previewed routes, from 0.
    case index(Int)
    case route(UInt64)
}

package enum NavigatorCommand: Sendable, Equatable {
    /// Find routes; those of a preview are kept for selection until guidance starts or is stopped.
    case calculate(RouteOrder, isPreview: Bool)
    case selectPreview(PreviewChoice)
    /// Start guidance along a previewed route: the selected one unless another is given.
    case start(preview: PreviewChoice?, SimulatedDrive?)
    /// Find a route and start guidance along it at once.
    case navigate(RouteOrder, SimulatedDrive?)
    /// Start guidance along a given route.
    case setRoute(RoutePlan, SimulatedDrive?)
    /// End guidance and preview.
    case stop
    /// Find a new route now, with the given preferences for this route only, or with those of the trip.
    case reroute(RoutePreferences?)
    /// Continue along an alternative.
    case selectAlternative(UInt64)
    /// Accept or refuse the detected faster route; fails when `route` names a different one.
    case acceptFasterRoute(Bool, route: UInt64? = nil)
    /// Start the next leg at a waypoint where the vehicle is held; fails when the given leg is not the next.
    case advanceLeg(Int? = nil)
    /// Skip a waypoint ahead, by its index in the route; the next stop unless given.
    case skipWaypoint(Int?)
    /// Refresh the route's durations now.
    case refreshRoute
    /// Repeat the next maneuver's spoken instruction.
    case repeatInstruction
    /// Resume a trip of the previous process.
    case resume(TripSnapshot)
}

/// The answer to a command, sent to its caller.
package enum CommandReply: Sendable, Equatable {
    /// Guidance continues along a route.
    case following(sessionID: UInt64, routeID: UInt64)
    /// Guidance begins with the first sufficiently accurate position; events report the outcome.
    case awaitingPosition
    /// Routes were found at the given moment, the best first.
    case routes([PreviewedRoute], at: Timestamp)
    /// A previewed route became the active one.
    case selected(routeID: UInt64)
    /// A route was requested, without the skipped waypoint, if any, by its index in the old route; events report the outcome.
    case requested(requestID: UInt64, skipped: Int? = nil)
    /// Guidance was stopped; the id is 0 when there was none.
    case stopped(sessionID: UInt64)
    /// The next leg began; carries the progress on it once a position is known.
    case legStarted(RouteProgress?, EventContext)
    /// The route is up to date.
    case refreshed(RefreshEvent)
    /// The next maneuver is spoken again, unless the owner's policy changes that.
    case repeated(SpokenInstruction, distance: Double, duration: Double, EventContext)
    case failed(RouteFailure)
}
