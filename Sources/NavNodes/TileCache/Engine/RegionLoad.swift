import NavGeo
import NavTileStore

/// An offline region that is being loaded.
///
/// Its missing tiles are asked for in windows of bounded size, so that a region of any size takes little memory.
struct RegionLoad {
    /// Most tiles that are asked for at a time.
    static let windowSize = 5_000
    /// Most failed tiles that are told apart; a region with more of them ends at once.
    static let greatestFailures = 10_000

    /// What it will be.
    let definition: StoredRegionDefinition
    /// The edition of each of its tilesets.
    let editions: [String: String]
    /// Whether the region serves as something else until this is complete.
    let isUpdate: Bool
    /// Whether the area differs from that of the region as it was.
    var changesGeometry = false
    /// Whether name or metadata differ.
    var changesMetadata = false
    /// When it began, UTC: what had expired by then is asked for.
    let started: NavGeo.Timestamp

    /// A tile that was asked for.
    struct Asked {
        /// Of which edition.
        var edition: String
        /// Whether it is on board, and may have to be replaced.
        var isOnBoard: Bool
    }

    /// Tiles that were asked for.
    var window: [TileAddress: Asked] = [:]
    /// Tiles on board that their source is still to be asked for again, the last first.
    var toRevalidate: [RegionTile] = []
    /// Whether the window has to be made or told anew.
    var isToAsk = true
    /// Tiles that could not be got.
    var failed: Set<TileAddress> = []
    /// Why the first of them could not.
    var failure: TileFailure?
    /// Tiles that had expired and hold on all the same, or were fetched for this load.
    var settled: Set<TileAddress> = []
    /// How far it is.
    var progress = StoredRegionProgress()
    /// Whether all of it is on board, and it waits for others that come into use with it.
    var isReady = false

    /// When something last came, monotonic ns.
    var cameAt: Int64
    /// When its progress was told last, monotonic ns, and what.
    var toldAt: Int64 = 0
    var told: StoredRegionProgress?
    /// When its progress was written last, monotonic ns.
    var writtenAt: Int64

    init(
        _ definition: StoredRegionDefinition, editions: [String: String], isUpdate: Bool, started: NavGeo.Timestamp,
        at moment: Int64
    ) {
        self.definition = definition
        self.editions = editions
        self.isUpdate = isUpdate
        self.started = started
        cameAt = moment
        writtenAt = moment
    }

    /// Who wants its tiles.
    var owner: DownloadOwner { DownloadOwner(.region, definition.id) }

    /// A tile that it needs has come.
    mutating func take(_ address: TileAddress, bytes: Int64, at moment: Int64) {
        guard let asked = window.removeValue(forKey: address) else { return }
        cameAt = moment
        if !asked.isOnBoard {
            progress.completedCount = min(progress.completedCount + 1, progress.requiredCount)
            progress.completedBytes += bytes
        }
        progress.loadedCount += 1
        progress.loadedBytes += bytes
        settled.insert(address)
    }

    /// A tile that it needs holds on.
    mutating func settle(_ address: TileAddress, at moment: Int64) {
        guard window.removeValue(forKey: address) != nil else { return }
        cameAt = moment
        settled.insert(address)
    }

    /// There is no such tile.
    mutating func drop(_ address: TileAddress, at moment: Int64) -> RegionTile? {
        guard let asked = window.removeValue(forKey: address) else { return nil }
        cameAt = moment
        // One that was there once and is gone from its source stays.
        guard !asked.isOnBoard else {
            settled.insert(address)
            return nil
        }
        progress.requiredCount = max(progress.requiredCount - 1, 0)
        return RegionTile(address, edition: asked.edition)
    }

    /// A tile could not be got.
    mutating func fail(_ address: TileAddress, _ failure: TileFailure, at moment: Int64) {
        guard window.removeValue(forKey: address) != nil else { return }
        cameAt = moment
        guard failed.count < Self.greatestFailures else { return }
        failed.insert(address)
        progress.erroredCount = Int64(failed.count)
        if self.failure == nil { self.failure = failure }
    }
}
