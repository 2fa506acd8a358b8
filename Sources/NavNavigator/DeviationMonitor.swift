import NavGeo
import NavMatching

/// Decides from fix to fix how the vehicle stands to its route.
///
/// The matcher's edge speaks first (connectivity), then distance and course; a single fix never decides.
struct DeviationMonitor {
    private let config: NavigatorConfig
    private(set) var state: DeviationState = .onRoute
    private(set) var since: Timestamp
    private var against = Evidence()
    private var backwards = Evidence()
    private var ahead = 0
    private var agreeing = 0

    private struct Evidence {
        var fixes = 0
        var first: Timestamp?
        var firstOffset = 0.0

        mutating func add(_ stamp: Timestamp, offset: Double) {
            if first == nil {
                first = stamp
                firstOffset = offset
            }
            fixes += 1
        }
    }

    init(_ config: NavigatorConfig, at stamp: Timestamp) {
        self.config = config
        since = stamp
    }

    /// Judges one position.
    mutating func judge(_ placement: RoutePlacement, _ position: Sighting) -> Deviation {
        let fix = position.fix
        let difference = position.course.map { Angle.separation($0, placement.bearing) }
        let moving = position.speed.map { $0 > 1 } ?? true
        if placement.isOnEdge {
            against = Evidence()
            backwards = Evidence()
            ahead = placement.isAhead ? ahead + 1 : 0
            agreeing += 1
            if placement.isAhead {
                if ahead >= 2 { set(.offStep, fix.stamp) } else if state == .onRoute { set(.uncertain, fix.stamp) }
            } else if state == .onRoute || agreeing >= 2 || state == .uncertain || state == .offStep {
                set(.onRoute, fix.stamp)
            }
        } else if moving {
            ahead = 0
            judgeAgainst(placement, position, difference)
        }
        return Deviation(state: state, distance: placement.distance, courseDifference: difference, since: since)
    }

    private mutating func judgeAgainst(_ placement: RoutePlacement, _ position: Sighting, _ difference: Double?) {
        let fix = position.fix
        let tolerance = min(
            max(config.deviationMinimumDistance, config.deviationBaseDistance + 2 * (fix.horizontalSigma ?? 5)),
            config.deviationMaximumDistance)
        let fast = (position.speed ?? config.deviationCourseMinimumSpeed) >= config.deviationCourseMinimumSpeed
        let otherRoad = position.road != nil && position.match.confidence >= config.deviationEdgeProbability
        let wrongCourse = fast && (difference ?? 0) > config.deviationCourse
        if placement.isOnOpposite, otherRoad, (difference ?? 0) > .pi / 2 {
            backwards.add(fix.stamp, offset: placement.offset)
        } else {
            backwards = Evidence()
        }
        guard placement.distance > tolerance || otherRoad || (wrongCourse && placement.distance > tolerance / 2) else {
            // Near the route and on no other road: noise, as likely as not.
            agreeing += 1
            if agreeing >= 2, state == .uncertain { set(.onRoute, fix.stamp) }
            against = Evidence()
            return
        }
        agreeing = 0
        against.add(fix.stamp, offset: placement.offset)
        if backwards.fixes >= config.wrongWayFixes
            || backwards.fixes > 1 && backwards.firstOffset - placement.offset >= config.wrongWayDistance
        {
            set(.wrongWay, fix.stamp)
        } else if against.fixes >= config.deviationDebounceFixes,
            let first = against.first, fix.stamp.seconds(since: first) >= config.deviationDebounce
        {
            if state != .wrongWay || backwards.fixes == 0 { set(.offRoute, fix.stamp) }
        } else if state == .onRoute || state == .offStep {
            set(.uncertain, fix.stamp)
        }
    }

    private mutating func set(_ new: DeviationState, _ stamp: Timestamp) {
        guard new != state else { return }
        state = new
        since = stamp
    }
}
