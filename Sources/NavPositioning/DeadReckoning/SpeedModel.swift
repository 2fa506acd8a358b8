import Glibc

/// A model vehicle with the driver's pace on these roads.
///
/// It runs alongside the real vehicle and supplies the speed when none is measured.
struct SpeedModel: Sendable {
    /// The driver's pace relative to the roads' speeds.
    private(set) var pace = DriverPace()
    /// The model's speed, m/s; nil before the first position on a road.
    private(set) var speed: Double?
    /// Speed of the real vehicle at the last position, m/s.
    private var lastSpeed: Double?
    /// Free-flow speed of the last road, m/s.
    private var lastRoad: Double?
    /// The real vehicle's acceleration up to the last position, m/s².
    private(set) var acceleration = 0.0
    /// The real speed as a share of the road's, including all hindrances: mean, variance, and the seconds that they
    /// cover.
    ///
    /// The initial values are those of towns, where a tenth of the time is spent waiting.
    private var flow = (mean: 0.9, variance: 0.06, seconds: 60.0)

    /// The relative deviation of the real speed from the model's while the two are comparable.
    ///
    /// The mean is the estimate of a Kalman filter over a first-order Gauss-Markov process; `unknown` is the remaining
    /// share of the prior variance, 0 to 1.
    private(set) var deviation = (mean: 0.0, unknown: 1.0)

    /// Speed from which the driver's pace is learned, m/s.
    private static let learningSpeed = 3.0
    /// Acceleration up to which a speed is steady, m/s².
    private static let steadiness = 0.4
    /// The share of a bend's speed limit below which the bend does not matter.
    private static let freeOfBends = 0.8
    /// Speed below which a vehicle is stationary or creeping, m/s, for reasons that are not in the map.
    private static let creeping = 2.0
    /// The least variance of the share of a road's speed that vehicles reach, because the next road has other bends,
    /// junctions, crossings and vehicles.
    private static let leastHindrance = 0.07
    /// The time over which the traffic flow is averaged, seconds.
    private static let flowMemory = 300.0
    /// Standard deviation of the deviation measured by one ratio of speeds in steady, free traffic.
    private static let ratioSigma = 0.03
    /// The times for which errors of the ratio last, in free traffic and while the model is hindered, seconds; that
    /// many seconds count as one observation.
    private static let (ratioTime, hindranceTime) = (5.0, 30.0)
    /// The change between two roads' speeds, in logarithms, over which a deviation fades by a factor of e: half of it
    /// is left on a road twice as fast.
    private static let roadMemory = 1.0
    /// The time for which an acceleration may continue, seconds: the current speed may be below the final one by the acceleration over that
    /// time.
    private static let gatheringTime = 5.0
    /// The same time for braking; it is shorter, because braking has a specific cause and an unknown end.
    private static let brakingTime = 1.0
    /// Acceleration that is explained by the noise of measured speeds, m/s².
    private static let accelerationNoise = 0.2
    /// The error of the ratio while bends, slower roads or acceleration limit the model, as a multiple of that
    /// limitation: mapped bends predict speeds poorly.
    private static let hindranceFactor = 2.0
    /// The range of the ratio of the real speed to the model's.
    private static let ratios = 0.2...1.8

    /// Advances the model alongside the real vehicle, which is at a place with a measured speed.
    ///
    /// - Parameters:
    ///   - isCertain: Whether the place is certain enough to learn from.
    ///   - memory: The time for which a driver keeps a deviation, seconds.
    mutating func follow(
        _ place: RoadPlace, speed real: Double, seconds: Double, isCertain: Bool, memory: Double, _ ahead: RoadAhead
    ) {
        defer { lastSpeed = real }
        acceleration = lastSpeed.map { seconds > 0 ? min(max((real - $0) / max(seconds, 0.5), -4), 4) : 0 } ?? 0
        let (ceiling, inBends) = ahead.speed(at: place, pace)
        advance(seconds, ceiling: ceiling)
        noteFlow(min(max(real / ceiling, 0), 1.5), seconds: seconds)
        let road = ahead.freeSpeed(of: place.edge)
        noteDeviation(of: real, onRoad: road, ceiling: ceiling, seconds: seconds, memory: memory)
        guard real >= SpeedModel.creeping else { return speed = max(real, 0) }
        // Braking for a bend and accelerating after it are no evidence of the pace.
        guard isCertain, real > SpeedModel.learningSpeed, let lastSpeed,
            abs(real - lastSpeed) <= SpeedModel.steadiness * seconds, real < SpeedModel.freeOfBends * inBends
        else { return }
        let usual = pace.speed(onRoad: road)
        guard ceiling > 0.97 * usual, let speed, speed > 0.95 * usual else { return }
        pace.learn(real, road: road, seconds: seconds)
    }

    private mutating func noteFlow(_ share: Double, seconds: Double) {
        let seconds = min(max(seconds, 0), 10)
        flow.seconds = flow.seconds * exp(-seconds / SpeedModel.flowMemory) + seconds
        let weight = seconds / flow.seconds
        let miss = share - flow.mean
        flow.mean += miss * weight
        flow.variance += (miss * miss * (1 - weight) - flow.variance) * weight
    }

    /// Updates the deviation by the ratio of the speeds, weighted by how comparable they are.
    ///
    /// A driver who accelerates after a bend is below their final speed, and the model may have begun to accelerate earlier or later.
    private mutating func noteDeviation(
        of real: Double, onRoad road: Double, ceiling: Double, seconds: Double, memory: Double
    ) {
        let seconds = min(max(seconds, 0), 10)
        let other = lastRoad.map { abs(log(road / $0)) } ?? 0
        lastRoad = road
        let fading = exp(-seconds / max(memory, 1) - other / SpeedModel.roadMemory)
        deviation.mean *= fading
        deviation.unknown = 1 - (1 - deviation.unknown) * fading * fading
        guard real >= SpeedModel.creeping, seconds > 0, let speed else { return }
        let hindrance = SpeedModel.hindranceFactor * max(1 - min(ceiling, speed) / pace.speed(onRoad: road), 0)
        let time = acceleration > 0 ? SpeedModel.gatheringTime : SpeedModel.brakingTime
        let change = max(abs(acceleration) - SpeedModel.accelerationNoise, 0) * time / real
        let noise =
            (SpeedModel.ratioSigma * SpeedModel.ratioSigma + change * change) * max(SpeedModel.ratioTime / seconds, 1)
            + hindrance * hindrance * max(SpeedModel.hindranceTime / seconds, 1)
        let (passing, lasting) = pace.variance(onRoad: road)
        let variance = deviation.unknown * (passing + lasting)
        let gain = variance / (variance + noise)
        deviation.mean += gain * (ratio(of: real) - 1 - deviation.mean)
        deviation.unknown *= 1 - gain
    }

    /// Returns the long-run mean and variance of the relative deviation from the model's speed.
    ///
    /// In a tunnel only the driver's own pace matters, so the part of the deviation that stems from the uncertainty
    /// about it is kept. Elsewhere hindrances are assumed to continue.
    ///
    /// - Parameter excess: The real speed relative to the model's, minus 1: the last comparable value for a tunnel,
    ///   otherwise the last.
    func outlook(from excess: Double, onRoad road: Double, inTunnel: Bool) -> (excess: Double, variance: Double) {
        let (passing, lasting) = pace.variance(onRoad: road)
        let kept = excess * lasting / (passing + lasting)
        let own = passing + lasting * passing / (passing + lasting)
        guard !inTunnel else { return (kept, own) }
        return ((1 + kept) * min(flow.mean, 1) - 1, own + max(flow.variance, SpeedModel.leastHindrance))
    }

    /// Combines a poor or missing speed measurement with the usual speed on the road, weighted by their uncertainties;
    /// returns the speed and its standard deviation, m/s.
    func weigh(_ real: Double, sigma: Double, ceiling: Double) -> (speed: Double, sigma: Double) {
        let usual = min(flow.mean, 1) * ceiling
        let variance = max(flow.variance, SpeedModel.leastHindrance) * ceiling * ceiling
        let gain = variance / (variance + sigma * sigma)
        return (usual + gain * (real - usual), (gain * sigma * sigma).squareRoot())
    }

    /// Advances the model by some seconds, no faster than the road ahead allows.
    mutating func advance(_ seconds: Double, ceiling: Double) {
        guard let speed else { return self.speed = ceiling }
        self.speed = min(speed + RoadAhead.acceleration * max(seconds, 0), ceiling)
    }

    /// Returns the real vehicle's speed as a multiple of the model's.
    func ratio(of real: Double) -> Double {
        guard let speed, speed > 0 else { return 1 }
        return min(max(real / speed, SpeedModel.ratios.lowerBound), SpeedModel.ratios.upperBound)
    }

    /// Sets the model's speed to the real vehicle's, m/s.
    mutating func take(_ real: Double) { speed = max(real, 0) }

    /// Discards the place, but keeps the driver's pace.
    mutating func interrupt() {
        (speed, lastSpeed, acceleration) = (nil, nil, 0)
        lastRoad = nil
        deviation = (0, 1)
    }
}
