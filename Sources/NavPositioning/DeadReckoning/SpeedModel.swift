import Glibc

/// A vehicle that drives as the roads and this driver's pace let expect: beside the real one while that is seen, in its place when it is not.
struct SpeedModel: Sendable {
    /// The driver's pace relative to the roads' speeds.
    private(set) var pace = DriverPace()
    /// Its speed, m/s; nil before the first position on a road.
    private(set) var speed: Double?
    /// Speed of the real one at the last position, m/s.
    private var lastSpeed: Double?
    /// Speed of the last road, m/s.
    private var lastRoad: Double?
    /// The real vehicle's acceleration up to then, m/s².
    private(set) var acceleration = 0.0
    /// The real speed as a share of what the road would allow, with all that hinders: its mean, its variance, and the seconds they are of.
    /// Before anything is known as in towns, where a tenth of the time is spent waiting.
    private var flow = (mean: 0.9, variance: 0.06, seconds: 60.0)

    /// By what share the real one is faster than this one where the two are comparable: the estimate of a Kalman filter over a first-order
    /// Gauss-Markov process, and what is left of the variance before anything was seen, 0 to 1.
    private(set) var deviation = (mean: 0.0, unknown: 1.0)

    /// Speed from which the driver's pace is learned, m/s.
    private static let learningSpeed = 3.0
    /// Acceleration up to which a speed is steady, m/s².
    private static let steadiness = 0.4
    /// Share of what a bend allows under which it does not matter.
    private static let freeOfBends = 0.8
    /// Speed under which a vehicle stands or creeps, m/s: what for, the roads do not tell.
    private static let creeping = 2.0
    /// Variance of the share of its speed that a road lets a vehicle have, at least: bends, junctions, crossings and other vehicles are others on
    /// the next road than on those before.
    private static let leastHindrance = 0.07
    /// Over how long the flow of the traffic is averaged, seconds.
    private static let flowMemory = 300.0
    /// Standard deviation with which a ratio of speeds in steady, free traffic tells the deviation.
    private static let ratioSigma = 0.03
    /// For how long a ratio of speeds is off by the same, seconds, in free traffic and where something holds the model back: so many are one
    /// observation.
    private static let (ratioTime, hindranceTime) = (5.0, 30.0)
    /// Over how much of a change between the roads' speeds, in logarithms, a deviation fades: half of it is left on a road that is twice as fast.
    private static let roadMemory = 1.0
    /// Seconds for which a vehicle that gathers speed may go on to: by so much of its acceleration may its speed be short of what it will be.
    private static let gatheringTime = 5.0
    /// The same of one that brakes, for what it saw: nothing says how far it will, and it does not do so for nothing.
    private static let brakingTime = 1.0
    /// Acceleration that is the noise of measured speeds, m/s².
    private static let accelerationNoise = 0.2
    /// The error of the ratio while bends, slower roads or its own acceleration hold the model back, as a multiple of the share by which they
    /// do: the drawing of a bend tells its speed badly.
    private static let hindranceFactor = 2.0
    /// The range of the real speed's ratio to the model's.
    private static let ratios = 0.2...1.8

    /// Goes on beside the real vehicle, which is at a place of the road with a speed that was measured.
    ///
    /// - Parameters:
    ///   - isCertain: whether the place is sure enough to learn from.
    ///   - memory: how long a driver keeps to a deviation, seconds.
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
        // Braking for a bend and accelerating behind it say nothing about the pace.
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

    /// Weighs what the ratio of the speeds tells by how comparable they are: who gathers speed behind a bend is slower than they will be, and
    /// the model may have begun to earlier or later.
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

    /// Returns the outlook of a deviation from the model's speed, as shares of that: its mean and its spread.
    ///
    /// In a tunnel nothing crosses and nothing stops, and a driver's own pace is all that matters: so much of a deviation stays as is due to
    /// that not being known. Elsewhere vehicles are hindered as they were before.
    ///
    /// - Parameter excess: the real speed as a share of the model's, less 1: where they were comparable for a tunnel, else the last.
    func outlook(from excess: Double, onRoad road: Double, inTunnel: Bool) -> (excess: Double, variance: Double) {
        let (passing, lasting) = pace.variance(onRoad: road)
        let kept = excess * lasting / (passing + lasting)
        let own = passing + lasting * passing / (passing + lasting)
        guard !inTunnel else { return (kept, own) }
        return ((1 + kept) * min(flow.mean, 1) - 1, own + max(flow.variance, SpeedModel.leastHindrance))
    }

    /// The speed of a vehicle that was measured badly or not at all, and its standard deviation, m/s: what was measured
    /// and what vehicles have of what the road allows, each by how well it is known.
    func weigh(_ real: Double, sigma: Double, ceiling: Double) -> (speed: Double, sigma: Double) {
        let usual = min(flow.mean, 1) * ceiling
        let variance = max(flow.variance, SpeedModel.leastHindrance) * ceiling * ceiling
        let gain = variance / (variance + sigma * sigma)
        return (usual + gain * (real - usual), (gain * sigma * sigma).squareRoot())
    }

    /// Goes on for some seconds, no faster than the road ahead allows.
    mutating func advance(_ seconds: Double, ceiling: Double) {
        guard let speed else { return self.speed = ceiling }
        self.speed = min(speed + RoadAhead.acceleration * max(seconds, 0), ceiling)
    }

    /// The real vehicle's speed as a share of the model's.
    func ratio(of real: Double) -> Double {
        guard let speed, speed > 0 else { return 1 }
        return min(max(real / speed, SpeedModel.ratios.lowerBound), SpeedModel.ratios.upperBound)
    }

    /// Takes over the real vehicle's speed, m/s.
    mutating func take(_ real: Double) { speed = max(real, 0) }

    /// Forgets the place, but not the driver.
    mutating func interrupt() {
        (speed, lastSpeed, acceleration) = (nil, nil, 0)
        lastRoad = nil
        deviation = (0, 1)
    }
}
