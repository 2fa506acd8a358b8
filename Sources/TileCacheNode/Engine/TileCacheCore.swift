import Foundation
package import NavBus
package import NavGeo
package import NavKit
package import NavMessages
package import NavStorage
package import NavTileCache
package import NavTileStore

/// What the cache does on its thread: it plans ahead of the vehicle, loads offline regions, follows the editions of its
/// sources, and writes what was fetched.
///
/// Everything here is called on one thread, which may wait for the disk; the network is waited for elsewhere.
final class TileCacheCore {
    /// The store; this is its only writer but for readers that find a file damaged.
    let store: TileStore
    /// Fetches what is wanted.
    let queue: DownloadQueue
    /// The tilesets, in the order of the configuration.
    let desks: [TilesetDesk]
    /// What the node is told.
    let outbox: TileCacheOutbox
    /// Where questions are answered beside this thread.
    let lookup: TileLookup
    /// Gives this thread work from another one.
    let post: @Sendable (@escaping @Sendable (TileCacheCore) -> Void) -> Void
    let log: NodeLog

    var vehicle = VehicleState()
    var planners: [NavTileStore.TileDomain: VehiclePlanner]
    /// Offline regions that are wanted and of which nothing is stored yet, or nothing of what they are to be, by id.
    var requests: [String: RegionRequest] = [:]
    var lastRequest: UInt64 = 0
    /// Offline regions that are being loaded, by id.
    var loads: [String: RegionLoad] = [:]
    /// When complete regions were looked at last, monotonic ns; nil when a damaged file has taken a tile since, of them
    /// maybe.
    var regionsCheckedAt: Int64? = 0
    /// The walk that looks at files on board for damage.
    var patrol: StorePatrol
    /// Tiles that left the store because their files were damaged and that are needed; the first of them.
    var damaged: [RegionTile] = []
    /// How many tiles were found damaged since the start.
    var damagedCount = 0
    /// Regions that are not complete and are tried again.
    var waits = RegionWaits()
    /// Why regions stay of an older edition, by id.
    var waiting: [String: TileFailure] = [:]
    /// Why regions are not whole, in the words that were logged last, by id: each attempt may end alike.
    var toldEnds: [String: String] = [:]
    /// Outdated editions and when they may go, monotonic ns.
    var outdated: [EditionKey: Int64] = [:]
    /// What is known of the disk that was found full; nil while it is not.
    var fullDisk: FullDisk?
    /// How often the disk was full one time after the other.
    private var diskFailures = 0
    /// Why the store could not be written last.
    var storeProblem: String?
    /// Tiles for which there was no room in the budget, since something changed.
    var refusedCount = 0
    /// Tiles evicted since the start.
    var evictedCount = 0

    var guardedAt: Int64 = 0
    var askedAgainAt: Int64 = 0
    var reportedAt: Int64 = 0
    var isChanged = true
    var wasBusy = false

    init(
        _ configuration: TileCacheConfiguration, store: TileStore, queue: DownloadQueue,
        sources: [String: any TileSource], outbox: TileCacheOutbox, lookup: TileLookup, log: NodeLog,
        post: @escaping @Sendable (@escaping @Sendable (TileCacheCore) -> Void) -> Void
    ) {
        patrol = StorePatrol(
            PatrolPace(bytesPerSecond: Int64(configuration.patrolBytesPerSecond)), from: store.keptPatrol())
        self.store = store
        self.queue = queue
        self.outbox = outbox
        self.lookup = lookup
        self.log = log
        self.post = post
        desks = configuration.tilesets.map { TilesetDesk($0, isRemote: sources[$0.name]?.isRemote ?? true) }
        let predictive = configuration.predictive
        planners = [
            .navigation: VehiclePlanner(predictive.navigationProfile, isEnabled: predictive.isEnabled),
            .maps: VehiclePlanner(predictive.mapsProfile, isEnabled: predictive.isEnabled),
        ]
    }

    // MARK: The thread

    /// What is configured now.
    var configuration: TileCacheConfiguration { lookup.configuration }

    /// The wall clock: for what expires, and for what is noted with tiles and regions.
    var now: NavGeo.Timestamp { lookup.now }

    /// Nanoseconds of the monotonic clock.
    var moment: Int64 { Clocks.monotonic() }

    /// A tileset by its name.
    func desk(_ name: String) -> TilesetDesk? { desks.first { $0.keys.name == name } }

    /// Begins: what the store has is in use, and what was being loaded goes on.
    func begin() {
        if store.isReadOnly {
            // Nothing is fetched that could not be kept.
            queue.isPaused = true
            note(store.readOnlyProblem, "the store")
        }
        attempt("the editions on board") { () throws(StoreError) in try takeStoredEditions() }
        share()
        attempt("the offline regions") { () throws(StoreError) in try resumeRegions() }
    }

    /// Does what is due.
    ///
    /// - Returns: When to come again at the latest, monotonic ns.
    func turn() -> Int64 {
        let moment = moment
        var due = moment + 1_000_000_000
        due = min(due, lookAtDisk(moment))
        askForEditions(moment)
        due = min(due, turnPatrol(moment))
        due = min(due, turnRegions(moment))
        removeOutdated(moment)
        tellQueue(moment)
        tellStore(moment)
        return min(due, report(moment))
    }

    /// What lasts is written.
    func end() {
        withdrawAll()
        writeLoads()
        attempt("the store's index") { () throws(StoreError) in try store.flush() }
    }

    /// Tells everybody which editions there are.
    func share() {
        lookup.setTilesets(desks.map(\.view))
        isChanged = true
    }

    /// Does something with the store; a failure is told and ends nothing.
    @discardableResult
    func attempt(_ what: String, _ body: () throws(StoreError) -> Void) -> Bool {
        do throws(StoreError) {
            try body()
            return true
        } catch {
            note(error, what)
            return false
        }
    }

    /// A failure of the store: it is told once, and shown in the health until writing works again.
    ///
    /// - Parameter bytes: How much was to be written.
    func note(_ error: StoreError, _ what: String, bytes: Int64 = 0) {
        isChanged = true
        guard error.code == .diskFull else {
            let text = "\(what): \(error)"
            if storeProblem != text { log.warning("\(text)") }
            storeProblem = text
            return
        }
        guard fullDisk == nil else { return }
        // Nothing is fetched that could not be kept.
        queue.isPaused = true
        let disk = FullDisk(bytes: bytes, failures: diskFailures, free: store.reader.freeBytes, at: moment)
        diskFailures += 1
        fullDisk = disk
        log.warning("\(what): \(error); \(disk.text(store.reader.folder))")
    }

    /// Goes on when there is room on the disk again.
    private func lookAtDisk(_ moment: Int64) -> Int64 {
        guard let disk = fullDisk else { return .max }
        guard disk.mayTry(free: store.reader.freeBytes, at: moment) else { return moment + FullDisk.interval }
        log.info("there is room on the disk of '\(store.reader.folder)' again: loading goes on")
        fullDisk = nil
        queue.isPaused = false
        isChanged = true
        for desk in desks { desk.isToTell = true }
        for id in loads.keys.sorted() { loads[id]?.isToAsk = true }
        waits.end(.disk)
        return moment
    }

    // MARK: What was fetched

    /// Stores what was fetched, in one transaction, and lets all who waited for it go on.
    func take(_ results: [DownloadResult]) {
        let now = now
        var tiles: [FetchedTile] = []
        for result in results {
            let (address, edition) = (result.address, result.edition)
            let desk = desk(address.tileset)
            switch result.outcome {
            case .success(.fetched(let tile)):
                // What is late, and of an edition that went meanwhile, must not keep the others from being stored.
                if desk?.keys.isCacheable == true, isOnBoard(EditionKey(address.tileset, tile.edition)) {
                    tiles.append(tile)
                }
            case .success(.unstorable(let tile)):
                desk?.settle(address.tile, of: tile.edition)
                failLoads(
                    address, of: tile.edition,
                    TileFailure(
                        .deniedByPolicy,
                        "the server of '\(address.tileset)' says that its tiles must not be stored"))
            case .success(.notModified(let validators)):
                desk?.settle(address.tile, of: edition)
                let version = edition ?? desk?.newest?.key.version ?? ""
                attempt("tile \(address)") { () throws(StoreError) in
                    try store.revalidate(address, version: version, validators: validators, now: now)
                }
                settleLoads(address, of: edition)
            case .success(.absent):
                desk?.settle(address.tile, of: edition)
                dropFromLoads(address, of: edition)
            case .failure(let error): fail(result, error, desk)
            }
        }
        if !tiles.isEmpty { commit(tiles, now: now) }
        isChanged = true
    }

    private func commit(_ tiles: [FetchedTile], now: NavGeo.Timestamp) {
        let report: CommitReport
        do throws(StoreError) {
            report = try store.commit(tiles, now: now)
        } catch {
            note(error, "storing \(tiles.count) tiles", bytes: tiles.reduce(0) { $0 + $1.size })
            // They are asked for again; what else failed than the disk's size will fail again, and later.
            guard error.code != .diskFull else { return }
            for tile in tiles {
                desk(tile.address.tileset)?.settle(tile.address.tile, of: tile.edition)
                failLoads(tile.address, of: tile.edition, TileFailure(error))
            }
            return
        }
        (storeProblem, diskFailures) = (nil, 0)
        evictedCount += report.evictedCount
        let sizes = Dictionary(
            tiles.map { (RegionTile($0.address, edition: $0.edition), $0.size) },
            uniquingKeysWith: { first, _ in first })
        for tile in report.stored {
            desk(tile.address.tileset)?.settle(tile.address.tile, of: tile.edition)
            takeIntoLoads(tile, bytes: sizes[tile] ?? 0)
        }
        for tile in report.refused {
            desk(tile.address.tileset)?.settle(tile.address.tile, of: tile.edition)
            refusedCount += 1
            failLoads(
                tile.address, of: tile.edition,
                TileFailure(
                    .resourceExhausted, "there is no room for \(tile.address) within \(budgetAdvice)",
                    obstacle: .budget))
        }
    }

    private func fail(_ result: DownloadResult, _ error: TileSourceError, _ desk: TilesetDesk?) {
        // Whether it is news that the source has another edition: what was asked for may be of an older one itself.
        if error.code == .editionChanged, let desk, result.edition == desk.newest?.key.version {
            desk.inquiry.noteChange()
            desk.isToTell = true
            for id in loads.keys.sorted() where loads[id]?.window[result.address]?.edition == result.edition {
                loads[id]?.isToAsk = true
                loads[id].map { queue.forget($0.owner) }
            }
            return
        }
        failLoads(result.address, of: result.edition, TileFailure(error))
    }

    // MARK: Configuration

    /// Takes live keys.
    func reconfigure(_ next: TileCacheConfiguration) {
        let old = configuration
        var next = next
        if next.predictive != old.predictive, let fault = next.predictive.fault {
            log.warning("\(fault): the predictive cache stays as it was")
            next.predictive = old.predictive
        }
        lookup.configure(next)
        isChanged = true
        if next.patrolBytesPerSecond != old.patrolBytesPerSecond {
            patrol.pace = PatrolPace(bytesPerSecond: Int64(next.patrolBytesPerSecond))
        }
        if next.budgetMB != old.budgetMB {
            store.setBudget(next.budgetBytes)
            attempt("making room") { () throws(StoreError) in
                evictedCount += try store.makeRoom(for: 0, needed: nil).removedCount
            }
            noteRoom()
        }
        if next.network.mode != old.network.mode {
            log.info("the network is \(next.network.mode.rawValue)")
            if next.network.mode != .offline {
                for desk in desks {
                    desk.inquiry.restart(isUrgent: false)
                    desk.isToTell = true
                }
                waits.end(.network)
            }
        }
        guard next.predictive != old.predictive else { return }
        planners[.navigation]?.restart(
            next.predictive.navigationProfile, isEnabled: next.predictive.isEnabled, vehicle)
        planners[.maps]?.restart(next.predictive.mapsProfile, isEnabled: next.predictive.isEnabled, vehicle)
        for desk in desks { planAnew(desk) }
        // The store learns at once what is not needed any more: room is looked for with it.
        guardedAt = 0
        tellStore(moment)
        noteRoom()
    }
}
