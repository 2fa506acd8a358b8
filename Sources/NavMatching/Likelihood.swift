import Glibc
import NavGeo

/// The likelihood of a fix given a place.
struct Emission {
    private let sigma: Double
    private let weight: Double
    private let course: Double?
    private let courseSigma: Double

    /// The deviation, in standard deviations, beyond which the distribution has a heavier tail, to allow for
    /// reflections in streets.
    private static let tail = 4.0
    /// The lower bound of a course's log likelihood, because receivers sometimes report the opposite direction.
    private static let courseFloor = -7.0

    /// - Parameter weight: The share of the position's evidence that is new, 0 ... 1.
    init(_ fix: Fix, sigma: Double, weight: Double, config: MatcherConfig) {
        self.sigma = sigma
        self.weight = weight
        let speed = fix.usableSpeed
        course = (speed ?? 0) >= config.courseSpeed ? fix.usableCourse : nil
        // Roads bend between their nodes and vehicles change lanes: 12 degrees at speed, more when slow.
        courseSigma = Angle.radians(12 + 60 / max(speed ?? 1, 1))
    }

    func log(_ place: Place) -> Double {
        let deviation = place.distance / sigma
        var log =
            weight
            * (deviation <= Emission.tail
                ? -deviation * deviation / 2 : -Emission.tail * (deviation - Emission.tail / 2))
        if let course {
            let angle = Angle.separation(course, place.bearing) / courseSigma
            log += max(-angle * angle / 2, Emission.courseFloor)
        }
        return log
    }
}

/// The likelihood of a path, given the movement between two fixes.
struct Movement {
    /// Metres between the fixes.
    let straight: Double
    /// Metres by which noise may make a place appear to move backwards.
    let backwardTolerance: Double
    /// Metres that a U-turn counts as when paths are compared.
    let uTurnCost: Float
    /// Metres beyond which a path is less likely than a jump.
    let bound: Double
    /// Extra metres that make a path less likely by a factor of e.
    let scale: Double

    private let uTurnLog: Double
    private let expected: (distance: Double, sigma: Double)?
    private let possible: Double

    /// The lower bound of a distance's log likelihood given the reported speeds, because they lag and wheels and
    /// receivers disagree.
    private static let speedFloor = -6.0

    init(
        from origin: MovementReference, to now: MovementReference, frame: LocalFrame, sigma: Double,
        config: MatcherConfig
    ) {
        straight = frame.distance(origin.coordinate, now.coordinate)
        scale = config.detourScale + config.detourGrowth * straight
        backwardTolerance = 3 * sigma
        uTurnLog = config.uTurnLog
        uTurnCost = Float(-config.uTurnLog * scale)
        possible = config.maximumSpeed * max(now.stamp.seconds(since: origin.stamp), 0) + 6 * sigma
        bound = min(straight - config.jumpLog * scale, config.maximumBridge * 2, possible)
        if origin.gaps == now.gaps {
            let travelled = now.travelled - origin.travelled
            expected = (travelled, 0.1 * travelled + sigma)
        } else {
            expected = nil
        }
    }

    func log(distance: Double, uTurns: Int) -> Double {
        guard distance <= possible else { return -.infinity }
        var log = -abs(distance - straight) / scale + Double(uTurns) * uTurnLog
        if let expected {
            let deviation = (distance - expected.distance) / expected.sigma
            log += max(-deviation * deviation / 2, Movement.speedFloor)
        }
        return log
    }
}
