import NavGeo
package import NavStorage

/// Loading of offline regions.
extension TileCache {
    /// The shortest interval between progress reports, ns.
    private static var reportInterval: Int64 { 500_000_000 }
    /// The shortest interval between writes of the progress, ns; progress lost in a crash is recounted at the next
    /// start.
    private static var writeInterval: Int64 { 5_000_000_000 }
    /// The time that a region waits for an unreachable source, and for a source that sends nothing, ns.
    private static var patience: Int64 { 15_000_000_000 }
    private static var longestPatience: Int64 { 600_000_000_000 }
    /// The interval between checks of complete regions, ns.
    private static var checkInterval: Int64 { 600_000_000_000 }

    /// Resumes the loads that were under way when the node ended, and schedules retries of incomplete regions.
    func resumeRegions() throws(StoreError) {
        for region in try store.reader.regions() {
            let id = region.definition.id
            if region.needsPlanning {
                retries.add(id, until: moment)
            } else if region.state == .loading || region.staged != nil {
                try resume(region)
            } else if region.state == .incomplete {
                retries.add(id, until: moment)
            }
        }
    }

    /// Schedules a load for each complete region that has lost a tile to a damaged file.
    private func checkRegions() {
        if let regionsCheckedAt, moment - regionsCheckedAt < Self.checkInterval { return }
        regionsCheckedAt = moment
        attempt("the offline regions") { () throws(StoreError) in
            for region in try store.reader.regions() where region.staged == nil && region.failure == nil {
                let id = region.definition.id
                guard loads[id] == nil, !retries.contains(id) else { continue }
                switch region.state {
                case .complete where try !store.reader.missingTiles(ofRegion: id, limit: 1).isEmpty, .incomplete:
                    // Another download may already have fetched the lost tile, so that only the state has to change.
                    warn("region '\(id)' is no longer complete; its missing tiles are fetched again")
                    retries.add(id, until: moment)
                case .complete, .cancelled, .loading: continue
                }
            }
        }
    }

    func resume(_ region: StoredRegion) throws(StoreError) {
        let definition = region.newest
        var load = RegionLoad(
            definition, editions: region.staged?.editions ?? region.editions, isUpdate: region.staged != nil,
            started: now, at: moment)
        load.changesGeometry = region.staged != nil && definition.geometry != region.definition.geometry
        load.changesMetadata = region.staged != nil && definition.isDescribedOtherwise(than: region.definition)
        try begin(load)
    }

    func begin(_ load: RegionLoad) throws(StoreError) {
        let id = load.definition.id
        var load = load
        load.progress = StoredRegionProgress()
        try store.reader.count(&load.progress, ofRegion: id)
        retries.remove(id)
        loads[id] = load
        try store.setRegion(id, state: .loading, progress: load.progress, failure: nil, now: now)
        isChanged = true
    }

    /// Requests more tiles for each region, and ends the loads that are finished.
    func turnRegions() -> Int64 {
        var due = Int64.max
        checkRegions()
        for id in loads.keys.sorted() {
            guard let load = loads[id], !load.isReady else { continue }
            if let fullDisk {
                end(id, .incomplete, fullDisk.failure(store.reader.folder))
            } else if let failure = load.failure, [.resourceExhausted, .wrongState].contains(failure.code) {
                // A tile that does not fit now will not fit later, and a source has no edition older than its current
                // one: further requests would be useless.
                end(id, .incomplete, failure)
            } else if !load.awaitedSources.isEmpty {
                // The pending answers decide: a new edition replaces this load.
            } else if load.needsRequests || load.window.isEmpty, superseded(load) == nil {
                attempt("region '\(id)'") { () throws(StoreError) in try ask(id) }
            } else if let reason = stall(load) {
                end(id, .incomplete, reason)
            }
            due = min(due, report(id))
        }
        // Retries precede a switch of editions: a region that lost a tile is loaded beside its remaining tiles, which
        // stay in use until then.
        if fullDisk == nil {
            for id in retries.takeDue(at: moment) { retry(id) }
        }
        if loads.values.contains(where: \.isReady) || tilesets.contains(where: \.isPending) { switchEditions() }
        return due
    }

    /// Returns a tileset of the region whose source has another edition but has not named it yet; until then, requests
    /// for its tiles are useless.
    private func superseded(_ load: RegionLoad) -> TrackedTileset? {
        tilesets.first { $0.poll.isSuperseded && load.editions[$0.name] != nil }
    }

    /// Requests the next window of missing tiles; ends the load when there are none.
    private func ask(_ id: String) throws(StoreError) {
        guard var load = loads[id] else { return }
        load.needsRequests = false
        load.clearWindow()
        defer { if loads[id] != nil, !load.isReady { loads[id] = load } }
        let open = try nextTiles(&load)
        guard !open.isEmpty, load.failed.count < RegionLoad.greatestFailures else {
            forget(load.owner)
            loads[id] = load
            if let failure = load.failure {
                end(id, .incomplete, failure)
            } else {
                try complete(id)
            }
            if let now = loads[id] { load = now }
            return
        }
        var demands: [TileDemand] = []
        for (place, tile) in open.enumerated() {
            // A source that confirms a tile on board does not send it again.
            let record = try store.reader.tile(tile.address, version: tile.edition, now: now)
            load.window[tile.address] = RegionLoad.Asked(edition: tile.edition, isOnBoard: record != nil)
            demands.append(
                TileDemand(
                    tile.address, edition: tile.edition, need: Double(place), known: record?.validators,
                    size: tileset(tile.address.tileset)?.newest?.sizes?[tile.address.tile]))
        }
        add(.demand(demands, load.owner))
    }

    /// Returns the next tiles to request: missing ones, expired ones where that matters, then those to revalidate.
    private func nextTiles(_ load: inout RegionLoad) throws(StoreError) -> [RegionTile] {
        while !load.isSearched {
            let open = load.takeFound(
                try store.reader.missingTiles(
                    ofRegion: load.definition.id, expiredAt: load.definition.acceptExpired ? nil : load.started,
                    now: now, after: load.searched, limit: RegionLoad.windowSize))
            if !open.isEmpty { return open }
        }
        return load.takeToRevalidate()
    }

    /// Completes a load whose tiles are all on board.
    private func complete(_ id: String) throws(StoreError) {
        // Tiles that arrived before the first window, for the vehicle or for a caller, count as on board too.
        guard var load = loads[id] else { return }
        try store.reader.count(&load.progress, ofRegion: id)
        loads[id] = load
        guard load.progress.completedCount == load.progress.requiredCount else { return try reopen(id) }
        // Tiles of a newer edition come into use together with everything else of that edition.
        let mustWait = load.editions.contains { name, version in
            tileset(name).map { $0.current != nil && $0.current?.key.version != version } ?? false
        }
        guard !mustWait else {
            loads[id]?.isReady = true
            return
        }
        do throws(StoreError) {
            try store.completeRegions([id: load.progress], using: [], now: now)
        } catch {
            guard error.code == .inUse else { throw error }
            // A tile was lost to a damaged file in the meantime.
            return try reopen(id)
        }
        finish(id)
    }

    /// Searches again for tiles that a seemingly complete region lacks.
    func reopen(_ id: String) throws(StoreError) {
        let missing = try store.reader.missingTiles(ofRegion: id, limit: RegionLoad.windowSize)
        guard !missing.isEmpty else { return }
        loads[id]?.reopen(missing)
    }

    /// Ends the load of a region that the store has marked complete.
    func finish(_ id: String) {
        // A scheduled retry stays: it may be for a newer edition that did not fit the budget during this load.
        guard let load = loads.removeValue(forKey: id) else { return }
        outdatedReasons[id] = nil
        incompleteReasons[id] = nil
        loggedEnds[id] = nil
        isChanged = true
        if load.changesGeometry { report(.geometryChanged, id) }
        if load.changesMetadata { report(.metadataChanged, id) }
        if revalidations.contains(id) { retries.add(id, until: nextTry, for: .network) }
        report(.loadFinished, id, load.progress, success: load.sourceFailure == nil, load.sourceFailure)
        // Tiles of its former definition may now be evicted to make room.
        if load.isUpdate { noteRoom() }
    }

    /// Ends the load of an incomplete region, until a retry or permanently.
    func end(_ id: String, _ state: StoredRegionState, _ failure: TileFailure) {
        guard let load = loads.removeValue(forKey: id) else { return }
        // Loads that end in another state are retried later, and can use the downloads in progress.
        if state == .cancelled { abandon(load.owner) } else { forget(load.owner) }
        isChanged = true
        attempt("region '\(id)'") { () throws(StoreError) in
            try store.setRegion(id, state: state, progress: load.progress, failure: failure.stored, now: now)
        }
        if state == .incomplete, failure.isRetryable {
            retries.add(id, until: nextTry, for: failure.obstacle)
        } else if state == .incomplete, [.providerUnavailable, .corruptData, .internal].contains(failure.code) {
            // The source may be repaired by its operator, and a failed disk may recover.
            retries.add(id, until: max(nextTry, moment + Self.longestPatience), for: failure.obstacle)
        } else if state == .incomplete, let obstacle = failure.obstacle {
            retries.add(id, until: .max, for: obstacle)
        }
        if state == .incomplete, loggedEnds.updateValue(failure.message, forKey: id) != failure.message {
            warn(
                "region '\(id)' is incomplete, with \(load.progress.completedCount) of \(load.progress.requiredCount) "
                    + "tiles stored: \(failure.message); "
                    + (retries.contains(id) ? "it is retried automatically" : "load it again when that is fixed"))
        }
        if load.isUpdate {
            (outdatedReasons[id], incompleteReasons[id]) = (failure, nil)
        } else if state == .incomplete, failure.obstacle == nil {
            let missing = load.progress.requiredCount - load.progress.completedCount
            let tile = failure == load.failure ? load.failedTile.map { "tile \($0): " } : nil
            incompleteReasons[id] =
                "lacks \(missing) of \(load.progress.requiredCount) tiles: \(tile ?? "")\(failure.message)"
        } else {
            incompleteReasons[id] = nil
        }
        report(.loadFinished, id, load.progress, success: false, failure)
    }

    /// Returns the reason why no more tiles can arrive; nil while one still may.
    private func stall(_ load: RegionLoad) -> TileFailure? {
        let names = load.window.isEmpty ? Set(load.editions.keys) : Set(load.window.keys.map(\.tileset))
        if let closed = closedNetwork(to: names) { return closed }
        guard moment - load.cameAt > Self.patience else { return nil }
        if let tileset = superseded(load) {
            return TileFailure(
                .providerUnavailable,
                "the source of '\(tileset.name)' has a new edition that is not known yet: "
                    + (tileset.problem ?? "no answer yet"), isRetryable: true)
        }
        guard areRemote(names) else { return nil }
        let conditions = network.conditions.filter { names.contains($0.tileset) }
        if let down = conditions.first(where: { $0.reachability == .offline }) {
            return TileFailure(
                .providerUnavailable,
                "the source of '\(down.tileset)' \(down.isUnreachable ? "is unreachable" : "fails"): "
                    + (down.reason ?? "no answer"), isRetryable: true)
        }
        guard moment - load.cameAt > Self.longestPatience else { return nil }
        return TileFailure(.deadlineExceeded, "no tile arrived for ten minutes", isRetryable: true)
    }

    /// Whether all of the named tilesets come over the network.
    private func areRemote(_ names: Set<String>) -> Bool {
        tilesets.allSatisfy { $0.settings.isRemote || !names.contains($0.name) }
    }

    /// Returns the failure when the network mode forbids fetching tiles of the named tilesets for regions; nil when it
    /// allows it.
    func closedNetwork(to names: Set<String>) -> TileFailure? {
        guard areRemote(names), settings.network == .offline || meteringForbidsRegionTraffic else { return nil }
        return TileFailure(
            .providerUnavailable, "the network mode is \(settings.network.rawValue); region tiles are not fetched now",
            isRetryable: true, obstacle: .network)
    }

    /// Returns the failure when the network mode forbids a revalidation of a region; nil when it allows it.
    ///
    /// A poll for an edition may use a metered network, and named editions have no tiles to revalidate.
    func closedNetwork(toRevalidate region: StoredRegion) -> TileFailure? {
        let names = region.newest.descriptors.map(\.tileset).filter { name in
            guard let tileset = tileset(name), tileset.settings.isRemote else { return false }
            return settings.network == .offline || tileset.newest?.key.version == ""
        }
        return names.isEmpty ? nil : closedNetwork(to: Set(names))
    }

    /// Whether a region still waits for the network, as last reported; false when its missing tiles have arrived in
    /// another way.
    private func waitsForNetwork(_ region: StoredRegion) throws(StoreError) -> Bool {
        let id = region.definition.id
        guard let reported = loggedEnds[id] else { return false }
        let missing = try store.reader.missingTiles(
            ofRegion: id, expiredAt: region.newest.acceptExpired ? nil : now, now: now, after: nil,
            limit: RegionLoad.windowSize)
        return !missing.isEmpty && closedNetwork(to: Set(missing.map(\.address.tileset)))?.message == reported
    }

    /// The moment of the next retry of a region that could not be completed, monotonic ns.
    var nextTry: Int64 { moment + Int64(settings.regionRetry * 1e9) }

    /// Retries a region that is incomplete or not of the newest edition.
    private func retry(_ id: String) {
        let isDone = attempt("region '\(id)'") { () throws(StoreError) in
            guard let region = try store.reader.region(id) else { return }
            // Otherwise a finished load of an older edition would wait forever.
            guard loads[id] == nil || isOutdated(region) else { return }
            // A load in progress is updated first; its end calls this function again.
            let isRevalidated = revalidations.contains(id) && loads[id] == nil
            if isRevalidated, let closed = closedNetwork(toRevalidate: region) {
                return postponeRevalidation(id, closed)
            }
            if isRevalidated || region.needsPlanning || region.state == .complete || isOutdated(region) {
                do throws(TileFailure) {
                    if isRevalidated { try revalidate(id, polls: false) } else { try put(region.newest) }
                } catch {
                    if !error.isRetryable { outdatedReasons[id] = error }
                    retries.add(id, until: nextTry, for: error.obstacle)
                }
            } else if try waitsForNetwork(region) {
                retries.add(id, until: nextTry, for: .network)
            } else {
                try resume(region)
            }
        }
        if !isDone { retries.add(id, until: nextTry, for: fullDisk == nil ? nil : .disk) }
    }

    /// Whether a region has an edition other than the newest, or is being loaded with one.
    private func isOutdated(_ region: StoredRegion) -> Bool {
        (region.staged?.editions ?? region.editions).contains { name, version in
            tileset(name)?.newest.map { $0.key.version != version } ?? false
        }
    }

    // MARK: Results

    func takeIntoLoads(_ tile: RegionTile, bytes: Int64) {
        for id in loads.keys { loads[id]?.take(tile, bytes: bytes, at: moment) }
    }

    func settleLoads(_ address: TileAddress, of edition: String?) {
        for id in loads.keys { loads[id]?.settle(address, of: edition, at: moment) }
    }

    /// Removes tiles that their source does not have from the needs of each region, in one transaction for each.
    func dropFromLoads(_ absent: [(address: TileAddress, edition: String?)]) {
        for id in loads.keys.sorted() {
            let tiles = absent.compactMap { loads[id]?.drop($0.address, of: $0.edition, at: moment) }
            guard !tiles.isEmpty else { continue }
            attempt("region '\(id)'") { () throws(StoreError) in try store.dropTiles(tiles, fromRegion: id) }
        }
    }

    func failLoads(_ address: TileAddress, of edition: String?, _ failure: TileFailure) {
        for id in loads.keys { loads[id]?.fail(address, of: edition, failure, at: moment) }
    }

    /// Resumes the revalidations that await the answer of a tileset's source.
    func noteAnswer(of tileset: String, failure: TileFailure? = nil) {
        for id in loads.keys where loads[id]?.awaitedSources.remove(tileset) != nil {
            if loads[id]?.sourceFailure == nil { loads[id]?.sourceFailure = failure }
        }
    }

    /// Restarts the requests of the loads that use a tileset.
    func requestTilesAgain(for tileset: String) {
        for id in loads.keys where loads[id]?.editions[tileset] != nil && loads[id]?.isReady == false {
            loads[id]?.needsRequests = true
        }
    }

    // MARK: Reports

    private func report(_ id: String) -> Int64 {
        guard let load = loads[id], load.progress != load.reported else { return .max }
        guard moment - load.reportedAt >= Self.reportInterval else { return load.reportedAt + Self.reportInterval }
        loads[id]?.reportedAt = moment
        loads[id]?.reported = load.progress
        add(.region(RegionNotice(kind: .loadProgress, id: id, progress: load.progress)))
        guard moment - load.writtenAt >= Self.writeInterval else { return .max }
        loads[id]?.writtenAt = moment
        attempt("region '\(id)'") { () throws(StoreError) in
            try store.setRegion(id, state: .loading, progress: load.progress, failure: nil, now: now)
        }
        return .max
    }

    func writeLoads() {
        for (id, load) in loads.sorted(by: { $0.key < $1.key }) {
            attempt("region '\(id)'") { () throws(StoreError) in
                try store.setRegion(id, state: .loading, progress: load.progress, failure: nil, now: now)
            }
        }
    }

    func report(
        _ kind: RegionNotice.Kind, _ id: String, _ progress: StoredRegionProgress? = nil, success: Bool? = nil,
        _ failure: TileFailure? = nil
    ) {
        var region: RegionStatus?
        attempt("region '\(id)'") { () throws(StoreError) in
            region = try store.reader.region(id).map { stored throws(StoreError) in try status(of: stored) }
        }
        add(
            .region(
                RegionNotice(
                    kind: kind, id: id, progress: progress, isSuccess: success, failure: failure, region: region)))
    }

    /// Returns a region as callers see it; a region whose update is stalled appears with its former definition and the
    /// reason.
    package func status(of region: StoredRegion) throws(StoreError) -> RegionStatus {
        let id = region.definition.id
        var region = region
        if loads[id] == nil {
            if region.staged != nil, region.state == .incomplete {
                region.progress = StoredRegionProgress()
                try store.reader.count(&region.progress, ofRegion: id, asServed: true)
                if region.progress.completedCount == region.progress.requiredCount { region.state = .complete }
            } else if region.state == .incomplete || region.state == .cancelled {
                // Tiles may have been added or removed since it was loaded.
                try store.reader.count(&region.progress, ofRegion: id)
            }
            if let reason = outdatedReasons[id] { region.failure = reason.stored }
        }
        if let load = loads[id] { region.progress = load.progress }
        return .stored(region, expires: try store.reader.expiry(ofRegion: id))
    }
}

extension StoredRegionDefinition {
    /// Whether the name or the client's own data differs.
    func isDescribedOtherwise(than other: StoredRegionDefinition) -> Bool {
        name != other.name || metadata != other.metadata
    }
}
