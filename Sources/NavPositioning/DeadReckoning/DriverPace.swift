import Glibc

/// The relation of a driver's speed to that of roads: learned where nothing hinders them, used where nobody sees them.
///
/// Some drive by the road, so that their speed is a share of its speed; some keep to one speed on all roads. Both are a line in logarithms:
/// `log v = mean + slope · (log road − mean road)`, with a slope of 1 and of 0. It is the line of least squares over the last minutes, drawn
/// to a slope of 1 and to the road's own speed as long as there is little to go by (ridge regression).
struct DriverPace: Sendable {
    /// Seconds that count, with those of the assumption.
    private var weight = 0.0
    private var meanRoad = 0.0
    private var meanSpeed = 0.0
    /// Sums of squares and products around the means, weighed by seconds.
    private var squares = 0.0
    private var products = 0.0
    /// Mean square of what the line missed, and the seconds that it is of.
    private var residual = (square: DriverPace.usualDeviation * DriverPace.usualDeviation, seconds: 20.0)

    /// Over how long drivers stay the same, seconds.
    private static let memory = 300.0
    /// A driver's usual speed as a share of the road's, and the seconds of driving that this assumption is worth.
    private static let (usualShare, assumption) = (0.97, 20.0)
    /// Standard deviation of a driver's speed around their own line, as a share, before anything is known: drivers who are not hindered keep
    /// it within 5 to 15 %.
    private static let usualDeviation = 0.1
    /// Standard deviation of the slope around 1, before anything is known.
    private static let slopeSigma = 0.25
    /// Seconds of driving that are one observation: speeds stay alike as long.
    private static let independence = 45.0
    /// The weight of a speed above the line over one below it: the line is that of expectiles (Newey and Powell, 1987), nearer to what
    /// the driver does where nothing hinders.
    private static let freeWeight = 2.0
    /// The least deviation that is ever said.
    private static let leastDeviation = 0.03

    /// Takes in a speed that nothing hinders, on a road with a speed of its own; both m/s and above 0.
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
        // Many things slow a driver down unseen, and none makes one faster.
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

    /// The speed that this driver has on a road, m/s.
    func speed(onRoad road: Double) -> Double { weight > 0 ? exp(line(at: log(road))) : road * DriverPace.usualShare }

    /// Returns the variances of their speed as shares: of what changes with time, and of what is not known of the driver.
    func variance(onRoad road: Double) -> (passing: Double, lasting: Double) {
        let noise = max(residual.square, DriverPace.leastDeviation * DriverPace.leastDeviation)
        guard weight > 0 else { return (noise, DriverPace.usualDeviation * DriverPace.usualDeviation) }
        let across = log(road) - meanRoad
        // Variances of the line's level and of its slope.
        let level = noise * DriverPace.independence / (weight + DriverPace.independence)
        let slope = noise * DriverPace.independence / (squares + ridge)
        return (noise, level + slope * across * across)
    }

    /// Their usual speed as a share of the road's, where most is known.
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
