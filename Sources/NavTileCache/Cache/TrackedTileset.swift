package import NavGeo
import NavStorage

/// The state of one tileset: its editions, and the missing tiles that the vehicle will need.
package final class TrackedTileset {
    package let settings: TilesetSettings
    package internal(set) var current: EditionIndex?
    /// The newest edition, of which tiles are fetched.
    package internal(set) var newest: EditionIndex?
    /// The validators of the newest edition's list, sent so that its source can confirm it.
    var known: Validators?
    /// The schedule of polling its source for its edition.
    var poll = EditionPoll()
    /// Whether the newest edition waits for regions that are not yet loaded with it.
    var waitsForRegions = false
    /// The reason why the last poll failed.
    package internal(set) var problem: String?
    /// Whether the last poll failed because the source could not be reached.
    var pollFoundOutage = false
    /// Whether the log says that its source fails.
    var isKnownToFail = false
    /// The reason why the newest edition cannot come into use; nil when it can, or is only not on board yet.
    package internal(set) var outdatedReason: String?

    /// The missing tiles that will be needed, each with its need.
    package private(set) var open: [TileID: Double] = [:]
    /// The validators of those missing tiles that are on board but have expired.
    private(set) var expired: [TileID: Validators] = [:]
    /// Missing tiles whose write failed; they are not requested until all tiles are planned again.
    private(set) var unwritten: Set<TileID> = []
    /// Tiles that will be needed but that their server does not allow to be stored; they are not requested again in this edition.
    package private(set) var unstorable: Set<TileID> = []
    /// Whether the log says that tiles of the newest edition may not be stored.
    var isKnownUnstorable = false
    /// The least need of a tile refused for lack of room; tiles needed no sooner are not requested.
    private var noRoomFrom = Double.infinity
    /// The tiles that will be needed and that the edition in use has, but the newest does not.
    private(set) var dropped: Set<TileID> = []
    /// Whether the queue's demands are out of date.
    var needsReport = false
    /// The vehicle's position along the route at the last update of the queue, metres.
    var reportedCursor = 0.0
    /// Whether the store's wanted tiles are out of date.
    var wantedTilesAreStale = false
    /// Whether tiles have stopped being wanted since the store's last update.
    var wantedTilesShrank = false

    init(_ settings: TilesetSettings) { self.settings = settings }

    package var name: String { settings.name }

    package var domain: TileDomain { settings.domain }

    /// Returns the reason why its source fails; nil when the source answers.
    package func complaint(_ condition: SourceCondition?) -> String? {
        condition?.reachability == .offline ? condition?.reason ?? problem : problem
    }

    /// Whether its source fails because it is unreachable, rather than by a wrong answer.
    package func isUnreachable(_ condition: SourceCondition?) -> Bool {
        guard let condition, condition.reachability == .offline, condition.reason != nil else { return pollFoundOutage }
        return condition.isUnreachable
    }

    /// Whether a newer edition waits to be taken into use.
    package var isPending: Bool { newest != nil && newest?.key != current?.key }

    /// The reason why tiles that the vehicle will need are not on board although their source sends them; nil when there are none.
    package var storingProblem: String? {
        unstorable.isEmpty
            ? nil
            : "its server does not allow its tiles to be stored, so that the vehicle lacks them without a network; have "
                + "the server allow it (Cache-Control), or set store_anyway=true for the tileset if you may"
    }

    /// The owner of the demand for tiles ahead.
    var owner: DownloadOwner { DownloadOwner(.predicted, name) }

    // MARK: Tiles ahead

    /// Takes wanted tiles; those that are not on board or have expired count as missing.
    func addWanted(_ tiles: [WantedTile], _ reader: some TileCacheIndex, now: Timestamp) throws(StoreError) {
        guard let newest, settings.isCacheable else { return }
        if let current, isPending {
            for wanted in tiles where !newest.has(wanted.tile) && current.has(wanted.tile) {
                dropped.insert(wanted.tile)
            }
        }
        let there = tiles.filter {
            newest.has($0.tile) && $0.need < noRoomFrom && !unstorable.contains($0.tile)
        }
        guard !there.isEmpty else { return }
        let ids = there.map(\.tile)
        let stale = Set(try reader.absent(ids, in: newest.key, expiredAt: now))
        guard !stale.isEmpty else { return }
        let absent = Set(try reader.absent(ids, in: newest.key))
        for wanted in there where stale.contains(wanted.tile) {
            if !absent.contains(wanted.tile) {
                let address = TileAddress(name, wanted.tile)
                guard let record = try reader.tile(address, version: newest.key.version, now: now) else { continue }
                expired[wanted.tile] = record.validators
            } else {
                expired[wanted.tile] = nil
            }
            open[wanted.tile] = wanted.need
            needsReport = true
        }
    }

    /// Forgets tiles that are no longer needed.
    func removeWanted(_ tiles: [TileID]) {
        dropped.subtract(tiles)
        unwritten.subtract(tiles)
        unstorable.subtract(tiles)
        for tile in tiles where open.removeValue(forKey: tile) != nil {
            expired[tile] = nil
            needsReport = true
        }
    }

    /// Forgets all tiles; of those that are still wanted, keeps which may not be stored.
    func removeWanted(except wanted: [WantedTile]) {
        needsReport = needsReport || !open.isEmpty
        (open, expired, dropped, unwritten) = ([:], [:], [], [])
        unstorable.formIntersection(wanted.map(\.tile))
    }

    /// Allows tiles refused for lack of room to be requested again, once they are planned again.
    func noteRoom() { noRoomFrom = .infinity }

    /// Takes an edition, or another list of the same edition, as the newest.
    func take(_ index: EditionIndex) {
        (newest, outdatedReason) = (index, nil)
        (unstorable, isKnownUnstorable) = ([], false)
    }

    /// Takes the newest edition into use.
    func switchToNewest() {
        current = newest
        (dropped, outdatedReason) = ([], nil)
    }

    /// Records that a tile of an edition is now on board or does not exist; ignored for editions other than the newest.
    func settle(_ tile: TileID, of edition: String?) {
        guard edition == newest?.key.version else { return }
        open[tile] = nil
        expired[tile] = nil
        unwritten.remove(tile)
        unstorable.remove(tile)
    }

    /// Whether a tile will be needed and is missing, whether or not it is requested.
    func lacks(_ tile: TileID) -> Bool { open[tile] != nil || unwritten.contains(tile) || unstorable.contains(tile) }

    /// Whether some missing tiles are not requested, because they could not be written or may not be stored.
    var isWithholding: Bool { !unwritten.isEmpty || !unstorable.isEmpty }

    /// Records that a tile of an edition has arrived, but could not be written.
    func noteUnwritten(_ tile: TileID, of edition: String) {
        guard edition == newest?.key.version, lacks(tile) else { return }
        settle(tile, of: edition)
        unwritten.insert(tile)
    }

    /// Records that a tile of an edition has arrived, but may not be stored.
    func noteUnstorable(_ tile: TileID, of edition: String) {
        guard edition == newest?.key.version, lacks(tile) else { return }
        settle(tile, of: edition)
        unstorable.insert(tile)
    }

    /// Requests a tile without validators, because it is no longer on board although its source confirmed it.
    func demandWhole(_ tile: TileID) {
        guard open[tile] != nil else { return }
        expired[tile] = nil
        needsReport = true
    }

    /// Gives up a tile that does not fit the budget, and all tiles needed no sooner until there may be room again,
    /// because they would not fit either.
    ///
    /// - Returns: The number of tiles given up.
    func refuse(_ tile: TileID, of edition: String) -> Int {
        guard edition == newest?.key.version, let need = open[tile] else { return 1 }
        return giveUp(from: need)
    }

    /// Gives up those of its wanted tiles, soonest needed first, that would not fit a budget even if nothing else were on
    /// board.
    ///
    /// - Returns: The number of tiles given up.
    func giveUp(_ wanted: [WantedTile], beyond budget: Int64) -> Int {
        guard let sizes = newest?.sizes else { return 0 }
        var bytes: Int64 = 0
        let last = wanted.first { tile in
            bytes += sizes[tile.tile] ?? 0
            return bytes > budget
        }
        // Tiles with the same need as the last one may be smaller.
        return last.map { giveUp(from: $0.need.nextUp) } ?? 0
    }

    private func giveUp(from need: Double) -> Int {
        let given = open.filter { $0.value >= need }.map(\.key)
        guard !given.isEmpty else { return 0 }
        noRoomFrom = min(noRoomFrom, need)
        removeWanted(given)
        return given.count
    }

    /// The demands for the missing tiles, soonest needed first.
    ///
    /// - Parameter limit: The greatest need of a tile that the vehicle is considered to await.
    func demands(awaitedUntil limit: Double) -> [TileDemand] {
        open.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map { tile, need in
            TileDemand(
                TileAddress(name, tile), edition: newest?.key.version, need: need,
                // An expired tile can be used until its replacement arrives.
                isAwaited: need <= limit && expired[tile] == nil, known: expired[tile], size: newest?.sizes?[tile])
        }
    }
}
