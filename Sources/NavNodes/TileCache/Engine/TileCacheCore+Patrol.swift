import NavBus
import NavGeo
import NavTileCache
import NavTileStore

/// Damage on the disk: a slow walk through all that is on board finds it, whoever reads a tile may, and what is needed of
/// it is fetched again.
extension TileCacheCore {
    /// Most damaged tiles that are told apart while they are not back.
    private static let greatestDamaged = 1_000
    /// After how many bytes the place of the walk is kept.
    private static let placeInterval: Int64 = 16 << 20

    /// Makes a step of the walk when it is time, and sees to what was lost.
    ///
    /// - Returns: When to come again, monotonic ns.
    func patrol(_ moment: Int64) -> Int64 {
        let isBusy = fullDisk != nil || queue.statistics.runningCount > 0 || lookup.isBusy
        if let bytes = pace.step(isBusy: isBusy, at: moment) {
            do throws(StoreError) {
                let report = try store.patrol(from: patrolPlace, bytes: bytes)
                patrolPlace = report.place
                tell(report)
                pace.note(report.bytes, isRound: report.isRound, at: self.moment)
                if report.findings.contains(where: { !$0.isRepaired }) { pace.fail(at: self.moment) }
                patrolProblem = nil
                notePlace(report)
            } catch {
                if patrolProblem != error.description { log.warning("tiles on board cannot be looked at: \(error)") }
                patrolProblem = error.description
                pace.fail(at: self.moment)
            }
        }
        takeLosses()
        return pace.due
    }

    /// Tells what was put right, and once what cannot be.
    private func tell(_ report: PatrolReport) {
        for finding in report.findings {
            if finding.isRepaired {
                log.warning("the tile store: \(finding)")
            } else if unsound.round.count < Self.greatestDamaged, unsound.round.insert(finding.subject).inserted,
                !unsound.before.contains(finding.subject)
            {
                isChanged = true
                log.warning("the tile store: \(finding): it cannot be put right")
            }
        }
        guard report.isRound else { return }
        isChanged = isChanged || unsound.before != unsound.round
        unsound = (unsound.round, [])
    }

    /// Keeps the place for the next start every now and then: short drives would look at the same tiles each time.
    private func notePlace(_ report: PatrolReport) {
        patrolledBytes += report.bytes
        guard patrolledBytes >= Self.placeInterval || report.isRound else { return }
        patrolledBytes = 0
        store.notePatrol(patrolPlace)
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
