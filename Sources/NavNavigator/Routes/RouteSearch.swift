import NavGeo
import NavMap
import NavPositioning
import NavRouting

/// The state of the route request at the start of a trip or for a reroute: at most one at a time, never in a tight loop.
///
/// A cooldown and a minimum movement separate reroutes; failures back off exponentially up to a maximum. It decides when to request, not
/// whether to: deviations are detected elsewhere.
final class RouteSearch {
    struct PendingTrip: Equatable {
        var order: RouteOrder
        var simulation: SimulatedDrive?
        /// The call that waits for the trip; 0 for none.
        var call: UInt64
        /// The trip of the previous process that is resumed; nil for a new one.
        var resumed: TripSnapshot?
    }

    /// A reroute under consideration or in progress.
    struct Draft: Equatable {
        var id: UInt64
        /// Sequence of the message that led to it, 0 for none.
        var cause: UInt64
        var reason: RerouteEvent.Reason
        var preferences: RoutePreferences
        var waypoints: [Waypoint]
        var origin: VehiclePosition
        /// Whether a user requested it.
        var isByHand: Bool
        /// The original preferences and waypoints that the owner replaced; nil when the owner changed none.
        var replaced: RouteOrder?
        /// Whether the start of the reroute was announced; its end is then announced too.
        var isAnnounced = false
        /// The number of the attempt, from 1; nil before the first.
        var attempt: Int?

        /// Whether a user skips a waypoint; without a user, the waypoint was missed.
        var skipsWaypoint: Bool { isByHand && reason == .waypoint }
    }

    enum Purpose: Equatable {
        case start(PendingTrip)
        /// A reroute of the current trip.
        case reroute(Draft)

        var isReroute: Bool {
            if case .reroute = self { return true }
            return false
        }

        /// Moves the time of its start position when the clock is set.
        mutating func moveClock(by nanoseconds: Int64) {
            guard case .reroute(var draft) = self else { return }
            draft.origin.moveClock(by: nanoseconds)
            self = .reroute(draft)
        }
    }

    struct Request: Equatable {
        var id: UInt64
        var purpose: Purpose
        /// Counted from 1, starting after a success.
        var attempt: Int
        var origin: VehiclePosition?

        /// Moves the time of its start position when the clock is set.
        mutating func moveClock(by nanoseconds: Int64) {
            purpose.moveClock(by: nanoseconds)
            origin?.moveClock(by: nanoseconds)
        }
    }

    /// The missing input that made a request fail, and whose arrival an event reports.
    private enum MissingInput {
        case tiles
        /// A road under the vehicle.
        case road
    }

    // Indirect, because reading the state would copy a whole request.
    private indirect enum State {
        case idle
        /// A trip is requested but no position is accurate enough to start from.
        case awaitingPosition(PendingTrip)
        /// The policy decides whether and how to reroute.
        case drafting(Draft)
        /// The owner's policy refuses reroutes until the given moment.
        case denied(until: Timestamp)
        case waiting(Request)
        /// A route was found; the policy decides whether it comes into force.
        case proposing(Request)
        /// The last request failed; the next may be made at `until`, or when the missing input arrives.
        case pausing(Purpose, until: Timestamp, lacking: MissingInput?)
        /// A request from the vehicle's position cannot succeed: none is made until the vehicle is back on its route, or, for a reroute to
        /// a missed stop, has left its route.
        case abandoned(RerouteEvent.Reason)
    }

    var config: NavigatorConfig
    private var state = State.idle
    /// The pending trip to restore if the one requested by a waiting call fails; nil for none.
    private var displaced: PendingTrip?
    private(set) var failures = 0
    /// Consecutive routes refused because their first maneuver was too near.
    private(set) var refusals = 0
    /// The missing tiles that made the last request fail, while a retry is pending; empty for any other outcome.
    private(set) var missingTiles: [RoadTileID] = []
    private var lastReroute: (stamp: Timestamp, coordinate: Coordinate)?
    /// The number of reroutes since the vehicle was last seen on a route; far from any road, reroutes are useless.
    private var inVain = 0

    init(_ config: NavigatorConfig) { self.config = config }

    // MARK: Questions

    var pending: Request? {
        if case .waiting(let request) = state { return request }
        return nil
    }

    /// The reroute that is being decided.
    var draft: Draft? {
        if case .drafting(let draft) = state { return draft }
        return nil
    }

    /// The request whose route is being decided.
    var proposal: Request? {
        if case .proposing(let request) = state { return request }
        return nil
    }

    /// The requested trip that has not begun.
    var wanted: PendingTrip? {
        switch state {
        case .awaitingPosition(let order), .pausing(.start(let order), _, _): order
        case .waiting(let request):
            if case .start(let order) = request.purpose { order } else { nil }
        case .idle, .drafting, .denied, .proposing, .pausing, .abandoned: nil
        }
    }

    /// The pending trip that a call for another trip displaces; nil when there is none. A trip with a waiting call ends with its call.
    var displaceable: PendingTrip? { wanted.flatMap { $0.call == 0 ? $0 : nil } ?? displaced }

    /// Whether a reroute is in progress.
    var isRerouting: Bool {
        switch state {
        case .drafting(let draft): draft.isAnnounced
        case .waiting(let request): request.purpose.isReroute
        case .proposing: true
        case .idle, .awaitingPosition, .denied, .pausing, .abandoned: false
        }
    }

    /// Returns the trip that can be requested now that a position is known; nil when there is none.
    func startDue(at stamp: Timestamp, _ position: VehiclePosition, isPrecise: Bool) -> PendingTrip? {
        switch state {
        case .awaitingPosition(let order): isPrecise ? order : nil
        case .pausing(.start(let order), let until, let lack): isOver(until, lack, stamp, position) ? order : nil
        case .idle, .drafting, .denied, .waiting, .proposing, .pausing, .abandoned: nil
        }
    }

    /// Whether the pause after a failure is over.
    private func isOver(_ until: Timestamp, _ lack: MissingInput?, _ stamp: Timestamp, _ position: VehiclePosition)
        -> Bool
    {
        stamp >= until || lack == .road && position.road != nil
    }

    /// Whether a deviation, or a missed stop, may lead to a request now.
    func mayReroute(_ reason: RerouteEvent.Reason, at stamp: Timestamp, _ position: VehiclePosition) -> Bool {
        switch state {
        case .idle:
            guard let lastReroute else { return true }
            return stamp.seconds(since: lastReroute.stamp) >= spaced(config.rerouteCooldown)
                && Geodesy.distance(lastReroute.coordinate, position.coordinate)
                    >= spaced(config.rerouteMinimumMovement)
        case .pausing(.reroute, let until, let lack): return isOver(until, lack, stamp, position)
        case .denied(let until): return stamp >= until
        case .abandoned(let former): return (former == .waypoint) != (reason == .waypoint)
        case .awaitingPosition, .drafting, .waiting, .proposing, .pausing: return false
        }
    }

    /// Returns the time or distance between two reroutes, doubled for each reroute whose route the vehicle never reached.
    private func spaced(_ least: Double) -> Double {
        var spacing = least
        for _ in 1..<min(max(inVain, 1), RouteSearch.greatestDoublings) { spacing *= 2 }
        return spacing
    }

    /// Limits the doubling of the spacing: from 5 s and 50 m to 80 s and 800 m.
    private static let greatestDoublings = 5

    /// Whether a user may request a reroute now: not while a route is being fetched or a trip has yet to start.
    var acceptsManualReroute: Bool {
        switch state {
        case .idle, .denied, .abandoned, .pausing(.reroute, _, _): true
        case .drafting(let draft): !draft.isAnnounced
        case .awaitingPosition, .waiting, .proposing, .pausing(.start, _, _): false
        }
    }

    /// Whether nothing is requested and nothing is pending.
    var isIdle: Bool {
        if case .idle = state { return true }
        return false
    }

    // MARK: Changes

    /// Records a trip that cannot be requested yet.
    func awaitPosition(for order: PendingTrip) { state = .awaitingPosition(order) }

    /// Records the trip to restore if the call for another trip fails.
    func displace(_ order: PendingTrip?) { displaced = order }

    /// Records that the trip requested by a waiting call failed: the displaced trip waits for the next accurate position.
    func failCall() {
        let order = displaced
        finish()
        if let order { state = .awaitingPosition(order) }
    }

    /// Records that a reroute is being decided.
    func consider(_ draft: Draft) { state = .drafting(draft) }

    /// Records that the owner's policy refuses reroutes for some seconds.
    func deny(for seconds: Double, at stamp: Timestamp) {
        state = .denied(until: stamp.advanced(bySeconds: seconds))
        missingTiles = []
    }

    /// Returns the number of the next attempt; a user's request is not retried, and is not counted with the others.
    func attempt(for purpose: Purpose) -> Int {
        if case .reroute(let draft) = purpose, draft.isByHand { 1 } else { failures + 1 }
    }

    /// Records a request that is sent.
    ///
    /// - Parameter isRepeat: Whether it repeats a request that has just failed, so that both count as one reroute.
    func begin(
        _ purpose: Purpose, id: UInt64, at stamp: Timestamp, from origin: VehiclePosition?, isRepeat: Bool = false
    ) -> Request {
        let request = Request(id: id, purpose: purpose, attempt: attempt(for: purpose), origin: origin)
        state = .waiting(request)
        if case .reroute = purpose, let origin {
            lastReroute = (stamp, origin.coordinate)
            if !isRepeat { inVain += 1 }
        }
        return request
    }

    /// Records that a found route is being decided.
    func propose(_ request: Request) {
        state = .proposing(request)
        missingTiles = []
    }

    /// Records that a route came into force, or that none is needed.
    func finish() {
        state = .idle
        failures = 0
        refusals = 0
        missingTiles = []
        displaced = nil
    }

    /// Records that a found route was rejected: the next one is requested after some seconds.
    func refuse(_ request: Request, for seconds: Double, at stamp: Timestamp) {
        refusals += 1
        state = .pausing(request.purpose, until: stamp.advanced(bySeconds: seconds), lacking: nil)
    }

    /// Records a failure; returns the moment of the next attempt, nil when there is none.
    ///
    /// A user's request for a reroute and a request that cannot succeed are not retried.
    func fail(_ request: Request, _ failure: RouteFailure, at stamp: Timestamp) -> Timestamp? {
        switch request.purpose {
        case .reroute(let draft) where draft.isByHand:
            state = .idle
            missingTiles = []
            // Automatic reroutes need not wait for a minimum movement after this failure.
            lastReroute = nil
            return nil
        case .start(let order) where order.call != 0:
            failCall()
            return nil
        default: break
        }
        guard failure.isSearchedAgain else {
            if case .reroute(let draft) = request.purpose { state = .abandoned(draft.reason) } else { finish() }
            missingTiles = []
            return nil
        }
        var pause = config.rerouteBackoffFirst
        for _ in 0..<min(failures, 30) { pause = min(pause * 2, config.rerouteBackoffLongest) }
        failures += 1
        var lack: MissingInput?
        missingTiles = failure.missingTiles
        if !missingTiles.isEmpty { lack = .tiles }
        if failure.code == .noRoadNearby, let origin = request.origin, origin.road == nil {
            // Far from any road, a retry helps only after reaching a road.
            lack = .road
            pause = max(pause, config.rerouteBackoffLongest)
        }
        let next = stamp.advanced(bySeconds: pause)
        state = .pausing(request.purpose, until: next, lacking: lack)
        return next
    }

    /// Records that the vehicle was seen on the route in force.
    func noteSeenOnRoute() { inVain = 0 }

    /// Records that the vehicle follows its route, and resets the failures.
    func noteOnRoute() {
        switch state {
        case .pausing(.reroute, _, _), .abandoned, .denied: finish()
        case .drafting(let draft): if !draft.isAnnounced { finish() }
        case .idle, .awaitingPosition, .waiting, .proposing, .pausing: break
        }
    }

    /// Records that tiles arrived: a request that needs them is due immediately.
    func noteTiles(at stamp: Timestamp) {
        if case .pausing(let purpose, _, lacking: .tiles) = state {
            state = .pausing(purpose, until: stamp, lacking: nil)
        }
    }

    /// Moves all moments when the clock is set.
    func moveClock(by nanoseconds: Int64) {
        lastReroute?.stamp.move(by: nanoseconds)
        switch state {
        case .pausing(var purpose, var until, let lack):
            purpose.moveClock(by: nanoseconds)
            until.move(by: nanoseconds)
            state = .pausing(purpose, until: until, lacking: lack)
        case .denied(var until):
            until.move(by: nanoseconds)
            state = .denied(until: until)
        case .drafting(var draft):
            draft.origin.moveClock(by: nanoseconds)
            state = .drafting(draft)
        case .waiting(var request):
            request.moveClock(by: nanoseconds)
            state = .waiting(request)
        case .proposing(var request):
            request.moveClock(by: nanoseconds)
            state = .proposing(request)
        case .idle, .awaitingPosition, .abandoned: break
        }
    }
}
