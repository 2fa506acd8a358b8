import NavTileCache
import NavTestKit
import Testing

/// Simulated tile caches from seeds, whose invariants are checked at every step. See ``SimSeeds``.
@Suite struct CacheSimTests {
    private static func report(_ seed: UInt64, _ violation: any Error) {
        Issue.record("\(SimSeeds.report(seed, violation, in: Self.self))")
    }

    @Test(.enabled(if: SimSeeds.single == nil), arguments: 0..<SimSeeds.jobs) func invariantsHoldInEveryWorld(
        job: UInt64
    ) {
        for seed in SimSeeds.all where seed % SimSeeds.jobs == job {
            do {
                var world = CacheWorld(seed: seed)
                try world.run()
            } catch { Self.report(seed, error) }
        }
    }

    /// Worlds that once violated a rule: a region held back tilesets of which it has no tiles; a newer edition found no
    /// room while an older one was loaded; tiles that the vehicle needs were evicted before the store received the
    /// need, or when the budget was lowered, and were never fetched again; an edition came into use in the step in
    /// which a region lost a tile.
    @Test(
        .enabled(if: SimSeeds.single == nil),
        arguments: [2286, 5691, 8458, 6950, 7005, 9939] as [UInt64])
    func formerlyFailingWorldsHoldTheInvariants(seed: UInt64) throws {
        var world = CacheWorld(seed: seed)
        try world.run()
    }

    @Test(.enabled(if: SimSeeds.single == nil)) func theSameSeedGivesTheSameEffects() throws {
        for seed in SimSeeds.all where seed % 25 == 0 {
            let digests = try (0..<2).map { _ in
                var world = CacheWorld(seed: seed, digests: true)
                try world.run()
                return world.digest
            }
            #expect(digests[0] == digests[1], "seed \(seed) gives different effects in the second run")
        }
    }

    @Test(.enabled(if: SimSeeds.single == nil)) func everyKindOfEventOccurs() throws {
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
        #expect(missing.isEmpty, "events that did not occur in 200 worlds")
    }

    @Test(.enabled(if: SimSeeds.single != nil)) func runOneSeedVerbosely() {
        guard let seed = SimSeeds.single else { return }
        var world = CacheWorld(seed: seed) { print($0) }
        do { try world.run() } catch { Self.report(seed, error) }
    }
}
