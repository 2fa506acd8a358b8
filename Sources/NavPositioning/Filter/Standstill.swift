import Glibc

/// A model of a vehicle that was stationary when its fixes ended.
///
/// The vehicle starts at a random moment, accelerates, and keeps its speed.
enum Standstill {
    /// The mean remaining time of a stop, seconds: half of a red light or queue of half a minute, because fixes can end
    /// at any moment of it.
    private static let remainingTime = 15.0
    /// The speed after the start, as a share of the road's speed: after one stop another is likely.
    static let startedShare = 0.7
    /// The maximum number of starting moments in the sum.
    private static let maximumMoments = 60

    /// Returns the mean squares of the distance, m², and of the speed, m²/s², of a vehicle that was stationary `age`
    /// seconds ago and accelerates to a speed, m/s.
    ///
    /// Averages over the starting moments, which are exponentially distributed.
    static func started(_ age: Double, to speed: Double) -> (place: Double, speed: Double) {
        guard age > 0, speed > 0 else { return (0, 0) }
        let count = min(max(Int(min(age, 1e6)), 1), maximumMoments)
        let slice = age / Double(count)
        let gathering = speed / RoadAhead.acceleration
        var (place, square) = (0.0, 0.0)
        for index in 0..<count {
            let driving = (Double(index) + 0.5) * slice
            let weight = exp(-(age - driving) / remainingTime) * slice / remainingTime
            let reached = min(driving, gathering) * RoadAhead.acceleration
            let way = reached * (driving - min(driving, gathering) / 2)
            place += weight * way * way
            square += weight * reached * reached
        }
        return (place, square)
    }
}
