import NavKit
package import NavGeo
package import NavStorage
package import NavTileCache
package import NavTileStore

/// Tiles ahead of the vehicle.
extension TileCacheCore {
    /// How often the queue is told of tiles that are still missing, ns: those that failed are tried again then.
    private static let askAgain: Int64 = 30_000_000_000
    /// Within how many metres the vehicle waits for a tile: less than a minute on a motorway.
    private static let nearby = 2_000.0
    /// After how many metres along the route the queue is told anew what the vehicle waits for: a tenth of ``nearby``, so
    /// that a tile is waited for at most six seconds late on a motorway, and the queue is told no more often than that.
    private static let stride = 200.0
    /// How often the store is told what will be needed, ns.
    private static let guardInterval: Int64 = 2_000_000_000

    /// Takes what the bus said of the vehicle.
    func take(_ news: VehicleNews) {
        let change = vehicle.take(news) { log.warning("\($0)") }
        if change.isRoute { isChanged = true }
        for domain in NavTileStore.TileDomain.allCases {
            if change.isRoute, let changes = planners[domain]?.follow(vehicle) { apply(changes, domain, isMove: false) }
            if change.isMove, let changes = planners[domain]?.move(vehicle) { apply(changes, domain, isMove: true) }
        }
    }

    private func apply(_ changes: CacheChanges, _ domain: NavTileStore.TileDomain, isMove: Bool) {
        guard !changes.isEmpty else { return }
        isChanged = true
        refusedCount = 0
        for desk in desks where desk.keys.domain == domain && desk.keys.isCacheable {
            desk.unwant(changes.removed)
            desk.isToGuard = true
            desk.hasLessToGuard = desk.hasLessToGuard || !changes.removed.isEmpty
            attempt("tiles of '\(desk.keys.name)'") { () throws(StoreError) in
                try desk.want(changes.added, store.reader, now: now)
                if isMove { try touch(changes.added, desk) }
            }
        }
    }

    /// Notes that tiles on board are needed by where the vehicle is now.
    private func touch(_ tiles: [WantedTile], _ desk: TilesetDesk) throws(StoreError) {
        guard let current = desk.current else { return }
        var records: [TileRecord] = []
        for wanted in tiles where current.has(wanted.tile) {
            let address = TileAddress(desk.keys.name, wanted.tile)
            if let record = try store.reader.tile(address, version: current.key.version, now: now) {
                records.append(record)
            }
        }
        if !records.isEmpty { store.touch(records, now: now) }
    }

    /// Looks at all wanted tiles of a tileset: its edition or the profile is another one.
    func planAnew(_ desk: TilesetDesk) {
        desk.unwantAll()
        desk.isToTell = true
        desk.isToGuard = true
        guard let wanted = planners[desk.keys.domain]?.wanted, !wanted.isEmpty else { return }
        attempt("tiles of '\(desk.keys.name)'") { () throws(StoreError) in
            try desk.want(wanted, store.reader, now: now)
        }
    }

    /// Tells the queue what is missing: at once when that has changed, as the vehicle gets nearer, and now and then.
    func tellQueue(_ moment: Int64) {
        if moment - askedAgainAt >= Self.askAgain {
            askedAgainAt = moment
            for desk in desks where !desk.open.isEmpty { desk.isToTell = true }
        }
        for desk in desks {
            let cursor = planners[desk.keys.domain]?.planner.cursor ?? 0
            let isNearer = abs(cursor - desk.toldCursor) >= Self.stride && !desk.open.isEmpty
            guard desk.isToTell || isNearer else { continue }
            desk.isToTell = false
            desk.toldCursor = cursor
            guard !desk.open.isEmpty, !isInVain(desk), !desk.inquiry.isSuperseded else {
                queue.forget(desk.owner)
                continue
            }
            queue.want(desk.wants(awaitedUntil: cursor + Self.nearby), for: desk.owner)
        }
    }

    /// Tells the store what will be needed, so that it goes last.
    func tellStore(_ moment: Int64) {
        guard moment - guardedAt >= Self.guardInterval, desks.contains(where: \.isToGuard) else { return }
        guardedAt = moment
        for desk in desks where desk.isToGuard {
            desk.isToGuard = false
            if desk.hasLessToGuard {
                desk.hasLessToGuard = false
                // The vehicle moves on all the time, and each trial may fetch in vain: no sooner than after any failure.
                waits.end(.budget, by: nextTry)
            }
            let wanted = planners[desk.keys.domain]?.wanted ?? []
            attempt("what is wanted of '\(desk.keys.name)'") { () throws(StoreError) in
                for index in [desk.newest, desk.isPending ? desk.current : nil] {
                    guard let index else { continue }
                    try store.setWanted(wanted.filter { index.has($0.tile) }, in: index.key)
                }
            }
        }
    }

    /// Whether taking the newest edition of a tileset into use takes no tile away from the vehicle: each that it will
    /// need and has, it has of the newest edition as well.
    func keepsWhatIsAhead(_ desk: TilesetDesk) throws(StoreError) -> Bool {
        guard let planner = planners[desk.keys.domain], planner.isEnabled, let current = desk.current else {
            return true
        }
        guard vehicle.position != nil || vehicle.route != nil else {
            // Where the vehicle is will be known soon: until then what is on board stays in use.
            return try !store.reader.editions().contains { $0.key == current.key && $0.tileCount > 0 }
        }
        let missing = desk.open.keys.sorted()
        guard !missing.isEmpty else { return true }
        return try store.reader.absent(missing, in: current.key).count == missing.count
    }

    /// Share of the tiles along the current route that are on board; nil without a route or without road tiles.
    func routeCoverage() throws(StoreError) -> Double? {
        guard vehicle.route != nil, let planner = planners[.navigation], planner.isEnabled else { return nil }
        let wanted = planner.wanted.map(\.tile)
        var (needed, missing) = (0, 0)
        for desk in desks where desk.keys.domain == .navigation && desk.keys.isCacheable {
            guard let current = desk.current else { continue }
            let tiles = wanted.filter(current.has)
            needed += tiles.count
            missing += desk.isPending ? try store.reader.absent(tiles, in: current.key).count : desk.open.count
        }
        guard needed > 0 else { return nil }
        return Double(max(needed - missing, 0)) / Double(needed)
    }
}
