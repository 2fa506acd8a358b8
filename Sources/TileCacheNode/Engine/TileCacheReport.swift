import NavBus
import NavGeo
import NavKit
import NavMessages
import NavStorage
import NavTileCache
import NavTileCache
import NavTileStore
import NavWire

/// The totals and the health of the cache.
extension TileCacheShell {
    /// The shortest interval between totals, ns.
    private static let reportInterval: Int64 = 1_000_000_000
    /// The maximum number of regions with a finding of one kind, so that the health message stays small.
    private static let greatestRegionCount = 100

    /// Reports the totals when something has changed.
    ///
    /// - Returns: The moment of the next call, monotonic ns.
    func report(_ moment: Int64) -> Int64 {
        let statistics = queue.statistics
        let isBusy = statistics.runningCount + statistics.pendingCount > 0
        guard cache.isChanged || isBusy != wasBusy || isBusy else { return .max }
        guard moment - reportedAt >= Self.reportInterval else { return reportedAt + Self.reportInterval }
        reportedAt = moment
        wasBusy = isBusy
        do throws(StoreError) {
            try cache.forgetMended()
            outbox.publish(
                try state(), findings: findings(),
                counters: [
                    "tiles_fetched": statistics.fetchedCount, "tiles_failed": statistics.failedCount,
                    "downloads_failed": statistics.failedAttempts,
                    "tiles_corrupt": statistics.corruptCount, "tiles_evicted": cache.evictedCount,
                    "tiles_damaged": cache.damagedCount,
                ])
            cache.isChanged = false
        } catch {
            cache.note(error, "reading the store's totals")
        }
        return .max
    }

    func state() throws(StoreError) -> TilesState {
        let totals = try cache.store.reader.statistics(now: lookup.now)
        let statistics = queue.statistics
        let road = cache.tilesets.first { $0.domain == .navigation }
        return TilesState(
            tilesets: lookup.views.map(\.keys).map { keys in
                let own = totals.tilesets.first { $0.tileset == keys.name }
                return TilesetState(
                    tileset: keys.name, domain: NavMessages.TileDomain(keys.domain),
                    tileCount: UInt64(clamping: own?.tileCount ?? 0), sizeBytes: UInt64(clamping: own?.bytes ?? 0),
                    pinnedCount: UInt64(clamping: own?.pinnedCount ?? 0),
                    expiredCount: UInt64(clamping: own?.expiredCount ?? 0), cacheable: keys.isCacheable,
                    notCacheableReason: keys.refusal)
            }, sizeBytes: UInt64(clamping: totals.objectBytes), budgetBytes: UInt64(clamping: cache.store.budgetBytes),
            sourceState: sourceState, downloadingCount: UInt32(clamping: statistics.runningCount),
            pendingCount: UInt32(clamping: statistics.pendingCount), routeCoverage: try cache.routeCoverage(),
            mapVersion: road?.current?.key.version)
    }

    /// The combined reachability of all sources.
    private var sourceState: SourceState? {
        let remote = Set(cache.tilesets.filter(\.settings.isRemote).map(\.name))
        guard !cache.tilesets.isEmpty else { return nil }
        if cache.settings.network == .offline, !remote.isEmpty {
            return remote.count == cache.tilesets.count ? .offline : .degraded
        }
        let conditions = queue.conditions
        let failing = conditions.filter { cache.tileset($0.tileset)?.complaint($0) != nil }
        let down = failing.count { cache.tileset($0.tileset)?.isUnreachable($0) == true }
        guard down < conditions.count || conditions.isEmpty else { return .offline }
        return !failing.isEmpty || conditions.contains { $0.reachability == .degraded } ? .degraded : .online
    }

    /// Returns the health findings of the cache.
    private func findings() -> [HealthFinding] {
        var findings: [HealthFinding] = []
        if let problem = cache.storeProblem ?? cache.scrub.problem.map({ "stored tiles cannot be scrubbed: \($0)" }) {
            findings.append(HealthFinding("store_failed", problem))
        }
        if let fullDisk = cache.fullDisk {
            findings.append(HealthFinding("disk_full", fullDisk.text(cache.store.reader.folder)))
        }
        if cache.refusedCount > 0 {
            findings.append(
                HealthFinding("budget_full", "\(cache.refusedCount) tiles do not fit into \(cache.budgetAdvice)"))
        } else if cache.excessBytes > 0 {
            findings.append(HealthFinding("budget_full", cache.excessText))
        }
        if let first = cache.damaged.first {
            findings.append(
                HealthFinding(
                    "tiles_damaged",
                    "\(cache.damaged.count) tiles were damaged on the disk and are missing, the first is "
                        + "\(first.address); they are fetched again when their source is reachable"))
        }
        let unsound = cache.scrub.unsound
        if let first = unsound.min() {
            findings.append(
                HealthFinding(
                    "store_unsound",
                    "\(unsound.count) damaged files cannot be repaired, the first is '\(first)' in "
                        + "'\(cache.store.reader.folder)'; check its disk, or stop the node and run it with --repair"))
        }
        for tileset in cache.tilesets {
            guard let problem = tileset.storingProblem else { continue }
            findings.append(
                HealthFinding("tiles_unstorable", "tileset '\(tileset.name)': \(problem)", about: tileset.name))
        }
        for tileset in cache.tilesets {
            guard let reason = tileset.outdatedReason else { continue }
            findings.append(
                HealthFinding(
                    "tileset_outdated", "tileset '\(tileset.name)' cannot be updated: \(reason)", about: tileset.name))
        }
        for (id, reason) in cache.incompleteReasons.sorted(by: { $0.key < $1.key }).prefix(Self.greatestRegionCount) {
            findings.append(HealthFinding("region_incomplete", "region '\(id)' \(reason)", about: id))
        }
        for (id, reason) in cache.outdatedReasons.sorted(by: { $0.key < $1.key }).prefix(Self.greatestRegionCount) {
            findings.append(
                HealthFinding("region_outdated", "region '\(id)' cannot be updated: \(reason.message)", about: id))
        }
        guard cache.settings.network != .offline else { return findings }
        let conditions = queue.conditions
        for tileset in cache.tilesets {
            let condition = conditions.first { $0.tileset == tileset.name }
            guard let reason = tileset.complaint(condition) else { continue }
            let code = tileset.isUnreachable(condition) ? "source_unreachable" : "source_faulty"
            findings.append(HealthFinding(code, "tileset '\(tileset.name)': \(reason)", about: tileset.name))
        }
        return findings
    }
}
