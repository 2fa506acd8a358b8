/// An estimate of a receiver's noise from the distances between fixes and roads, where it does not state its accuracy.
///
/// The variance of the distances, with the assumed one as so many observations made before; what is far off counts as three deviations.
struct NoiseEstimate {
    private var sum: Double
    private var count: Double
    /// Standard deviation per axis, metres.
    private(set) var sigma: Double

    /// Observations that the assumption stands for.
    private static let priorCount = 10.0
    /// Observations that are remembered: a drive's surroundings change.
    private static let memory = 100.0
    /// Deviations at which a distance is cut off: beyond are reflections and wrong roads.
    private static let cutoff = 3.0

    init(_ config: MatcherConfig) {
        sigma = config.defaultSigma
        count = NoiseEstimate.priorCount
        sum = sigma * sigma * count
    }

    /// Takes note of a distance from the road that the vehicle is on, metres.
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
