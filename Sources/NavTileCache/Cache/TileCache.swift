import NavGeo
package import NavStorage

/// The decisions of a tile cache: what is fetched ahead of the vehicle and for offline regions, which edition of each
/// tileset is in use, what is tried again when, and when the disk is scrubbed.
///
/// A state machine: events with their moments go in, effects come out (``CacheEffect``). It reads no clock and asks no
/// network; the disk is a ``TileCacheStore``, whose changes are atomic, so that a process that is killed between two of
/// them starts again from a sound state. Which download begins when is decided by ``DownloadPlan``, which tiles go by
/// ``Eviction``. One thread owns it.
package final class TileCache<Store: TileCacheStore> {
    /// The disk; this is its only writer but for readers that find a file damaged.
    package let store: Store
    /// The tilesets, in the order of the configuration.
    package let tilesets: [TrackedTileset]
    package private(set) var settings: CacheSettings
    /// Reads the stored area of a region; nil when what is stored is none.
    let area: @Sendable (StoredRegionDefinition) -> RegionArea?

    /// The moment of the event that is being handled.
    private(set) var instant = CacheInstant(monotonic: 0, wall: Timestamp(nanoseconds: 0))
    var network = NetworkReport()
    private var effects: [CacheEffect] = []

    /// The vehicle as it was reported last.
    package internal(set) var vehicle = VehicleState()
    /// The plans of what the vehicle will need, by kind of tiles; none while nothing is fetched ahead.
    var planners: [TileDomain: CachePlanner] = [:]
    /// Offline regions that are wanted and of which nothing is stored yet, or nothing of what they are to be, by id.
    package internal(set) var requests: [String: RegionRequest] = [:]
    var lastRequest: UInt64 = 0
    /// Offline regions that are being loaded, by id.
    package internal(set) var loads: [String: RegionLoad] = [:]
    /// The moment when complete regions were looked at last, monotonic ns; nil when a damaged file has taken a tile since, of them
    /// maybe.
    var regionsCheckedAt: Int64? = 0
    /// The scrub of the files on board.
    package internal(set) var scrub: Scrub
    /// Tiles that left the store because their files were damaged and that are needed; the first of them.
    package internal(set) var damaged: [RegionTile] = []
    /// The number of tiles found damaged since the start.
    package internal(set) var damagedCount = 0
    /// Regions that are not complete and are tried again.
    var retries = RegionRetries()
    /// The reasons why regions stay of an older edition, by id.
    package internal(set) var outdatedReasons: [String: TileFailure] = [:]
    /// The reasons why regions are not whole as they were logged last, by id: each attempt may end alike.
    var loggedEnds: [String: String] = [:]
    /// Outdated editions and when they may go, monotonic ns.
    var outdated: [EditionKey: Int64] = [:]
    /// The state of the disk that was found full; nil while it is not.
    package private(set) var fullDisk: FullDisk?
    /// The moment of the next plan for tiles whose write failed, monotonic ns; nil when none failed.
    private var unwrittenAt: Int64?
    /// The number of times in a row that the disk was full.
    private var diskFailures = 0
    /// The reason why the store could not be written last.
    package private(set) var storeProblem: String?
    /// Tiles for which there was no room in the budget, since something changed.
    package internal(set) var refusedCount = 0
    /// Tiles evicted since the start.
    package private(set) var evictedCount = 0
    /// Whether something has changed that totals or health tell; the shell that tells it resets it.
    package var isChanged = true
    /// The moment at which ``CacheEvent/tick(_:)`` is due again at the latest, monotonic ns.
    package private(set) var due = Int64.min

    /// Whether the vehicle does not need some tiles any more since there was no room for others.
    var mayHaveRoom = false
    /// Whether tiles that the vehicle needs may have been evicted unnoticed, before the store was told of them.
    var mayLackWanted = false
    var guardedAt: Int64 = 0
    var askedAgainAt: Int64 = 0

    /// - Parameter area: Reads the stored area of a region.
    package init(
        _ settings: CacheSettings, _ tilesets: [TilesetSettings], store: Store,
        area: @escaping @Sendable (StoredRegionDefinition) -> RegionArea?
    ) {
        self.store = store
        self.settings = settings
        self.area = area
        self.tilesets = tilesets.map { TrackedTileset($0) }
        scrub = Scrub(
            ScrubPace(bytesPerSecond: Int64(settings.scrubBytesPerSecond)), from: store.savedScrubPosition())
        makePlanners()
    }

    private func makePlanners() {
        planners = [:]
        guard settings.isPredictive else { return }
        for domain in TileDomain.allCases { planners[domain] = CachePlanner(settings.profile(domain), vehicle) }
    }

    /// The pause before tiles that could not be written are fetched again, unless others could be written, ns.
    private static var unwrittenPause: Int64 { 300_000_000_000 }

    // MARK: Events

    /// Handles an event.
    ///
    /// - Returns: What is to be done, in this order.
    package func handle(_ event: CacheEvent, at instant: CacheInstant) -> [CacheEffect] {
        self.instant = instant
        switch event {
        case .start: start()
        case .vehicle(let update): take(update)
        case .downloads(let results): take(results)
        case .edition(let name, let answer): take(answer, of: name)
        case .load(let definition, let token): take(definition, token: token)
        case .sampled(let id, let number, let estimates): begin(id, number, estimates)
        case .settings(let settings): configure(settings)
        case .tick(let network):
            self.network = network
            turn()
        case .stop: stop()
        }
        return takeEffects()
    }

    /// Runs a command of a caller, or a question.
    ///
    /// - Returns: Its answer, and what is to be done.
    package func run<Value>(
        at instant: CacheInstant, _ command: (TileCache) throws(TileFailure) -> Value
    ) -> (answer: Result<Value, TileFailure>, effects: [CacheEffect]) {
        self.instant = instant
        let answer = Result { () throws(TileFailure) in try command(self) }
        return (answer, takeEffects())
    }

    private func takeEffects() -> [CacheEffect] {
        defer { effects = [] }
        return effects
    }

    /// Asks the shell for something.
    func add(_ effect: CacheEffect) { effects.append(effect) }

    func log(_ text: String) { add(.log(isWarning: false, text)) }
    func warn(_ text: String) { add(.log(isWarning: true, text)) }

    /// Fetches nothing more for an owner.
    func forget(_ owner: DownloadOwner) { add(.demand([], owner)) }

    /// The wall clock: for what expires, and for what is noted with tiles and regions.
    var now: Timestamp { instant.wall }

    /// Nanoseconds of the monotonic clock.
    var moment: Int64 { instant.monotonic }

    package func tileset(_ name: String) -> TrackedTileset? { tilesets.first { $0.name == name } }

    /// Begins: what the store has is in use, and what was being loaded goes on.
    private func start() {
        if let problem = store.readOnlyProblem {
            // Nothing is fetched that could not be kept.
            add(.pauseDownloads(true))
            note(problem, "the store")
        }
        attempt("the editions on board") { () throws(StoreError) in try takeStoredEditions() }
        tellTilesets()
        attempt("the offline regions") { () throws(StoreError) in try resumeRegions() }
    }

    private func turn() {
        due = moment + 1_000_000_000
        due = min(due, lookAtDisk())
        askForEditions()
        due = min(due, stepScrub())
        due = min(due, turnRegions())
        removeOutdated()
        if let at = unwrittenAt, at <= moment {
            unwrittenAt = nil
            for tileset in tilesets { planAnew(tileset) }
        }
        demandAhead()
        tellStore()
    }

    /// Writes what lasts.
    private func stop() {
        withdrawAll()
        writeLoads()
        attempt("the store's index") { () throws(StoreError) in try store.flush() }
    }

    /// Tells everybody which editions there are.
    func tellTilesets() {
        add(.tilesetsChanged)
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

    /// Reads or changes the store; a failure is the caller's.
    func checked<Value>(_ body: () throws(StoreError) -> Value) throws(TileFailure) -> Value {
        do throws(StoreError) { return try body() } catch { throw TileFailure(error) }
    }

    /// A failure of the store: it is told once, and shown in the health until writing works again.
    ///
    /// - Parameter bytes: How much was to be written.
    package func note(_ error: StoreError, _ what: String, bytes: Int64 = 0) {
        isChanged = true
        guard error.code == .diskFull else {
            let text = "\(what): \(error)"
            if storeProblem != text { warn(text) }
            storeProblem = text
            return
        }
        guard fullDisk == nil else { return }
        // Nothing is fetched that could not be kept.
        add(.pauseDownloads(true))
        let disk = FullDisk(bytes: bytes, failures: diskFailures, free: store.reader.freeBytes, at: moment)
        diskFailures += 1
        fullDisk = disk
        warn("\(what): \(error); \(disk.text(store.reader.folder))")
    }

    /// Goes on when there is room on the disk again.
    private func lookAtDisk() -> Int64 {
        guard let disk = fullDisk else { return .max }
        guard disk.mayTry(free: store.reader.freeBytes, at: moment) else { return moment + FullDisk.interval }
        log("there is room on the disk of '\(store.reader.folder)' again: loading goes on")
        fullDisk = nil
        add(.pauseDownloads(false))
        isChanged = true
        for tileset in tilesets { tileset.isToTell = true }
        for id in loads.keys { loads[id]?.isToAsk = true }
        retries.end(.disk)
        return moment
    }

    // MARK: Downloads

    /// Stores what was fetched, in one transaction, and lets all who waited for it go on.
    private func take(_ results: [DownloadResult]) {
        var tiles: [FetchedTile] = []
        for result in results {
            let (address, edition) = (result.address, result.edition)
            let tileset = tileset(address.tileset)
            switch result.outcome {
            case .success(.fetched(let tile)):
                // What is late, and of an edition that went meanwhile, must not keep the others from being stored.
                if tileset?.settings.isCacheable == true, isOnBoard(EditionKey(address.tileset, tile.edition)) {
                    tiles.append(tile)
                }
            case .success(.unstorable(let tile)):
                tileset?.settle(address.tile, of: tile.edition)
                failLoads(
                    address, of: tile.edition,
                    TileFailure(
                        .deniedByPolicy,
                        "the server of '\(address.tileset)' says that its tiles must not be stored"))
            case .success(.notModified(let validators)):
                let version = edition ?? tileset?.newest?.key.version ?? ""
                var isOnBoard = true
                attempt("tile \(address)") { () throws(StoreError) in
                    isOnBoard = try store.revalidate(address, version: version, validators: validators, now: now)
                }
                // Its file may have been damaged meanwhile.
                if isOnBoard { tileset?.settle(address.tile, of: edition) } else { tileset?.demandWhole(address.tile) }
                settleLoads(address, of: edition)
            case .success(.absent):
                tileset?.settle(address.tile, of: edition)
                dropFromLoads(address, of: edition)
            case .failure(let error): fail(result, error, tileset)
            }
        }
        if !tiles.isEmpty { commit(tiles) }
        isChanged = true
    }

    private func commit(_ tiles: [FetchedTile]) {
        let report: CommitReport
        do throws(StoreError) {
            report = try store.commit(tiles, now: now)
        } catch {
            note(error, "storing \(tiles.count) tiles", bytes: tiles.reduce(0) { $0 + $1.size })
            // They are asked for again; what else failed than the disk's size is tried again later.
            guard error.code != .diskFull else { return }
            unwrittenAt = unwrittenAt ?? moment + Self.unwrittenPause
            for tile in tiles {
                tileset(tile.address.tileset)?.settle(tile.address.tile, of: tile.edition)
                failLoads(tile.address, of: tile.edition, TileFailure(error))
            }
            return
        }
        (storeProblem, diskFailures) = (nil, 0)
        if unwrittenAt != nil { unwrittenAt = moment }
        evictedCount += report.evictedCount
        let sizes = Dictionary(
            tiles.map { (RegionTile($0.address, edition: $0.edition), $0.size) },
            uniquingKeysWith: { first, _ in first })
        for tile in report.stored {
            tileset(tile.address.tileset)?.settle(tile.address.tile, of: tile.edition)
            takeIntoLoads(tile, bytes: sizes[tile] ?? 0)
        }
        // What was evicted although it will be needed comes back when there is room. Any of them may be needed as long as
        // the store has not been told what is.
        if tilesets.contains(where: \.isToGuard) {
            mayLackWanted = mayLackWanted || report.evictedCount > 0
        } else {
            refusedCount += report.evictedWantedCount
        }
        for tile in report.refused {
            refusedCount += tileset(tile.address.tileset)?.refuse(tile.address.tile, of: tile.edition) ?? 1
            failLoads(
                tile.address, of: tile.edition,
                TileFailure(
                    .resourceExhausted, "there is no room for \(tile.address) within \(budgetAdvice)",
                    obstacle: .budget))
        }
    }

    private func fail(_ result: DownloadResult, _ error: TileSourceError, _ tileset: TrackedTileset?) {
        // Whether it is news that the source has another edition: what was asked for may be of an older one itself.
        if error.code == .editionChanged, let tileset, result.edition == tileset.newest?.key.version {
            tileset.poll.noteChange()
            tileset.isToTell = true
            for id in loads.keys.sorted() where loads[id]?.window[result.address]?.edition == result.edition {
                loads[id]?.isToAsk = true
                loads[id].map { forget($0.owner) }
            }
            return
        }
        failLoads(result.address, of: result.edition, TileFailure(error))
    }

    // MARK: Settings

    private func configure(_ next: CacheSettings) {
        let old = settings
        settings = next
        isChanged = true
        if next.scrubBytesPerSecond != old.scrubBytesPerSecond {
            scrub.pace = ScrubPace(bytesPerSecond: Int64(next.scrubBytesPerSecond))
        }
        if next.budgetBytes != old.budgetBytes {
            store.setBudget(next.budgetBytes)
            noteRoom()
            attempt("making room") { () throws(StoreError) in
                let removed = try store.makeRoom(for: 0, needed: nil).removedCount
                evictedCount += removed
                mayLackWanted = mayLackWanted || removed > 0
            }
        }
        if next.network != old.network {
            log("the network is \(next.network.rawValue)")
            if next.network != .offline {
                for tileset in tilesets {
                    tileset.poll.restart(isUrgent: false)
                    tileset.isToTell = true
                }
                retries.end(.network)
            }
        }
        let isPlannedAnew = TileDomain.allCases.contains { next.profile($0) != old.profile($0) }
        guard isPlannedAnew || next.isPredictive != old.isPredictive else { return }
        makePlanners()
        for tileset in tilesets { planAnew(tileset) }
        // The store learns at once what is not needed any more: room is looked for with it.
        guardedAt = moment - Self.guardInterval
        tellStore()
        noteRoom()
    }
}
