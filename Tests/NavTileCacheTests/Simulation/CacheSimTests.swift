import Foundation
import NavTileCache
import Testing

/// Simulated tile caches from seeds, with the invariants checked at every step.
///
/// `NAVBUS_SIM_SEEDS` is the number of seeds, `NAVBUS_SIM_FIRST` the first one; `NAVBUS_SIM_SEED` runs one seed and prints its log.
@Suite struct CacheSimTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment["NAVBUS_SIM_\(name)"].flatMap(UInt64.init)
    }
    private static let seeds = (number("FIRST") ?? 1)..<((number("FIRST") ?? 1) + (number("SEEDS") ?? 100))
    /// The number of threads that run seeds.
    private static let jobs = UInt64(min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16))

    private static func report(_ seed: UInt64, _ breach: any Error) {
        Issue.record("seed \(seed): \(breach)\nto reproduce: NAVBUS_SIM_SEED=\(seed) swift test --filter CacheSimTests")
    }

    @Test(.enabled(if: number("SEED") == nil), arguments: 0..<jobs) func invariantsHoldInEveryWorld(job: UInt64) {
        for seed in Self.seeds where seed % Self.jobs == job {
            do {
                var world = CacheWorld(seed: seed)
                try world.run()
            } catch { Self.report(seed, error) }
        }
    }

    /// Worlds that violated a rule once: a region held back tilesets of which it has no tiles; a newer edition found no room while an older
    /// one was loaded; tiles that the vehicle needs were evicted before the store knew of the need, or when the budget was lowered, and
    /// were never fetched again; an edition came into use in the step in which a region lost a tile.
    @Test(
        .enabled(if: number("SEED") == nil),
        arguments: [2286, 5691, 8458, 6950, 7005, 9939] as [UInt64])
    func formerlyFailingWorldsHoldTheInvariants(seed: UInt64) throws {
        var world = CacheWorld(seed: seed)
        try world.run()
    }

    @Test(.enabled(if: number("SEED") == nil)) func theSameSeedGivesTheSameEffects() throws {
        for seed in Self.seeds where seed % 25 == 0 {
            let digests = try (0..<2).map { _ in
                var world = CacheWorld(seed: seed, digests: true)
                try world.run()
                return world.digest
            }
            #expect(digests[0] == digests[1], "seed \(seed) gives different effects the second time")
        }
    }

    @Test(.enabled(if: number("SEED") == nil)) func everyKindOfEventOccurs() throws {
        var missing: Set = [
            "load accepted", "loadFinished true", "loadFinished false", "removed", "geometryChanged", "metadataChanged",
            "process killed", "process killed at a write", "process started", "disk full", "disk fails", "tile damaged",
            "files cannot be written", "edition published", "short list published", "unstorable edition published",
            "network offline", "network metered", "outage", "budget",
            "purge", "tile asked for",
            "load refused: resourceExhausted", "loadProgress",
        ]
        for seed in UInt64(1)...200 where !missing.isEmpty {
            var world = CacheWorld(seed: seed)
            try world.run()
            missing = missing.filter { world.tally[$0] == nil }
        }
        #expect(missing.isEmpty, "never in 200 worlds")
    }

    @Test(.enabled(if: number("SEED") != nil)) func runOneSeedVerbosely() {
        guard let seed = Self.number("SEED") else { return }
        var world = CacheWorld(seed: seed) { print($0) }
        do { try world.run() } catch { Self.report(seed, error) }
    }
}
