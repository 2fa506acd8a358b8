import NavGeo
import NavRouting

/// When a route is asked for, at the start of a trip and after leaving the route: never two at once, never in a loop.
///
/// A cooldown and a minimum movement keep reroutes apart; failures back off exponentially up to a longest pause. It decides when, not
/// whether: that the vehicle is off its route is told from outside.
struct RouteSearch {
    /// What a route is for.
    enum Purpose: Equatable {
        /// A trip to these places.
        case start([Waypoint])
        /// Another way for the trip that is under way.
        case reroute(RerouteEvent.Reason)
    }

    /// A route that is waited for.
    struct Request: Equatable {
        var id: UInt64
        var purpose: Purpose
        /// Counted from 1 with the first after a success.
        var attempt: Int
        var stamp: Timestamp
        /// Where the vehicle was.
        var origin: Sighting

        /// What is told of it.
        var reason: RerouteEvent.Reason {
            switch purpose {
            case .start: .manual
            case .reroute(let reason): reason
            }
        }
    }

    private enum State {
        /// Nothing is wanted.
        case idle
        /// A trip is wanted; a position from which it can start is missing.
        case awaitingPosition([Waypoint])
        case waiting(Request)
        /// The last request failed; the next may be made at `until`, or once tiles have arrived when they were missing.
        case pausing(Purpose, until: Timestamp, lacksTiles: Bool)
        /// The request makes no sense from where the vehicle is: nothing is asked until it is back on its route.
        case abandoned
    }

    /// The thresholds in force.
    var config: NavigatorConfig
    private var state = State.idle
    private var lastID: UInt64 = 0
    private var failures = 0
    private var lastReroute: (stamp: Timestamp, coordinate: Coordinate)?

    init(_ config: NavigatorConfig) { self.config = config }

    // MARK: Questions

    /// The route that is waited for.
    var pending: Request? {
        if case .waiting(let request) = state { return request }
        return nil
    }

    /// Whether another way for the trip is waited for.
    var isRerouting: Bool {
        if case .reroute? = pending?.purpose { return true }
        return false
    }

    /// The request whose answer has not come in time.
    func overdue(at stamp: Timestamp) -> Request? {
        guard let pending, stamp.seconds(since: pending.stamp) > config.rerouteDeadline else { return nil }
        return pending
    }

    /// The trip that is to be requested now that there is a position.
    func startDue(at stamp: Timestamp, isPrecise: Bool) -> [Waypoint]? {
        switch state {
        case .awaitingPosition(let waypoints): isPrecise ? waypoints : nil
        case .pausing(.start(let waypoints), let until, _): stamp >= until ? waypoints : nil
        case .idle, .waiting, .pausing, .abandoned: nil
        }
    }

    /// Whether a deviation may lead to a request now.
    func mayReroute(at stamp: Timestamp, _ coordinate: Coordinate) -> Bool {
        switch state {
        case .idle:
            guard let lastReroute else { return true }
            return stamp.seconds(since: lastReroute.stamp) >= config.rerouteCooldown
                && Geodesy.distance(lastReroute.coordinate, coordinate) >= config.rerouteMinimumMovement
        case .pausing(.reroute, let until, _): return stamp >= until
        case .awaitingPosition, .waiting, .pausing, .abandoned: return false
        }
    }

    /// Whether a user may ask for another way now: not while a route is on its way or a trip is yet to start.
    var acceptsManualReroute: Bool {
        switch state {
        case .idle, .abandoned, .pausing(.reroute, _, _): true
        case .awaitingPosition, .waiting, .pausing(.start, _, _): false
        }
    }

    /// The search of another trip: free of what failed in this one, with request numbers that go on.
    var forNewTrip: RouteSearch {
        var search = RouteSearch(config)
        search.lastID = lastID
        return search
    }

    // MARK: Changes

    /// Notes that a trip is wanted and cannot be requested yet.
    mutating func awaitPosition(for waypoints: [Waypoint]) { state = .awaitingPosition(waypoints) }

    /// Begins a request.
    mutating func begin(_ purpose: Purpose, at stamp: Timestamp, from origin: Sighting) -> Request {
        lastID += 1
        let request = Request(id: lastID, purpose: purpose, attempt: failures + 1, stamp: stamp, origin: origin)
        state = .waiting(request)
        if case .reroute = purpose { lastReroute = (stamp, origin.coordinate) }
        return request
    }

    /// Notes that a route came into force, or that none is wanted any more.
    mutating func finish() {
        state = .idle
        failures = 0
    }

    /// Notes a failure; the moment from which on it is tried again, nil when it is not.
    ///
    /// What a user asked for by hand is not repeated; what cannot succeed neither.
    mutating func fail(_ request: Request, _ failure: RouteFailure, at stamp: Timestamp) -> Timestamp? {
        if request.purpose == .reroute(.manual) {
            state = .idle
            return nil
        }
        guard failure.isRetryable else {
            if case .start = request.purpose { finish() } else { state = .abandoned }
            return nil
        }
        var pause = config.rerouteBackoffFirst
        for _ in 0..<min(failures, 30) { pause = min(pause * 2, config.rerouteBackoffLongest) }
        failures += 1
        let next = stamp.advanced(bySeconds: pause)
        state = .pausing(request.purpose, until: next, lacksTiles: !failure.missingTiles.isEmpty)
        return next
    }

    /// Notes that the vehicle follows its route: what failed while it did not is forgotten.
    mutating func noteOnRoute() {
        switch state {
        case .pausing(.reroute, _, _), .abandoned: finish()
        case .idle, .awaitingPosition, .waiting, .pausing: break
        }
    }

    /// Notes that tiles arrived: a request that lacked them need not wait any longer.
    mutating func noteTiles(at stamp: Timestamp) {
        if case .pausing(let purpose, _, lacksTiles: true) = state {
            state = .pausing(purpose, until: stamp, lacksTiles: false)
        }
    }

    /// Notes that the clock was set back: what was to last until a moment by the old clock counts from now.
    mutating func noteClockSet(to stamp: Timestamp) {
        lastReroute = nil
        switch state {
        case .waiting(var request):
            request.stamp = stamp
            state = .waiting(request)
        case .pausing(let purpose, _, let lacksTiles):
            state = .pausing(purpose, until: stamp, lacksTiles: lacksTiles)
        case .idle, .awaitingPosition, .abandoned: break
        }
    }
}
