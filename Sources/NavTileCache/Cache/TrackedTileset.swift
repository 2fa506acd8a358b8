package import NavGeo
import NavStorage

/// The state of one tileset: its editions, and the tiles that the vehicle will need and that are missing.
package final class TrackedTileset {
    package let settings: TilesetSettings
    package internal(set) var current: EditionIndex?
    /// The newest edition: tiles are fetched of this one.
    package internal(set) var newest: EditionIndex?
    /// The validators of the newest edition's list, so that its source can say that it is unchanged.
    var known: Validators?
    /// The schedule of asking its source for its edition.
    var poll = EditionPoll()
    /// Whether regions keep the newest edition from coming into use that are not loaded of it yet.
    var waitsForRegions = false
    /// The reason why the last question failed.
    package internal(set) var problem: String?

    /// Tiles that will be needed and are not on board, with how soon.
    package private(set) var open: [TileID: Double] = [:]
    /// The validators of those that are on board and have expired.
    private(set) var expired: [TileID: Validators] = [:]
    /// Whether the queue has to be told.
    var isToTell = false
    /// The vehicle's place along the route when the queue was told last, metres.
    var toldCursor = 0.0
    /// Whether the store has to be told what is wanted.
    var isToGuard = false
    /// Whether tiles are among that which will not be needed any more.
    var hasLessToGuard = false

    init(_ settings: TilesetSettings) { self.settings = settings }

    package var name: String { settings.name }

    package var domain: TileDomain { settings.domain }

    /// Whether a newer edition waits to be taken into use.
    package var isPending: Bool { newest != nil && newest?.key != current?.key }

    /// The owner of the demand for tiles ahead.
    var owner: DownloadOwner { DownloadOwner(.predicted, name) }

    // MARK: Tiles ahead

    /// Takes tiles that will be needed: those that are not on board, or have expired, are missing.
    func want(_ tiles: [WantedTile], _ reader: some TileCacheIndex, now: Timestamp) throws(StoreError) {
        guard let newest, settings.isCacheable else { return }
        let there = tiles.filter { newest.has($0.tile) }
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
            isToTell = true
        }
    }

    /// Forgets tiles that will not be needed any more.
    func unwant(_ tiles: [TileID]) {
        for tile in tiles where open.removeValue(forKey: tile) != nil {
            expired[tile] = nil
            isToTell = true
        }
    }

    func unwantAll() {
        isToTell = isToTell || !open.isEmpty
        (open, expired) = ([:], [:])
    }

    /// A tile of an edition is on board now, or will never be; the queue knows. Of another than the newest one it says
    /// nothing of those that are missing.
    func settle(_ tile: TileID, of edition: String?) {
        guard edition == newest?.key.version else { return }
        open[tile] = nil
        expired[tile] = nil
    }

    /// A tile that its source says holds is not on board any more: it is fetched whole.
    func demandWhole(_ tile: TileID) {
        guard open[tile] != nil else { return }
        expired[tile] = nil
        isToTell = true
    }

    /// There is no room for a tile of an edition: what is needed no sooner finds none either, and is not fetched in vain.
    ///
    /// - Returns: How many tiles were given up.
    func refuse(_ tile: TileID, of edition: String) -> Int {
        guard edition == newest?.key.version, let need = open[tile] else { return 1 }
        let given = open.filter { $0.value >= need }.map(\.key)
        unwant(given)
        return given.count
    }

    /// The missing tiles as the queue takes them, the soonest needed first.
    ///
    /// - Parameter limit: Up to which need the vehicle waits for them.
    func demands(awaitedUntil limit: Double) -> [TileDemand] {
        open.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map { tile, need in
            TileDemand(
                TileAddress(name, tile), edition: newest?.key.version, need: need,
                // What has expired serves as long as it takes.
                isAwaited: need <= limit && expired[tile] == nil, known: expired[tile], size: newest?.sizes?[tile])
        }
    }
}
