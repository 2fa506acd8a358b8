import NavGeo
package import NavStorage

/// Tiles ahead of the vehicle.
extension TileCache {
    /// The interval between demands for tiles that are still missing, ns; failed tiles are retried then.
    private static var askAgain: Int64 { 30_000_000_000 }
    /// The distance within which the vehicle is considered to be waiting for a tile, metres: less than a minute on a motorway.
    private static var nearby: Double { 2_000.0 }
    /// The distance along the route after which the demands are updated, metres: a tenth of ``nearby``.
    ///
    /// A tile is thus marked as awaited at most six seconds late on a motorway.
    private static var stride: Double { 200.0 }
    /// The shortest interval between updates of the store's wanted tiles, ns.
    static var guardInterval: Int64 { 2_000_000_000 }

    func take(_ update: VehicleUpdate) {
        let change = vehicle.take(update)
        if change.isRoute {
            isChanged = true
            // Tiles on board may now be needed later than before, which can free room for tiles that were refused.
            mayHaveRoom = mayHaveRoom || refusedCount > 0
            for tileset in tilesets { tileset.noteRoom() }
        }
        for domain in TileDomain.allCases {
            if change.isRoute, let changes = planners[domain]?.follow(vehicle) { apply(changes, domain, isMove: false) }
            if change.isMove, let changes = planners[domain]?.move(vehicle) { apply(changes, domain, isMove: true) }
        }
    }

    private func apply(_ changes: CacheChanges, _ domain: TileDomain, isMove: Bool) {
        guard !changes.isEmpty else { return }
        isChanged = true
        mayHaveRoom = mayHaveRoom || !changes.removed.isEmpty
        for tileset in tilesets where tileset.domain == domain && tileset.settings.isCacheable {
            tileset.removeWanted(changes.removed)
            tileset.wantedTilesAreStale = true
            tileset.wantedTilesShrank = tileset.wantedTilesShrank || !changes.removed.isEmpty
            attempt("tiles of '\(tileset.name)'") { () throws(StoreError) in
                try tileset.addWanted(changes.added, store.reader, now: now)
                if isMove { try touch(changes.added, tileset) }
            }
        }
    }

    /// Records that the vehicle needs tiles on board at its position.
    private func touch(_ tiles: [WantedTile], _ tileset: TrackedTileset) throws(StoreError) {
        guard let current = tileset.current else { return }
        var records: [TileRecord] = []
        for wanted in tiles where current.has(wanted.tile) {
            let address = TileAddress(tileset.name, wanted.tile)
            if let record = try store.reader.tile(address, version: current.key.version, now: now) {
                records.append(record)
            }
        }
        if !records.isEmpty { store.touch(records, now: now) }
    }

    /// The tiles of a tileset that the vehicle will need, soonest first.
    package func wanted(of tileset: TrackedTileset) -> [WantedTile] { planners[tileset.domain]?.wanted ?? [] }

    /// Examines all wanted tiles of a tileset again, because its edition or the profile has changed.
    func planAnew(_ tileset: TrackedTileset) {
        let wanted = wanted(of: tileset)
        tileset.removeWanted(except: wanted)
        tileset.needsReport = true
        tileset.wantedTilesAreStale = true
        guard !wanted.isEmpty else { return }
        attempt("tiles of '\(tileset.name)'") { () throws(StoreError) in
            try tileset.addWanted(wanted, store.reader, now: now)
        }
        refusedCount += tileset.giveUp(wanted, beyond: settings.budgetBytes)
    }

    /// Sends the missing tiles to the queue: on every change, as the vehicle gets nearer, and periodically.
    func demandAhead() {
        if moment - askedAgainAt >= Self.askAgain {
            askedAgainAt = moment
            if mayHaveRoom { noteRoomAhead() }
            for tileset in tilesets where !tileset.open.isEmpty { tileset.needsReport = true }
        }
        for tileset in tilesets {
            let cursor = planners[tileset.domain]?.cursor ?? 0
            let isNearer = abs(cursor - tileset.reportedCursor) >= Self.stride && !tileset.open.isEmpty
            guard tileset.needsReport || isNearer else { continue }
            tileset.needsReport = false
            tileset.reportedCursor = cursor
            guard !tileset.open.isEmpty, !fetchingAheadIsUseless(tileset), !tileset.poll.isSuperseded else {
                forget(tileset.owner)
                continue
            }
            add(.demand(tileset.demands(awaitedUntil: cursor + Self.nearby), tileset.owner))
        }
    }

    /// Informs the store which tiles will be needed, so that it evicts them last.
    func reportStore() {
        guard moment - guardedAt >= Self.guardInterval,
            mayMissWantedTiles || tilesets.contains(where: \.wantedTilesAreStale)
        else { return }
        guardedAt = moment
        if mayMissWantedTiles {
            mayMissWantedTiles = false
            for tileset in tilesets { planAnew(tileset) }
        }
        saveWantedTiles()
        // Wait until the vehicle's surroundings are known: their tiles would be evicted with the rest, and regions may leave no room for
        // them.
        if mayExceedBudget, tilesets.contains(where: { !wanted(of: $0).isEmpty }) { shrinkToBudget() }
    }

    /// Informs the store of the wanted tiles that have changed since it was last informed.
    func saveWantedTiles() {
        for tileset in tilesets where tileset.wantedTilesAreStale {
            tileset.wantedTilesAreStale = false
            if tileset.wantedTilesShrank {
                tileset.wantedTilesShrank = false
                mayExceedBudget = mayExceedBudget || excessBytes > 0
                // The vehicle moves all the time and each retry may fetch tiles to no avail, so retry no sooner than after any other
                // failure.
                retries.end(.budget, by: nextTry)
            }
            let wanted = wanted(of: tileset)
            attempt("planning tiles of '\(tileset.name)'") { () throws(StoreError) in
                for index in [tileset.newest, tileset.isPending ? tileset.current : nil] {
                    guard let index else { continue }
                    try store.setWanted(wanted.filter { index.has($0.tile) }, in: index.key)
                }
            }
        }
    }

    /// Whether switching to the newest edition of a tileset takes no tile away from the vehicle.
    ///
    /// Each tile on board that the vehicle will need must also be on board in the newest edition, except tiles refused for lack of room.
    func keepsWhatIsAhead(_ tileset: TrackedTileset) throws(StoreError) -> Bool {
        guard tileset.outdatedReason == nil else { return false }
        guard planners[tileset.domain] != nil, let current = tileset.current else {
            return true
        }
        guard vehicle.position != nil || vehicle.route != nil else {
            // The position is not known yet, but will be soon; until then the tiles on board stay in use.
            return try !store.reader.editions().contains { $0.key == current.key && $0.tileCount > 0 }
        }
        let missing = tileset.unwritten.union(tileset.open.keys).sorted()
        guard !missing.isEmpty else { return true }
        return try store.reader.absent(missing, in: current.key).count == missing.count
    }

    /// Records whether the newest edition of a tileset cannot provide tiles on board that the vehicle will need, because the server's files
    /// are incomplete or the server does not allow its tiles to be stored.
    ///
    /// Such an edition comes into use once the vehicle no longer needs any of these tiles, or needs a tile sooner that only this edition
    /// still has.
    func noteDroppedTiles(_ tileset: TrackedTileset) throws(StoreError) {
        let dropped = try onBoard(tileset.dropped, tileset)
        var lost = dropped
        let unstorable = try onBoard(tileset.unstorable, tileset)
        if !unstorable.isEmpty, let newest = tileset.newest {
            lost += try store.reader.absent(unstorable, in: newest.key)
        }
        if !lost.isEmpty, try gainsTile(neededBefore: Set(lost), tileset) { lost = [] }
        let before = tileset.outdatedReason
        tileset.outdatedReason = lost.first.map { first in
            let edition = "edition '\(tileset.newest?.key.version.prefix(12) ?? "")' of its source"
            let place = "the first is \(TileAddress(tileset.name, first))"
            let cause =
                dropped.isEmpty
                ? "the server does not allow \(lost.count) tiles of \(edition) to be stored, which the vehicle needs and "
                    + "has on board in the one in use, \(place); have the server allow it, or set store_anyway=true"
                : "\(edition) lacks \(dropped.count) tiles on board that the vehicle needs, \(place); complete the files of "
                    + "the source"
            return "\(cause). The edition in use stays as long as the vehicle needs these tiles"
        }
        guard tileset.outdatedReason != before else { return }
        isChanged = true
        if before == nil, let reason = tileset.outdatedReason { warn("tileset '\(tileset.name)': \(reason)") }
    }

    /// Whether the vehicle needs a tile before all those of `lost` that the newest edition provides and that is not on
    /// board in the edition in use, whose tiles cannot be fetched any more.
    private func gainsTile(neededBefore lost: Set<TileID>, _ tileset: TrackedTileset) throws(StoreError) -> Bool {
        let wanted = wanted(of: tileset)
        guard let newest = tileset.newest, let current = tileset.current,
            let need = wanted.filter({ lost.contains($0.tile) }).map(\.need).min()
        else { return false }
        let sooner = wanted.filter {
            $0.need < need && newest.has($0.tile) && !tileset.unstorable.contains($0.tile)
        }.map(\.tile)
        guard !sooner.isEmpty else { return false }
        return try !store.reader.absent(sooner, in: current.key).isEmpty
    }

    /// Returns those of `tiles` that are on board in the edition in use, in order.
    func onBoard(_ tiles: Set<TileID>, _ tileset: TrackedTileset) throws(StoreError) -> [TileID] {
        guard !tiles.isEmpty, let current = tileset.current else { return [] }
        let absent = Set(try store.reader.absent(tiles.sorted(), in: current.key))
        return tiles.subtracting(absent).sorted()
    }

    /// The share of the tiles along the current route that are on board, of those that the edition in use has; nil
    /// without a route or without road tiles.
    package func routeCoverage() throws(StoreError) -> Double? {
        guard vehicle.route != nil, let planner = planners[.navigation] else { return nil }
        let wanted = planner.wanted.map(\.tile)
        var (needed, missing) = (0, 0)
        for tileset in tilesets where tileset.domain == .navigation && tileset.settings.isCacheable {
            guard let current = tileset.current else { continue }
            let tiles = wanted.filter(current.has)
            needed += tiles.count
            // Tiles that did not fit the budget or could not be stored are missing but not requested.
            let isAllRequested = !tileset.isPending && refusedCount == 0 && !tileset.isWithholding
            missing += isAllRequested ? tileset.open.count : try store.reader.absent(tiles, in: current.key).count
        }
        guard needed > 0 else { return nil }
        return Double(max(needed - missing, 0)) / Double(needed)
    }
}
