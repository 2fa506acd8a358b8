public import NavGeo
public import NavGuidance
public import NavRouting

/// The preferences for the routes of a trip, reroutes included.
public struct RoutePreferences: Sendable, Hashable {
    /// Roads and areas to keep out of, and where the vehicle may turn round.
    public var options = RouteOptions()
    /// The vehicle; nil for the node's.
    public var vehicle: VehicleProfile?
    /// Whether a provider on the network may be asked, where one is configured.
    public var allowsOnline = true
    /// Whether live traffic counts.
    public var usesTraffic = true
    /// The language of instructions, a BCP 47 tag; nil for the node's.
    public var language: String?
    /// The units in which distances are told; nil for the node's.
    public var units: DistanceUnits?

    public init() {}

    public init(options: RouteOptions, vehicle: VehicleProfile? = nil, allowsOnline: Bool = true) {
        self.options = options
        self.vehicle = vehicle
        self.allowsOnline = allowsOnline
    }

    /// Returns the requested language and units, with the node's for what was not requested.
    public func wording(_ own: Wording) -> Wording {
        Wording(language: language ?? own.language, units: units ?? own.units)
    }
}

public struct RouteOrder: Sendable, Hashable {
    /// The origin; nil for the vehicle's position.
    public var origin: Waypoint?
    /// Stops and pass-through points, the last one the destination.
    public var waypoints: [Waypoint]
    public var preferences: RoutePreferences
    /// The number of alternatives to the best route, 0 ... 2.
    public var alternatives: Int

    public init(
        origin: Waypoint? = nil, waypoints: [Waypoint], preferences: RoutePreferences = RoutePreferences(),
        alternatives: Int = 0
    ) {
        self.origin = origin
        self.waypoints = waypoints
        self.preferences = preferences
        self.alternatives = alternatives
    }
}

/// A drive along the route without a vehicle, for a demonstration or a test of what listens.
public struct SimulatedDrive: Sendable, Hashable {
    /// The factor of the traffic's speed, ``speedRange``.
    public var speedFactor: Double

    /// The factors that are driven with.
    public static let speedRange = 0.1...10.0

    public init(speedFactor: Double = 1) { self.speedFactor = speedFactor }
}

public enum PreviewChoice: Sendable, Hashable {
    /// By its place, from 0.
    case index(Int)
    case route(UInt64)
}

public enum NavigatorCommand: Sendable, Equatable {
    /// Find routes; as a preview they are kept for a choice until guidance starts or is stopped.
    case calculate(RouteOrder, isPreview: Bool)
    case selectPreview(PreviewChoice)
    /// Start guidance along a previewed route: the chosen one unless another is named.
    case start(preview: PreviewChoice?, SimulatedDrive?)
    /// Find a route and start guidance along it at once.
    case navigate(RouteOrder, SimulatedDrive?)
    /// Start guidance along a route that is known already.
    case setRoute(RoutePlan, SimulatedDrive?)
    /// End guidance and preview.
    case stop
    /// Find a new route now; with other preferences for this one route, or those of the trip.
    case reroute(RoutePreferences?)
    /// Go on along an alternative.
    case selectAlternative(UInt64)
    /// Take the faster route that was detected, or refuse it; nothing is decided where it is not the route that is named.
    case acceptFasterRoute(Bool, route: UInt64? = nil)
    /// Start the next leg at a waypoint where the vehicle is held; nothing is started where it is not the leg that is named.
    case advanceLeg(Int? = nil)
    /// Leave out a waypoint that is ahead, by its index in the route; the next stop unless given.
    case skipWaypoint(Int?)
    /// Bring the route's durations up to date now.
    case refreshRoute
    /// Say the next maneuver once more.
    case repeatInstruction
    /// Go on with a trip of the process before.
    case resume(TripSnapshot)
}

/// The answer to a command, for the one who gave it.
public enum CommandReply: Sendable, Equatable {
    /// Guidance goes on along a route.
    case following(sessionID: UInt64, routeID: UInt64)
    /// Guidance begins with the first position that is good enough; what comes of it is told as events.
    case awaitingPosition
    /// Routes were found, the best first, at that moment.
    case routes([PreviewedRoute], at: Timestamp)
    /// A previewed route is the active one.
    case selected(routeID: UInt64)
    /// A route was asked for; what becomes of it is told as events.
    case requested(requestID: UInt64)
    /// Guidance was ended; 0 when there was none.
    case stopped(sessionID: UInt64)
    /// The next leg began; the progress on it, once a position tells.
    case legStarted(RouteProgress?, EventContext)
    /// The route is up to date.
    case refreshed(RefreshEvent)
    /// The next maneuver is said once more, unless the owner has it otherwise.
    case repeated(SpokenInstruction, distance: Double, duration: Double, EventContext)
    case failed(RouteFailure)
}
