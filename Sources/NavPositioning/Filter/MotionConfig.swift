import NavMatching

/// The position filter's model of vehicles, receivers and sensors. The defaults fit a car with a consumer receiver.
public struct MotionConfig: Sendable, Hashable {
    /// Standard deviation per axis of a receiver that reports no accuracy, metres: Newson and Krumm (2009) measured 4.07.
    public var defaultSigma = 4.0
    /// Metres per unit of HDOP for a receiver that reports no accuracy (user range error of single-frequency receivers).
    public var sigmaPerHDOP = 4.0
    /// The smallest standard deviation trusted without carrier phase, metres.
    ///
    /// The ionosphere and orbits alone leave about 1.5 (GPS Standard Positioning Service Performance Standard, 5th
    /// edition, 2020).
    public var minimumSigma = 1.5
    /// Largest standard deviation of the lasting error, metres.
    ///
    /// A larger stated error comes from reflections, which change from house to house. Treated as lasting, a single one would stay in the
    /// estimate for minutes.
    public var maximumLastingSigma = 4.0
    /// The same limit for a receiver that reports no accuracy, metres: under open sky (orbits, ionosphere).
    public var unstatedLastingSigma = 1.5
    /// The factor on the accuracy that receivers state, which is optimistic between buildings.
    public var statedSigmaFactor = 1.2

    /// The correlation time of a position error, seconds.
    ///
    /// Autocorrelations of receivers at rest bend at about a minute (D. Wilson, 2000; "Comparison of Enhanced Noise Model Performance Based
    /// on Analysis of Civilian GPS Data", Sensors 20 (2020) 6050). The model is an Ornstein-Uhlenbeck process, a first-order Gauss-Markov
    /// state of the filter. Without it, the filter would treat a hundred fixes with the same reflection as a hundred independent
    /// measurements.
    public var correlationTime = 60.0
    /// Share of a position's variance that is correlated in time; the rest is white noise.
    public var correlatedShare = 0.85

    /// Standard deviation of a receiver's Doppler speed, m/s: 0.05 to 0.1 under open sky, more between buildings.
    public var speedSigma = 0.2
    /// Standard deviation of its course at speed, radians; at lower speed the cross-track error of the speed dominates.
    public var courseSigma = 0.02
    /// Speed from which a receiver's course is trusted, m/s.
    public var courseSpeed = 1.0
    /// Default standard deviation of a wheel speed, m/s (one count of a wheel sensor at 10 Hz).
    public var odometrySigma = 0.1
    /// Default standard deviation of a turn rate, rad/s (automotive gyroscope, 0.3 °/s).
    public var turnRateSigma = 0.005
    /// Initial standard deviation of the odometer's scale: tyre pressure, wear and load account for up to 3 %.
    public var scaleSigma = 0.02
    /// Random walk of that scale, per square root of second.
    public var scaleWalk = 1e-5
    /// Initial standard deviation of the turn rate's bias, rad/s (automotive gyroscope, 0.5 °/s).
    public var turnBiasSigma = 0.01
    /// Random walk of that bias, rad/s per square root of second.
    public var turnBiasWalk = 2e-5

    /// Spectral density of the unknown acceleration, m/s per square root of second: 1 to 2 m/s² for a second or two.
    public var accelerationDensity = 2.0
    /// Unknown lateral acceleration, m/s²: what drivers accept in a bend.
    ///
    /// Divided by the speed, it is the spectral density of the unknown turn rate, radians per square root of second: slow vehicles can turn
    /// on the spot, fast vehicles cannot.
    public var turnAcceleration = 4.0
    /// The largest density of the unknown turn rate, radians per square root of second.
    public var maximumTurnDensity = 1.0
    /// The part of that density that remains where the turn rate is measured, radians per square root of second.
    public var turnDensityMeasured = 0.003
    /// Unmodelled motion of the position, metres per square root of second.
    public var positionDensity = 0.3

    /// Normalised squared innovation of a position above which it is downweighted: 95 % of a chi-square of two degrees
    /// of freedom.
    ///
    /// The filter then acts as Huber's estimator: an outlier's influence is bounded but never zero, so that a wrong
    /// filter recovers.
    public var positionGate = 5.99
    /// The same gate for speed and course: 3 standard deviations.
    public var scalarGate = 9.0
    /// The averaging time of the innovations for detecting an optimistic receiver, seconds.
    public var consistencyTime = 20.0
    /// The smallest factor on the noise of fixes.
    ///
    /// Many receivers smooth their output, so the noise is below their stated accuracy.
    public var minimumInflation = 0.4
    /// The largest factor on the noise of fixes.
    public var maximumInflation = 16.0

    /// The longest gap that the filter predicts over before it restarts, seconds.
    public var maximumPrediction = 1_800.0
    /// The time for which a driver keeps a deviation from the speed expected on the road, seconds.
    public var expectedSpeedTime = 60.0

    public init() {}

    /// Splits a fix's error into its lasting part and its noise: a standard deviation in metres and a variance in m².
    func parts(of fix: Fix) -> (lastingSigma: Double, noise: Double) {
        let sigma = sigma(of: fix)
        let isStated = fix.horizontalSigma.map { $0 > 0 } ?? false || fix.hdop.map { $0 > 0 } ?? false
        let most = isStated ? maximumLastingSigma : unstatedLastingSigma
        let lasting = min(sigma * correlatedShare.squareRoot(), most)
        return (lasting, sigma * sigma - lasting * lasting)
    }

    /// Returns the standard deviation per axis of a fix's position, metres.
    func sigma(of fix: Fix) -> Double {
        let floor = fix.type == .rtkFixed || fix.type == .rtkFloat || fix.type == .simulated ? 0.02 : minimumSigma
        if let sigma = fix.horizontalSigma, sigma > 0, sigma.isFinite {
            return min(max(sigma * statedSigmaFactor, floor), 1_000)
        }
        if let hdop = fix.hdop, hdop > 0, hdop.isFinite { return min(max(hdop * sigmaPerHDOP, floor), 1_000) }
        return defaultSigma
    }
}
