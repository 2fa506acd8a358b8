import Glibc

/// A model of a vehicle that stood when it was lost sight of: it starts at any moment alike, gathers speed, and keeps it.
enum Standstill {
    /// The remaining time of vehicles that stand, seconds: half of a red light or a queue of half a minute, because they are
    /// lost sight of anywhere in it.
    private static let remainingTime = 15.0
    /// The speed of one that started again, as a share of what the road allows: where one stands, one is soon to stand again.
    static let startedShare = 0.7
    /// Most moments of starting that are summed over.
    private static let maximumMoments = 60

    /// Mean squares of the way, m², and of the speed, m²/s², of one who stood `age` seconds ago and comes to a speed, m/s: over the moments of
    /// starting, which follow an exponential distribution.
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
