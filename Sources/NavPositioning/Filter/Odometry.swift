public import NavGeo

/// One report of the vehicle's own motion; what it does not say is nil.
public struct Odometry: Sendable, Hashable {
    /// When it was measured, by the clock of the fixes.
    public var stamp: Timestamp
    /// Metres per second along the body, negative backwards.
    public var speed: Double?
    /// Standard deviation of the speed, m/s.
    public var speedSigma: Double?
    /// Rate of turn, radians per second, positive clockwise seen from above (to the right).
    public var turnRate: Double?
    /// Standard deviation of the rate of turn, rad/s.
    public var turnRateSigma: Double?
    /// Whether the wheels stand still for certain.
    public var standsStill: Bool

    /// A report; what is not given is unknown.
    public init(
        stamp: Timestamp, speed: Double? = nil, speedSigma: Double? = nil, turnRate: Double? = nil,
        turnRateSigma: Double? = nil, standsStill: Bool = false
    ) {
        self.stamp = stamp
        self.speed = speed
        self.speedSigma = speedSigma
        self.turnRate = turnRate
        self.turnRateSigma = turnRateSigma
        self.standsStill = standsStill
    }

    /// The report without numbers that no road vehicle gives; nil when nothing is left.
    var usable: Odometry? {
        var usable = self
        usable.speed = speed.flatMap { abs($0) < Odometry.maximumSpeed ? $0 : nil }
        usable.turnRate = turnRate.flatMap { abs($0) < Odometry.maximumTurnRate ? $0 : nil }
        usable.speedSigma = speedSigma.flatMap { $0 > 0 && $0 < Odometry.maximumSpeed ? $0 : nil }
        usable.turnRateSigma = turnRateSigma.flatMap { $0 > 0 && $0 < Odometry.maximumTurnRate ? $0 : nil }
        return usable.speed == nil && usable.turnRate == nil && !standsStill ? nil : usable
    }

    /// Faster than any road vehicle, m/s.
    private static let maximumSpeed = 150.0
    /// A car skids at 2 rad/s; beyond this the sensor is broken, rad/s.
    private static let maximumTurnRate = 5.0
}
