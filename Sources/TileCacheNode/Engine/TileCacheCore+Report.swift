package import NavBus
package import NavGeo
package import NavKit
package import NavMessages
package import NavStorage
package import NavTileStore

/// What the cache says of itself.
extension TileCacheCore {
    /// How often totals are told at most, ns.
    private static let reportInterval: Int64 = 1_000_000_000

    /// Tells the totals when something has changed.
    ///
    /// - Returns: When to come again, monotonic ns.
    func report(_ moment: Int64) -> Int64 {
        let statistics = queue.statistics
        let isBusy = statistics.runningCount + statistics.pendingCount > 0
        guard isChanged || isBusy != wasBusy || isBusy else { return .max }
        guard moment - reportedAt >= Self.reportInterval else { return reportedAt + Self.reportInterval }
        reportedAt = moment
        wasBusy = isBusy
        attempt("the totals") { () throws(StoreError) in
            try forgetMended()
            outbox.tell(
                try state(), findings: findings(),
                counters: [
                    "tiles_fetched": statistics.fetchedCount, "tiles_failed": statistics.failedCount,
                    "tiles_corrupt": statistics.corruptCount, "tiles_evicted": evictedCount,
                    "tiles_damaged": damagedCount,
                ])
            isChanged = false
        }
        return .max
    }

    /// The totals.
    func state() throws(StoreError) -> TilesState {
        let totals = try store.reader.statistics(now: now)
        let statistics = queue.statistics
        let road = desks.first { $0.keys.domain == .navigation }
        return TilesState(
            tilesets: desks.map { desk in
                let own = totals.tilesets.first { $0.tileset == desk.keys.name }
                return TilesetState(
                    tileset: desk.keys.name, domain: desk.keys.domain.message,
                    tileCount: UInt64(clamping: own?.tileCount ?? 0), sizeBytes: UInt64(clamping: own?.bytes ?? 0),
                    pinnedCount: UInt64(clamping: own?.pinnedCount ?? 0),
                    expiredCount: UInt64(clamping: own?.expiredCount ?? 0), cacheable: desk.keys.isCacheable,
                    notCacheableReason: desk.keys.refusal)
            }, sizeBytes: UInt64(clamping: totals.objectBytes), budgetBytes: UInt64(clamping: store.budgetBytes),
            sourceState: sourceState, downloadingCount: UInt32(clamping: statistics.runningCount),
            pendingCount: UInt32(clamping: statistics.pendingCount), routeCoverage: try routeCoverage(),
            mapVersion: road?.current?.key.version)
    }

    /// Whether the sources can be reached, all of them together.
    private var sourceState: SourceState? {
        let remote = Set(desks.filter(\.isRemote).map(\.keys.name))
        guard !desks.isEmpty else { return nil }
        if configuration.network.mode == .offline, !remote.isEmpty {
            return remote.count == desks.count ? .offline : .degraded
        }
        let conditions = queue.conditions
        let failing = Set(desks.filter { $0.problem != nil }.map(\.keys.name))
        let down = conditions.count { $0.reachability == .offline || failing.contains($0.tileset) }
        guard down < conditions.count || conditions.isEmpty else { return .offline }
        return down > 0 || conditions.contains { $0.reachability == .degraded } ? .degraded : .online
    }

    /// Why the cache is not well.
    private func findings() -> [HealthFinding] {
        var findings: [HealthFinding] = []
        if let storeProblem { findings.append(HealthFinding("store_failed", storeProblem)) }
        if let fullDisk { findings.append(HealthFinding("disk_full", fullDisk.text(store.reader.folder))) }
        if refusedCount > 0 {
            findings.append(
                HealthFinding("budget_full", "\(refusedCount) tiles found no room within \(budgetAdvice)"))
        }
        if let first = damaged.first {
            findings.append(
                HealthFinding(
                    "tiles_damaged",
                    "tiles damaged on the disk, and not back yet: \(damaged.count), the first of them \(first.address); "
                        + "they are fetched again as soon as their source can be asked"))
        }
        let unsound = patrol.unsound
        if let first = unsound.min() {
            findings.append(
                HealthFinding(
                    "store_unsound",
                    "files that cannot be put right: \(unsound.count), the first of them '\(first)' in "
                        + "'\(store.reader.folder)': look at its disk, or stop the node and use --repair"))
        }
        for (id, reason) in waiting.sorted(by: { $0.key < $1.key }) {
            findings.append(
                HealthFinding("region_outdated", "region '\(id)' stays as it is: \(reason.message)", about: id))
        }
        guard configuration.network.mode != .offline else { return findings }
        let conditions = queue.conditions
        for desk in desks {
            let condition = conditions.first { $0.tileset == desk.keys.name }
            let reason = condition?.reachability == .offline ? condition?.reason ?? desk.problem : desk.problem
            guard let reason else { continue }
            findings.append(
                HealthFinding("source_unreachable", "tileset '\(desk.keys.name)': \(reason)", about: desk.keys.name))
        }
        return findings
    }
}
