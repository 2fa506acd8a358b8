package import NavGeo
package import NavPositioning
import NavRouting

package struct RerouteEvent: Sendable, Equatable {
    package enum Phase: Sendable, Equatable {
        case willReroute
        case fetching(attempt: Int)
        case fetched
        case applied(oldRouteID: UInt64)
        /// `nextAttempt` is nil when there is no further attempt.
        case failed(RouteFailure, nextAttempt: Timestamp?)
        case rejected(Rejection)
    }

    /// The reason why a found route was rejected.
    package enum Rejection: Sendable, Hashable, CaseIterable {
        case backOnRoute
        /// It was superseded by another route or command.
        case superseded
        /// The vehicle has meanwhile moved elsewhere.
        case stale
        /// The owner's policy refused it.
        case policy
        /// Its first maneuver is too near for the motion planner.
        case tooNear
    }

    /// The reason for a search for a route.
    package enum Reason: Sendable, Hashable, CaseIterable {
        case offRoute, wrongWay, manual
        /// Part of the route ahead is closed or no longer exists.
        case routeInvalidated
        /// A faster route was found while the vehicle follows its current route.
        case fasterRoute
        case waypoint
    }

    package var phase: Phase
    package var reason: Reason
    package var requestID: UInt64?
    /// The number of the attempt to find the route, from 1; nil before the first.
    package var attempt: Int?
    package var position: VehiclePosition?
    /// The distance from the vehicle within which maneuvers are avoided, metres; 0 for none.
    package var maneuverAvoidance = 0.0
    /// The provider of the route; nil until it is known.
    package var provider: RouteProvider?

    /// Whether the search has another cause than the vehicle leaving its route.
    package var isProactive: Bool { reason == .fasterRoute }
}

/// An alternative to the route in force, as seen from the vehicle.
package struct OfferedAlternative: Sendable, Equatable {
    /// The alternative with its guidance; it starts at the vehicle's position when it was found.
    package var plan: AlternativePlan
    /// Metres from the start of the route in force to the fork.
    package var forkOffset: Double
    /// The place where it rejoins the route in force; nil when it rejoins only at the destination.
    package var join: Coordinate?
    /// The point of the route in force at the fork.
    package var forkPoint: Int
    /// Metres from the vehicle to the fork; 0 once it is passed.
    package var distanceToFork: Double
    /// Seconds from the vehicle to the fork.
    package var durationToFork: Double
    /// Seconds that it takes longer than the route in force, with the latest traffic; negative when it is faster.
    package var durationDelta: Double

    /// Its number, the same for the same route at every update.
    package var id: UInt64 { plan.alternative.id }
    /// Metres from the vehicle to the destination along it.
    package var distance: Double { distanceToFork + plan.alternative.lengthFromFork }
    /// Seconds from the vehicle to the destination along it.
    package var duration: Double { durationToFork + plan.alternative.durationFromFork }
}

/// The complete list of alternatives to the route in force, with the changes.
package struct AlternativesUpdate: Sendable, Equatable {
    /// The reason why an alternative was removed.
    package enum Removal: Sendable, Hashable, CaseIterable {
        case forkPassed, taken, routeChanged, notAccepted, invalidated, stopped
    }

    package struct Removed: Sendable, Hashable {
        package var id: UInt64
        package var reason: Removal
    }

    /// All current alternatives, the most useful first.
    package var alternatives: [OfferedAlternative]
    /// The numbers of the new alternatives.
    package var added: [UInt64] = []
    package var removed: [Removed] = []
    /// The reason why there are none; nil when the search succeeded.
    package var failure: RouteFailure?
}

/// A phase of switching to an alternative.
package struct AlternativeSwitch: Sendable, Equatable {
    package enum Phase: Sendable, Equatable {
        /// Before the route in force changes.
        case willTake
        case taken(oldRouteID: UInt64)
        case failed(RouteFailure)
    }

    package var phase: Phase
    package var id: UInt64
    /// Whether the vehicle turned onto it, instead of a user selecting it.
    package var isByDriving: Bool
    package var position: VehiclePosition?
}

package struct FasterRouteGain: Sendable, Hashable {
    package var seconds: Double
    /// The gain as a share of the time left on the route in force, 0 ... 1.
    package var share: Double
    /// The provider whose durations are compared for both routes.
    package var pricing: RouteProvider
    /// The stamp of the newest traffic that these durations include; nil without traffic.
    package var trafficStamp: Timestamp?
}

/// A phase in the handling of a faster route.
package struct FasterRouteEvent: Sendable, Equatable {
    package enum Rejection: Sendable, Hashable {
        /// A user or the owner's policy refused it, for the reason that they gave, if any.
        case refused(String)
        /// The approval did not arrive in time.
        case notApproved
        /// It needs the owner's approval, but the policy node is not asked for it.
        case nobodyAsked
        /// The vehicle came too close to the fork, or left its route.
        case tooLate
        /// It was superseded by another route or command.
        case superseded
        /// The trip was stopped, or the vehicle arrived.
        case ended
    }

    package enum Phase: Sendable, Equatable {
        /// `acceptUntil` is the user's deadline to decide; nil when the decision is immediate.
        case detected(acceptUntil: Timestamp?)
        case applied(oldRouteID: UInt64)
        case rejected(Rejection)
    }

    package var phase: Phase
    /// The faster route's number, which it keeps when it comes into force.
    package var id: UInt64
    package var plan: RoutePlan
    package var gain: FasterRouteGain
}

/// A refresh of the durations of the route in force.
package struct RefreshEvent: Sendable, Equatable {
    package enum Phase: Sendable, Equatable {
        case refreshing
        /// `changedSegments` segments of the route have new durations or speed limits.
        case refreshed(changedSegments: Int)
        case failed(RouteFailure)
        /// Part of the route ahead is closed or no longer exists; a reroute is advisable.
        case invalidated
    }

    package var phase: Phase
    /// Seconds by which the arrival is later than last reported; negative when it is earlier.
    package var delta: Double
    package var plan: RoutePlan
    /// The progress along the route with the new durations; nil before the vehicle was seen on it.
    package var progress: RouteProgress?
}

package struct PreviewedRoute: Sendable, Equatable {
    /// Its number, the same for the same route at every update; 0 for the best one.
    package var id: UInt64
    package var plan: RoutePlan
    /// The roads that distinguish it from the others.
    package var via: [String]
}

/// Up to three routes to choose from before the start.
package struct RoutePreview: Sendable, Equatable {
    /// The routes, the best first; empty once the choice is over.
    package var routes: [PreviewedRoute]
    /// The index of the chosen route.
    package var active: Int
    /// The reason why there are none, or fewer than requested.
    package var failure: RouteFailure?
}
