/// What storing some tiles came to.
public struct CommitReport: Sendable, Hashable {
    /// Tiles that are on board now, all of each.
    public var stored: [RegionTile] = []
    /// Tiles for which there was no room in the budget.
    public var refused: [RegionTile] = []
    /// Tiles that were evicted for it.
    public var evictedCount = 0
    /// How many of them are wanted, later than what was stored.
    public var evictedWantedCount = 0

    package init() {}
}

/// What was removed.
public struct RemovalReport: Sendable, Hashable {
    /// Whether what was to fit does.
    public var fits = true
    /// Tiles removed.
    public var removedCount = 0
    /// Bytes freed: what another tile shares is not.
    public var freedBytes: Int64 = 0

    package init(fits: Bool = true, removedCount: Int = 0, freedBytes: Int64 = 0) {
        self.fits = fits
        self.removedCount = removedCount
        self.freedBytes = freedBytes
    }
}
