public import NavTileCache

/// The options of a store.
public struct TileStoreOptions: Sendable, Hashable {
    /// Most bytes of tiles on disk; what tiles share counts once. 2 GiB: some 100,000 road tiles.
    public var budgetBytes: Int64 = 2 << 30
    /// Bytes that are set aside on the disk, so that a full one can still be cleared: deleting is writing, too.
    /// 4 MiB: the pages that 200 evictions touch, twice.
    public var reserveBytes: Int64 = 4 << 20
    /// Most threads that read the index at once, each with a connection. 4.
    public var readerCount = 4
    /// The name of the owner, for the error that another process gets, such as "tile-cache-node".
    public var holder = "navbus"

    /// The defaults.
    public init() {}
}

/// The report of an opening.
public struct OpeningReport: Sendable, Hashable {
    /// Unfinished files that were removed.
    public var removedIncoming = 0
    /// Files of tiles that were written or deleted when the last owner ended, and that no tile has.
    public var removedObjects = 0
    /// Tiles whose files for mapping were put right.
    public var settledTiles = 0
    /// The place of the damaged index; nil when it was sound.
    public var damagedIndex: String?
    /// Tiles that were found again without it.
    public var recoveredTiles = 0
    /// Regions that were found again without it.
    public var recoveredRegions = 0

    /// Nothing was found and done.
    public init() {}
}

/// Totals of one tileset.
public struct TilesetStatistics: Sendable, Hashable {
    /// Name.
    public var tileset: String
    /// Tiles on board, of all editions.
    public var tileCount: Int64
    /// Bytes of those; what tiles share counts for each.
    public var bytes: Int64
    /// Tiles that a region has, or is being loaded with.
    public var pinnedCount: Int64
    /// Tiles that have expired.
    public var expiredCount: Int64
}

/// Totals of a store.
public struct StoreStatistics: Sendable, Hashable {
    /// By name of the tileset.
    public var tilesets: [TilesetStatistics]
    /// Bytes of the files of all tiles: what counts for the budget.
    public var objectBytes: Int64
    /// Files that were not what they should be, since the store was made.
    public var corruptCount: Int64
}
