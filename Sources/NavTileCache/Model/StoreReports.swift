/// The outcome of storing some tiles.
package struct CommitReport: Sendable, Hashable {
    /// Tiles that are on board now, all of each.
    package var stored: [RegionTile] = []
    /// Tiles for which there was no room in the budget.
    package var refused: [RegionTile] = []
    package var evictedCount = 0
    /// The number of evicted tiles that are wanted, later than what was stored.
    package var evictedWantedCount = 0

    package init() {}
}

package struct RemovalReport: Sendable, Hashable {
    package var fits = true
    package var removedCount = 0
    /// Bytes freed: what another tile shares is not.
    package var freedBytes: Int64 = 0

    package init(fits: Bool = true, removedCount: Int = 0, freedBytes: Int64 = 0) {
        self.fits = fits
        self.removedCount = removedCount
        self.freedBytes = freedBytes
    }
}
