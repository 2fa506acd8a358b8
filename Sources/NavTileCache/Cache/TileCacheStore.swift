package import NavGeo
package import NavStorage

/// The index of a tile store: what the cache's decisions read, and nothing that changes anything.
package protocol TileCacheIndex {
    /// The store's folder, for messages.
    var folder: String { get }
    /// Bytes that are free on its disk; nil when the system does not say.
    var freeBytes: Int64? { get }
    /// Bytes of all tiles on board; what tiles share counts once.
    func storedBytes() throws(StoreError) -> Int64

    /// All editions on board, by tileset and version.
    func editions() throws(StoreError) -> [EditionRecord]
    /// An edition as it was added, with its list of tiles; nil when it is not on board.
    func edition(_ key: EditionKey) throws(StoreError) -> TilesetEdition?

    /// A tile of an edition; nil when it is not on board.
    func tile(_ address: TileAddress, version: String?, now: Timestamp) throws(StoreError) -> TileRecord?
    /// Returns those of some tiles of an edition that are not on board, or have expired at `now` when that is given.
    func absent(_ tiles: [TileID], in edition: EditionKey, expiredAt now: Timestamp?) throws(StoreError) -> [TileID]
    /// Returns those of some tiles that are not on board and needed by a region whose load was not cancelled.
    func lacking(_ tiles: [RegionTile]) throws(StoreError) -> [RegionTile]

    func regions() throws(StoreError) -> [StoredRegion]
    /// A region; nil when there is none of that id.
    func region(_ id: String) throws(StoreError) -> StoredRegion?
    /// Tiles that a region needs and that are not on board, or had expired, after `last` and at most `limit`.
    func missingTiles(
        ofRegion id: String, expiredAt moment: Timestamp?, now: Timestamp?, after last: RegionTile?, limit: Int
    ) throws(StoreError) -> [RegionTile]
    /// Counts the tiles that a region needs, and those of them that are on board with their bytes.
    func completeness(
        ofRegion id: String, asServed: Bool
    ) throws(StoreError) -> (required: Int64, present: Int64, bytes: Int64)
    /// Returns the moment when the first of a region's tiles expires; nil when none does.
    func expiry(ofRegion id: String) throws(StoreError) -> Timestamp?
    /// Bytes on board that a region must do without, and which of `tiles` are not among them.
    func held(
        besideRegion id: String, _ tiles: [TileAddress], editions: [String: String]
    ) throws(StoreError) -> (bytes: Int64, others: [TileAddress])
}

extension TileCacheIndex {
    func absent(_ tiles: [TileID], in edition: EditionKey) throws(StoreError) -> [TileID] {
        try absent(tiles, in: edition, expiredAt: nil)
    }

    /// Counts a region's tiles into its progress.
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
/// Each change is atomic and survives a kill once it returns; on an error nothing has changed.
package protocol TileCacheStore: AnyObject {
    associatedtype Index: TileCacheIndex

    var reader: Index { get }
    /// Most bytes of tiles on disk.
    var budgetBytes: Int64 { get }
    /// The error of every change on a disk that is mounted read-only; nil where changes are possible.
    var readOnlyProblem: StoreError? { get }

    /// Sets the budget; ``makeRoom(for:needed:)`` with 0 bytes brings the store within it.
    func setBudget(_ bytes: Int64)
    /// Evicts until `bytes` more fit into the budget, see ``Eviction``.
    func makeRoom(for bytes: Int64, needed need: Double?) throws(StoreError) -> RemovalReport
    /// Tells which tiles of an edition will be needed, all of them: eviction spares them. Kept in memory only.
    func setWanted(_ tiles: [WantedTile], in edition: EditionKey) throws(StoreError)
    func touch(_ tiles: [TileRecord], now: Timestamp)
    func flush() throws(StoreError)

    /// Stores tiles in one transaction, evicting for them where the budget asks for it.
    func commit(_ tiles: [FetchedTile], now: Timestamp) throws(StoreError) -> CommitReport
    /// Notes that a source said of a tile that it still holds; false when it is not on board.
    func revalidate(
        _ address: TileAddress, version: String, validators: Validators, now: Timestamp
    ) throws(StoreError) -> Bool
    /// Removes tiles that no region has, of one tileset or all, expired or all.
    func purge(tileset: String?, expiredAt now: Timestamp?) throws(StoreError) -> RemovalReport

    /// Adds an edition, or gives it another list; the first of a tileset is in use at once.
    func addEdition(_ edition: TilesetEdition, now: Timestamp) throws(StoreError)
    /// Removes an edition with its tiles; `inUse` when it is in use or a region has tiles of it.
    func removeEdition(_ edition: EditionKey) throws(StoreError) -> RemovalReport

    /// Creates a region or stages its update, and pins its tiles.
    func putRegion(
        _ definition: StoredRegionDefinition, tiles: [TileAddress], editions: [String: String], now: Timestamp
    ) throws(StoreError) -> StoredRegion
    /// Sets state, progress and failure of a region that is not complete.
    func setRegion(
        _ id: String, state: StoredRegionState, progress: StoredRegionProgress, failure: StoredRegionFailure?,
        now: Timestamp
    ) throws(StoreError)
    /// Completes regions and takes editions into use, in one transaction; `inUse` when a tile is missing.
    func completeRegions(
        _ regions: [String: StoredRegionProgress], using editions: [EditionKey], now: Timestamp
    ) throws(StoreError)
    /// Takes tiles from what a region needs, the staged ones while there are any: their source does not have them.
    func dropTiles(_ tiles: [RegionTile], fromRegion id: String) throws(StoreError)
    func discardStaged(ofRegion id: String, now: Timestamp) throws(StoreError)
    /// Changes a region's name and the client's own data, also of what is staged; nil leaves them.
    func describeRegion(
        _ id: String, name: String?, metadata: [String: String]?, now: Timestamp
    ) throws(StoreError)
    /// Removes a region, on a full disk too; its tiles stay until room is needed. False when there is none of that id.
    func removeRegion(_ id: String) throws(StoreError) -> Bool

    /// Reads and checks the files of some tiles; what is damaged leaves the store.
    func scrub(from position: ScrubPosition, bytes limit: Int64) throws(StoreError) -> ScrubReport
    func savedScrubPosition() -> ScrubPosition
    func saveScrubPosition(_ position: ScrubPosition)
    /// Takes the tiles that left the store because their files were damaged, since they were taken last.
    func takeLosses() -> [RegionTile]
}
