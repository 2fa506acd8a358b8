import NavGeo
import NavRouting

/// When a new route is asked for: never twice at once, never in a loop.
///
/// A cooldown and a minimum movement keep reroutes apart; failures back off exponentially up to a longest pause.
struct RerouteControl {
    private enum State {
        case idle
        case waiting(requestID: UInt64, reason: RerouteEvent.Reason, deadline: Timestamp)
        case pausing(until: Timestamp, reason: RerouteEvent.Reason)
    }

    private let config: NavigatorConfig
    private var state = State.idle
    private var failures = 0
    private var last: (stamp: Timestamp, coordinate: Coordinate)?

    init(_ config: NavigatorConfig) { self.config = config }

    /// Whether a route is being waited for.
    var isWaiting: Bool {
        if case .waiting = state { return true }
        return false
    }

    /// Number of the next attempt, from 1.
    var attempt: Int { failures + 1 }

    /// The request that is waited for.
    func pending(_ id: UInt64) -> RerouteEvent.Reason? {
        if case .waiting(id, let reason, _) = state { return reason }
        return nil
    }

    /// The request whose deadline has passed.
    func overdue(at stamp: Timestamp) -> (requestID: UInt64, reason: RerouteEvent.Reason)? {
        if case .waiting(let id, let reason, let deadline) = state, stamp > deadline { return (id, reason) }
        return nil
    }

    /// The request that is given up when the vehicle no longer needs it.
    var current: (requestID: UInt64, reason: RerouteEvent.Reason)? {
        if case .waiting(let id, let reason, _) = state { return (id, reason) }
        return nil
    }

    /// Whether a deviation may lead to a request now.
    func mayStart(at stamp: Timestamp, _ coordinate: Coordinate) -> Bool {
        switch state {
        case .waiting: return false
        case .pausing(let until, _): return stamp >= until
        case .idle:
            guard let last else { return true }
            return stamp.seconds(since: last.stamp) >= config.rerouteCooldown
                && Geodesy.distance(last.coordinate, coordinate) >= config.rerouteMinimumMovement
        }
    }

    /// Notes a request.
    mutating func start(
        _ requestID: UInt64, _ reason: RerouteEvent.Reason, at stamp: Timestamp, _ coordinate: Coordinate
    ) {
        state = .waiting(
            requestID: requestID, reason: reason, deadline: stamp.advanced(bySeconds: config.rerouteDeadline))
        last = (stamp, coordinate)
    }

    /// Notes a failure and says when the next attempt may be made.
    mutating func fail(_ reason: RerouteEvent.Reason, at stamp: Timestamp) -> Timestamp {
        var pause = config.rerouteBackoffFirst
        for _ in 0..<min(failures, 30) { pause = min(pause * 2, config.rerouteBackoffLongest) }
        failures += 1
        let next = stamp.advanced(bySeconds: pause)
        state = .pausing(until: next, reason: reason)
        return next
    }

    /// Notes that a route came into force or is not needed any more.
    mutating func finish() {
        state = .idle
        failures = 0
    }
}
