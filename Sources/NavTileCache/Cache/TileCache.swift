import NavGeo
package import NavStorage

/// The decisions of a tile cache: downloads ahead of the vehicle and for offline regions, the edition of each tileset in use, retries, and
/// scrubs.
///
/// A state machine: it takes events with their moments and returns effects (``CacheEffect``). It reads no clock and uses no network. The
/// disk is a ``TileCacheStore`` with atomic changes, so that a process that is killed between two of them restarts from a consistent state.
/// ``DownloadPlan`` schedules downloads, and ``Eviction`` selects the tiles to evict. One thread owns the cache.
package final class TileCache<Store: TileCacheStore> {
    /// The disk; this cache is its only writer, except for readers that find a damaged file.
    package let store: Store
    /// The tilesets, in the order of the configuration.
    package let tilesets: [TrackedTileset]
    package private(set) var settings: CacheSettings
    /// Decodes the stored area of a region; nil when it is malformed.
    let area: @Sendable (StoredRegionDefinition) -> RegionArea?

    /// The moment of the event that is being handled.
    private(set) var instant = CacheInstant(monotonic: 0, wall: Timestamp(nanoseconds: 0))
    var network = NetworkReport()
    private var effects: [CacheEffect] = []

    /// The vehicle as last reported.
    package internal(set) var vehicle = VehicleState()
    /// The planners of tiles ahead of the vehicle, by domain; empty while nothing is fetched ahead.
    var planners: [TileDomain: CachePlanner] = [:]
    /// Requested offline regions of which nothing is stored yet, or whose update is not stored yet, by id.
    package internal(set) var requests: [String: RegionRequest] = [:]
    var lastRequest: UInt64 = 0
    /// Offline regions that are being loaded, by id.
    package internal(set) var loads: [String: RegionLoad] = [:]
    /// The moment of the last check of complete regions, monotonic ns; nil when a tile has been lost since, so that the
    /// check is due.
    var regionsCheckedAt: Int64? = 0
    /// The scrub of the files on board.
    package internal(set) var scrub: Scrub
    /// Needed tiles that left the store because their files were damaged; only the first of them are recorded.
    package internal(set) var damaged: [RegionTile] = []
    /// The number of tiles found damaged since the start.
    package internal(set) var damagedCount = 0
    /// Regions whose requested revalidation waits for the network.
    var revalidations: Set<String> = []
    /// The retries of incomplete regions.
    var retries = RegionRetries()
    /// The reasons why regions still have an older edition, by id.
    package internal(set) var outdatedReasons: [String: TileFailure] = [:]
    /// The reasons why regions are incomplete, by id; a full disk, the budget and the network mode are excluded, since
    /// they end by themselves or are reported elsewhere.
    package internal(set) var incompleteReasons: [String: String] = [:]
    /// The last logged reasons why regions are incomplete, by id; a repeated reason is not logged again.
    var loggedEnds: [String: String] = [:]
    /// Outdated editions, with the moment when each may be removed, monotonic ns.
    var outdated: [EditionKey: Int64] = [:]
    /// The state of a full disk; nil while the disk has room.
    package private(set) var fullDisk: FullDisk?
    /// The moment when tiles whose write failed are planned again, monotonic ns; nil when none failed.
    private var unwrittenAt: Int64?
    /// The number of consecutive times that the disk was full.
    private var diskFailures = 0
    /// The reason why the last write of the store failed.
    package private(set) var storeProblem: String?
    /// Tiles that did not fit the budget, counted since room was last expected.
    package internal(set) var refusedCount = 0
    /// Tiles evicted since the start.
    package private(set) var evictedCount = 0
    /// The bytes by which the tiles on board exceed the budget although all evictable tiles have been evicted.
    package private(set) var excessBytes: Int64 = 0
    /// Whether the totals or the health have changed; the shell resets it when it reports them.
    package var isChanged = true
    /// The latest moment of the next ``CacheEvent/tick(_:)``, monotonic ns.
    package private(set) var due = Int64.min

    /// Whether tiles have become unwanted since others were refused for lack of room.
    var mayHaveRoom = false
    /// Whether the budget may be smaller than when the store was last used.
    var mayExceedBudget = true
    /// Whether wanted tiles may have been evicted before the store was informed that they are wanted.
    var mayMissWantedTiles = false
    var guardedAt: Int64 = 0
    var askedAgainAt: Int64 = 0

    /// - Parameter area: Decodes the stored area of a region.
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

    /// The pause before tiles whose write failed are fetched again, ns; a successful write ends it early.
    private static var unwrittenPause: Int64 { 300_000_000_000 }

    // MARK: Events

    /// Handles an event.
    ///
    /// - Returns: The effects to carry out, in this order.
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

    /// Runs a caller's command or query.
    ///
    /// - Returns: Its answer, and the effects to carry out.
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

    /// Adds an effect for the shell to carry out.
    func add(_ effect: CacheEffect) { effects.append(effect) }

    func log(_ text: String) { add(.log(isWarning: false, text)) }
    func warn(_ text: String) { add(.log(isWarning: true, text)) }

    /// Withdraws all demands of an owner.
    func forget(_ owner: DownloadOwner) { add(.demand([], owner)) }

    /// Withdraws all demands of an owner that a caller has cancelled, and cancels its running downloads.
    func abandon(_ owner: DownloadOwner) { add(.abandon(owner)) }

    /// The wall clock, used for expiry and for the times stored with tiles and regions.
    var now: Timestamp { instant.wall }

    /// Nanoseconds of the monotonic clock.
    var moment: Int64 { instant.monotonic }

    package func tileset(_ name: String) -> TrackedTileset? { tilesets.first { $0.name == name } }

    /// Takes the store's content into use and resumes unfinished loads.
    private func start() {
        if let problem = store.readOnlyProblem {
            // Downloads are paused, since a read-only store cannot keep them.
            add(.pauseDownloads(true))
            note(problem, "opening the store")
        }
        attempt("loading the stored editions") { () throws(StoreError) in try takeStoredEditions() }
        reportTilesets()
        attempt("resuming the offline regions") { () throws(StoreError) in try resumeRegions() }
    }

    private func turn() {
        due = moment + 1_000_000_000
        due = min(due, lookAtDisk())
        noteSources()
        askForEditions()
        due = min(due, stepScrub())
        due = min(due, turnRegions())
        removeOutdated()
        if let at = unwrittenAt, at <= moment {
            unwrittenAt = nil
            for tileset in tilesets { planAnew(tileset) }
        }
        demandAhead()
        reportStore()
    }

    /// Writes the state that outlives the process.
    private func stop() {
        withdrawAll()
        writeLoads()
        attempt("flushing the store's index") { () throws(StoreError) in try store.flush() }
    }

    /// Reports that the tilesets have changed.
    func reportTilesets() {
        add(.tilesetsChanged)
        isChanged = true
    }

    /// Runs a change of the store; a failure is reported and does not stop anything else.
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

    /// Reads or changes the store; a failure is thrown to the caller.
    func checked<Value>(_ body: () throws(StoreError) -> Value) throws(TileFailure) -> Value {
        do throws(StoreError) { return try body() } catch { throw TileFailure(error) }
    }

    /// Reports a failure of the store once, and shows it in the health until a write succeeds.
    ///
    /// - Parameter bytes: The number of bytes that could not be written.
    package func note(_ error: StoreError, _ what: String, bytes: Int64 = 0) {
        isChanged = true
        guard error.code == .diskFull else {
            let text = "\(what): \(error)"
            if storeProblem != text { warn(text) }
            storeProblem = text
            return
        }
        guard fullDisk == nil else { return }
        // Downloads are paused, since they could not be stored.
        add(.pauseDownloads(true))
        let disk = FullDisk(bytes: bytes, failures: diskFailures, free: store.reader.freeBytes, at: moment)
        diskFailures += 1
        fullDisk = disk
        warn("\(what): \(error); \(disk.text(store.reader.folder))")
    }

    /// Resumes downloads when the disk has room again.
    private func lookAtDisk() -> Int64 {
        guard let disk = fullDisk else { return .max }
        guard disk.mayTry(free: store.reader.freeBytes, at: moment) else { return moment + FullDisk.interval }
        log("the disk of '\(store.reader.folder)' has free space again; loading resumes")
        fullDisk = nil
        add(.pauseDownloads(false))
        isChanged = true
        for tileset in tilesets { tileset.needsReport = true }
        for id in loads.keys { loads[id]?.needsRequests = true }
        retries.end(.disk)
        return moment
    }

    // MARK: Downloads

    /// Stores fetched tiles in one transaction and confirmed ones in another, and resumes everything that waits for
    /// them.
    private func take(_ results: [DownloadResult]) {
        var tiles: [FetchedTile] = []
        var confirmed: [(result: DownloadResult, validators: Validators)] = []
        var absent: [(address: TileAddress, edition: String?)] = []
        for result in results {
            let (address, edition) = (result.address, result.edition)
            let tileset = tileset(address.tileset)
            switch result.outcome {
            case .success(.fetched(let tile)):
                // A late tile of a removed edition must not prevent the others from being stored.
                if tileset?.settings.isCacheable == true, isOnBoard(EditionKey(address.tileset, tile.edition)) {
                    tiles.append(tile)
                }
            case .success(.unstorable(let tile)):
                tileset?.noteUnstorable(address.tile, of: tile.edition)
                failLoads(
                    address, of: tile.edition,
                    TileFailure(
                        .deniedByPolicy,
                        "the server of '\(address.tileset)' does not allow its tiles to be stored"))
            case .success(.notModified(let validators)): confirmed.append((result, validators))
            case .success(.absent):
                tileset?.settle(address.tile, of: edition)
                absent.append((address, edition))
            case .failure(let error): fail(result, error, tileset)
            }
        }
        if !confirmed.isEmpty { revalidate(confirmed) }
        if !absent.isEmpty { dropFromLoads(absent) }
        if !tiles.isEmpty { commit(tiles) }
        for tileset in tilesets where !tileset.isKnownUnstorable {
            guard let problem = tileset.storingProblem else { continue }
            tileset.isKnownUnstorable = true
            warn("tileset '\(tileset.name)': \(problem)")
        }
        isChanged = true
    }

    private func revalidate(_ confirmed: [(result: DownloadResult, validators: Validators)]) {
        let tiles = confirmed.map { result, validators in
            let version = result.edition ?? tileset(result.address.tileset)?.newest?.key.version ?? ""
            return (tile: RegionTile(result.address, edition: version), validators: validators)
        }
        var onBoard = Set(tiles.map(\.tile))
        attempt("revalidating \(tiles.count) tiles") { () throws(StoreError) in
            onBoard = try store.revalidate(tiles, now: now)
        }
        for ((result, _), (tile, _)) in zip(confirmed, tiles) {
            let tileset = tileset(tile.address.tileset)
            // Its file may have been found damaged in the meantime.
            if onBoard.contains(tile) {
                tileset?.settle(tile.address.tile, of: result.edition)
            } else {
                tileset?.demandWhole(tile.address.tile)
            }
            settleLoads(tile.address, of: result.edition)
        }
    }

    private func commit(_ tiles: [FetchedTile]) {
        let report: CommitReport
        let bytes = tiles.reduce(0) { $0 + $1.size }
        do throws(StoreError) {
            // The store must have the wanted tiles before it evicts; otherwise it would evict a wanted tile, which would be fetched again.
            let (total, overflow) = try store.reader.storedBytes().addingReportingOverflow(bytes)
            if overflow || total > store.budgetBytes { saveWantedTiles() }
            report = try store.commit(tiles, now: now)
        } catch {
            note(error, "storing \(tiles.count) tiles", bytes: bytes)
            // On a full disk the tiles are requested again; other failures are retried later.
            guard error.code != .diskFull else { return }
            unwrittenAt = unwrittenAt ?? moment + Self.unwrittenPause
            for tile in tiles {
                tileset(tile.address.tileset)?.noteUnwritten(tile.address.tile, of: tile.edition)
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
        // Wanted tiles that were evicted are fetched again when there is room.
        refusedCount += report.evictedWantedCount
        for tile in report.refused {
            refusedCount += tileset(tile.address.tileset)?.refuse(tile.address.tile, of: tile.edition) ?? 1
            failLoads(
                tile.address, of: tile.edition,
                TileFailure(
                    .resourceExhausted, "tile \(tile.address) does not fit into \(budgetAdvice)",
                    obstacle: .budget))
        }
    }

    private func fail(_ result: DownloadResult, _ error: TileSourceError, _ tileset: TrackedTileset?) {
        // The change is news only for a request of the newest known edition; other requests may be for an older
        // edition.
        if error.code == .editionChanged, let tileset, result.edition == tileset.newest?.key.version {
            tileset.poll.noteChange()
            tileset.known = nil
            tileset.needsReport = true
            for id in loads.keys.sorted() where loads[id]?.window[result.address]?.edition == result.edition {
                loads[id]?.needsRequests = true
                loads[id].map { forget($0.owner) }
            }
            return
        }
        var failure = TileFailure(error)
        if result.attempts == 0, let pause = error.retryAfter {
            let end = Self.clock(now.advanced(bySeconds: pause))
            failure.addition = "; the tile is not requested again before \(end), unless a new load requests it"
        }
        failLoads(result.address, of: result.edition, failure)
    }

    /// Returns the time of day of a moment.
    private static func clock(_ moment: Timestamp) -> String {
        let second = moment.nanoseconds / 1_000_000_000 % 86_400
        let parts = [second / 3_600, second / 60 % 60, second % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return parts.joined(separator: ":") + " UTC"
    }

    // MARK: Settings

    /// Evicts the tiles that no longer fit after the budget was reduced.
    func shrinkToBudget() {
        mayExceedBudget = false
        guard store.readOnlyProblem == nil else { return }
        attempt("evicting tiles") { () throws(StoreError) in
            let report = try store.makeRoom(for: 0, needed: nil)
            evictedCount += report.removedCount
            mayMissWantedTiles = mayMissWantedTiles || report.removedCount > 0
            let before = excessBytes
            excessBytes = report.fits ? 0 : max(try store.reader.storedBytes() - store.budgetBytes, 0)
            if excessBytes != before { isChanged = true }
            if before == 0, excessBytes > 0 { warn(excessText) }
        }
    }

    private func configure(_ next: CacheSettings) {
        let old = settings
        settings = next
        isChanged = true
        if next.scrubBytesPerSecond != old.scrubBytesPerSecond {
            scrub.restart(ScrubPace(bytesPerSecond: Int64(next.scrubBytesPerSecond)))
        }
        if next.budgetBytes != old.budgetBytes {
            store.setBudget(next.budgetBytes)
            noteRoom()
            shrinkToBudget()
        }
        if next.network != old.network {
            log("the network mode is now \(next.network.rawValue)")
            if next.network != .offline {
                for tileset in tilesets {
                    // Whether the source still fails is unknown.
                    (tileset.problem, tileset.isKnownToFail) = (nil, false)
                    tileset.poll.restart(isUrgent: false)
                    tileset.needsReport = true
                }
                retries.end(.network)
            }
        }
        let isPlannedAnew = TileDomain.allCases.contains { next.profile($0) != old.profile($0) }
        guard isPlannedAnew || next.isPredictive != old.isPredictive else { return }
        makePlanners()
        for tileset in tilesets { planAnew(tileset) }
        // Inform the store of the tiles that are no longer wanted before it searches for room.
        guardedAt = moment - Self.guardInterval
        reportStore()
        noteRoom()
    }
}
