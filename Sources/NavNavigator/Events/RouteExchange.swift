package import NavGeo
package import NavGuidance
package import NavMap
package import NavRouting

/// A route with its guidance, as it comes into force.
package struct RoutePlan: Sendable, Equatable {
    package var route: Route
    package let guidance: RouteGuidance
    package var provider: RouteProvider
    /// Seconds that the search took; nil when not measured.
    package var computeDuration: Double?
    /// The number of times that its durations were refreshed while it was in force.
    package internal(set) var refreshCount = 0
    /// Metres from the route's start to the vehicle; 0 before departure.
    package internal(set) var offset = 0.0
    /// The preferences that it was requested with; nil when unknown.
    package internal(set) var preferences: RoutePreferences?
    /// The number of the route that the driver chose for the trip, which reroutes prefer; 0 without a trip.
    package internal(set) var chosenRouteID: UInt64 = 0

    package init(route: Route, guidance: RouteGuidance, provider: RouteProvider = .onBoard) {
        self.route = route
        self.guidance = guidance
        self.provider = provider
    }

    /// Records the preferences with which it was requested.
    package mutating func ask(for preferences: RoutePreferences) { self.preferences = preferences }

    /// The duration of each step of ``guidance`` in seconds, by the route's current durations; the steps of a leg sum to the leg's
    /// duration.
    package var stepDurations: [Double] {
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

package enum RouteProvider: Sendable, Hashable, CaseIterable {
    case onBoard
    case online
    /// Given by a user or another node.
    case external
}

package enum RoutePurpose: Sendable, Hashable, CaseIterable {
    /// To show before the start.
    case calculate
    case start
    /// To continue from the vehicle's position.
    case reroute
    case fasterRoute
    /// To show alternatives to the route being driven.
    case alternatives
}

package struct RouteQuery: Sendable, Equatable {
    /// The request's id, which the answer repeats.
    package var requestID: UInt64
    package var purpose: RoutePurpose
    package var request: RouteRequest
    /// The vehicle profile; nil for the node's own.
    package var vehicle: VehicleProfile?
    /// Whether an online provider may be queried.
    package var allowsOnline: Bool
    package var usesTraffic: Bool
    /// The language and units of its guidance.
    package var wording: Wording
    /// The largest number of alternatives to the best route.
    package var alternatives: Int
    /// The route being driven, which the alternatives must differ from; nil for the best route found.
    package var current: Route?
    /// The deadline for the answer.
    package var deadline: Timestamp
}

package struct AlternativePlan: Sendable, Equatable {
    package var alternative: AlternativeRoute
    package let guidance: RouteGuidance
    /// The preferences that it was requested with; nil when unknown.
    var preferences: RoutePreferences?

    package init(alternative: AlternativeRoute, guidance: RouteGuidance) {
        self.alternative = alternative
        self.guidance = guidance
    }

    package var plan: RoutePlan {
        var plan = RoutePlan(route: alternative.route, guidance: guidance)
        plan.preferences = preferences
        return plan
    }
}

package struct FoundRoutes: Sendable, Equatable {
    /// The best route, or the rest of the one being driven.
    package var main: RoutePlan
    /// Whether ``main`` is the rest of the route being driven.
    package var mainIsCurrent: Bool
    /// The roads that distinguish ``main`` from the others.
    package var via: [String]
    /// The other routes, the most useful first.
    package var alternatives: [AlternativePlan]

    package init(
        main: RoutePlan, mainIsCurrent: Bool = false, via: [String] = [], alternatives: [AlternativePlan] = []
    ) {
        self.main = main
        self.mainIsCurrent = mainIsCurrent
        self.via = via
        self.alternatives = alternatives
    }
}

/// The answer to ``Effect/requestRoute(_:)``.
package enum RouteAnswer: Sendable, Equatable {
    case found(FoundRoutes)
    case failed(RouteFailure)
}

/// The reason why there is no route, or why a command failed.
package struct RouteFailure: Sendable, Equatable, Error {
    package enum Code: Sendable, Hashable, CaseIterable {
        case noRoute, noRoadNearby, tilesNeeded, invalidRequest, deadlineExceeded, cancelled, providerUnavailable,
            `internal`
        /// The vehicle's position is not known.
        case noPosition
        /// The command is not valid in the present state, such as starting a leg where the vehicle is not held.
        case wrongState
        /// An object named by the command does not exist, or no longer exists.
        case notFound
        case deniedByPolicy
        /// Too many requests are pending.
        case resourceExhausted
    }

    package var code: Code
    /// A human-readable description.
    package var message: String
    /// The tiles needed to answer the request.
    package var missingTiles: [RoadTileID]
    /// Metres to the nearest road on which the route can start, from the place that is too far from any road; nil when none is near, and
    /// for codes other than ``Code/noRoute`` and ``Code/noRoadNearby``.
    package var nearestRoad: Double?
    /// Whether a retry would fail although the code is retryable.
    package var isFinal = false

    /// Whether requests with such failures are searched for again automatically: another map may be put in force meanwhile.
    var isSearchedAgain: Bool { code.isRetryable }

    /// Creates the failure for fewer alternatives than requested; nil when there are enough.
    package init?(found: Int, ofAlternatives requested: Int) {
        guard found < requested else { return nil }
        self.init(code: .notFound, message: "\(found) of \(requested) alternatives found")
    }

    package init(code: Code, message: String, missingTiles: [RoadTileID] = [], nearestRoad: Double? = nil) {
        self.code = code
        self.message = message
        self.missingTiles = missingTiles
        self.nearestRoad = nearestRoad
    }

    /// Whether the same request may succeed later.
    package var isRetryable: Bool { code.isRetryable && !isFinal }
}

extension RouteFailure.Code {
    /// Whether a later request may succeed after such a failure.
    fileprivate var isRetryable: Bool {
        switch self {
        case .noRoute, .noRoadNearby, .tilesNeeded, .deadlineExceeded, .providerUnavailable, .internal, .noPosition,
            .resourceExhausted:
            true
        case .invalidRequest, .cancelled, .wrongState, .notFound, .deniedByPolicy: false
        }
    }
}
