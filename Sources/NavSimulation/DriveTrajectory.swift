import Glibc
import NavGeo

/// The trajectory of a vehicle that follows a drive and turns no faster than a car.
///
/// The line of a drive changes its direction at a point, which no turn rate describes. This vehicle steers towards the place where the drive
/// is a moment later, and turns within some metres of the corner. Position, course and speed belong to one motion, so that its
/// odometry integrates to its positions.
package struct DriveTrajectory: Sendable {
    private let drive: Drive
    private let backUp: Double
    /// The vehicle's states, ``rate`` per second.
    private let steps: [DriveState]

    /// Steps per second: at the fastest turn the course changes by a degree per step.
    private static let rate = 50.0
    /// The time by which the vehicle looks ahead, seconds.
    private static let lookahead = 1.0
    /// The time in which the vehicle turns to where it steers, seconds, or longer if that would exceed ``OdometryModel/fastestTurn``.
    private static let response = 0.2
    /// The greatest change of the speed, m/s².
    private static let acceleration = 4.0
    /// Speed of a vehicle that has passed its target and turns around, m/s.
    private static let turningSpeed = 1.0

    /// Follows a drive, see ``Drive/states(rate:backingUp:)``.
    package init(_ drive: Drive, backingUp distance: Double = 0) {
        self.drive = drive
        backUp = distance
        let targets = drive.states(rate: DriveTrajectory.rate, backingUp: distance)
        var steps: [DriveState] = []
        steps.reserveCapacity(targets.count)
        for (index, target) in targets.enumerated() {
            let ahead = targets[min(index + Int(DriveTrajectory.lookahead * DriveTrajectory.rate), targets.count - 1)]
            steps.append(steps.last.map { DriveTrajectory.step(from: $0, target, ahead) } ?? target)
        }
        self.steps = steps
    }

    /// Returns `rate` states per second, at the times of the drive's own states.
    package func states(rate: Double) -> [DriveState] {
        drive.states(rate: rate, backingUp: backUp).map { target in
            let position = min(max(target.time * DriveTrajectory.rate, 0), Double(max(steps.count - 1, 0)))
            let index = Int(position)
            guard index < steps.count else { return target }
            let (first, second) = (steps[index], steps[min(index + 1, steps.count - 1)])
            let share = position - Double(index)
            let frame = LocalFrame(origin: first.coordinate)
            let way = frame.point(second.coordinate)
            var state = target
            state.coordinate = frame.coordinate(of: LocalPoint(east: way.east * share, north: way.north * share))
            let heading = first.heading + Angle.difference(from: first.heading, to: second.heading) * share
            state.course = Angle.normalised(heading + (state.reverses ? .pi : 0))
            state.speed = target.speed == 0 ? 0 : first.speed + (second.speed - first.speed) * share
            return state
        }
    }

    /// Returns the vehicle's next state.
    ///
    /// - Parameters:
    ///   - target: The state of the drive at that time.
    ///   - ahead: The state of the drive towards which the vehicle steers.
    private static func step(from state: DriveState, _ target: DriveState, _ ahead: DriveState) -> DriveState {
        let seconds = 1 / rate
        var course = state.course
        if target.reverses != state.reverses { course += .pi }
        let frame = LocalFrame(origin: state.coordinate)
        let way = frame.point(ahead.coordinate)
        let along = (way.east * sin(course) + way.north * cos(course)) / lookahead
        // A vehicle that lags behind drives faster; it is stationary whenever the drive is.
        let wanted = min(max(along, min(target.speed, turningSpeed)), 1.1 * target.speed + min(0.9 * target.speed, 1))
        let change = acceleration * seconds
        let speed = target.speed == 0 ? 0 : min(max(wanted, state.speed - change), state.speed + change)
        var turn = 0.0
        // The direction to a place beside a vehicle that hardly moves is meaningless.
        if speed > 0, way.length > 0.2 {
            let most = OdometryModel.fastestTurn * seconds
            let wanted = Angle.difference(from: course, to: atan2(way.east, way.north)) * seconds / response
            turn = min(max(wanted, -most), most)
        }
        let distance = (state.speed + speed) / 2 * seconds
        let direction = course + turn / 2
        var next = target
        next.coordinate = frame.coordinate(
            of: LocalPoint(east: distance * sin(direction), north: distance * cos(direction)))
        next.course = Angle.normalised(course + turn)
        next.speed = speed
        return next
    }
}
