internal import Foundation

/// The seeds that simulations run: `NAVBUS_SIM_SEEDS` is their number, `NAVBUS_SIM_FIRST` the first one; `NAVBUS_SIM_SEED` runs one seed and
/// prints its log.
package enum SimSeeds {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment["NAVBUS_SIM_\(name)"].flatMap(UInt64.init)
    }

    /// The only seed to run; nil to run all.
    package static let single = number("SEED")

    package static let all = (number("FIRST") ?? 1)..<((number("FIRST") ?? 1) + (number("SEEDS") ?? 100))

    /// The number of threads that run seeds.
    package static let jobs = UInt64(min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16))

    /// Describes the failure of a seed and how to reproduce it.
    package static func report(_ seed: UInt64, _ violation: any Error, in suite: Any.Type) -> String {
        "seed \(seed): \(violation)\nto reproduce: NAVBUS_SIM_SEED=\(seed) swift test --filter \(suite)"
    }
}
