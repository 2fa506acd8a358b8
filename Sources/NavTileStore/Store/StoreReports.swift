package struct TileStoreOptions: Sendable, Hashable {
    /// The budget for tiles on disk, bytes; a shared file counts once. 2 GiB: some 100,000 road tiles.
    package var budgetBytes: Int64 = 2 << 30
    /// The bytes reserved on the disk, so that tiles can still be removed when it is full, since deleting also writes.
    /// 4 MiB: twice the pages touched by 200 evictions.
    package var reserveBytes: Int64 = 4 << 20
    /// The maximum number of threads that read the index at once, each with its own connection. 4.
    package var readerCount = 4
    /// The owner's name in the error that a competing process gets, such as "tile-cache-node".
    package var holder = "navbus"

    package init() {}
}

package struct OpeningReport: Sendable, Hashable {
    /// Unfinished files that were removed.
    package var removedIncoming = 0
    /// Unused tile files that were removed; they were being written or deleted when the last owner ended.
    package var removedObjects = 0
    /// Tiles whose files for mapping were repaired.
    package var settledTiles = 0
    /// The new path of the damaged index; nil when the index was sound.
    package var damagedIndex: String?
    /// Tiles that were recovered without the index.
    package var recoveredTiles = 0
    /// Regions that were recovered without the index.
    package var recoveredRegions = 0

    package init() {}
}

package struct TilesetStatistics: Sendable, Hashable {
    package var tileset: String
    /// Tiles on board, of all editions.
    package var tileCount: Int64
    /// The bytes of those tiles; a shared file counts once for each tile.
    package var bytes: Int64
    /// Tiles that a region has or is being loaded with.
    package var pinnedCount: Int64
    package var expiredCount: Int64
}

package struct StoreStatistics: Sendable, Hashable {
    package var tilesets: [TilesetStatistics]
    /// The bytes of the files of all tiles, which count towards the budget.
    package var objectBytes: Int64
    /// Damaged files found since the store was created.
    package var corruptCount: Int64
}
