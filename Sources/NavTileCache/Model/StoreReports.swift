/// The outcome of storing some tiles.
package struct CommitReport: Sendable, Hashable {
    /// Tiles that are on board now, all of each.
    package var stored: [RegionTile] = []
    /// Tiles for which there was no room in the budget.
    package var refused: [RegionTile] = []
    /// Tiles that were evicted for it.
    package var evictedCount = 0
    /// The number of evicted tiles that are wanted, later than what was stored.
    package var evictedWantedCount = 0

    package init() {}
}

/// The outcome of a removal.
package struct RemovalReport: Sendable, Hashable {
    /// Whether what was to fit does.
    package var fits = true
    /// Tiles removed.
    package var removedCount = 0
    /// Bytes freed: what another tile shares is not.
    package var freedBytes: Int64 = 0

    package init(fits: Bool = true, removedCount: Int = 0, freedBytes: Int64 = 0) {
        self.fits = fits
        self.removedCount = removedCount
        self.freedBytes = freedBytes
    }
}
