public import NavGeo
public import NavGuidance
public import NavMap
public import NavRouting

/// A route with its guidance, as it goes into force.
public struct RoutePlan: Sendable, Equatable {
    public var route: Route
    public let guidance: RouteGuidance
    public var provider: RouteProvider
    /// Seconds that finding it took; nil when nobody measured it.
    public var computeDuration: Double?
    /// The number of refreshes of its durations while it was in force.
    public internal(set) var refreshCount = 0
    /// Metres from the route's start to the vehicle; 0 before it has set out.
    public internal(set) var offset = 0.0
    /// The preferences it was requested with; nil where they are not known.
    public internal(set) var preferences: RoutePreferences?
    /// The number of the trip's route that the driver chose and whose way is preferred; 0 while there is no trip.
    public internal(set) var chosenRouteID: UInt64 = 0

    public init(route: Route, guidance: RouteGuidance, provider: RouteProvider = .onBoard) {
        self.route = route
        self.guidance = guidance
        self.provider = provider
    }

    /// Takes note of what was asked for.
    public mutating func ask(for preferences: RoutePreferences) { self.preferences = preferences }

    /// Seconds that each step of ``guidance`` takes by the route's durations as they are now; those of a leg add up to the leg's.
    public var stepDurations: [Double] {
        guidance.steps.indices.map { index in
            let step = guidance.steps[index]
            let leg = route.legs[step.leg].edges
            guard index + 1 < guidance.legs[step.leg].upperBound else { return 0 }
            let first = step.index == 0 ? leg.lowerBound : min(max(step.maneuver.edge, leg.lowerBound), leg.upperBound)
            let end = min(max(guidance.steps[index + 1].maneuver.edge, first), leg.upperBound)
            return route.edges[first..<end].reduce(0) { $0 + $1.turnDuration + $1.duration }
        }
    }

    /// The stop at the end of the first leg; nil for a route without legs.
    var firstStop: RouteWaypoint? { route.legs.first.map { route.waypoints[$0.destination] } }
}

public enum RouteProvider: Sendable, Hashable, CaseIterable {
    case onBoard
    case online
    /// A user or another node, which gave the route.
    case external
}

public enum RoutePurpose: Sendable, Hashable, CaseIterable {
    /// To be shown, before the start.
    case calculate
    case start
    /// To go on from where the vehicle is.
    case reroute
    case fasterRoute
    /// To show others than the one that is being driven.
    case alternatives
}

public struct RouteQuery: Sendable, Equatable {
    /// Comes back with the answer.
    public var requestID: UInt64
    public var purpose: RoutePurpose
    public var request: RouteRequest
    /// The vehicle; nil for the node's.
    public var vehicle: VehicleProfile?
    /// Whether a provider on the network may be asked.
    public var allowsOnline: Bool
    public var usesTraffic: Bool
    /// The language and units of its guidance.
    public var wording: Wording
    /// The most alternatives to the best route.
    public var alternatives: Int
    /// The route that is being driven, to which the alternatives are to be alternatives; nil for the best one.
    public var current: Route?
    /// By when the answer is wanted.
    public var deadline: Timestamp
}

public struct AlternativePlan: Sendable, Equatable {
    public var alternative: AlternativeRoute
    public let guidance: RouteGuidance

    public init(alternative: AlternativeRoute, guidance: RouteGuidance) {
        self.alternative = alternative
        self.guidance = guidance
    }

    public var plan: RoutePlan { RoutePlan(route: alternative.route, guidance: guidance) }
}

public struct FoundRoutes: Sendable, Equatable {
    /// The best route, or what is left of the one that is being driven.
    public var main: RoutePlan
    /// Whether ``main`` is what is left of the route that is being driven.
    public var mainIsCurrent: Bool
    /// The roads that tell ``main`` from the others.
    public var via: [String]
    /// Others, the most useful first.
    public var alternatives: [AlternativePlan]

    public init(
        main: RoutePlan, mainIsCurrent: Bool = false, via: [String] = [], alternatives: [AlternativePlan] = []
    ) {
        self.main = main
        self.mainIsCurrent = mainIsCurrent
        self.via = via
        self.alternatives = alternatives
    }
}

/// The answer to ``Effect/requestRoute(_:)``.
public enum RouteAnswer: Sendable, Equatable {
    case found(FoundRoutes)
    case failed(RouteFailure)
}

/// Why there is no route, or why a command was not carried out.
public struct RouteFailure: Sendable, Equatable, Error {
    public enum Code: Sendable, Hashable, CaseIterable {
        case noRoute, noRoadNearby, tilesNeeded, invalidRequest, deadlineExceeded, cancelled, providerUnavailable,
            `internal`
        /// The vehicle's position is not known.
        case noPosition
        /// The command makes no sense at present, such as starting a leg where the vehicle is not held.
        case wrongState
        /// A thing that the command names does not exist, or not any more.
        case notFound
        case deniedByPolicy
    }

    public var code: Code
    /// A description of what happened, for people.
    public var message: String
    /// Tiles without which the question cannot be settled.
    public var missingTiles: [RoadTileID]
    /// Metres from the place that is too far from a road to the next one from which the route can be driven; nil where none is near, and
    /// for codes but ``Code/noRoute`` and ``Code/noRoadNearby``.
    public var nearestRoad: Double?

    public init(code: Code, message: String, missingTiles: [RoadTileID] = [], nearestRoad: Double? = nil) {
        self.code = code
        self.message = message
        self.missingTiles = missingTiles
        self.nearestRoad = nearestRoad
    }

    /// Whether the same request may succeed later.
    public var isRetryable: Bool {
        switch code {
        case .noRoute, .noRoadNearby, .tilesNeeded, .deadlineExceeded, .providerUnavailable, .internal, .noPosition:
            true
        case .invalidRequest, .cancelled, .wrongState, .notFound, .deniedByPolicy: false
        }
    }
}
