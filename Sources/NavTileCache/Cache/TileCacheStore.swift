package import NavGeo
package import NavStorage

/// The read-only part of a tile store's index that the cache's decisions use.
package protocol TileCacheIndex {
    /// The store's folder, for messages.
    var folder: String { get }
    /// The free bytes of its disk; nil when the system does not report them.
    var freeBytes: Int64? { get }
    /// The bytes of all tiles on board; a file that several tiles share counts once.
    func storedBytes() throws(StoreError) -> Int64

    /// All editions on board, by tileset and version.
    func editions() throws(StoreError) -> [EditionRecord]
    /// An edition as it was added, with its list of tiles; nil when the edition is not on board.
    func edition(_ key: EditionKey) throws(StoreError) -> TilesetEdition?

    /// A tile of an edition; nil when it is not on board.
    func tile(_ address: TileAddress, version: String?, now: Timestamp) throws(StoreError) -> TileRecord?
    /// Returns those of `tiles` that are not on board in an edition, or have expired at `now` if that is given.
    func absent(_ tiles: [TileID], in edition: EditionKey, expiredAt now: Timestamp?) throws(StoreError) -> [TileID]
    /// Returns those of `tiles` that are not on board but are needed by a region whose load was not cancelled.
    func lacking(_ tiles: [RegionTile]) throws(StoreError) -> [RegionTile]

    func regions() throws(StoreError) -> [StoredRegion]
    func regionIDs() throws(StoreError) -> [String]
    /// A region; nil when the id is unknown.
    func region(_ id: String) throws(StoreError) -> StoredRegion?
    /// The missing or expired tiles that a region needs, after `last`, at most `limit`.
    func missingTiles(
        ofRegion id: String, expiredAt moment: Timestamp?, now: Timestamp?, after last: RegionTile?, limit: Int
    ) throws(StoreError) -> [RegionTile]
    /// Counts the tiles that a region needs, and those on board with their bytes.
    func completeness(
        ofRegion id: String, asServed: Bool
    ) throws(StoreError) -> (required: Int64, present: Int64, bytes: Int64)
    /// Returns the moment when the first of a region's tiles expires; nil when none does.
    func expiry(ofRegion id: String) throws(StoreError) -> Timestamp?
    /// The bytes on board pinned by other regions, or by this one while it is updated, and the bytes of those `tiles`
    /// that are not pinned.
    func held(
        besideRegion id: String, _ tiles: [TileAddress], editions: [String: String]
    ) throws(StoreError) -> (bytes: Int64, others: [TileAddress])
}

extension TileCacheIndex {
    func absent(_ tiles: [TileID], in edition: EditionKey) throws(StoreError) -> [TileID] {
        try absent(tiles, in: edition, expiredAt: nil)
    }

    /// Adds the counts of a region's tiles to its progress.
    func count(
        _ progress: inout StoredRegionProgress, ofRegion id: String, asServed: Bool = false
    ) throws(StoreError) {
        let (required, present, bytes) = try completeness(ofRegion: id, asServed: asServed)
        (progress.requiredCount, progress.completedCount, progress.completedBytes) = (required, present, bytes)
    }

    func missingTiles(ofRegion id: String, limit: Int) throws(StoreError) -> [RegionTile] {
        try missingTiles(ofRegion: id, expiredAt: nil, now: nil, after: nil, limit: limit)
    }
}

/// The disk of a tile cache: SQLite and files in the node, memory in the simulation.
///
/// Each change is atomic and durable once it returns; a change that fails has no effect.
package protocol TileCacheStore: AnyObject {
    associatedtype Index: TileCacheIndex

    var reader: Index { get }
    /// The budget for tiles on disk, bytes.
    var budgetBytes: Int64 { get }
    /// The error that every change throws on a disk that is mounted read-only; nil where changes are possible.
    var readOnlyProblem: StoreError? { get }

    /// Throws when the store's folder is gone, as on a removed disk, although the index is still readable.
    func requireFolder() throws(StoreError)
    /// Sets the budget; call ``makeRoom(for:needed:)`` with 0 bytes to evict down to it.
    func setBudget(_ bytes: Int64)
    /// Evicts until `bytes` more fit into the budget; see ``Eviction``. With 0 bytes, evicts as much as allowed even if the budget is still
    /// exceeded.
    func makeRoom(for bytes: Int64, needed need: Double?) throws(StoreError) -> RemovalReport
    /// Sets all wanted tiles of an edition, which eviction spares; kept in memory only.
    func setWanted(_ tiles: [WantedTile], in edition: EditionKey) throws(StoreError)
    func touch(_ tiles: [TileRecord], now: Timestamp)
    func flush() throws(StoreError)

    /// Stores tiles in one transaction, evicting others as the budget requires.
    func commit(_ tiles: [FetchedTile], now: Timestamp) throws(StoreError) -> CommitReport
    /// Records that sources confirmed tiles, in one transaction; returns those of them that are on board.
    func revalidate(
        _ tiles: [(tile: RegionTile, validators: Validators)], now: Timestamp
    ) throws(StoreError) -> Set<RegionTile>
    /// Removes tiles that no region needs: of one tileset or of all, only expired ones or all.
    func purge(tileset: String?, expiredAt now: Timestamp?) throws(StoreError) -> RemovalReport

    /// Adds an edition, or replaces its list; the first edition of a tileset is in use at once.
    func addEdition(_ edition: TilesetEdition, now: Timestamp) throws(StoreError)
    /// Removes an edition with its tiles; throws `inUse` when it is in use or a region needs tiles of it.
    func removeEdition(_ edition: EditionKey) throws(StoreError) -> RemovalReport

    /// Creates a region or stages its update, and pins its tiles.
    func putRegion(
        _ definition: StoredRegionDefinition, tiles: [TileAddress], editions: [String: String], now: Timestamp
    ) throws(StoreError) -> StoredRegion
    /// Sets the state, progress and failure of an incomplete region.
    func setRegion(
        _ id: String, state: StoredRegionState, progress: StoredRegionProgress, failure: StoredRegionFailure?,
        now: Timestamp
    ) throws(StoreError)
    /// Completes regions and takes editions into use in one transaction; throws `inUse` when a tile is missing.
    func completeRegions(
        _ regions: [String: StoredRegionProgress], using editions: [EditionKey], now: Timestamp
    ) throws(StoreError)
    /// Removes tiles that their source does not have from a region's needs, from the staged ones if it is being
    /// updated.
    func dropTiles(_ tiles: [RegionTile], fromRegion id: String) throws(StoreError)
    func discardStaged(ofRegion id: String, now: Timestamp) throws(StoreError)
    /// Changes a region's name and the client's own data, also in the staged definition; nil keeps the old value.
    func describeRegion(
        _ id: String, name: String?, metadata: [String: String]?, now: Timestamp
    ) throws(StoreError)
    /// Removes a region, even on a full disk, and keeps its tiles until room is needed; returns false when the id is
    /// unknown.
    func removeRegion(_ id: String) throws(StoreError) -> Bool

    /// Reads and verifies the files of some tiles; damaged tiles leave the store.
    func scrub(from position: ScrubPosition, bytes limit: Int64) throws(StoreError) -> ScrubReport
    func savedScrubPosition() -> ScrubPosition
    func saveScrubPosition(_ position: ScrubPosition)
    /// Takes the tiles lost to damaged files since the last call.
    func takeLosses() -> [RegionTile]
}
