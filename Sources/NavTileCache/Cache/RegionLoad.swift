package import NavGeo

/// An offline region that is being loaded.
///
/// Its missing tiles are requested in windows of bounded size, so that a region of any size takes little memory. A
/// result counts only when it is of the requested edition, since a tile of an older one may arrive late.
package struct RegionLoad {
    /// The maximum number of tiles requested at a time.
    package static let windowSize = 5_000
    /// The maximum number of failed tiles recorded individually; a load with more failures ends at once.
    static let greatestFailures = 10_000

    let definition: StoredRegionDefinition
    let editions: [String: String]
    /// Whether the region still serves its former definition until this load is complete.
    let isUpdate: Bool
    /// Whether the area differs from the region's former one.
    var changesGeometry = false
    /// Whether the name or the metadata differ.
    var changesMetadata = false
    /// The start of the load, UTC; tiles that had expired by then are requested again.
    let started: NavGeo.Timestamp

    package struct Asked {
        package var edition: String
        /// Whether the tile is on board and may only have to be replaced.
        package var isOnBoard: Bool

        package init(edition: String, isOnBoard: Bool) {
            self.edition = edition
            self.isOnBoard = isOnBoard
        }
    }

    package var window: [TileAddress: Asked] = [:]
    /// The last missing tile that was examined; nil before the first.
    package private(set) var searched: RegionTile?
    /// Whether all missing tiles have been examined.
    private(set) var isSearched = false
    /// Tiles on board that are still to be revalidated with their source, in descending order.
    package var toRevalidate: [RegionTile] = []
    /// The tilesets whose sources have yet to answer a requested revalidation; the load begins only then.
    var awaitedSources: Set<String> = []
    /// The failure of the first of these sources that did not answer; nil when all of them did.
    var sourceFailure: TileFailure?
    /// Whether the window has to be built or sent to the queue again.
    var needsRequests = true
    package private(set) var failed: Set<TileAddress> = []
    /// The failure of the first of them.
    private(set) var failure: TileFailure?
    private(set) var failedTile: TileAddress?
    /// Expired tiles that are still valid, and tiles that were fetched for this load.
    package private(set) var settled: Set<TileAddress> = []
    package var progress = StoredRegionProgress()
    /// Whether all of its tiles are on board and it waits for the regions that switch editions together with it.
    var isReady = false

    /// The moment when the last result arrived, monotonic ns.
    var cameAt: Int64
    /// The moment when the progress was last reported, monotonic ns, and that progress.
    var reportedAt: Int64 = 0
    var reported: StoredRegionProgress?
    /// The moment when the progress was last written, monotonic ns.
    var writtenAt: Int64

    package init(
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

    var owner: DownloadOwner { DownloadOwner(.region, definition.id) }

    // MARK: Requests

    /// Takes the result of a search for missing tiles after ``searched``; returns those to request.
    package mutating func takeFound(_ tiles: [RegionTile]) -> [RegionTile] {
        searched = tiles.last ?? searched
        isSearched = tiles.count < Self.windowSize
        return tiles.filter(isOpen)
    }

    /// Takes the next window of tiles on board to revalidate; empty when none are left.
    package mutating func takeToRevalidate() -> [RegionTile] {
        var next: [RegionTile] = []
        while next.count < Self.windowSize, let tile = toRevalidate.popLast() {
            if isOpen(tile) { next.append(tile) }
        }
        return next
    }

    private func isOpen(_ tile: RegionTile) -> Bool {
        !failed.contains(tile.address) && !settled.contains(tile.address)
    }

    /// Discards all unanswered requests, so that the search starts again.
    package mutating func clearWindow() {
        guard !window.isEmpty else { return }
        (searched, isSearched) = (nil, false)
        // Tiles on board are not missing.
        let again = window.filter(\.value.isOnBoard).map { RegionTile($0.key, edition: $0.value.edition) }
        toRevalidate += again.sorted { $0.address > $1.address }
        window = [:]
    }

    /// Searches again, because tiles that were thought to be on board are missing: their files were damaged, or they
    /// were evicted while their source confirmed them.
    package mutating func reopen(_ tiles: [RegionTile]) {
        settled.subtract(tiles.map(\.address))
        (searched, isSearched, needsRequests, isReady) = (nil, false, true, false)
    }

    // MARK: Results

    /// Removes and returns the request that this result answers; nil when it answers none.
    private mutating func takeAsked(_ address: TileAddress, of edition: String?, at moment: Int64) -> Asked? {
        guard let asked = window[address], asked.edition == edition else { return nil }
        window[address] = nil
        cameAt = moment
        return asked
    }

    /// Records that a requested tile has arrived.
    package mutating func take(_ tile: RegionTile, bytes: Int64, at moment: Int64) {
        guard let asked = takeAsked(tile.address, of: tile.edition, at: moment) else { return }
        if !asked.isOnBoard {
            progress.completedCount = min(progress.completedCount + 1, progress.requiredCount)
            progress.completedBytes += bytes
        }
        progress.loadedCount += 1
        progress.loadedBytes += bytes
        settled.insert(tile.address)
    }

    /// Records that a tile on board is still valid.
    package mutating func settle(_ address: TileAddress, of edition: String?, at moment: Int64) {
        guard takeAsked(address, of: edition, at: moment) != nil else { return }
        settled.insert(address)
    }

    /// Records that the source has no such tile; returns that tile, which the region no longer needs.
    package mutating func drop(_ address: TileAddress, of edition: String?, at moment: Int64) -> RegionTile? {
        guard let asked = takeAsked(address, of: edition, at: moment) else { return nil }
        // A tile on board is kept even if its source no longer has it.
        guard !asked.isOnBoard else {
            settled.insert(address)
            return nil
        }
        progress.requiredCount = max(progress.requiredCount - 1, 0)
        return RegionTile(address, edition: asked.edition)
    }

    /// Records that a tile could not be fetched.
    package mutating func fail(
        _ address: TileAddress, of edition: String?, _ failure: TileFailure, at moment: Int64
    ) {
        guard takeAsked(address, of: edition, at: moment) != nil, failed.count < Self.greatestFailures else { return }
        failed.insert(address)
        progress.erroredCount = Int64(failed.count)
        if self.failure == nil { (self.failure, failedTile) = (failure, address) }
    }
}
