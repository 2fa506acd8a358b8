/// A vehicle that drives as the roads and this driver's pace let expect: beside the real one while that is seen, in its place when it is not.
struct SpeedModel: Sendable {
    /// What the driver makes of the roads' speeds.
    private(set) var pace = DriverPace()
    /// Its speed, m/s; nil before the first position on a road.
    private(set) var speed: Double?
    /// Speed of the real one at the last position, m/s.
    private var lastSpeed: Double?

    /// Speed from which the driver's pace is learned, m/s.
    private static let learningSpeed = 3.0
    /// Acceleration up to which a speed is steady, m/s².
    private static let steadiness = 0.4
    /// Speed under which a vehicle stands or creeps, m/s: what for, the roads do not tell.
    private static let creeping = 2.0
    /// What the real speed may be of the model's.
    private static let ratios = 0.2...1.8

    /// Goes on beside the real vehicle, which is at a place of the road with a speed that was measured.
    ///
    /// - Parameter isCertain: whether the place is sure enough to learn from.
    mutating func follow(_ place: RoadPlace, speed real: Double, seconds: Double, isCertain: Bool, _ ahead: RoadAhead) {
        defer { lastSpeed = real }
        let ceiling = ahead.speed(at: place, pace)
        advance(seconds, ceiling: ceiling)
        guard real >= SpeedModel.creeping else { return speed = max(real, 0) }
        // Who brakes for a bend or gathers speed behind it says nothing of the pace.
        guard isCertain, real > SpeedModel.learningSpeed, let lastSpeed,
            abs(real - lastSpeed) <= SpeedModel.steadiness * seconds
        else { return }
        let road = ahead.freeSpeed(of: place.edge)
        let usual = pace.speed(onRoad: road)
        guard ceiling > 0.97 * usual, let speed, speed > 0.95 * usual else { return }
        pace.learn(real, road: road, seconds: seconds)
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

    /// Forgets the place, but not the driver.
    mutating func interrupt() { (speed, lastSpeed) = (nil, nil) }
}
