/// An estimate of a receiver's noise from the distances between fixes and roads, for a receiver that reports no accuracy.
///
/// Based on the variance of the distances, with the default as a prior of ``priorCount`` observations. Outliers are
/// clipped to three deviations.
struct NoiseEstimate {
    private var sum: Double
    private var count: Double
    /// Standard deviation per axis, metres.
    private(set) var sigma: Double

    /// The number of observations that the prior counts as.
    private static let priorCount = 10.0
    /// The number of recent observations that count, because a drive's surroundings change.
    private static let memory = 100.0
    /// The number of deviations at which a distance is clipped; larger ones come from reflections and wrong roads.
    private static let cutoff = 3.0

    init(_ config: MatcherConfig) {
        sigma = config.defaultSigma
        count = NoiseEstimate.priorCount
        sum = sigma * sigma * count
    }

    /// Adds a distance from the road that the vehicle is on, metres.
    mutating func add(_ distance: Double) {
        let metres = min(distance, NoiseEstimate.cutoff * sigma)
        if count >= NoiseEstimate.memory {
            sum -= sum / count
            count -= 1
        }
        sum += metres * metres
        count += 1
        sigma = (sum / count).squareRoot()
    }
}
