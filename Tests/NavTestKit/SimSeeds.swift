internal import Foundation

/// The seeds of simulations. `NAVBUS_SIM_SEEDS` is their number and `NAVBUS_SIM_FIRST` the first one; `NAVBUS_SIM_SEED`
/// runs a single seed and prints its log.
package enum SimSeeds {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment["NAVBUS_SIM_\(name)"].flatMap(UInt64.init)
    }

    /// The single seed to run; nil to run all.
    package static let single = number("SEED")

    package static let all = (number("FIRST") ?? 1)..<((number("FIRST") ?? 1) + (number("SEEDS") ?? 100))

    /// The number of threads that run seeds concurrently.
    package static let jobs = UInt64(min(max(ProcessInfo.processInfo.activeProcessorCount, 1), 16))

    /// Returns a description of a seed's failure and the command that reproduces it.
    package static func report(_ seed: UInt64, _ violation: any Error, in suite: Any.Type) -> String {
        "seed \(seed): \(violation)\nto reproduce: NAVBUS_SIM_SEED=\(seed) swift test --filter \(suite)"
    }
}
