import NavNavigator
import NavTestKit
import Testing

/// Simulated drives from seeds, whose invariants are checked at every step. See ``SimSeeds``.
@Suite struct SimWorldTests {
    /// Drives a seed and checks the invariants.
    private static func drive(_ seed: UInt64, _ look: (SimStep) -> Void = { _ in }) throws {
        var invariants = Invariants()
        var world = try SimWorld(seed: seed)
        var size = 0.0
        try world.run { step, navigator in
            look(step)
            try invariants.check(step)
            // Measuring the footprint takes as long as several hundred steps.
            guard seed % 5 == 0, step.time >= size else { return }
            size = step.time + 120
            if let what = StateIsBounded.violation(Footprint(navigator).counts) {
                throw Violation(rule: StateIsBounded.rule, what: what)
            }
        }
    }

    /// Returns the digest of all output of a seed.
    private static func digest(_ seed: UInt64) throws -> Digest {
        var digest = Digest()
        var world = try SimWorld(seed: seed)
        try world.run { step, _ in digest.add(step.effects) }
        return digest
    }

    private static func report(_ seed: UInt64, _ violation: any Error) {
        Issue.record("\(SimSeeds.report(seed, violation, in: Self.self))")
    }

    @Test(.enabled(if: SimSeeds.single == nil), arguments: 0..<SimSeeds.jobs) func randomDrivesKeepTheInvariants(
        job: UInt64
    ) {
        for seed in SimSeeds.all where seed % SimSeeds.jobs == job {
            do { try Self.drive(seed) } catch { Self.report(seed, error) }
        }
    }

    /// Drives that once violated a rule: the banner of a leg that began off road was shown twice; while the clock was
    /// uncertain, the rule used the stamp of a rejected fix as the current time.
    @Test(.enabled(if: SimSeeds.single == nil), arguments: [6067, 2339] as [UInt64])
    func pastFailuresKeepTheInvariants(seed: UInt64) throws { try Self.drive(seed) }

    @Test(.enabled(if: SimSeeds.single == nil)) func everyKindOfEventOccurs() throws {
        var tally = Tally()
        var missing = Tally.expected
        for seed in UInt64(1)...600 where !missing.isEmpty {
            var world = try SimWorld(seed: seed)
            let version = world.mapVersion
            try world.run { step, _ in tally.note(step, version: version) }
            missing = missing.filter { tally.counts[$0, default: 0] == 0 }
        }
        #expect(missing.isEmpty, "missing in 600 drives; found \(tally.counts.sorted { $0.key < $1.key })")
    }

    @Test(.enabled(if: SimSeeds.single == nil)) func sameSeedGivesTheSameDrive() {
        for seed in SimSeeds.all where seed % 25 == 0 {
            do {
                let (first, second) = (try Self.digest(seed), try Self.digest(seed))
                #expect(first == second, "seed \(seed) gives a different drive in the second run")
            } catch { Self.report(seed, error) }
        }
    }

    @Test(.enabled(if: SimSeeds.single != nil)) func logOfOneSeed() {
        guard let seed = SimSeeds.single else { return }
        var log = EventLog()
        do { try Self.drive(seed) { log.note($0) } } catch { Self.report(seed, error) }
        for line in log.lines { print(line) }
    }
}
