import NavGeo
import NavGuidance
import NavPositioning
import NavRouting

/// The schedule of searches for a faster route, and the pending offer.
final class FasterRouteMonitor {
    /// A faster route whose decision is pending.
    struct Offer: Equatable {
        /// Its number, which it keeps when it comes into force.
        var id: UInt64
        var plan: RoutePlan
        var gain: FasterRouteGain
        /// The vehicle's position when the route was requested.
        var origin: VehiclePosition
        /// The user's deadline to decide; nil when the owner's policy decides.
        var until: Timestamp?
        /// Metres from the start of the route in force to the fork.
        var forkOffset: Double
    }

    var config: NavigatorConfig {
        didSet { if isByInterval { next?.move(from: oldValue.faster.interval, to: config.faster.interval) } }
    }
    var offer: Offer?
    /// The outcomes of the searches so far.
    var counts = FasterRouteCounts()
    /// The time of the next search; nil without a route.
    var next: Timestamp?
    /// Whether ``next`` is one interval after the last search or the start of the route.
    private var isByInterval = false
    private var isHeldBack = false

    init(_ config: NavigatorConfig) { self.config = config }

    /// Restarts the schedule when a route comes into force.
    func restart(at stamp: Timestamp) {
        next = stamp.advanced(bySeconds: config.faster.interval)
        isByInterval = true
        isHeldBack = false
    }

    /// Returns whether a faster route is to be requested now.
    ///
    /// A due search that is not possible is counted once and made as soon as possible.
    ///
    /// - Parameter isPossible: Whether the vehicle is known to follow its route and is not at a stop, and no other search is in progress.
    func isDue(at stamp: Timestamp, _ trip: Trip, isPossible: Bool) -> Bool {
        guard config.faster.isEnabled, offer == nil, let next, stamp >= next else { return false }
        guard isPossible, trip.deviation.state == .onRoute, trip.durationRemaining > config.faster.minimumRemaining
        else {
            if !isHeldBack { counts.heldBack += 1 }
            isHeldBack = true
            return false
        }
        return true
    }

    /// Blocks further faster routes for some seconds, after a refusal.
    func hold(for seconds: Double, at stamp: Timestamp) {
        let end = stamp.advanced(bySeconds: seconds)
        if let next, next >= end { return }
        next = end
        isByInterval = false
    }

    func begin(at stamp: Timestamp) {
        counts.requests += 1
        restart(at: stamp)
    }

    /// Returns the gain of a found route; nil when it is too small, or when the fork is too near.
    ///
    /// Two routes of the same provider are compared with the provider's times, all others with the on-board router's.
    ///
    /// - Parameter start: The place on the route in force where the found route starts, which the vehicle may have left since the request,
    ///   metres from the route's start.
    func gain(
        of plan: RoutePlan, over trip: Trip, from start: Double, _ pricing: RoutePricing
    ) -> FasterRouteGain? {
        let isAlike = plan.provider == trip.plan.provider
        let times = isAlike ? trip.times : trip.routerTimes
        guard let found = isAlike ? plan.route : pricing.priced(plan.route) else { return nil }
        let remaining = times.remaining(from: start)
        let fork = Self.forkOffset(of: plan.route, over: trip, from: start)
        let toFork = times.remaining(from: trip.offset) - times.remaining(from: fork)
        let seconds = remaining - found.duration
        guard remaining > 0, seconds >= config.faster.minimumGainSeconds,
            seconds / remaining >= config.faster.minimumGain, toFork >= config.faster.minimumToManeuver
        else { return nil }
        let stamps = [found.trafficStamp, isAlike ? trip.plan.route.trafficStamp : nil]
        return FasterRouteGain(
            seconds: seconds, share: seconds / remaining, pricing: isAlike ? plan.provider : .onBoard,
            trafficStamp: stamps.compactMap(\.self).max())
    }

    /// Returns the distance from the start of the route in force to the fork, metres; `start` is that to the start of the found route.
    static func forkOffset(of route: Route, over trip: Trip, from start: Double) -> Double {
        let onRoute = Set(trip.plan.route.edges.map(\.key))
        let common = route.edges.prefix { onRoute.contains($0.key) }
        return start + (common.last.map { $0.routeOffset + $0.length } ?? 0)
    }

    /// Stores an offer until it is decided.
    func keep(_ offer: Offer) { self.offer = offer }

    /// Removes and returns the offer; nil when there is none.
    func take() -> Offer? {
        defer { offer = nil }
        return offer
    }
}

/// The counts of searches for faster routes and of their outcomes.
package struct FasterRouteCounts: Sendable, Equatable {
    package internal(set) var requests = 0
    /// Searches deferred because the vehicle was not known to follow its route, was near its end or at a stop, or another search was in
    /// progress.
    package internal(set) var heldBack = 0
    /// Routes whose gain was too small or whose fork was too near.
    package internal(set) var notWorthIt = 0
    package internal(set) var detected = 0
}
