package import NavGeo

/// An offline region that is being loaded.
///
/// Its missing tiles are asked for in windows of bounded size, so that a region of any size takes little memory. What
/// came counts only when it is of the edition that was asked for: a tile of an older one may be late.
package struct RegionLoad {
    /// Most tiles that are asked for at a time.
    package static let windowSize = 5_000
    /// Most failed tiles that are told apart; a region with more of them ends at once.
    static let greatestFailures = 10_000

    let definition: StoredRegionDefinition
    let editions: [String: String]
    /// Whether the region serves as something else until this is complete.
    let isUpdate: Bool
    /// Whether the area differs from that of the region as it was.
    var changesGeometry = false
    /// Whether name or metadata differ.
    var changesMetadata = false
    /// The moment when it began, UTC: what had expired by then is asked for.
    let started: NavGeo.Timestamp

    package struct Asked {
        package var edition: String
        /// Whether it is on board, and may have to be replaced.
        package var isOnBoard: Bool

        package init(edition: String, isOnBoard: Bool) {
            self.edition = edition
            self.isOnBoard = isOnBoard
        }
    }

    package var window: [TileAddress: Asked] = [:]
    /// The last missing tile that was looked at; nil for none.
    package private(set) var searched: RegionTile?
    /// Whether all missing tiles were looked at.
    private(set) var isSearched = false
    /// Tiles on board that their source is still to be asked for again, the last first.
    package var toRevalidate: [RegionTile] = []
    /// Whether the window has to be made or told anew.
    var isToAsk = true
    package private(set) var failed: Set<TileAddress> = []
    /// The reason why the first of them could not.
    private(set) var failure: TileFailure?
    /// Tiles that had expired and hold on all the same, or were fetched for this load.
    package private(set) var settled: Set<TileAddress> = []
    package var progress = StoredRegionProgress()
    /// Whether all of it is on board, and it waits for others that come into use with it.
    var isReady = false

    /// The moment when something last came, monotonic ns.
    var cameAt: Int64
    /// The moment when its progress was told last, monotonic ns, and the progress.
    var toldAt: Int64 = 0
    var told: StoredRegionProgress?
    /// The moment when its progress was written last, monotonic ns.
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

    // MARK: What is asked for

    /// Takes what a search for missing tiles has found, the tiles after ``searched``: those that are to be asked for.
    package mutating func takeFound(_ tiles: [RegionTile]) -> [RegionTile] {
        searched = tiles.last ?? searched
        isSearched = tiles.count < Self.windowSize
        return tiles.filter(isOpen)
    }

    /// Takes the next tiles on board that their source is to be asked for again, a window of them; none when all were.
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

    /// Takes back what was asked for and not answered: the search begins anew.
    package mutating func clearWindow() {
        guard !window.isEmpty else { return }
        (searched, isSearched) = (nil, false)
        // Those on board are not missing.
        let again = window.filter(\.value.isOnBoard).map { RegionTile($0.key, edition: $0.value.edition) }
        toRevalidate += again.sorted { $0.address > $1.address }
        window = [:]
    }

    /// Tiles are missing that it thought were there: their files were damaged, or they went while their source said
    /// that they hold on. They are asked for again.
    package mutating func reopen(_ tiles: [RegionTile]) {
        settled.subtract(tiles.map(\.address))
        (searched, isSearched, isToAsk, isReady) = (nil, false, true, false)
    }

    // MARK: What came

    /// Takes what was asked for, when this answers it.
    private mutating func takeAsked(_ address: TileAddress, of edition: String?, at moment: Int64) -> Asked? {
        guard let asked = window[address], asked.edition == edition else { return nil }
        window[address] = nil
        cameAt = moment
        return asked
    }

    /// A tile that it needs has come.
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

    /// A tile that it needs holds on.
    package mutating func settle(_ address: TileAddress, of edition: String?, at moment: Int64) {
        guard takeAsked(address, of: edition, at: moment) != nil else { return }
        settled.insert(address)
    }

    /// There is no such tile; what is not needed any more therefore.
    package mutating func drop(_ address: TileAddress, of edition: String?, at moment: Int64) -> RegionTile? {
        guard let asked = takeAsked(address, of: edition, at: moment) else { return nil }
        // One that was there once and is gone from its source stays.
        guard !asked.isOnBoard else {
            settled.insert(address)
            return nil
        }
        progress.requiredCount = max(progress.requiredCount - 1, 0)
        return RegionTile(address, edition: asked.edition)
    }

    /// A tile could not be got.
    package mutating func fail(
        _ address: TileAddress, of edition: String?, _ failure: TileFailure, at moment: Int64
    ) {
        guard takeAsked(address, of: edition, at: moment) != nil, failed.count < Self.greatestFailures else { return }
        failed.insert(address)
        progress.erroredCount = Int64(failed.count)
        if self.failure == nil { self.failure = failure }
    }
}
