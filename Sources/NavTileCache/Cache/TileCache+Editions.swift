import NavGeo
import NavStorage

/// Editions: what the sources have, and how a newer one comes into use.
///
/// A newer edition is first loaded beside the one in use: the tiles of every offline region, and those that the vehicle
/// will need. Then it comes into use with all of these regions in one transaction, so that everything on board is of the
/// old edition or of the new one.
extension TileCache {
    /// The time that an edition stays on disk after it went out of use, ns: readers finish with it.
    private static var grace: Int64 { 60_000_000_000 }

    /// Takes the editions of the store into use until the sources tell of newer ones.
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

    /// Whether the network costs, and tiles of regions are not to be fetched over it: a newer edition cannot come into use
    /// then that regions have to come with.
    var isDear: Bool {
        settings.network == .metered && !settings.metered.contains(.region)
    }

    /// Whether tiles of the newest edition would be fetched ahead in vain: those on board are of another one, it cannot
    /// come into use, and each byte costs.
    func isInVain(_ tileset: TrackedTileset) -> Bool {
        isDear && tileset.settings.isRemote && tileset.isPending && tileset.waitsForRegions
    }

    /// Whether what is known of its editions will do: over a network that costs nobody asks for another one. As long as a source is
    /// not asked it goes on with that edition, and tiles ahead are of it.
    private func holds(_ tileset: TrackedTileset) -> Bool {
        isDear && tileset.settings.isRemote && tileset.current != nil && !tileset.poll.isUrgent
    }

    func askForEditions() {
        for tileset in tilesets where tileset.settings.isCacheable && tileset.poll.isDue(at: moment) && !holds(tileset)
        {
            guard settings.network != .offline || !tileset.settings.isRemote else {
                tileset.problem = tileset.newest == nil ? "the network is offline, and nothing is on board" : nil
                tileset.poll.postpone(at: moment)
                tellTilesets()
                continue
            }
            tileset.poll.begin()
            add(.askEdition(tileset.name, known: tileset.newest == nil ? nil : tileset.known))
        }
    }

    func take(_ answer: Result<EditionAnswer, TileSourceError>, of name: String) {
        guard let tileset = tileset(name) else { return }
        switch answer {
        case .success(let answer): take(answer, tileset)
        case .failure(let error): take(error, tileset)
        }
    }

    private func take(_ error: TileSourceError, _ tileset: TrackedTileset) {
        tileset.poll.fail(at: moment)
        if tileset.problem != error.message { warn("tileset '\(tileset.name)': \(error.message)") }
        tileset.problem = error.message
        tellTilesets()
    }

    private func take(_ answer: EditionAnswer, _ tileset: TrackedTileset) {
        tileset.problem = nil
        isChanged = true
        let wasSuperseded = tileset.poll.isSuperseded
        let before = tileset.newest?.edition
        switch answer {
        case .notModified(let validators): tileset.known = validators
        case .edition(let edition, let validators):
            guard take(edition, tileset) else {
                tileset.known = nil
                tileset.poll.fail(at: moment)
                return
            }
            tileset.known = validators
        }
        tileset.poll.succeed(
            isNews: before != tileset.newest?.edition, interval: Int64(settings.editionInterval * 1e9), at: moment)
        guard wasSuperseded else { return }
        // Nothing was asked for until now.
        tileset.isToTell = true
        askAnew(for: tileset.name)
    }

    /// False when it could not be kept.
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
        tileset.newest = index
        if tileset.current == nil || tileset.current?.key == index.key {
            tileset.current = index
            // What was told of the old list may be wrong by the new one.
            log("tileset '\(tileset.name)': edition '\(edition.version.prefix(12))'")
        } else {
            log(
                "tileset '\(tileset.name)' has a newer edition, '\(edition.version.prefix(12))': it is loaded beside "
                    + "'\(tileset.current?.key.version.prefix(12) ?? "")'")
        }
        tellTilesets()
        planAnew(tileset)
        if isNews { restageRegions(of: tileset) }
        return true
    }

    /// Takes newer editions into use when all that is to come with them is on board.
    ///
    /// A region takes all of its tilesets with it. Tilesets that no region has in common do not wait for each other.
    func switchEditions() {
        let pending = tilesets.filter { $0.isPending }
        guard !pending.isEmpty else { return }
        let names = Set(pending.map(\.name))
        attempt("a newer edition") { () throws(StoreError) in
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
                tileset.isToTell = true
            }
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
                // A tile went while others were waited for: its file was damaged.
                for id in coming { try reopen(id) }
                return
            }
            for tileset in next {
                if let old = tileset.current?.key { outdated[old] = moment + Self.grace }
                tileset.current = tileset.newest
                log(
                    "tileset '\(tileset.name)': edition '\(tileset.current?.key.version.prefix(12) ?? "")' is in use")
            }
            tellTilesets()
            for id in coming { finish(id) }
        }
    }

    /// Whether tiles of an edition can be stored.
    func isOnBoard(_ key: EditionKey) -> Bool {
        tilesets.contains { $0.current?.key == key || $0.newest?.key == key } || outdated[key] != nil
    }

    /// Removes editions that nobody uses any more; those that an offline region still has stay.
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
                log("edition \(key) went")
                noteRoom()
            } catch {
                outdated[key] = moment + Self.grace
                if error.code != .inUse { note(error, "removing edition \(key)") }
            }
        }
    }
}

extension RegionLoad {
    /// Whether its tiles are of the newest editions of some tilesets.
    fileprivate func isOf(_ tilesets: [TrackedTileset]) -> Bool {
        tilesets.allSatisfy { tileset in
            editions[tileset.name].map { $0 == tileset.newest?.key.version } ?? true
        }
    }
}

extension StoredRegion {
    var newest: StoredRegionDefinition { staged?.definition ?? definition }

    /// The tilesets of which it has, or will have, tiles.
    var tilesets: Set<String> { Set((newest.descriptors + definition.descriptors).map(\.tileset)) }

    /// Whether it has, or will have, tiles of one of some tilesets.
    func uses(anyOf names: Set<String>) -> Bool { !tilesets.isDisjoint(with: names) }
}
