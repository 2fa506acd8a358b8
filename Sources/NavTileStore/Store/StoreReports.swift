package struct TileStoreOptions: Sendable, Hashable {
    /// Most bytes of tiles on disk; what tiles share counts once. 2 GiB: some 100,000 road tiles.
    package var budgetBytes: Int64 = 2 << 30
    /// Bytes that are set aside on the disk, so that a full one can still be cleared: deleting is writing, too.
    /// 4 MiB: the pages that 200 evictions touch, twice.
    package var reserveBytes: Int64 = 4 << 20
    /// Most threads that read the index at once, each with a connection. 4.
    package var readerCount = 4
    /// The name of the owner, for the error that another process gets, such as "tile-cache-node".
    package var holder = "navbus"

    package init() {}
}

package struct OpeningReport: Sendable, Hashable {
    /// Unfinished files that were removed.
    package var removedIncoming = 0
    /// Files of tiles that were written or deleted when the last owner ended, and that no tile has.
    package var removedObjects = 0
    /// Tiles whose files for mapping were put right.
    package var settledTiles = 0
    /// The place of the damaged index; nil when it was sound.
    package var damagedIndex: String?
    /// Tiles that were found again without it.
    package var recoveredTiles = 0
    /// Regions that were found again without it.
    package var recoveredRegions = 0

    package init() {}
}

package struct TilesetStatistics: Sendable, Hashable {
    package var tileset: String
    /// Tiles on board, of all editions.
    package var tileCount: Int64
    /// Bytes of those; what tiles share counts for each.
    package var bytes: Int64
    /// Tiles that a region has, or is being loaded with.
    package var pinnedCount: Int64
    package var expiredCount: Int64
}

package struct StoreStatistics: Sendable, Hashable {
    package var tilesets: [TilesetStatistics]
    /// Bytes of the files of all tiles: what counts for the budget.
    package var objectBytes: Int64
    /// Files that were not what they should be, since the store was made.
    package var corruptCount: Int64
}
