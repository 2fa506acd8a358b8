import Foundation
import NavNavigator
import Testing

/// Simulated drives from seeds; what always holds is checked at every step.
@Suite struct SimWorldTests {
    private static let environment = ProcessInfo.processInfo.environment
    /// How many seeds are driven: `NAVBUS_SIM_SEEDS`.
    private static let count = environment["NAVBUS_SIM_SEEDS"].flatMap(UInt64.init) ?? 100
    /// From which seed on: `NAVBUS_SIM_FIRST`.
    private static let first = environment["NAVBUS_SIM_FIRST"].flatMap(UInt64.init) ?? 1

    static func drive(_ seed: UInt64) throws {
        var invariants = Invariants()
        var world = try SimWorld(seed: seed)
        try world.run { step, navigator in try invariants.check(step) }
    }

    @Test func whateverHappensTheInvariantsHold() throws {
        var failed: [String: [UInt64]] = [:]
        for seed in Self.first..<(Self.first + Self.count) {
            do { try Self.drive(seed) } catch {
                failed["\(error)", default: []].append(seed)
                print("seed \(seed): \(error)")
            }
        }
        print("failed \(failed.values.map(\.count).reduce(0, +))")
        #expect(failed.isEmpty)
    }
}
