import NavKit
package import NavBus
package import NavGeo
package import NavStorage
package import NavTileCache
package import NavTileStore

/// Damage on the disk: a slow walk through all that is on board finds it, whoever reads a tile may, and what is needed of
/// it is fetched again.
extension TileCacheCore {
    /// Most damaged tiles that are told apart while they are not back.
    private static let greatestDamaged = 1_000

    /// Makes a step of the walk when it is time, and sees to what was lost.
    ///
    /// - Returns: When to come again, monotonic ns.
    func turnPatrol(_ moment: Int64) -> Int64 {
        let isBusy = fullDisk != nil || queue.statistics.runningCount > 0 || lookup.isBusy
        if let bytes = patrol.pace.step(isBusy: isBusy, at: moment) {
            let unsound = patrol.unsound
            do throws(StoreError) {
                let report = try store.patrol(from: patrol.place, bytes: bytes)
                for finding in patrol.take(report, at: self.moment) {
                    log.warning("the tile store: \(finding)\(finding.isRepaired ? "" : ": it cannot be put right")")
                }
                if let place = patrol.placeToKeep() { store.notePatrol(place) }
            } catch {
                if patrol.fail(error, at: self.moment) {
                    log.warning("tiles on board cannot be looked at: \(error)")
                }
            }
            if patrol.unsound != unsound { isChanged = true }
        }
        takeLosses()
        return patrol.pace.due
    }

    /// Asks again for the tiles that left the store because their files were damaged, as far as they are needed.
    private func takeLosses() {
        let lost = store.takeLosses()
        guard !lost.isEmpty else { return }
        let names = lost.prefix(3).map { "\($0.address)" }.joined(separator: ", ") + (lost.count > 3 ? ", …" : "")
        log.warning(
            "tiles damaged on the disk, and not on board any more: \(lost.count) (\(names)); what is needed of them is fetched "
                + "again")
        isChanged = true
        damagedCount += lost.count
        damaged += lost.prefix(max(Self.greatestDamaged - damaged.count, 0))
        // Their regions are looked at now.
        regionsCheckedAt = nil
        for desk in desks {
            guard let newest = desk.newest, let planner = planners[desk.keys.domain] else { continue }
            let own = Set(
                lost.filter { $0.address.tileset == desk.keys.name && $0.edition == newest.key.version }
                    .map(\.address.tile))
            guard !own.isEmpty else { continue }
            attempt("tiles of '\(desk.keys.name)'") { () throws(StoreError) in
                try desk.want(planner.wanted.filter { own.contains($0.tile) }, store.reader, now: now)
            }
        }
    }

    /// Forgets damaged tiles that are back, or that nobody needs any more.
    func forgetMended() throws(StoreError) {
        guard !damaged.isEmpty else { return }
        let lacking = Set(try store.reader.lacking(damaged))
        damaged.removeAll { tile in
            guard !lacking.contains(tile) else { return false }
            guard let desk = desk(tile.address.tileset), desk.newest?.key.version == tile.edition else { return true }
            return desk.open[tile.address.tile] == nil
        }
    }
}
