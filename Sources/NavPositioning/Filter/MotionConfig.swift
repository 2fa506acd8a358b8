import NavMatching

/// The position filter's model of vehicles, receivers and sensors. The defaults fit a car with a consumer receiver.
public struct MotionConfig: Sendable, Hashable {
    /// Standard deviation per axis of the position of a receiver that says nothing, metres: Newson and Krumm (2009) measured 4.07.
    public var defaultSigma = 4.0
    /// Metres per unit of HDOP, for a receiver that gives no accuracy (user range error of single-frequency receivers).
    public var sigmaPerHDOP = 4.0
    /// The smallest standard deviation believed of a receiver without carrier phase, metres; the ionosphere and orbits alone leave about 1.5
    /// (GPS Standard Positioning Service Performance Standard, 5th edition, 2020).
    public var minimumSigma = 1.5
    /// Largest standard deviation of the lasting error, metres. What a receiver states beyond comes from reflections, which come and go
    /// with the houses: taken for lasting, a single one would stay in the estimate for minutes.
    public var maximumLastingSigma = 4.0
    /// The same for a receiver that says nothing of its accuracy, metres: under free sky (orbits, ionosphere).
    public var unstatedLastingSigma = 1.5
    /// Multiplies what receivers state of themselves: they are optimistic between buildings.
    public var statedSigmaFactor = 1.2

    /// The correlation time of a position error, seconds. Receivers at rest show autocorrelations that bend at about a minute (D. Wilson, 2000;
    /// "Comparison of Enhanced Noise Model Performance Based on Analysis of Civilian GPS Data", Sensors 20 (2020) 6050): an
    /// Ornstein-Uhlenbeck process, which is a first-order Gauss-Markov state of the filter. Without it the filter would take a hundred
    /// fixes of one reflection for a hundred measurements.
    public var correlationTime = 60.0
    /// Share of a position's variance that is correlated in time; the rest is noise of each fix.
    public var correlatedShare = 0.85

    /// Standard deviation of a receiver's speed, m/s: Doppler, 0.05 to 0.1 under free sky, more between buildings.
    public var speedSigma = 0.2
    /// The same of its course at speed, radians; at lower speed it is that of the speed across the direction of travel.
    public var courseSigma = 0.02
    /// Speed from which a receiver's course is believed, m/s.
    public var courseSpeed = 1.0
    /// Standard deviation of wheel speed, m/s, where the vehicle does not say (one count of a wheel sensor at 10 Hz).
    public var odometrySigma = 0.1
    /// The same of the rate of turn, rad/s (automotive gyroscope, 0.3 °/s).
    public var turnRateSigma = 0.005
    /// Standard deviation of the odometer's scale before anything is known: tyre pressure, wear and load make up to 3 %.
    public var scaleSigma = 0.02
    /// Growth of that uncertainty, per square root of second.
    public var scaleWalk = 1e-5
    /// Standard deviation of the rate of turn's bias before anything is known, rad/s (automotive gyroscope, 0.5 °/s).
    public var turnBiasSigma = 0.01
    /// Growth of that uncertainty, rad/s per square root of second.
    public var turnBiasWalk = 2e-5

    /// Spectral density of the unknown acceleration, m/s per square root of second: 1 to 2 m/s² that last for a second or two.
    public var accelerationDensity = 2.0
    /// Unknown acceleration across the direction of travel, m/s²: what a driver takes in a bend. Divided by the speed it is the spectral
    /// density of the unknown rate of turn, radians per square root of second: slow vehicles turn in their place, fast ones cannot.
    public var turnAcceleration = 4.0
    /// The largest such density, radians per square root of second.
    public var maximumTurnDensity = 1.0
    /// The part of that which remains where the rate of turn is measured, radians per square root of second.
    public var turnDensityMeasured = 0.003
    /// Unmodelled movement of the position, metres per square root of second.
    public var positionDensity = 0.3

    /// Squared and normalised innovation of a position from which it moves the estimate by its direction only: 95 % of a chi-square of two
    /// degrees of freedom. The filter then follows Huber's estimator: an outlier's influence is bounded, but never none, so that a filter
    /// that is wrong finds back.
    public var positionGate = 5.99
    /// The same of speed and course: 3 standard deviations.
    public var scalarGate = 9.0
    /// Over how long the innovations are averaged that tell whether a receiver is too optimistic, seconds.
    public var consistencyTime = 20.0
    /// The least by which the noise of each fix is multiplied for that: many receivers smooth what they tell, and their noise is less than
    /// their accuracy.
    public var minimumInflation = 0.4
    /// The most by which it is multiplied.
    public var maximumInflation = 16.0

    /// Longest time over which the filter predicts without starting anew, seconds.
    public var maximumPrediction = 1_800.0
    /// The time that a driver keeps to a deviation from the speed that the road lets expect, seconds.
    public var expectedSpeedTime = 60.0

    public init() {}

    /// Returns the lasting part of a fix's error and its own noise: a standard deviation in metres and a variance in m².
    func parts(of fix: Fix) -> (lastingSigma: Double, noise: Double) {
        let sigma = sigma(of: fix)
        let isStated = fix.horizontalSigma.map { $0 > 0 } ?? false || fix.hdop.map { $0 > 0 } ?? false
        let most = isStated ? maximumLastingSigma : unstatedLastingSigma
        let lasting = min(sigma * correlatedShare.squareRoot(), most)
        return (lasting, sigma * sigma - lasting * lasting)
    }

    /// The standard deviation per axis of a fix's position, metres.
    func sigma(of fix: Fix) -> Double {
        let floor = fix.type == .rtkFixed || fix.type == .rtkFloat || fix.type == .simulated ? 0.02 : minimumSigma
        if let sigma = fix.horizontalSigma, sigma > 0, sigma.isFinite {
            return min(max(sigma * statedSigmaFactor, floor), 1_000)
        }
        if let hdop = fix.hdop, hdop > 0, hdop.isFinite { return min(max(hdop * sigmaPerHDOP, floor), 1_000) }
        return defaultSigma
    }
}
