public import NavGeo
public import NavTileCache

/// The tile store's one owner: writes, evicts, pins.
///
/// All of it may be called from any thread; writers wait for each other, readers for nobody. Nothing in it reads a
/// clock.
public final class TileStore: Sendable {
    /// Reads this store: lookups, editions, regions, totals.
    public let reader: TileStoreReader
    /// What the opening found and did.
    public let opening: OpeningReport

    /// Opens a store, making it when there is none, and finishes what a process that was killed had begun.
    ///
    /// - Throws: ``StoreError`` `busy` naming the process that owns it, `missing` when the folder's parent is not there,
    ///   `readOnly`, `diskFull`, `newerSchema`, `system`. A damaged index is no error: see ``OpeningReport``.
    public init(folder: String, options: TileStoreOptions = TileStoreOptions()) throws(StoreError) {
        throw StoreError(.system, "not yet")
    }

    /// Writes what is pending and lets the folder go; everything after it throws `closed`.
    public func close() {}

    /// Most bytes of tiles on disk.
    public var budgetBytes: Int64 { 0 }

    /// Sets the budget; ``makeRoom(for:needed:)`` with 0 bytes brings the store within it.
    public func setBudget(_ bytes: Int64) {}

    /// Tells which tiles of an edition will be needed, all of them, instead of those told before; none: forgets them.
    /// Eviction spares them for what is needed later. Kept in memory only.
    public func setWanted(_ tiles: [WantedTile], in edition: EditionKey) throws(StoreError) {}

    // MARK: Editions

    /// Adds an edition, beside the others of its tileset; one that is there already gets the new list and document.
    ///
    /// The first edition of a tileset is in use at once.
    public func addEdition(_ edition: TilesetEdition, now: Timestamp) throws(StoreError) {}

    /// Takes an edition into use: lookups without a version find it, and `current` of its tileset points to it.
    public func use(_ edition: EditionKey, now: Timestamp) throws(StoreError) {}

    /// Removes an edition with its tiles.
    ///
    /// - Throws: ``StoreError`` `inUse` when it is in use or a region has tiles of it.
    @discardableResult
    public func removeEdition(_ edition: EditionKey) throws(StoreError) -> RemovalReport { RemovalReport() }

    // MARK: Tiles

    /// Stores tiles, each whole or not at all, in one transaction; makes room as ``makeRoom(for:needed:)`` does: for a
    /// tile of a region as for one without a need, for a wanted one as soon as it is needed.
    ///
    /// When it returns they survive a loss of power. On an error none of them is stored.
    ///
    /// - Throws: ``StoreError`` `invalid` for an edition that was not added, or a road tile without its ranks;
    ///   `diskFull`.
    public func commit(_ tiles: [FetchedTile], now: Timestamp) throws(StoreError) -> CommitReport {
        throw StoreError(.system, "not yet")
    }

    /// Notes that a source said of a tile on board that it still holds; false when it is no longer on board.
    @discardableResult
    public func revalidate(
        _ address: TileAddress, version: String, validators: Validators, now: Timestamp
    ) throws(StoreError) -> Bool { false }

    /// Notes that tiles were needed; written with the next commit, ``flush()`` or ``close()``.
    public func touch(_ tiles: [TileRecord], now: Timestamp) {}

    /// Writes the times that ``touch(_:now:)`` noted.
    public func flush() throws(StoreError) {}

    /// The bytes of a file of a tile, hashed before they are returned.
    ///
    /// - Throws: ``StoreError`` `corruptObject` when they are not what was stored: the file has been put aside, and the
    ///   tiles that have it are no longer on board.
    public func data(of tile: TileRecord, part: TilePart = .body) throws(StoreError) -> [UInt8] {
        throw StoreError(.system, "not yet")
    }

    /// Takes a file that is not what it should be out of the store, with the tiles that have it; counted.
    @discardableResult
    public func quarantine(_ hash: ContentHash) throws(StoreError) -> RemovalReport { RemovalReport() }

    // MARK: Room

    /// Removes tiles until `bytes` more fit into the budget: first those that nobody wants, the least recently needed
    /// first; then wanted ones that are needed later than what is to come, the latest first. Pinned tiles stay.
    ///
    /// - Parameter need: How soon what is to come will be needed, see `WantedTile.need`; nil: nothing that is wanted
    ///   goes for it.
    /// - Returns: What went; nothing when it does not fit whatever goes, and then `fits` is false.
    @discardableResult
    public func makeRoom(for bytes: Int64, needed need: Double?) throws(StoreError) -> RemovalReport {
        RemovalReport()
    }

    /// Removes tiles that no region has.
    ///
    /// - Parameters:
    ///   - tileset: Of this tileset; nil: of all.
    ///   - now: Only those that have expired by then; nil: all.
    @discardableResult
    public func purge(tileset: String? = nil, expiredAt now: Timestamp? = nil) throws(StoreError) -> RemovalReport {
        RemovalReport()
    }

    // MARK: Regions

    /// Creates a region, or begins its update, and pins its tiles whether or not they are on board yet.
    ///
    /// An update is staged: the region stays what it is, with the tiles that it has, until
    /// ``completeRegions(_:using:now:)``; another call replaces what is staged. The state becomes `loading`.
    ///
    /// - Parameters:
    ///   - tiles: All tiles that it needs.
    ///   - editions: The edition of each tileset among them, by name of the tileset.
    @discardableResult
    public func putRegion(
        _ definition: StoredRegionDefinition, tiles: [TileAddress], editions: [String: String], now: Timestamp
    ) throws(StoreError) -> StoredRegion { throw StoreError(.system, "not yet") }

    /// Takes tiles from what a region needs, the staged ones while there are any: their source does not have them.
    public func dropTiles(_ tiles: [RegionTile], fromRegion id: String) throws(StoreError) {}

    /// Sets state, progress and failure of a region that is not complete.
    public func setRegion(
        _ id: String, state: StoredRegionState, progress: StoredRegionProgress, failure: StoredRegionFailure? = nil,
        now: Timestamp
    ) throws(StoreError) {}

    /// Completes regions in one transaction: what is staged takes the place of what was, whose tiles may then go, and
    /// editions are taken into use with it.
    ///
    /// - Throws: ``StoreError`` `inUse` when one of them lacks a tile: nothing has changed.
    public func completeRegions(
        _ regions: [String: StoredRegionProgress], using editions: [EditionKey] = [], now: Timestamp
    ) throws(StoreError) {}

    /// Forgets what is staged of a region: it stays what it is, complete when it was.
    public func discardStaged(ofRegion id: String, now: Timestamp) throws(StoreError) {}

    /// Changes name and metadata of a region; nil leaves them.
    public func describeRegion(
        _ id: String, name: String? = nil, metadata: [String: String]? = nil, now: Timestamp
    ) throws(StoreError) {}

    /// Removes a region; its tiles stay until room is needed. False when there is none of that id.
    @discardableResult
    public func removeRegion(_ id: String) throws(StoreError) -> Bool { false }

    // MARK: Check

    /// Compares index, files, hashes, folders for mapping and pins, and puts right what can be: what is not whole goes,
    /// what is missing from a folder for mapping comes back, counts are counted anew.
    ///
    /// - Parameter progress: Called now and then; false ends the check.
    public func checkAndRepair(
        _ options: CheckOptions = CheckOptions(), progress: (CheckProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> CheckReport { throw StoreError(.system, "not yet") }
}
