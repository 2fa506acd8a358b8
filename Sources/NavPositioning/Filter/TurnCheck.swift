import Glibc
import NavGeo
import NavMatching

/// A check of the measured turn rate by a short run of fixes that contradict the prediction from it.
///
/// A turn rate that is late or belongs to another moment turns the predicted motion away from the fixes within seconds, long before
/// ``SignalMonitor`` has legs to compare. The fixes are right if their positions move as their own speeds and courses say: a reflection
/// shifts positions without turning the course, a late course of the receiver leaves the positions right, and a frozen position does not
/// move.
struct TurnCheck: Sendable {
    private var first: Fix?
    private var last: Fix?
    private var count = 0
    /// Whether the last fix was too far from the predicted position.
    private var isAside = false
    /// The way since the first fix by the receiver's speeds and courses, metres.
    private var way = LocalPoint(east: 0, north: 0)

    /// Difference of the course that contradicts the prediction, radians: 20°, well above the error of a receiver's course.
    private static let astray = Double.pi / 9
    /// The fixes and seconds of a run that suffice.
    private static let (fixes, duration) = (3, 1.0)
    /// The longest time between two fixes of a run, seconds.
    private static let longestGap = 2.5
    /// The way of a run that suffices, metres, and the share of it by which the positions may deviate.
    private static let (length, deviation) = (5.0, 0.5)

    /// Adds a fix with its prediction; returns whether the fixes show that the turn rate is wrong.
    mutating func isWrong(_ fix: Fix, predicted filter: MotionFilter) -> Bool {
        guard filter.contradicts(fix, by: TurnCheck.astray), let motion = velocity(of: fix) else {
            self = TurnCheck()
            return false
        }
        // A course that is wrong moves the predicted position away from the fixes; the error of a single position may be as large.
        let wasAside = isAside
        isAside = filter.expectedError(of: fix).normalised > filter.config.positionGate
        defer { last = fix }
        guard let first, let last, fix.course != last.course,
            case let seconds = fix.stamp.seconds(since: last.stamp), seconds > 0, seconds < TurnCheck.longestGap
        else {
            // A course that is exactly repeated is not measured.
            (first, count, way) = (fix, 1, LocalPoint(east: 0, north: 0))
            return false
        }
        let before = velocity(of: last) ?? motion
        way.east += (before.east + motion.east) / 2 * seconds
        way.north += (before.north + motion.north) / 2 * seconds
        count += 1
        let moved = LocalFrame(origin: first.coordinate).point(fix.coordinate)
        let miss = moved - way
        return isAside && wasAside && count >= TurnCheck.fixes
            && fix.stamp.seconds(since: first.stamp) >= TurnCheck.duration
            && way.length >= max(TurnCheck.length, filter.config.sigma(of: fix))
            && miss.length <= TurnCheck.deviation * way.length
    }

    private func velocity(of fix: Fix) -> LocalPoint? {
        guard let speed = fix.usableSpeed, let course = fix.course, course.isFinite else { return nil }
        return LocalPoint(east: speed * sin(course), north: speed * cos(course))
    }
}

extension MotionFilter {
    /// Whether a fix contradicts the predicted course by more than an angle.
    fileprivate func contradicts(_ fix: Fix, by angle: Double) -> Bool {
        guard isOriented, let moved = fix.usableSpeed, moved >= config.courseSpeed, let course = fix.course,
            course.isFinite
        else { return false }
        let difference = Angle.separation(self.course, speed < 0 ? course + .pi : course)
        let slip = config.speedSigma / moved
        let variance = courseSigma * courseSigma + config.courseSigma * config.courseSigma + slip * slip
        return difference > angle && difference * difference > config.scalarGate * variance
    }

    /// Takes the direction from a fix that a wrong turn rate contradicts, and leaves the position to it; speed and scale remain.
    mutating func reorient(by fix: Fix) {
        guard let course = fix.course, course.isFinite else { return }
        let error = expectedError(of: fix).distance
        for axis in [Axis.east, Axis.north] { state.isolate(axis, variance: max(state[axis, axis], error * error)) }
        state.isolate(Axis.course, variance: 0.01)
        state.mean[Axis.course] = speed < 0 ? course + .pi : course
        state.isolate(Axis.turnBias, variance: config.turnBiasSigma * config.turnBiasSigma)
        turn = nil
    }
}
