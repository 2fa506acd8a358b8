import NavGeo
import NavStorage
import NavTileCache

/// The invariants of a tile cache.
struct CacheRules {
    /// The last failure of a tile.
    private struct Failure {
        var time: Double
        var attempt: Int
        /// Whether the plan pauses before the retry; false for an outage or a forbidden network.
        var waits: Bool
    }

    private let downloads: DownloadConfiguration
    /// The bytes that the store may use: its budget, or its size when the budget was lowered below what must be kept.
    private var allowed: Int64 = 0
    /// Regions that served tiles of the editions in use at the last check, complete or during an update.
    private var serving: Set<String> = []
    private var attempts: [DownloadKey: Int] = [:]
    private var failures: [DownloadKey: Failure] = [:]
    /// Regions whose load or update was cancelled: they remain unchanged, as do the editions in use.
    private var cancelled: Set<String> = []
    private var editionsAsked: [String: [Double]] = [:]
    /// The editions in use at the last check.
    private var used: [String: EditionKey] = [:]
    /// The number of consecutive failed requests of each source, and the time of the first of them.
    private var blamed: [String: (count: Int, since: Double)] = [:]

    init(_ downloads: DownloadConfiguration) { self.downloads = downloads }

    /// Starts a process with the content of the disk.
    mutating func begin(_ store: MemoryStore) {
        allowed = max(store.budgetBytes, store.disk.bytes)
        (attempts, failures, blamed) = ([:], [:], [:])
    }

    /// Notes that a caller waits for a tile, which ends the tile's backoff.
    mutating func asked(_ key: DownloadKey) { failures[key] = nil }

    /// Notes that the load of a region was cancelled or resumed.
    mutating func note(cancelled id: String, _ isCancelled: Bool) {
        if isCancelled { cancelled.insert(id) } else { cancelled.remove(id) }
    }

    // MARK: Disk

    mutating func check(_ world: CacheWorld) throws {
        let store = world.store
        let disk = store.disk
        func violation(_ rule: String, _ what: String) -> CacheViolation {
            CacheViolation(rule: rule, what: what, time: world.seconds)
        }
        if let what = store.breaches.first { throw violation("pinned tiles are never evicted", what) }
        if disk.bytes > store.budgetBytes {
            guard disk.bytes <= allowed else {
                throw violation(
                    "the budget is never exceeded", "\(disk.bytes) bytes of \(store.budgetBytes), \(allowed) were there"
                )
            }
            allowed = disk.bytes
        } else {
            allowed = store.budgetBytes
        }
        for (id, region) in disk.regions where region.wasComplete {
            // A region that lost a damaged tile and has no update reports the loss and does not hold back newer
            // editions.
            guard region.stored.state == .complete || region.staged != nil else { continue }
            guard region.staged != nil || disk.isWhole(region.pins) else {
                throw violation("a complete region has all of its tiles", "region '\(id)' lacks some")
            }
            // During its update a region serves its previous tiles, so the editions in use remain the previous ones.
            for (tileset, version) in region.stored.editions
            where disk.current[tileset]?.version != version && (region.staged == nil || serving.contains(id)) {
                throw violation(
                    "stored tiles are of one edition",
                    "region '\(id)' serves '\(version)' of '\(tileset)', "
                        + "'\(disk.current[tileset]?.version ?? "")' is in use")
            }
        }
        for (name, new) in disk.current {
            guard let old = used[name], old != new, let former = disk.editions[old], let edition = disk.editions[new],
                let tileset = world.cache.tileset(name), let listed = edition.edition.tiles.map({ Set($0.map(\.tile)) })
            else { continue }
            func wasOnBoard(_ wanted: WantedTile) -> Bool {
                disk.tiles[TileNumber.of(wanted.tile, edition: former.number)] != nil
            }
            let wanted = world.cache.wanted(of: tileset)
            func isOffered(_ wanted: WantedTile) -> Bool {
                listed.contains(wanted.tile) && !tileset.unstorable.contains(wanted.tile)
            }
            // Tiles that did not fit, or were evicted, are not fetched until there may be room.
            let hasRoom = world.cache.refusedCount == 0 && store.evictedCount == 0
            func isOnBoard(_ wanted: WantedTile) -> Bool {
                disk.tiles[TileNumber.of(wanted.tile, edition: edition.number)] != nil
            }
            let lost = wanted.filter {
                wasOnBoard($0) && (!listed.contains($0.tile) || (hasRoom && !isOnBoard($0)))
            }
            // The former edition lacks tiles that the vehicle needs sooner.
            func gainsTile(before need: Double) -> Bool {
                wanted.contains { $0.need < need && isOffered($0) && !wasOnBoard($0) }
            }
            if let first = lost.first(where: isOffered)
                ?? lost.min(by: { $0.need < $1.need }).flatMap({ gainsTile(before: $0.need) ? nil : $0 })
            {
                throw violation(
                    "no switch of editions loses a tile that the vehicle needs",
                    "'\(new.version)' of '\(name)': \(first.tile)"
                )
            }
        }
        used = disk.current
        serving = Set(
            disk.regions.filter { _, region in
                (region.stored.state == .complete || region.staged != nil)
                    && region.stored.editions.allSatisfy { disk.current[$0]?.version == $1 }
            }.keys)
    }

    // MARK: Network

    mutating func begin(
        _ start: DownloadPlan.Start, isRemote: Bool, _ settings: CacheSettings, _ time: Double
    ) throws {
        func violation(_ rule: String, _ what: String) -> CacheViolation {
            CacheViolation(rule: rule, what: what, time: time)
        }
        let address = start.key.address
        if isRemote, settings.network == .offline {
            throw violation("nothing is fetched while the network is offline", "\(address)")
        }
        guard start.attempt <= downloads.retries + 1 else {
            throw violation("retries are bounded", "\(address): attempt \(start.attempt)")
        }
        if let failure = failures[start.key], failure.waits, start.attempt > 1 {
            let least = min(downloads.firstPause * Double(1 << (failure.attempt - 1)), downloads.longestPause) / 2
            guard time >= failure.time + least - 0.001 else {
                throw violation(
                    "retries back off",
                    "\(address): attempt \(start.attempt) \(time - failure.time) s after the last one, not \(least) s")
            }
        }
        if isRemote, let blamed = blamed[address.tileset], blamed.count >= downloads.failuresToOpen {
            // One trial after each pause; requests that were running when the breaker opened are not counted.
            let most =
                Double(downloads.failuresToOpen + downloads.concurrency) + 2
                + (time - blamed.since) / downloads.firstOpenTime
            guard Double(blamed.count) <= most else {
                throw violation(
                    "a failing source is paused",
                    "\(blamed.count) requests of '\(address.tileset)' failed within \(time - blamed.since) s")
            }
        }
        attempts[start.key] = start.attempt
    }

    mutating func end(_ key: DownloadKey, _ outcome: Result<TileAnswer, TileSourceError>, _ time: Double) {
        switch outcome {
        case .success:
            failures[key] = nil
            blamed[key.address.tileset] = nil
        case .failure(let error):
            let isOutage = [.unreachable, .timedOut, .rateLimited, .tooSlow].contains(error.code)
            failures[key] = Failure(
                time: time, attempt: attempts[key] ?? 1,
                waits: error.isRetryable && !isOutage && error.code != .cancelled && error.code != .offline)
            if error.blamesSource {
                let last = blamed[key.address.tileset] ?? (0, time)
                blamed[key.address.tileset] = (last.count + 1, last.since)
            } else if error.code != .cancelled {
                blamed[key.address.tileset] = nil
            }
        }
    }

    mutating func askEdition(_ tileset: String, isRemote: Bool, _ settings: CacheSettings, _ time: Double) throws {
        if isRemote, settings.network == .offline {
            throw CacheViolation(
                rule: "nothing is fetched while the network is offline", what: "the edition of '\(tileset)'", time: time
            )
        }
        var times = editionsAsked[tileset, default: []].filter { $0 > time - 60 }
        times.append(time)
        editionsAsked[tileset] = times
        if times.count > 30 {
            throw CacheViolation(
                rule: "edition polls back off", what: "\(times.count) times a minute",
                time: time)
        }
    }

    // MARK: End

    /// Returns a description of something wanted that has not arrived; nil when everything has.
    func pending(_ world: CacheWorld) -> String? {
        let (cache, disk) = (world.cache, world.store.disk)
        if let id = cache.requests.keys.first { return "region '\(id)' has not begun to load" }
        for server in world.servers {
            let name = server.settings.name
            let isHeld = disk.regions.contains { cancelled.contains($0) && $1.stored.editions[name] != nil }
            if isHeld, disk.current[name]?.version != server.versionName { continue }
            guard let tileset = cache.tileset(name), let current = tileset.current,
                current.key.version == server.versionName, disk.current[name] == current.key,
                tileset.newest?.key == current.key, let edition = disk.editions[current.key]
            else {
                return "edition '\(server.versionName)' of '\(name)' is not in use: "
                    + "'\(cache.tileset(name)?.current?.key.version ?? "")' is"
            }
            for wanted in cache.wanted(of: tileset) where current.has(wanted.tile) && SimServer.has(wanted.tile) {
                guard disk.tiles[TileNumber.of(wanted.tile, edition: edition.number)] != nil else {
                    let isDemanded = tileset.open[wanted.tile] != nil
                    return "tile \(wanted.tile) of '\(name)' is wanted and not stored, "
                        + "\(isDemanded ? "demanded" : "forgotten"), \(world.plan.totals.pendingCount) requests pending"
                }
            }
        }
        for (id, region) in disk.regions where region.stored.state != .cancelled && !isWaiting(region, world) {
            guard region.stored.state == .complete, region.stored.staged == nil else {
                return "region '\(id)' is \(region.stored.state): \(region.stored.failure?.message ?? "no failure")"
            }
        }
        return nil
    }

    /// Whether a region waits for an edition that a cancelled region prevents from coming into use.
    private func isWaiting(_ region: MemoryDisk.Region, _ world: CacheWorld) -> Bool {
        let names = Set(region.stored.editions.keys).union(region.stored.staged?.editions.keys.map { $0 } ?? [])
        return world.store.disk.regions.contains { id, other in
            cancelled.contains(id) && !names.isDisjoint(with: other.stored.editions.keys)
        }
    }

    func checkEnd(_ world: CacheWorld) throws {
        if let what = pending(world) {
            throw CacheViolation(
                rule: "every wanted tile arrives once the faults end", what: what,
                time: world.seconds)
        }
        for (_, tile) in world.store.disk.tiles where !tile.edition.isEmpty {
            let version = Int(tile.edition.dropFirst()) ?? 0
            guard tile.hash == SimServer.content(tile.address.tileset, tile.address.tile, version: version) else {
                throw CacheViolation(
                    rule: "each tile is of its edition", what: "\(tile.address) of '\(tile.edition)' has other content",
                    time: world.seconds)
            }
        }
    }
}
