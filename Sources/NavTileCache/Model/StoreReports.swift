/// The outcome of storing some tiles.
package struct CommitReport: Sendable, Hashable {
    /// Tiles that are now on board, each complete.
    package var stored: [RegionTile] = []
    /// Tiles that did not fit the budget.
    package var refused: [RegionTile] = []
    package var evictedCount = 0
    /// The number of evicted tiles that are wanted, but needed later than the stored ones.
    package var evictedWantedCount = 0

    package init() {}
}

package struct RemovalReport: Sendable, Hashable {
    package var fits = true
    package var removedCount = 0
    /// The bytes freed; excludes files still shared with another tile.
    package var freedBytes: Int64 = 0

    package init(fits: Bool = true, removedCount: Int = 0, freedBytes: Int64 = 0) {
        self.fits = fits
        self.removedCount = removedCount
        self.freedBytes = freedBytes
    }
}
