import Glibc

/// The relation of a driver's speed to the roads' speeds, learned in free driving and used where no speed is measured.
///
/// Some drivers keep a constant share of each road's speed, others a constant speed on all roads. Both are lines in
/// logarithms: `log v = mean + slope · (log road − mean road)`, with a slope of 1 and of 0.
///
/// The line is a least-squares fit over the last minutes. With little data it is pulled towards a slope of 1 and
/// towards the road's own speed (ridge regression).
struct DriverPace: Sendable {
    /// Seconds of observation, including those of the prior.
    private var weight = 0.0
    private var meanRoad = 0.0
    private var meanSpeed = 0.0
    /// Sums of squares and products around the means, weighted by seconds.
    private var squares = 0.0
    private var products = 0.0
    /// Mean square of the residuals, and the seconds of driving that it covers.
    private var residual = (square: DriverPace.usualDeviation * DriverPace.usualDeviation, seconds: 20.0)

    /// The time over which a driver's habits are assumed to be constant, seconds.
    private static let memory = 300.0
    /// A driver's usual speed as a share of the road's, and the weight of this prior, in seconds of driving.
    private static let (usualShare, assumption) = (0.97, 20.0)
    /// Standard deviation of a driver's speed around their own line, as a share, before any data.
    ///
    /// Unhindered drivers stay within 5 to 15 %.
    private static let usualDeviation = 0.1
    /// Standard deviation of the slope around 1, before any data.
    private static let slopeSigma = 0.25
    /// Seconds of driving that count as one observation, because speeds are correlated for that long.
    private static let independence = 45.0
    /// The weight of a speed above the line relative to one below it.
    ///
    /// The fit is an expectile regression (Newey and Powell, 1987), which is closer to the driver's unhindered speed.
    private static let freeWeight = 2.0
    /// The lower bound of the reported deviation.
    private static let leastDeviation = 0.03

    /// Adds an unhindered speed on a road with a given speed; both m/s and above 0.
    mutating func learn(_ speed: Double, road: Double, seconds: Double) {
        guard speed > 0, road > 0, seconds > 0 else { return }
        let seconds = min(seconds, 10)
        let (here, now) = (log(road), log(speed))
        if weight == 0 {
            weight = DriverPace.assumption
            meanRoad = here
            meanSpeed = here + log(DriverPace.usualShare)
        }
        let miss = now - line(at: here)
        // Many unobserved obstacles slow a driver down; nothing speeds one up.
        let counted = seconds * (miss > 0 ? DriverPace.freeWeight : 1)
        let decay = exp(-seconds / DriverPace.memory)
        residual.seconds = residual.seconds * decay + seconds
        residual.square += (miss * miss - residual.square) * seconds / residual.seconds
        weight = weight * decay + counted
        let (across, up) = (here - meanRoad, now - meanSpeed)
        meanRoad += across * counted / weight
        meanSpeed += up * counted / weight
        squares = squares * decay + counted * across * (here - meanRoad)
        products = products * decay + counted * across * (now - meanSpeed)
    }

    /// Returns this driver's speed on a road, m/s.
    func speed(onRoad road: Double) -> Double { weight > 0 ? exp(line(at: log(road))) : road * DriverPace.usualShare }

    /// Returns the variances of the driver's speed as shares: the part that changes over time, and the uncertainty
    /// about the driver.
    func variance(onRoad road: Double) -> (passing: Double, lasting: Double) {
        let noise = max(residual.square, DriverPace.leastDeviation * DriverPace.leastDeviation)
        guard weight > 0 else { return (noise, DriverPace.usualDeviation * DriverPace.usualDeviation) }
        let across = log(road) - meanRoad
        // Variances of the line's level and slope.
        let level = noise * DriverPace.independence / (weight + DriverPace.independence)
        let slope = noise * DriverPace.independence / (squares + ridge)
        return (noise, level + slope * across * across)
    }

    /// The driver's usual speed as a share of the road's, where the data is densest.
    var share: Double { weight > 0 ? exp(meanSpeed - meanRoad) : DriverPace.usualShare }

    private var ridge: Double {
        let ratio = DriverPace.usualDeviation / DriverPace.slopeSigma
        return ratio * ratio * DriverPace.independence
    }

    private func line(at road: Double) -> Double {
        let slope = min(max((products + ridge) / (squares + ridge), 0), 1.2)
        return meanSpeed + slope * (road - meanRoad)
    }
}
