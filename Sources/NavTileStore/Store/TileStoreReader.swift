public import NavGeo

/// Reads a tile store: from the process that owns it or from any other, while the owner writes.
///
/// All of it may be called from any thread; a call blocks for as long as a query takes.
public final class TileStoreReader: Sendable {
    /// The store's folder.
    public let folder: String

    /// Opens a store for reading only.
    ///
    /// - Throws: ``StoreError`` `missing` when there is no store, `newerSchema`, `corruptIndex`, `readOnly` when the
    ///   index cannot be shared because its folder may not be written and no owner runs.
    public init(folder: String) throws(StoreError) { self.folder = folder; throw StoreError(.system, "not yet") }

    /// Looks a tile up; nil when it is not on board.
    ///
    /// - Parameters:
    ///   - version: The edition; nil: the one in use.
    ///   - now: For ``TileRecord/isExpired``, UTC.
    public func tile(
        _ address: TileAddress, version: String? = nil, now: Timestamp
    ) throws(StoreError) -> TileRecord? { throw StoreError(.system, "not yet") }

    /// Which of some tiles of an edition are not on board, or expired before `now` when that is given.
    public func absent(
        _ tiles: [TileID], in edition: EditionKey, expiredAt now: Timestamp? = nil
    ) throws(StoreError) -> [TileID] { throw StoreError(.system, "not yet") }

    /// The bytes of a file of a tile, hashed before they are returned.
    ///
    /// - Throws: ``StoreError`` `corruptObject` when they are not what was stored or the file is gone: look the tile up
    ///   again. The owner's ``TileStore/data(of:part:)`` also takes such a file out of the store.
    public func data(of tile: TileRecord, part: TilePart = .body) throws(StoreError) -> [UInt8] {
        throw StoreError(.system, "not yet")
    }

    /// All editions on board, by tileset and version.
    public func editions() throws(StoreError) -> [EditionRecord] { throw StoreError(.system, "not yet") }

    /// The edition of a tileset that is in use; nil when none is.
    public func currentEdition(of tileset: String) throws(StoreError) -> EditionKey? {
        throw StoreError(.system, "not yet")
    }

    /// An edition as it was added, with its list of tiles; nil when it is not on board.
    public func edition(_ key: EditionKey) throws(StoreError) -> TilesetEdition? {
        throw StoreError(.system, "not yet")
    }

    /// All regions, by id.
    public func regions() throws(StoreError) -> [StoredRegion] { throw StoreError(.system, "not yet") }

    /// A region; nil when there is none of that id.
    public func region(_ id: String) throws(StoreError) -> StoredRegion? { throw StoreError(.system, "not yet") }

    /// Tiles that a region needs and that are not on board, or expired before `now` when that is given: of the staged
    /// tiles while there are any. By edition and tile, at most `limit`.
    public func missingTiles(
        ofRegion id: String, expiredAt now: Timestamp? = nil, limit: Int = .max
    ) throws(StoreError) -> [RegionTile] { throw StoreError(.system, "not yet") }

    /// How many tiles a region needs, and how many of them are on board with how many bytes: of the staged tiles while
    /// there are any. Costs a look at each.
    public func completeness(
        ofRegion id: String
    ) throws(StoreError) -> (required: Int64, present: Int64, bytes: Int64) { throw StoreError(.system, "not yet") }

    /// When the first of a region's tiles expires; nil when none does.
    public func expiry(ofRegion id: String) throws(StoreError) -> Timestamp? { throw StoreError(.system, "not yet") }

    /// Totals. Costs a look at each expired tile, not at each tile.
    public func statistics(now: Timestamp) throws(StoreError) -> StoreStatistics {
        throw StoreError(.system, "not yet")
    }

    /// Compares index, files, hashes, folders for mapping and pins, and changes nothing; works beside an owner that
    /// writes.
    ///
    /// - Parameter progress: Called now and then; false ends the check.
    public func check(
        _ options: CheckOptions = CheckOptions(), progress: (CheckProgress) -> Bool = { _ in true }
    ) throws(StoreError) -> CheckReport { throw StoreError(.system, "not yet") }
}
