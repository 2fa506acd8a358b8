import Foundation
import NavNavigator
import Testing

/// Simulated drives from seeds; what always holds is checked at every step.
///
/// `NAVBUS_SIM_SEEDS` says how many seeds are driven, `NAVBUS_SIM_FIRST` from which on; `NAVBUS_SIM_SEED` drives one and prints what happened.
@Suite struct SimWorldTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment["NAVBUS_SIM_\(name)"].flatMap(UInt64.init)
    }
    private static let seeds = (number("FIRST") ?? 1)..<((number("FIRST") ?? 1) + (number("SEEDS") ?? 100))

    /// How often the size of what the core holds is looked at, seconds.
    private static let sizing = 60.0
    private static let greatest = StateIsBounded.greatest

    /// Drives a seed; the number of all that came out of it.
    @discardableResult
    private static func drive(_ seed: UInt64, _ look: (SimStep) -> Void = { _ in }) throws -> Digest {
        var invariants = Invariants()
        var size = StateIsBounded()
        var digest = Digest()
        var world = try SimWorld(seed: seed)
        try world.run { step, navigator in
            look(step)
            digest.add(step.effects)
            try invariants.check(step)
            try size.check(step, navigator)
        }
        for (p, c) in size.largest.sorted(by: { $0.key < $1.key }) { print("SIZE \(c) \(p)") }
        return digest
    }

    private static func report(_ seed: UInt64, _ breach: any Error) {
        Issue.record("seed \(seed): \(breach)\nto see it: NAVBUS_SIM_SEED=\(seed) swift test --filter SimWorldTests")
    }

    @Test(.enabled(if: number("SEED") == nil)) func whateverHappensTheInvariantsHold() {
        for seed in Self.seeds {
            do { try Self.drive(seed) } catch { Self.report(seed, error) }
        }
    }

    @Test(.enabled(if: number("SEED") == nil)) func theSameSeedIsTheSameDrive() {
        for seed in Self.seeds where seed % 25 == 0 {
            do {
                let (first, second) = (try Self.drive(seed), try Self.drive(seed))
                #expect(first == second, "seed \(seed) is another drive the second time")
            } catch { Self.report(seed, error) }
        }
    }

    @Test(.enabled(if: number("SEED") != nil)) func oneSeedAsItIsDriven() {
        guard let seed = Self.number("SEED") else { return }
        var log = EventLog()
        do { try Self.drive(seed) { log.note($0) } } catch { Self.report(seed, error) }
        for line in log.lines { print(line) }
    }
}
