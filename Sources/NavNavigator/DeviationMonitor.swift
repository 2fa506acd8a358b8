import NavGeo
import NavMatching

/// Decides from fix to fix how the vehicle stands to its route.
///
/// The matcher's edge speaks first (connectivity), then distance and course; a single fix never decides. It reports a fact; what is done
/// about it is decided above.
struct DeviationMonitor {
    /// The thresholds in force.
    var config: NavigatorConfig
    private(set) var state: DeviationState = .onRoute
    private(set) var since: Timestamp
    /// What speaks against the route.
    private var against = Evidence()
    /// What speaks for driving along the route in the wrong direction.
    private var backwards = Evidence()
    /// Fixes in a row that found the vehicle further ahead than it can have driven.
    private var ahead = 0
    /// Fixes in a row that did not speak against the route.
    private var agreeing = 0

    /// Fixes in a row that say the same.
    private struct Evidence {
        var fixes = 0
        var first: (stamp: Timestamp, offset: Double)?

        mutating func add(_ stamp: Timestamp, offset: Double) {
            if first == nil { first = (stamp, offset) }
            fixes += 1
        }

        func seconds(at stamp: Timestamp) -> Double { first.map { stamp.seconds(since: $0.stamp) } ?? 0 }
    }

    init(_ config: NavigatorConfig, at stamp: Timestamp) {
        self.config = config
        since = stamp
    }

    /// Judges one position.
    mutating func judge(_ placement: RoutePlacement, _ position: Sighting) -> Deviation {
        let difference = position.course.map { Angle.separation($0, placement.bearing) }
        let isMoving = position.speed.map { $0 > config.deviationMinimumSpeed } ?? true
        switch placement.kind {
        case .onEdge:
            agree(position.stamp, isOnEdge: true)
        case .ahead:
            against = Evidence()
            backwards = Evidence()
            ahead += 1
            if ahead >= config.deviationReturnFixes {
                set(.offStep, position.stamp)
            } else if state == .onRoute {
                set(.uncertain, position.stamp)
            }
        // Who stands goes nowhere wrong.
        case .opposite where isMoving, .nearby where isMoving:
            if speaksAgainst(placement, position, difference) {
                disagree(placement, position, difference)
            } else {
                agree(position.stamp, isOnEdge: false)
            }
        case .opposite, .nearby: break
        }
        return Deviation(state: state, distance: placement.distance, courseDifference: difference, since: since)
    }

    /// Forgets what was measured by a clock that has been set.
    mutating func noteClockSet(to stamp: Timestamp) {
        against = Evidence()
        backwards = Evidence()
        since = stamp
    }

    /// Whether a position that is on no edge of the route is more than noise.
    private func speaksAgainst(_ placement: RoutePlacement, _ position: Sighting, _ difference: Double?) -> Bool {
        if position.road != nil, position.match.confidence >= config.deviationEdgeProbability { return true }
        let tolerance = min(
            max(
                config.deviationMinimumDistance,
                config.deviationBaseDistance + 2 * (position.sigma ?? config.deviationUnknownSigma)),
            config.deviationMaximumDistance)
        if placement.distance > tolerance { return true }
        let isFast = (position.speed ?? config.deviationCourseMinimumSpeed) >= config.deviationCourseMinimumSpeed
        return isFast && (difference ?? 0) > config.deviationCourse && placement.distance > tolerance / 2
    }

    /// A position on the route's edge is surer than one that is merely near: that may be a car park, too.
    private mutating func agree(_ stamp: Timestamp, isOnEdge: Bool) {
        against = Evidence()
        backwards = Evidence()
        ahead = 0
        agreeing += 1
        let isConfirmed = agreeing >= config.deviationReturnFixes
        switch state {
        case .onRoute: break
        case .uncertain, .offStep: if isOnEdge || isConfirmed { set(.onRoute, stamp) }
        case .offRoute, .wrongWay: if isOnEdge && isConfirmed { set(.onRoute, stamp) }
        }
    }

    private mutating func disagree(_ placement: RoutePlacement, _ position: Sighting, _ difference: Double?) {
        ahead = 0
        agreeing = 0
        against.add(position.stamp, offset: placement.offset)
        if placement.kind == .opposite, (difference ?? 0) > .pi / 2 {
            backwards.add(position.stamp, offset: placement.offset)
        } else {
            backwards = Evidence()
        }
        if isWrongWay(placement, position.stamp) {
            set(.wrongWay, position.stamp)
        } else if against.fixes >= config.deviationDebounceFixes,
            against.seconds(at: position.stamp) >= config.deviationDebounce
        {
            if state != .wrongWay || backwards.fixes == 0 { set(.offRoute, position.stamp) }
        } else if state == .onRoute || state == .offStep {
            set(.uncertain, position.stamp)
        }
    }

    /// Whether the vehicle has been driving back for long enough, in fixes and in time or way, to be sure at any rate of fixes.
    private func isWrongWay(_ placement: RoutePlacement, _ stamp: Timestamp) -> Bool {
        guard let first = backwards.first, backwards.fixes >= config.wrongWayFixes else { return false }
        return first.offset - placement.offset >= config.wrongWayDistance
            || backwards.seconds(at: stamp) >= config.deviationDebounce
    }

    private mutating func set(_ new: DeviationState, _ stamp: Timestamp) {
        guard new != state else { return }
        state = new
        since = stamp
    }
}
