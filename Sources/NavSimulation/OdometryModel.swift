package import NavGeo
import NavMatching
package import NavPositioning

/// The errors of a simulated vehicle's own sensors.
package struct OdometryModel: Sendable, Hashable {
    /// The relative error of the wheel speed, positive when the reported speed is too high: tyres cause up to 2 %.
    package var scaleError: Double
    /// Standard deviation of the speed, m/s.
    package var speedNoise: Double
    /// The bias of the yaw rate, rad/s: 0.1 to 0.5 °/s for a gyroscope in a car.
    package var turnBias: Double
    /// Standard deviation of the yaw rate, rad/s.
    package var turnNoise: Double
    /// The smallest speed that the wheels report, m/s.
    package var resolution: Double

    package init(
        scaleError: Double = 0.01, speedNoise: Double = 0.05, turnBias: Double = 0.003, turnNoise: Double = 0.003,
        resolution: Double = 0.02
    ) {
        self.scaleError = scaleError
        self.speedNoise = speedNoise
        self.turnBias = turnBias
        self.turnNoise = turnNoise
        self.resolution = max(resolution, 1e-6)
    }

    /// Returns the sensor errors of a random car, derived from a seed.
    ///
    /// The wheel error has a standard deviation of 0.8 % and is at most 2 %; the gyroscope bias 0.15 °/s, and at most 0.5 °/s.
    package static func car(seed: UInt64) -> OdometryModel {
        var random = SeededRandom(seed: seed)
        return OdometryModel(
            scaleError: min(max(0.008 * random.gaussian(), -0.02), 0.02),
            turnBias: min(max(0.0026 * random.gaussian(), -0.0087), 0.0087))
    }

    /// The greatest yaw rate of a car, rad/s.
    static let fastestTurn = 0.8

    /// Returns the odometry of a drive that starts at `start`: one report per state.
    ///
    /// The states of a ``DriveTrajectory`` turn no faster than a car. At the corners of a line the reported turn lasts longer than the
    /// change of the course, and the odometry does not integrate to the positions.
    package func reports(_ states: [DriveState], start: Timestamp, seed: UInt64) -> [Odometry] {
        var random = SeededRandom(seed: seed)
        var heading = states.first?.heading ?? 0
        var previous = states.first?.time ?? 0
        return states.map { state in
            let seconds = max(state.time - previous, 0)
            previous = state.time
            let most = OdometryModel.fastestTurn * seconds
            let turn = min(max(Angle.difference(from: heading, to: state.heading), -most), most)
            heading = Angle.normalised(heading + turn)
            let rate = seconds > 0 ? turn / seconds : 0
            let speed = state.speed * (1 + scaleError) + speedNoise * random.gaussian()
            let reported = max((speed / resolution).rounded() * resolution, 0)
            return Odometry(
                stamp: start.advanced(bySeconds: state.time),
                speed: state.reverses ? -reported : reported, speedSigma: max(speedNoise, 0.02),
                turnRate: rate + turnBias + turnNoise * random.gaussian(), turnRateSigma: max(turnNoise, 1e-3),
                isStationary: state.speed == 0)
        }
    }
}
