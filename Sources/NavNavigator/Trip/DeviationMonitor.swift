import Glibc
import NavGeo
import NavMatching
import NavPositioning

/// Decides from fix to fix how the vehicle stands to its route.
///
/// The matcher's edge speaks first (connectivity), then distance and course; a single fix never decides. A distance counts in full only when
/// speed and course bear it out: a reflected signal moves the position for many fixes, but not the velocity, which comes from the carrier's
/// frequency. It reports a fact; what is done about it is decided above.
struct DeviationMonitor {
    var config: NavigatorConfig
    private(set) var state: DeviationState = .onRoute
    private(set) var since: Timestamp
    private var against = Evidence()
    /// The evidence for driving along the route in the wrong direction.
    private var backwards = Evidence()
    /// Fixes in a row that found the vehicle further ahead than it can have driven.
    private var ahead = Evidence()
    /// The way to the side of the route by speed and course.
    private var excursion = Excursion()
    /// Fixes in a row that did not speak against the route.
    private var agreeing = 0

    /// Fixes in a row that say the same.
    private struct Evidence {
        var fixes = 0
        var first: (stamp: Timestamp, offset: Double)?
        private var last: Timestamp?
        /// Whether the movement bore one of them out.
        var isBorneOut = false

        mutating func add(_ stamp: Timestamp, offset: Double) {
            if first == nil { first = (stamp, offset) }
            last = stamp
            fixes += 1
        }

        /// Seconds since the last of them; nil when there are none.
        func age(at stamp: Timestamp) -> Double? { last.map { stamp.seconds(since: $0) } }

        func seconds(at stamp: Timestamp) -> Double { first.map { stamp.seconds(since: $0.stamp) } ?? 0 }
    }

    /// The way to the right of the route, by the receiver's speed and course alone.
    private struct Excursion {
        private var sum = 0.0
        private var last: (stamp: Timestamp, rate: Double)?

        /// Longest time over which a speed is carried on, seconds.
        private static let validity = 2.5
        /// The time constants for forgetting errors of the map's direction and the receiver's, seconds: on the route, where what was counted before was
        /// wrong, and away from it.
        private static let memory = (on: 5.0, away: 30.0)

        /// Metres, positive to the right; nil when there are no speeds and courses to tell.
        var metres: Double? { last == nil ? nil : sum }

        mutating func add(_ position: VehiclePosition, bearing: Double, isOnRoute: Bool) {
            guard let speed = position.fix.speed, let course = position.fix.course, speed >= 0, speed < 150,
                course.isFinite
            else {
                // A receiver that stands has no course, and goes nowhere.
                if let speed = position.fix.speed, speed < 1, last != nil {
                    last = (position.stamp, 0)
                } else {
                    last = nil
                    sum = 0
                }
                return
            }
            let rate = speed * sin(Angle.difference(from: bearing, to: course))
            if let last {
                let seconds = min(max(position.stamp.seconds(since: last.stamp), 0), Excursion.validity)
                sum =
                    sum * exp(-seconds / (isOnRoute ? Excursion.memory.on : Excursion.memory.away)) + (rate + last.rate)
                    / 2 * seconds
            }
            last = (position.stamp, rate)
        }
    }

    init(_ config: NavigatorConfig, at stamp: Timestamp) {
        self.config = config
        since = stamp
    }

    mutating func judge(_ placement: RoutePlacement, _ position: VehiclePosition) -> Deviation {
        let difference = position.course.map { Angle.separation($0, placement.bearing) }
        excursion.add(
            position, bearing: placement.bearing,
            isOnRoute: placement.isFollowing && placement.distance <= config.deviationEdgeDistance)
        let isMoving = position.speed.map { $0 > config.deviationMinimumSpeed } ?? true
        if !position.isSeen, isDoubtful(placement, position, difference) {
            // A predicted position is no evidence that the vehicle left the route.
            if state == .onRoute || state == .offStep { set(.uncertain, position.stamp) }
            return Deviation(
                state: state, distance: placement.distance, probability: placement.strayProbability,
                courseDifference: difference, since: since)
        }
        switch placement.kind {
        case .onEdge, .takenBack:
            agree(position.stamp, isOnEdge: true)
        case .ahead:
            against = Evidence()
            backwards = Evidence()
            ahead.add(position.stamp, offset: placement.offset)
            if ahead.fixes >= config.deviationReturnFixes,
                ahead.seconds(at: position.stamp) >= DeviationMonitor.aheadDuration
            {
                set(.offStep, position.stamp)
            } else if state == .onRoute {
                set(.uncertain, position.stamp)
            }
        // A stationary vehicle does not leave its route.
        case .opposite where isMoving, .nearby where isMoving:
            if speaksAgainst(placement, position, difference) {
                disagree(placement, position, difference)
            } else if !isUndecided(placement, position.stamp) {
                agree(position.stamp, isOnEdge: false)
            }
        case .opposite, .nearby: break
        }
        return Deviation(
            state: state, distance: placement.distance, probability: placement.strayProbability,
            courseDifference: difference, since: since)
    }

    /// Whether a predicted position may as well be off the route: where roads parted and nothing told which one was taken.
    private func isDoubtful(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool {
        switch placement.kind {
        case .onEdge, .takenBack: placement.strayProbability >= DeviationMonitor.doubt
        // One prediction bears out the other: only fixes show that a part of the route was left out.
        case .ahead: true
        case .opposite, .nearby: speaksAgainst(placement, position, difference)
        }
    }

    /// Probability of being off the route from which a predicted position on it is doubtful.
    private static let doubt = 0.25

    /// The time that the vehicle must be seen further ahead before the cursor follows, seconds: two fixes at 1 Hz.
    private static let aheadDuration = 1.0

    mutating func restart(at stamp: Timestamp) {
        against = Evidence()
        backwards = Evidence()
        since = stamp
    }

    /// Whether a position that is near the route leaves open what the ones before it said: on another road, as far as is known, but too near to
    /// tell. It neither counts nor takes back what was counted just before.
    private func isUndecided(_ placement: RoutePlacement, _ stamp: Timestamp) -> Bool {
        guard placement.strayProbability >= config.deviationEdgeProbability, let age = against.age(at: stamp) else {
            return false
        }
        return age <= DeviationMonitor.openDuration
    }

    /// The time that evidence against the route waits for more, seconds.
    private static let openDuration = 2.5

    /// Whether a position that is on no edge of the route is more than noise.
    private func speaksAgainst(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool
    {
        let turnsAway = turnsAway(placement, position, difference)
        let sigma = position.sigma ?? config.deviationUnknownSigma
        let near = min(max(config.deviationEdgeDistance, 1.5 * sigma), config.deviationMaximumDistance)
        if placement.strayProbability >= config.deviationEdgeProbability {
            if goesElsewhere(placement, position) { return true }
            if position.road != nil,
                placement.kind == .opposite && !followsCourse(position, difference)
                    || placement.distance > (turnsAway ? max(0.75 * sigma, 3) : near)
            {
                return true
            }
        }
        let tolerance = min(
            max(config.deviationMinimumDistance, config.deviationBaseDistance + 2 * sigma),
            config.deviationMaximumDistance)
        return placement.distance > tolerance || turnsAway && placement.distance > tolerance / 2
    }

    /// Whether the movement fits a vehicle that has left the route.
    private func isExplained(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool {
        guard let metres = excursion.metres else { return true }
        return abs(metres) >= config.deviationExcursion || placement.kind == .opposite
            || placement.distance > config.deviationMaximumDistance
            || turnsAway(placement, position, difference) || goesElsewhere(placement, position)
    }

    /// Whether the vehicle goes where the route does not, anywhere near: back, or away to a side as far as changing lanes does not. How far it is
    /// from the route does not matter then: a reflection may well put it back on it.
    private func goesElsewhere(_ placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        guard let separation = placement.leastSeparation, position.fix.course != nil,
            let speed = position.fix.speed, speed.isFinite
        else { return false }
        if separation > .pi / 2 { return speed >= config.deviationCourseMinimumSpeed / 2 }
        return separation > config.deviationCourse && speed >= config.deviationCourseMinimumSpeed
            && abs(excursion.metres ?? 0) >= config.deviationExcursion
    }

    /// Whether the vehicle's course is the route's, at a speed where it can be told.
    private func followsCourse(_ position: VehiclePosition, _ difference: Double?) -> Bool {
        guard let difference, position.fix.course != nil else { return false }
        return difference <= config.deviationCourse && isFast(position)
    }

    /// Whether the vehicle goes in another direction than the route: by its course, which is good at speed, or when slow also by the road that
    /// it is on.
    private func turnsAway(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool {
        guard let difference, difference > config.deviationCourse else { return false }
        if isFast(position) { return true }
        guard let road = position.road else { return false }
        return Angle.separation(road.bearing, placement.bearing) > config.deviationCourse
    }

    private func isFast(_ position: VehiclePosition) -> Bool {
        (position.speed ?? config.deviationCourseMinimumSpeed) >= config.deviationCourseMinimumSpeed
    }

    /// A position on the route's edge is surer than one that is merely near: that may be a car park, too.
    private mutating func agree(_ stamp: Timestamp, isOnEdge: Bool) {
        against = Evidence()
        backwards = Evidence()
        ahead = Evidence()
        agreeing += 1
        let isConfirmed = agreeing >= config.deviationReturnFixes
        switch state {
        case .onRoute: break
        case .uncertain, .offStep: if isOnEdge || isConfirmed { set(.onRoute, stamp) }
        case .offRoute, .wrongWay: if isOnEdge && isConfirmed { set(.onRoute, stamp) }
        }
    }

    private mutating func disagree(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) {
        ahead = Evidence()
        agreeing = 0
        against.add(position.stamp, offset: placement.offset)
        if placement.kind == .opposite, (difference ?? 0) > .pi / 2 {
            backwards.add(position.stamp, offset: placement.offset)
        } else {
            backwards = Evidence()
        }
        if goesElsewhere(placement, position) { against.isBorneOut = true }
        let isExplained = against.isBorneOut || isExplained(placement, position, difference)
        let isLong =
            against.fixes >= config.deviationDebounceFixes
            && against.seconds(at: position.stamp)
                >= (isExplained ? config.deviationDebounce : config.deviationUnexplained)
        if isWrongWay(placement, position.stamp) || isLong && backwards.fixes >= config.wrongWayFixes {
            set(.wrongWay, position.stamp)
        } else if isLong, backwards.fixes == 0 {
            set(.offRoute, position.stamp)
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
