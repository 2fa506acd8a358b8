import NavGeo
import NavGuidance
import NavRouting

/// When a faster route is looked for, and the one that was found until it is decided.
struct FasterRouteWatch {
    /// A faster route that nobody has decided on yet.
    struct Offer: Equatable {
        /// The number that it has, and keeps when it comes into force.
        var id: UInt64
        var plan: RoutePlan
        var gain: FasterRouteGain
        /// Where the vehicle was when it was asked for.
        var origin: Sighting
        /// Until when a user may decide; nil where the owner's policy is asked.
        var until: Timestamp?
        /// Metres from the start of the route in force to where the two part.
        var forkOffset: Double
    }

    /// A request on its way.
    struct Pending {
        var id: UInt64
        var stamp: Timestamp
        var origin: Sighting
    }

    /// The thresholds in force.
    var config: NavigatorConfig
    private(set) var pending: Pending?
    private(set) var offer: Offer?
    private var next: Timestamp?

    init(_ config: NavigatorConfig) { self.config = config }

    /// The moment at which an offer is decided without a user, or until when one is waited for.
    var due: Timestamp? {
        let moments = [offer?.until, patienceEnd]
        return moments.compactMap { $0 }.min()
    }

    private var patienceEnd: Timestamp? { pending?.stamp.advanced(bySeconds: config.rerouteDeadline) }

    /// Starts counting with a route that comes into force.
    mutating func restart(at stamp: Timestamp) {
        next = stamp.advanced(bySeconds: config.faster.interval)
    }

    /// Whether a faster route is to be asked for now.
    func isDue(at stamp: Timestamp, _ trip: Trip) -> Bool {
        guard config.faster.isEnabled, pending == nil, offer == nil, let next, stamp >= next,
            trip.deviation.state == .onRoute, trip.durationRemaining > config.faster.minimumRemaining,
            let progress = trip.progress, progress.stepDurationRemaining > config.faster.minimumToManeuver
        else { return false }
        return true
    }

    /// Notes that one is asked for.
    mutating func begin(_ id: UInt64, at stamp: Timestamp, from origin: Sighting) {
        pending = Pending(id: id, stamp: stamp, origin: origin)
        next = stamp.advanced(bySeconds: config.faster.interval)
    }

    /// Gives up what is asked for; its number, if it was.
    mutating func giveUp() -> UInt64? {
        defer { pending = nil }
        return pending?.id
    }

    /// Whether the answer has not come in time.
    func isOverdue(at stamp: Timestamp) -> Bool { patienceEnd.map { $0 <= stamp } ?? false }

    /// What a found route saves; nil when it is not worth it, or parts from the route in force too soon.
    func gain(of plan: RoutePlan, over trip: Trip) -> FasterRouteGain? {
        let remaining = trip.durationRemaining
        let seconds = remaining - plan.route.duration
        guard remaining > 0, seconds / remaining >= config.faster.minimumGain,
            let steps = plan.guidance.legs.first, steps.count >= 2,
            plan.guidance.steps[steps.lowerBound].duration >= config.faster.minimumToManeuver
        else { return nil }
        return FasterRouteGain(seconds: seconds, share: seconds / remaining)
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

    /// Notes that the clock was set back.
    mutating func noteClockSet(to stamp: Timestamp) {
        if next != nil { next = stamp.advanced(bySeconds: config.faster.interval) }
        if offer?.until != nil { offer?.until = stamp.advanced(bySeconds: config.faster.acceptFor) }
        pending?.stamp = stamp
    }
}
