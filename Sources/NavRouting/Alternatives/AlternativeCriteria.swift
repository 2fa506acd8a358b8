/// The criteria for an alternative that is worth showing.
///
/// Three are those of Abraham, Delling, Goldberg and Werneck ("Alternative routes in road networks", 2013) with their
/// values; two more concern the appearance on the map.
public struct AlternativeCriteria: Sendable, Hashable {
    /// The greatest cost of an alternative relative to the best route, at least 1.
    public var stretch: Double
    /// The greatest cost of a detour relative to the best route's part between the same two points, at least 1.
    ///
    /// Valhalla allows 2. The literature bounds the whole route instead, which would let a three-minute detour in a
    /// town take 45 seconds longer.
    public var detourStretch: Double
    /// The greatest share of the best route's cost on roads that an alternative shares with it, with the route being
    /// driven or with another alternative, 0 ... 1.
    public var sharing: Double
    /// The share of the best route's cost up to which every part of an alternative is a cheapest path between its ends,
    /// 0 ... 1.
    ///
    /// This avoids turn-offs that are implausible to a driver.
    public var localOptimality: Double
    /// The least length of an alternative's longest own stretch, metres: more than a detour round a block.
    public var detour: Double
    /// The maximum number of times that an alternative may leave the route it is compared with.
    public var forks: Int

    /// Creates the criteria.
    ///
    /// The defaults are the literature's 1.25, 0.8 and 0.25, 1.4 for detours, 400 m of its own, and two forks.
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
