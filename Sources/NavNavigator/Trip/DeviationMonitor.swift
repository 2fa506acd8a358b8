import Glibc
import NavGeo
import NavMatching
import NavPositioning

/// A monitor that evaluates at each fix whether the vehicle follows its route.
///
/// The matched edge counts first (connectivity), then distance and course; a single fix never decides. A distance has full weight only if
/// speed and course confirm it: a reflected signal shifts the position for many fixes, but not the velocity, which is measured from the
/// carrier frequency. The monitor only reports; the navigator decides.
struct DeviationMonitor {
    var config: NavigatorConfig
    private(set) var state: DeviationState = .onRoute
    private(set) var since: Timestamp
    private var against = Evidence()
    /// The evidence for driving along the route in the wrong direction.
    private var backwards = Evidence()
    /// The consecutive fixes that place the vehicle further ahead than it can have driven.
    private var ahead = Evidence()
    /// The lateral movement away from the route, by speed and course.
    private var excursion = Excursion()
    /// The number of consecutive fixes that do not count against the route.
    private var agreeing = 0

    /// Consecutive fixes with the same evidence.
    private struct Evidence {
        var fixes = 0
        var first: (stamp: Timestamp, offset: Double, coordinate: Coordinate)?
        private var last: Timestamp?
        /// The number of latest fixes faster than a vehicle that backs out of a parking place; an unknown speed counts as fast.
        private(set) var fastFixes = 0
        /// Whether the vehicle's movement confirmed one of the fixes.
        var isConfirmed = false

        mutating func add(_ position: VehiclePosition, offset: Double) {
            if first == nil { first = (position.stamp, offset, position.coordinate) }
            last = position.stamp
            fixes += 1
            fastFixes = (position.speed ?? .infinity) >= DeviationMonitor.fastestBackingOut ? fastFixes + 1 : 0
        }

        /// Returns the seconds since the last fix; nil when there are none.
        func age(at stamp: Timestamp) -> Double? { last.map { stamp.seconds(since: $0) } }

        func seconds(at stamp: Timestamp) -> Double { first.map { stamp.seconds(since: $0.stamp) } ?? 0 }
    }

    /// The lateral movement to the right of the route, computed from the receiver's speed and course alone.
    private struct Excursion {
        private var sum = 0.0
        private var last: (stamp: Timestamp, rate: Double)?

        /// Longest time for which a speed is extrapolated, seconds.
        private static let validity = 2.5
        /// Time constants of the decay of errors in the bearings of map and receiver, seconds; shorter on the route, where a non-zero sum
        /// is an error.
        private static let memory = (on: 5.0, away: 30.0)

        /// Metres, positive to the right; nil without speeds and courses.
        var metres: Double? { last == nil ? nil : sum }

        mutating func add(_ position: VehiclePosition, bearing: Double, isOnRoute: Bool) {
            guard let speed = position.fix.speed, let course = position.fix.course, speed >= 0, speed < 150,
                course.isFinite
            else {
                // A stationary receiver has no course and does not move.
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

    /// Whether a position was on the route's edge.
    private var wasOnRoute = false

    init(_ config: NavigatorConfig, at stamp: Timestamp) {
        self.config = config
        since = stamp
    }

    mutating func classify(_ placement: RoutePlacement, _ position: VehiclePosition) -> Deviation {
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
        case .onEdge, .behindPrediction:
            wasOnRoute = true
            agree(position.stamp, isOnEdge: true)
        case .ahead:
            against = Evidence()
            backwards = Evidence()
            ahead.add(position, offset: placement.offset)
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
        case .opposite, .nearby:
            // A stationary vehicle may never have been on the route: a route may start farther away than a start is snapped to a road.
            guard !wasOnRoute else { break }
            let near = config.deviationMaximumDistance + config.snapRadius
            let isFar = placement.distance > near + 2 * (position.sigma ?? config.deviationUnknownSigma)
            if isFar, state == .onRoute { set(.uncertain, position.stamp) }
            if !isFar, state == .uncertain { set(.onRoute, position.stamp) }
        }
        return Deviation(
            state: state, distance: placement.distance, probability: placement.strayProbability,
            courseDifference: difference, since: since)
    }

    /// Whether a predicted position may equally be off the route: roads diverged and no measurement showed which one was taken.
    private func isDoubtful(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool {
        switch placement.kind {
        case .onEdge, .behindPrediction: placement.strayProbability >= DeviationMonitor.doubt
        // Predictions cannot confirm each other; only fixes show that a part of the route was skipped.
        case .ahead: true
        case .opposite, .nearby: speaksAgainst(placement, position, difference)
        }
    }

    /// Probability of being off the route from which a predicted position on it is doubtful.
    private static let doubt = 0.25

    /// The time for which the vehicle must be seen further ahead before the cursor follows, seconds: two fixes at 1 Hz.
    private static let aheadDuration = 1.0

    mutating func restart(at stamp: Timestamp) {
        against = Evidence()
        backwards = Evidence()
        since = stamp
    }

    /// Whether a position near the route neither adds to the recent evidence against it nor cancels that evidence: the vehicle is probably
    /// on another road, but too near the route to be certain.
    private func isUndecided(_ placement: RoutePlacement, _ stamp: Timestamp) -> Bool {
        guard placement.strayProbability >= config.deviationEdgeProbability, let age = against.age(at: stamp) else {
            return false
        }
        return age <= DeviationMonitor.openDuration
    }

    /// The time for which evidence against the route is kept, seconds.
    private static let openDuration = 2.5

    /// Whether a position on no edge of the route deviates by more than noise.
    private func speaksAgainst(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool
    {
        let turnsAway = turnsAway(placement, position, difference)
        let sigma = position.sigma ?? config.deviationUnknownSigma
        let isFirm = placement.strayProbability >= config.deviationFirmProbability
        let least = isFirm ? config.deviationFirmDistance : config.deviationEdgeDistance
        let near = min(max(least, 1.5 * sigma), config.deviationMaximumDistance)
        if placement.strayProbability >= config.deviationEdgeProbability {
            if goesElsewhere(placement, position) { return true }
            // On the route's road, the course decides; after reversing, the matcher may still have the other direction.
            if placement.kind == .opposite {
                if position.road != nil, !followsCourse(position, difference) { return true }
            } else if position.road != nil, placement.distance > (turnsAway ? max(0.75 * sigma, 3) : near) {
                return true
            }
        }
        let tolerance = min(
            max(config.deviationMinimumDistance, config.deviationBaseDistance + 2 * sigma),
            config.deviationMaximumDistance)
        return placement.distance > tolerance || turnsAway && placement.distance > tolerance / 2
    }

    /// Whether the movement is consistent with a vehicle that has left the route.
    private func isExplained(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool {
        guard let metres = excursion.metres else { return true }
        // Between closer roads, the lateral movement cannot exceed their distance.
        let across = min(config.deviationExcursion, max(placement.distance * 0.8, config.deviationFirmDistance))
        return abs(metres) >= across || placement.kind == .opposite
            || placement.distance > config.deviationMaximumDistance
            || turnsAway(placement, position, difference) || goesElsewhere(placement, position)
    }

    /// Whether the vehicle moves in a direction that the route has nowhere nearby: back, or sideways by more than a lane change. Its
    /// distance from the route is then ignored, because a reflection may place it on the route.
    private func goesElsewhere(_ placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        guard let separation = placement.leastSeparation, position.fix.course != nil,
            let speed = position.fix.speed, speed.isFinite
        else { return false }
        if separation > .pi / 2 { return speed >= config.deviationCourseMinimumSpeed / 2 }
        return separation > config.deviationCourse && speed >= config.deviationCourseMinimumSpeed
            && abs(excursion.metres ?? 0) >= config.deviationExcursion
    }

    /// Whether the vehicle's course matches the route's, at a speed where the course is reliable.
    private func followsCourse(_ position: VehiclePosition, _ difference: Double?) -> Bool {
        guard let difference, position.fix.course != nil else { return false }
        return difference <= config.deviationCourse && isFast(position)
    }

    /// Whether the vehicle's direction differs from the route's: by its course at speed, and at low speed also by its road.
    private func turnsAway(_ placement: RoutePlacement, _ position: VehiclePosition, _ difference: Double?) -> Bool {
        guard let difference, difference > config.deviationCourse else { return false }
        if isFast(position) { return true }
        guard let road = position.road else { return false }
        return Angle.separation(road.bearing, placement.bearing) > config.deviationCourse
    }

    private func isFast(_ position: VehiclePosition) -> Bool {
        (position.speed ?? config.deviationCourseMinimumSpeed) >= config.deviationCourseMinimumSpeed
    }

    /// Records agreement with the route; a position on its edge is more certain than one merely near it, as in a car park.
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
        if placement.kind == .opposite, (difference ?? 0) > .pi / 2 {
            backwards.add(position, offset: placement.offset)
        } else if backwards.fixes > 0 {
            // Reversing is no evidence that the vehicle has left the road.
            (backwards, against) = (Evidence(), Evidence())
        }
        against.add(position, offset: placement.offset)
        if goesElsewhere(placement, position) { against.isConfirmed = true }
        let isExplained = against.isConfirmed || isExplained(placement, position, difference)
        let isLong =
            against.fixes >= config.deviationDebounceFixes
            && against.seconds(at: position.stamp)
                >= (isExplained ? config.deviationDebounce : config.deviationUnexplained)
        if isWrongWay(placement, position) {
            set(.wrongWay, position.stamp)
        } else if isLong, backwards.fixes == 0 {
            set(.offRoute, position.stamp)
        } else if state == .onRoute || state == .offStep {
            set(.uncertain, position.stamp)
        }
    }

    /// Whether the vehicle has driven back far enough, independently of the fix rate: by number of fixes and by distance. Half of the
    /// distance suffices after the debounce time, and none is needed at a speed above that of backing out of a parking place.
    private func isWrongWay(_ placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        guard let first = backwards.first, backwards.fixes >= config.wrongWayFixes else { return false }
        // The route may begin at the vehicle, and then the offset does not decrease.
        let driven = max(first.offset - placement.offset, Geodesy.distance(first.coordinate, position.coordinate))
        if driven >= config.wrongWayDistance { return true }
        guard backwards.seconds(at: position.stamp) >= config.deviationDebounce else { return false }
        return driven >= config.wrongWayDistance / 2 || backwards.fastFixes >= DeviationMonitor.fewestFastFixes
    }

    /// The greatest speed of backing out of a parking place, m/s.
    private static let fastestBackingOut = 4.0

    /// The least number of consecutive fixes above that speed; more than one, because a single speed may be wrong.
    private static let fewestFastFixes = 2

    private mutating func set(_ new: DeviationState, _ stamp: Timestamp) {
        guard new != state else { return }
        state = new
        since = stamp
    }
}
