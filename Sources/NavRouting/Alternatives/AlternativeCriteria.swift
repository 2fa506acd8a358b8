/// The criteria for an alternative that is worth showing: the three of Abraham, Delling, Goldberg and Werneck
/// ("Alternative routes in road networks", 2013) with their values, and two for the eye.
public struct AlternativeCriteria: Sendable, Hashable {
    /// The greatest cost of an alternative relative to the best route, at least 1.
    public var stretch: Double
    /// The greatest cost of a detour relative to the best route's part between the same two points, at least 1
    /// (Valhalla allows 2; the literature's bound is that of the whole route, with which a detour of three minutes in a
    /// town may take 45 seconds more).
    public var detourStretch: Double
    /// The greatest share of the best route's cost on roads that an alternative has in common with it, with the route
    /// being driven or with another alternative, 0 ... 1.
    public var sharing: Double
    /// Every part of an alternative up to this share of the best route's cost is a cheapest way between its ends,
    /// 0 ... 1: nobody who drives it asks why it turns off.
    public var localOptimality: Double
    /// Metres of its own that an alternative must have in one piece: more than a detour round a block.
    public var detour: Double
    /// The most times that an alternative may leave the route that it is compared with.
    public var forks: Int

    /// The criteria, by default the literature's 1.25, 0.8 and 0.25, 1.4 for detours, which are at least 400 m,
    /// and two forks.
    public init(
        stretch: Double = 1.25, detourStretch: Double = 1.4, sharing: Double = 0.8, localOptimality: Double = 0.25,
        detour: Double = 400,
        forks: Int = 2
    ) {
        self.stretch = stretch
        self.detourStretch = detourStretch
        self.sharing = sharing
        self.localOptimality = localOptimality
        self.detour = detour
        self.forks = forks
    }
}
