public import NavGeo
public import NavPositioning
import NavRouting

public struct RerouteEvent: Sendable, Equatable {
    public enum Phase: Sendable, Equatable {
        case willReroute
        case fetching(attempt: Int)
        case fetched
        case applied(oldRouteID: UInt64)
        /// `nextAttempt` is nil when it will not be tried again.
        case failed(RouteFailure, nextAttempt: Timestamp?)
        case rejected(Rejection)
    }

    /// Why a found route was not taken.
    public enum Rejection: Sendable, Hashable, CaseIterable {
        case backOnRoute
        /// Another route or command came first.
        case superseded
        /// The vehicle has gone elsewhere meanwhile.
        case stale
        /// The owner's policy refused it.
        case policy
        /// Its first maneuver is too near for what plans the motion.
        case tooNear
    }

    /// Why a route is looked for.
    public enum Reason: Sendable, Hashable, CaseIterable {
        case offRoute, wrongWay, manual
        /// Part of the route ahead is closed or no longer exists.
        case routeInvalidated
        /// A faster route was found while the vehicle follows its own.
        case fasterRoute
        case waypoint
    }

    public var phase: Phase
    public var reason: Reason
    public var requestID: UInt64?
    /// The number of the attempt to find the route, from 1; nil before the first.
    public var attempt: Int?
    public var position: VehiclePosition?
    /// Within this distance of the vehicle maneuvers are avoided, metres; 0 for nowhere.
    public var maneuverAvoidance = 0.0
    /// The provider of the route; nil as long as that is open.
    public var provider: RouteProvider?

    /// Whether it was not the vehicle's leaving the route that led to it.
    public var isProactive: Bool { reason == .fasterRoute }
}

/// An alternative to the route in force, seen from where the vehicle is.
public struct OfferedAlternative: Sendable, Equatable {
    /// The alternative with its guidance; it starts where the vehicle was when it was found.
    public var plan: AlternativePlan
    /// Metres from the start of the route in force to the fork.
    public var forkOffset: Double
    /// The place where it joins the route in force again; nil when that is only at the destination.
    public var join: Coordinate?
    /// The point of the route in force at the fork.
    public var forkPoint: Int
    /// Metres from here to the fork, 0 once it is passed.
    public var distanceToFork: Double
    /// Seconds from here to the fork.
    public var durationToFork: Double
    /// Seconds that it takes longer than the route in force, in the freshest traffic; negative when it is faster.
    public var durationDelta: Double

    /// Its number: the same for the same way at every update.
    public var id: UInt64 { plan.alternative.id }
    /// Metres from here to the destination along it.
    public var distance: Double { distanceToFork + plan.alternative.lengthFromFork }
    /// Seconds from here to the destination along it.
    public var duration: Double { durationToFork + plan.alternative.durationFromFork }
}

/// The alternatives to the route in force, all of them, with what changed.
public struct AlternativesUpdate: Sendable, Equatable {
    /// Why an alternative is none any more.
    public enum Removal: Sendable, Hashable, CaseIterable {
        case forkPassed, taken, routeChanged, replaced, notAccepted, invalidated, stopped
    }

    public struct Removed: Sendable, Hashable {
        public var id: UInt64
        public var reason: Removal
    }

    /// All of them, the most useful first.
    public var alternatives: [OfferedAlternative]
    /// The numbers of those that were not there before.
    public var added: [UInt64] = []
    public var removed: [Removed] = []
    /// Why there are none; nil when the search succeeded.
    public var failure: RouteFailure?
}

/// A step of going on along an alternative.
public struct AlternativeSwitch: Sendable, Equatable {
    public enum Phase: Sendable, Equatable {
        /// Before the route in force changes.
        case willTake
        case taken(oldRouteID: UInt64)
        case failed(RouteFailure)
    }

    public var phase: Phase
    public var id: UInt64
    /// Whether the vehicle turned onto it; else it was asked for.
    public var isByDriving: Bool
    public var position: VehiclePosition?
}

public struct FasterRouteGain: Sendable, Hashable {
    public var seconds: Double
    /// As a share of the time that is left on the route in force, 0 ... 1.
    public var share: Double
    /// The provider whose durations of both routes it compares.
    public var pricing: RouteProvider
}

/// A step of taking a faster route.
public struct FasterRouteEvent: Sendable, Equatable {
    public enum Rejection: Sendable, Hashable {
        /// A user or the owner's policy refused it.
        case refused
        /// The approval did not come in time.
        case notApproved
        /// The vehicle came too near to where the routes part, or has left its route.
        case tooLate
        /// Another route or command came first.
        case superseded
    }

    public enum Phase: Sendable, Equatable {
        /// `acceptUntil` is when it is decided without a user; nil when it is decided at once.
        case detected(acceptUntil: Timestamp?)
        case applied(oldRouteID: UInt64)
        case rejected(Rejection)
    }

    public var phase: Phase
    /// The faster route's number, the same when it comes into force.
    public var id: UInt64
    public var plan: RoutePlan
    public var gain: FasterRouteGain
}

/// The durations of the route in force were brought up to date.
public struct RefreshEvent: Sendable, Equatable {
    public enum Phase: Sendable, Equatable {
        case refreshing
        /// `changedEdges` pieces of the route take another time.
        case refreshed(changedEdges: Int)
        case failed(RouteFailure)
        /// Part of the route ahead is closed or gone: another one is advisable.
        case invalidated
    }

    public var phase: Phase
    /// Seconds by which the arrival is later than was said before; negative when it is earlier.
    public var delta: Double
    public var plan: RoutePlan
    /// The vehicle's progress along it, with the new durations; nil before it was seen on it.
    public var progress: RouteProgress?
}

public struct PreviewedRoute: Sendable, Equatable {
    /// Its number, the same for the same way at every update; 0 for the best one.
    public var id: UInt64
    public var plan: RoutePlan
    /// The roads that tell it from the others.
    public var via: [String]
}

/// Up to three routes to choose from before the start.
public struct RoutePreview: Sendable, Equatable {
    /// The best first; none once the choice is over.
    public var routes: [PreviewedRoute]
    /// The index of the chosen one.
    public var active: Int
    /// Why there are none, or fewer than asked for.
    public var failure: RouteFailure?
}
