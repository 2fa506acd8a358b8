import NavKit
package import NavGeo
package import NavStorage
package import NavTileStore

/// Editions: what the sources have, and how a newer one comes into use.
///
/// A newer edition is first loaded beside the one in use: the tiles of every offline region, and those that the vehicle
/// will need. Then it comes into use with all of these regions in one transaction, so that everything on board is of the
/// old edition or of the new one.
extension TileCacheCore {
    /// How long an edition stays on disk that is no longer in use, ns: readers finish with it.
    private static let grace: Int64 = 60_000_000_000

    /// What the store has is in use until the sources tell of something newer.
    func takeStoredEditions() throws(StoreError) {
        for record in try store.reader.editions() {
            guard let desk = desk(record.key.tileset) else { continue }
            guard record.isCurrent else {
                outdated[record.key] = moment + Self.grace
                continue
            }
            guard desk.keys.domain == record.domain, let edition = try store.reader.edition(record.key) else {
                continue
            }
            let index = EditionIndex(edition)
            (desk.current, desk.newest) = (index, index)
        }
    }

    /// Whether the network costs, and tiles of regions are not to be fetched over it: a newer edition cannot come into use
    /// then that regions have to come with.
    var isDear: Bool {
        configuration.network.mode == .metered && !configuration.network.metered.contains(.region)
    }

    /// Whether tiles of the newest edition would be fetched ahead in vain: those on board are of another one, it cannot
    /// come into use, and each byte costs.
    func isInVain(_ desk: TilesetDesk) -> Bool { isDear && desk.isRemote && desk.isPending && desk.waitsForRegions }

    /// Whether what is known of its editions will do: over a network that costs nobody asks for another one. As long as a source is
    /// not asked it goes on with that edition, and tiles ahead are of it.
    private func holds(_ desk: TilesetDesk) -> Bool {
        isDear && desk.isRemote && desk.current != nil && !desk.inquiry.isUrgent
    }

    /// Asks the sources that are due.
    func askForEditions(_ moment: Int64) {
        for desk in desks where desk.keys.isCacheable && desk.inquiry.isDue(at: moment) && !holds(desk) {
            guard configuration.network.mode != .offline || !desk.isRemote else {
                desk.problem = desk.newest == nil ? "the network is offline, and nothing is on board" : nil
                desk.inquiry.postpone(at: moment)
                share()
                continue
            }
            desk.inquiry.begin()
            let (name, known) = (desk.keys.name, desk.newest == nil ? nil : desk.known)
            Task { [queue, post] in
                do throws(TileSourceError) {
                    let answer = try await queue.edition(of: name, known: known)
                    post { $0.take(answer, of: name) }
                } catch {
                    post { $0.take(error, of: name) }
                }
            }
        }
    }

    private func take(_ error: TileSourceError, of name: String) {
        guard let desk = desk(name) else { return }
        desk.inquiry.fail(at: moment)
        if desk.problem != error.message { log.warning("tileset '\(name)': \(error.message)") }
        desk.problem = error.message
        share()
    }

    private func take(_ answer: EditionAnswer, of name: String) {
        guard let desk = desk(name) else { return }
        desk.problem = nil
        isChanged = true
        let wasSuperseded = desk.inquiry.isSuperseded
        let before = desk.newest?.edition
        switch answer {
        case .notModified(let validators): desk.known = validators
        case .edition(let edition, let validators):
            guard take(edition, desk) else {
                desk.known = nil
                desk.inquiry.fail(at: moment)
                return
            }
            desk.known = validators
        }
        desk.inquiry.succeed(
            isNews: before != desk.newest?.edition, interval: Int64(configuration.editionInterval * 1e9), at: moment)
        guard wasSuperseded else { return }
        // Nothing was asked for until now.
        desk.isToTell = true
        askAnew(for: name)
    }

    /// False when it could not be kept.
    private func take(_ edition: TilesetEdition, _ desk: TilesetDesk) -> Bool {
        let index = EditionIndex(edition)
        let isNews = index.key != desk.newest?.key
        guard isNews || edition != desk.newest?.edition else { return true }
        let isKept = attempt("the edition of '\(desk.keys.name)'") { () throws(StoreError) in
            try store.addEdition(edition, now: now)
        }
        guard isKept else { return false }
        outdated[index.key] = nil
        if let old = desk.newest, isNews, old.key != desk.current?.key { outdated[old.key] = moment }
        desk.newest = index
        if desk.current == nil || desk.current?.key == index.key {
            desk.current = index
            // What was told of the old list may be wrong by the new one.
            log.info("tileset '\(desk.keys.name)': edition '\(edition.version.prefix(12))'")
        } else {
            log.info(
                "tileset '\(desk.keys.name)' has a newer edition, '\(edition.version.prefix(12))': it is loaded beside "
                    + "'\(desk.current?.key.version.prefix(12) ?? "")'")
        }
        share()
        planAnew(desk)
        if isNews { restageRegions(of: desk) }
        return true
    }

    /// Takes newer editions into use when all that is to come with them is on board.
    func switchEditions() {
        let pending = desks.filter { $0.isPending }
        guard !pending.isEmpty else { return }
        let names = Set(pending.map(\.keys.name))
        attempt("a newer edition") { () throws(StoreError) in
            var ready: [String: StoredRegionProgress] = [:]
            var isReady = true
            for region in try store.reader.regions() where region.uses(anyOf: names) {
                if let load = loads[region.definition.id], load.isReady, load.isOf(pending) {
                    ready[region.definition.id] = load.progress
                } else if region.state == .complete || region.staged != nil {
                    isReady = false
                    break
                }
            }
            for desk in pending where desk.waitsForRegions == isReady {
                desk.waitsForRegions = !isReady
                desk.isToTell = true
            }
            guard isReady else { return }
            for desk in pending where try !keepsWhatIsAhead(desk) { return }
            let keys = pending.compactMap { $0.newest?.key }
            if ready.isEmpty {
                for key in keys { try store.use(key, now: now) }
            } else {
                do throws(StoreError) {
                    try store.completeRegions(ready, using: keys, now: now)
                } catch {
                    guard error.code == .inUse else { throw error }
                    // A tile went while others were waited for: its file was damaged.
                    for id in ready.keys.sorted() { try reopen(id) }
                    return
                }
            }
            for desk in pending {
                if let old = desk.current?.key { outdated[old] = moment + Self.grace }
                desk.current = desk.newest
                log.info(
                    "tileset '\(desk.keys.name)': edition '\(desk.current?.key.version.prefix(12) ?? "")' is in use")
            }
            share()
            for id in ready.keys.sorted() { finish(id) }
        }
    }

    /// Whether tiles of an edition can be stored.
    func isOnBoard(_ key: EditionKey) -> Bool {
        desks.contains { $0.current?.key == key || $0.newest?.key == key } || outdated[key] != nil
    }

    /// Removes editions that nobody uses any more; those that an offline region still has stay.
    func removeOutdated(_ moment: Int64) {
        for (key, due) in outdated.sorted(by: { $0.key < $1.key }) where due <= moment {
            let isInUse = desks.contains { $0.current?.key == key || $0.newest?.key == key }
            guard !isInUse else {
                outdated[key] = nil
                continue
            }
            do throws(StoreError) {
                try store.removeEdition(key)
                outdated[key] = nil
                log.info("edition \(key) went")
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
    fileprivate func isOf(_ desks: [TilesetDesk]) -> Bool {
        desks.allSatisfy { desk in
            editions[desk.keys.name].map { $0 == desk.newest?.key.version } ?? true
        }
    }
}

extension StoredRegion {
    /// What it is, or will be when its update is complete.
    var newest: StoredRegionDefinition { staged?.definition ?? definition }

    /// Whether it has, or will have, tiles of one of some tilesets.
    func uses(anyOf names: Set<String>) -> Bool {
        newest.descriptors.contains { names.contains($0.tileset) }
            || definition.descriptors.contains { names.contains($0.tileset) }
    }
}
