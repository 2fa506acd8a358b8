public import NavGeo

/// A report of the vehicle's own motion; missing values are nil.
public struct Odometry: Sendable, Hashable {
    /// Time of the measurement, on the clock of the fixes.
    public var stamp: Timestamp
    /// Speed along the vehicle's longitudinal axis, m/s; negative backwards.
    public var speed: Double?
    /// Standard deviation of the speed, m/s.
    public var speedSigma: Double?
    /// Turn rate, rad/s; positive clockwise seen from above (to the right).
    public var turnRate: Double?
    /// Standard deviation of the turn rate, rad/s.
    public var turnRateSigma: Double?
    /// Whether the wheels are certainly stationary.
    public var isStationary: Bool

    /// Creates a report; omitted values are unknown.
    public init(
        stamp: Timestamp, speed: Double? = nil, speedSigma: Double? = nil, turnRate: Double? = nil,
        turnRateSigma: Double? = nil, isStationary: Bool = false
    ) {
        self.stamp = stamp
        self.speed = speed
        self.speedSigma = speedSigma
        self.turnRate = turnRate
        self.turnRateSigma = turnRateSigma
        self.isStationary = isStationary
    }

    /// The report without implausible values; nil when none is left.
    var usable: Odometry? {
        var usable = self
        usable.speed = speed.flatMap { abs($0) < Odometry.maximumSpeed ? $0 : nil }
        usable.turnRate = turnRate.flatMap { abs($0) < Odometry.maximumTurnRate ? $0 : nil }
        usable.speedSigma = speedSigma.flatMap { $0 > 0 && $0 < Odometry.maximumSpeed ? $0 : nil }
        usable.turnRateSigma = turnRateSigma.flatMap { $0 > 0 && $0 < Odometry.maximumTurnRate ? $0 : nil }
        return usable.speed == nil && usable.turnRate == nil && !isStationary ? nil : usable
    }

    /// The upper bound of plausible speeds, m/s: faster than any road vehicle.
    package static let maximumSpeed = 150.0
    /// Turn rate beyond which the sensor is broken, rad/s; a skidding car reaches 2.
    package static let maximumTurnRate = 5.0
}
