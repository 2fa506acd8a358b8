import NavGeo
import NavStorage

/// The editions of the sources, and the switch to a newer one.
///
/// A newer edition is first loaded beside the one in use: the tiles of every offline region, and those that the vehicle
/// will need. Then it comes into use with all of these regions in one transaction, so that everything on board is of
/// either the old edition or the new one.
extension TileCache {
    /// The time for which an edition stays on disk after it went out of use, ns, so that readers can finish with it.
    private static var grace: Int64 { 60_000_000_000 }
    /// The minimum time before a source whose list was rejected is polled again, ns, since each poll reads the whole
    /// list.
    private static var rejectionPause: Int64 { 300_000_000_000 }

    /// Takes the editions of the store into use until the sources report newer ones.
    func takeStoredEditions() throws(StoreError) {
        for record in try store.reader.editions() {
            guard let tileset = tileset(record.key.tileset) else { continue }
            guard record.isCurrent else {
                outdated[record.key] = moment + Self.grace
                continue
            }
            guard tileset.domain == record.domain, let edition = try store.reader.edition(record.key) else {
                continue
            }
            let index = EditionIndex(edition)
            (tileset.current, tileset.newest) = (index, index)
        }
    }

    /// Whether the network is metered and must not be used for tiles of regions; a newer edition that needs such tiles
    /// then cannot come into use.
    var meteringForbidsRegionTraffic: Bool {
        settings.network == .metered && !settings.metered.contains(.region)
    }

    /// Whether it is useless to fetch tiles of the newest edition ahead over a metered network: the tiles on board are
    /// of another edition, and the newest one cannot come into use.
    func fetchingAheadIsUseless(_ tileset: TrackedTileset) -> Bool {
        meteringForbidsRegionTraffic && tileset.settings.isRemote && tileset.isPending
            && (tileset.waitsForRegions || tileset.outdatedReason != nil)
    }

    /// Whether the known edition is kept because a metered network must not be used to poll for another.
    ///
    /// If its source is not polled, the tileset keeps that edition, and tiles ahead are fetched from it.
    private func holds(_ tileset: TrackedTileset) -> Bool {
        meteringForbidsRegionTraffic && tileset.settings.isRemote && tileset.current != nil && !tileset.poll.isUrgent
    }

    func askForEditions() {
        for tileset in tilesets where tileset.settings.isCacheable && tileset.poll.isDue(at: moment) && !holds(tileset)
        {
            guard settings.network != .offline || !tileset.settings.isRemote else {
                tileset.problem = tileset.newest == nil ? "the network mode is offline, and no tiles are stored" : nil
                tileset.poll.postpone(at: moment)
                noteAnswer(of: tileset.name, failure: closedNetwork(to: [tileset.name]))
                reportTilesets()
                continue
            }
            tileset.poll.begin()
            add(.askEdition(tileset.name, known: tileset.newest == nil ? nil : tileset.known))
        }
    }

    /// Logs when a source begins to fail, and when it answers again.
    func noteSources() {
        for tileset in tilesets where settings.network != .offline || !tileset.settings.isRemote {
            let complaint = tileset.complaint(network.conditions.first { $0.tileset == tileset.name })
            guard (complaint != nil) != tileset.isKnownToFail else { continue }
            tileset.isKnownToFail.toggle()
            isChanged = true
            if let complaint {
                warn("tileset '\(tileset.name)': \(complaint)")
            } else {
                log("the source of tileset '\(tileset.name)' answers again")
            }
        }
    }

    func take(_ answer: Result<EditionAnswer, TileSourceError>, of name: String) {
        guard let tileset = tileset(name) else { return }
        switch answer {
        case .success(let answer): take(answer, tileset)
        case .failure(let error) where error.code == .closed: break  // The process is ending.
        case .failure(let error): take(error, tileset)
        }
    }

    /// - Parameter pause: The minimum time until the next poll, ns.
    private func take(_ error: TileSourceError, _ tileset: TrackedTileset, pause: Int64 = 0) {
        tileset.poll.fail(at: moment, pause: pause)
        // A source that is paused after failures has not been queried: its known state remains.
        guard error.code != .paused || tileset.problem == nil else {
            noteAnswer(of: tileset.name, failure: TileFailure(error))
            reportTilesets()
            return
        }
        if tileset.problem != error.message { warn("tileset '\(tileset.name)': \(error.message)") }
        (tileset.problem, tileset.pollFoundOutage, tileset.isKnownToFail) = (error.message, error.isOutage, true)
        noteAnswer(of: tileset.name, failure: TileFailure(error))
        reportTilesets()
    }

    private func take(_ answer: EditionAnswer, _ tileset: TrackedTileset) {
        isChanged = true
        let wasSuperseded = tileset.poll.isSuperseded
        let before = tileset.newest?.edition
        switch answer {
        case .notModified(let validators): tileset.known = validators
        case .edition(let edition, let validators):
            if let error = fault(in: edition, tileset) {
                tileset.known = nil
                return take(error, tileset, pause: Self.rejectionPause)
            }
            guard take(edition, tileset) else {
                (tileset.known, tileset.problem) = (nil, nil)
                tileset.poll.fail(at: moment)
                noteAnswer(of: tileset.name, failure: TileFailure(.internal, "its edition could not be stored"))
                return
            }
            tileset.known = validators
        }
        tileset.problem = nil
        tileset.poll.succeed(
            isNews: before != tileset.newest?.edition, interval: Int64(settings.editionInterval * 1e9), at: moment)
        noteAnswer(of: tileset.name)
        guard wasSuperseded else { return }
        // No tiles are requested while the edition is unknown.
        tileset.needsReport = true
        requestTilesAgain(for: tileset.name)
    }

    /// Returns the fault of a list of tiles that must not come into use: an empty list, or one that removes tiles the
    /// vehicle needs from the edition in use, which the new list would replace.
    private func fault(in edition: TilesetEdition, _ tileset: TrackedTileset) -> TileSourceError? {
        guard let tiles = edition.tiles else { return nil }
        guard !tiles.isEmpty else {
            return TileSourceError(
                .malformed,
                "its source lists no tiles; complete the files of the source; until then the list is ignored")
        }
        guard let current = tileset.current, current.key == EditionKey(tileset.name, edition.version),
            current.edition != edition
        else { return nil }
        let index = EditionIndex(edition)
        let dropped = wanted(of: tileset).map(\.tile).filter { current.has($0) && !index.has($0) }
        var lost: [TileID] = []
        attempt("tiles of '\(tileset.name)'") { () throws(StoreError) in lost = try onBoard(Set(dropped), tileset) }
        return lost.first.map { first in
            TileSourceError(
                .mismatch,
                "its source no longer lists \(lost.count) tiles of edition '\(edition.version.prefix(12))' that the "
                    + "vehicle needs, the first is \(TileAddress(tileset.name, first)); complete the files of the source, "
                    + "or give changed tiles another version")
        }
    }

    /// Takes an edition; returns false when it could not be stored.
    private func take(_ edition: TilesetEdition, _ tileset: TrackedTileset) -> Bool {
        let index = EditionIndex(edition)
        let isNews = index.key != tileset.newest?.key
        guard isNews || edition != tileset.newest?.edition else { return true }
        let isKept = attempt("the edition of '\(tileset.name)'") { () throws(StoreError) in
            try store.addEdition(edition, now: now)
        }
        guard isKept else { return false }
        outdated[index.key] = nil
        if let old = tileset.newest, isNews, old.key != tileset.current?.key { outdated[old.key] = moment }
        tileset.take(index)
        if tileset.current == nil || tileset.current?.key == index.key {
            tileset.current = index
            // The new list may invalidate the reports about the old one.
            log("tileset '\(tileset.name)': edition '\(edition.version.prefix(12))'")
        } else {
            log(
                "tileset '\(tileset.name)' has a newer edition, '\(edition.version.prefix(12))'; it is loaded while "
                    + "'\(tileset.current?.key.version.prefix(12) ?? "")' stays in use")
        }
        reportTilesets()
        // Tiles of the new edition may be smaller.
        mayHaveRoom = mayHaveRoom || refusedCount > 0
        tileset.noteRoom()
        planAnew(tileset)
        if isNews { restageRegions(of: tileset) }
        return true
    }

    /// Switches to newer editions once all their required tiles are on board.
    ///
    /// All tilesets of a region switch together. Tilesets that share no region switch independently.
    func switchEditions() {
        let pending = tilesets.filter { $0.isPending }
        guard !pending.isEmpty else { return }
        let names = Set(pending.map(\.name))
        attempt("switching editions") { () throws(StoreError) in
            let regions = try store.reader.regions().filter { $0.uses(anyOf: names) }
            let ready = regions.filter { region in
                loads[region.definition.id].map { $0.isReady && $0.isOf(pending) } ?? false
            }
            let readyIDs = Set(ready.map(\.definition.id))
            var held: Set<String> = []
            func hold(_ names: Set<String>) {
                held.formUnion(names)
                while let next = ready.first(where: {
                    !held.isDisjoint(with: $0.tilesets) && !held.isSuperset(of: $0.tilesets)
                }) { held.formUnion(next.tilesets) }
            }
            for region in regions where !readyIDs.contains(region.definition.id) {
                if region.state == .complete || region.staged != nil { hold(region.tilesets) }
            }
            for tileset in pending where tileset.waitsForRegions != held.contains(tileset.name) {
                tileset.waitsForRegions.toggle()
                tileset.needsReport = true
            }
            for tileset in pending { try noteDroppedTiles(tileset) }
            for tileset in pending where !held.contains(tileset.name) {
                if try !keepsWhatIsAhead(tileset) { hold([tileset.name]) }
            }
            let next = pending.filter { !held.contains($0.name) }
            guard !next.isEmpty else { return }
            let nextNames = Set(next.map(\.name))
            let coming = ready.filter { $0.uses(anyOf: nextNames) }.map(\.definition.id)
            var progress: [String: StoredRegionProgress] = [:]
            for id in coming { progress[id] = loads[id]?.progress }
            do throws(StoreError) {
                try store.completeRegions(progress, using: next.compactMap { $0.newest?.key }, now: now)
            } catch {
                guard error.code == .inUse else { throw error }
                // A tile was lost to a damaged file while others were awaited.
                for id in coming { try reopen(id) }
                return
            }
            for tileset in next {
                if let old = tileset.current?.key { outdated[old] = moment + Self.grace }
                tileset.switchToNewest()
                log(
                    "tileset '\(tileset.name)': switched to edition '\(tileset.current?.key.version.prefix(12) ?? "")'")
            }
            reportTilesets()
            for id in coming { finish(id) }
        }
    }

    /// Whether tiles of an edition can be stored.
    func isOnBoard(_ key: EditionKey) -> Bool {
        tilesets.contains { $0.current?.key == key || $0.newest?.key == key } || outdated[key] != nil
    }

    /// Removes editions that are no longer used; those that an offline region still uses are kept.
    func removeOutdated() {
        for (key, due) in outdated.sorted(by: { $0.key < $1.key }) where due <= moment {
            let isInUse = tilesets.contains { $0.current?.key == key || $0.newest?.key == key }
            guard !isInUse else {
                outdated[key] = nil
                continue
            }
            do throws(StoreError) {
                _ = try store.removeEdition(key)
                outdated[key] = nil
                log("edition \(key) was removed")
                noteRoom()
            } catch {
                outdated[key] = moment + Self.grace
                if error.code != .inUse { note(error, "removing edition \(key)") }
            }
        }
    }
}

extension RegionLoad {
    /// Whether its editions are the newest ones of those tilesets that it uses.
    fileprivate func isOf(_ tilesets: [TrackedTileset]) -> Bool {
        tilesets.allSatisfy { tileset in
            editions[tileset.name].map { $0 == tileset.newest?.key.version } ?? true
        }
    }
}

extension StoredRegion {
    var newest: StoredRegionDefinition { staged?.definition ?? definition }

    /// The tilesets whose tiles it has or is loading.
    var tilesets: Set<String> { Set((newest.descriptors + definition.descriptors).map(\.tileset)) }

    /// Whether it has, or is loading, tiles of one of the named tilesets.
    func uses(anyOf names: Set<String>) -> Bool { !tilesets.isDisjoint(with: names) }
}
