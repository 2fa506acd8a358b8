import NavGeo
import NavGuidance
import NavPositioning
import NavRouting

/// When a faster route is looked for, and the one that was found until it is decided.
struct FasterRouteWatch {
    /// A faster route that nobody has decided on yet.
    struct Offer: Equatable {
        /// The number that it has, and keeps when it comes into force.
        var id: UInt64
        var plan: RoutePlan
        var gain: FasterRouteGain
        /// The vehicle's position when it was asked for.
        var origin: VehiclePosition
        /// Until when a user may decide; nil where the owner's policy is asked.
        var until: Timestamp?
        /// Metres from the start of the route in force to where the two part.
        var forkOffset: Double
    }

    var config: NavigatorConfig
    var offer: Offer?
    /// The results of the searches so far.
    var counts = FasterRouteCounts()
    /// When the next look is due; nil without a route.
    var next: Timestamp?
    private var isHeldBack = false

    init(_ config: NavigatorConfig) { self.config = config }

    /// Starts counting with a route that comes into force.
    mutating func restart(at stamp: Timestamp) {
        next = stamp.advanced(bySeconds: config.faster.interval)
        isHeldBack = false
    }

    /// Whether a faster route is to be asked for now.
    ///
    /// A look that is due while it makes no sense is counted once, and made as soon as it does.
    ///
    /// - Parameter isPossible: whether the vehicle is known to follow its route and no other route is being looked for.
    mutating func isDue(at stamp: Timestamp, _ trip: Trip, isPossible: Bool) -> Bool {
        guard config.faster.isEnabled, offer == nil, let next, stamp >= next else { return false }
        guard isPossible, trip.deviation.state == .onRoute, trip.durationRemaining > config.faster.minimumRemaining
        else {
            if !isHeldBack { counts.heldBack += 1 }
            isHeldBack = true
            return false
        }
        return true
    }

    /// Notes that the owner wants no other faster route for some seconds.
    mutating func hold(for seconds: Double, at stamp: Timestamp) {
        let end = stamp.advanced(bySeconds: seconds)
        next = max(next ?? end, end)
    }

    mutating func begin(at stamp: Timestamp) {
        counts.requests += 1
        restart(at: stamp)
    }

    /// The gain of a found route; nil when it is not worth it, or parts from the route in force too soon.
    ///
    /// Two routes of one provider have its times; any others are compared by those of the router on board.
    func gain(of plan: RoutePlan, over trip: Trip, _ pricing: RoutePricing) -> FasterRouteGain? {
        let isAlike = plan.provider == trip.plan.provider
        let times = isAlike ? trip.times : trip.routerTimes
        guard let found = isAlike ? plan.route : pricing.priced(plan.route) else { return nil }
        let remaining = times.remaining(from: trip.offset)
        let toFork = remaining - times.remaining(from: Self.forkOffset(of: plan.route, from: trip))
        let seconds = remaining - found.duration
        guard remaining > 0, seconds >= config.faster.minimumGainSeconds,
            seconds / remaining >= config.faster.minimumGain, toFork >= config.faster.minimumToManeuver
        else { return nil }
        return FasterRouteGain(
            seconds: seconds, share: seconds / remaining, pricing: isAlike ? plan.provider : .onBoard)
    }

    /// Metres from the start of the route in force to where a found route leaves it.
    static func forkOffset(of route: Route, from trip: Trip) -> Double {
        let onRoute = Set(trip.plan.route.edges.map(\.key))
        let common = route.edges.prefix { onRoute.contains($0.key) }
        return trip.offset + (common.last.map { $0.routeOffset + $0.length } ?? 0)
    }

    /// Keeps a faster route until it is decided.
    mutating func keep(_ offer: Offer) { self.offer = offer }

    /// Takes the offer away; nil when there is none.
    mutating func take() -> Offer? {
        defer { offer = nil }
        return offer
    }
}

/// The counts of looks for faster routes, and of their outcomes.
public struct FasterRouteCounts: Sendable, Equatable {
    public internal(set) var requests = 0
    /// Looks that were due when the vehicle was not known to follow its route, was near its end, or another route was being looked for.
    public internal(set) var heldBack = 0
    /// Routes that were not faster by enough, or part from the one in force too soon.
    public internal(set) var notWorthIt = 0
    public internal(set) var detected = 0
}
