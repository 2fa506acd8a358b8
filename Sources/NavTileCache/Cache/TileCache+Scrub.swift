import NavGeo
package import NavStorage

/// The repair of disk damage: damaged tiles are found by the scrub or by readers, and are fetched again when needed.
extension TileCache {
    /// The maximum number of damaged tiles recorded until they are back on board.
    private static var greatestDamaged: Int { 1_000 }

    /// Performs a step of the scrub when one is due, and requests lost tiles again.
    ///
    /// - Returns: The moment of the next step, monotonic ns.
    func stepScrub() -> Int64 {
        let isBusy = fullDisk != nil || network.isBusy
        if let bytes = scrub.step(isBusy: isBusy, at: moment) {
            let (unsound, problem) = (scrub.unsound, scrub.problem)
            do throws(StoreError) {
                let report = try store.scrub(from: scrub.place, bytes: bytes)
                if problem != nil { log("stored tiles can be scrubbed again") }
                for finding in scrub.take(report, at: moment) {
                    warn("tile store: \(finding)\(finding.isRepaired ? "" : "; it cannot be repaired")")
                }
                if let place = scrub.placeToKeep() { store.saveScrubPosition(place) }
            } catch {
                if scrub.fail(error, at: moment) {
                    warn("stored tiles cannot be scrubbed: \(error)")
                }
            }
            if scrub.unsound != unsound || scrub.problem != problem { isChanged = true }
        }
        takeLosses()
        return scrub.pace.due
    }

    /// Requests again the tiles that were lost to damaged files and are still needed.
    private func takeLosses() {
        let lost = store.takeLosses()
        guard !lost.isEmpty else { return }
        let names = lost.prefix(3).map { "\($0.address)" }.joined(separator: ", ") + (lost.count > 3 ? ", …" : "")
        warn(
            "\(lost.count) tiles were damaged on the disk and have been removed (\(names)); those still needed are "
                + "fetched again")
        isChanged = true
        damagedCount += lost.count
        damaged += lost.prefix(max(Self.greatestDamaged - damaged.count, 0))
        // Make the check of the regions due.
        regionsCheckedAt = nil
        mayHaveRoom = true
        for tileset in tilesets {
            guard let newest = tileset.newest, let planner = planners[tileset.domain] else { continue }
            let own = Set(
                lost.filter { $0.address.tileset == tileset.name && $0.edition == newest.key.version }
                    .map(\.address.tile))
            guard !own.isEmpty else { continue }
            attempt("tiles of '\(tileset.name)'") { () throws(StoreError) in
                try tileset.addWanted(planner.wanted.filter { own.contains($0.tile) }, store.reader, now: now)
            }
        }
    }

    /// Forgets damaged tiles that have been replaced or are no longer needed.
    package func forgetMended() throws(StoreError) {
        guard !damaged.isEmpty else { return }
        let lacking = Set(try store.reader.lacking(damaged))
        damaged.removeAll { tile in
            guard !lacking.contains(tile) else { return false }
            guard let tileset = tileset(tile.address.tileset), tileset.newest?.key.version == tile.edition else {
                return true
            }
            return !tileset.lacks(tile.address.tile)
        }
    }
}
