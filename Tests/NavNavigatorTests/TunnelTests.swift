import Foundation
import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSupport
import Testing

/// Drives through the tunnels of a real map, without fixes inside.
@Suite(.needs("osm/andorra.osm.pbf"))
struct TunnelTests {
    @Test(arguments: [true, false], [true, false])
    func positionAtTheTunnelEndIsAccurate(hasOdometry: Bool, isGuided: Bool) throws {
        let passages = try TunnelDrives.passages(longerThan: 400)
        #expect(passages.count > 5)
        var within = [0, 0, 0]
        var outcomes: [TunnelDrives.Outcome] = []
        var short = 0
        for (number, passage) in passages.enumerated() {
            guard
                let outcome = try TunnelDrives.drive(
                    passage, hasOdometry: hasOdometry, isGuided: isGuided, seed: UInt64(number + 1))
            else { continue }
            outcomes.append(outcome)
            if ProcessInfo.processInfo.environment["NAVBUS_TEST_REPORT"] != nil {
                print(
                    "tunnel \(Int(outcome.length)) m: error \(Int(outcome.error)) m, "
                        + "\(Int(outcome.error / outcome.length * 1_000)) per mille, sigma \(Int(outcome.sigma)) m, "
                        + "step \(Int(outcome.jump)) m, odometry \(hasOdometry), guided \(isGuided)")
            }
            for deviations in 1...3 where outcome.error <= Double(deviations) * outcome.sigma {
                within[deviations - 1] += 1
            }
            // Without odometry the driver's speed is unknown, so the bound is the stated uncertainty.
            let bound = hasOdometry ? 0.03 * outcome.length : 3 * outcome.sigma
            #expect(outcome.error <= 8 + bound, "\(outcome.error) m after \(outcome.length) m")
            if outcome.error <= 8 + 0.08 * outcome.length { short += 1 }
            #expect(!outcome.ride.reroutesWherePredicted)
            let phases = outcome.ride.simulations.map(\.phase)
            #expect(Array(phases.prefix(4)) == [.willBegin, .began, .willEnd, .ended])
            #expect(outcome.ride.simulations.contains { $0.reason == .tunnel })
        }
        #expect(outcomes.count > 5)
        #expect(short * 10 >= outcomes.count * 8, "\(short) of \(outcomes.count) within 8 %")
        #expect(within[1] * 10 >= outcomes.count * 8, "\(within) of \(outcomes.count) within 1, 2, 3 sigma")
    }

    /// Prints a table of the remaining errors for drivers whose speed varies randomly in the tunnel.
    @Test(
        .enabled(if: ProcessInfo.processInfo.environment["NAVBUS_TEST_REPORT"] != nil, "prints a table"),
        arguments: [(0.04, 60.0), (0.08, 30), (0.08, 120), (0.12, 60)])
    func tunnelErrorsOfVaryingDrivers(deviation: Double, lasting: Double) throws {
        var shares: [Double] = []
        var within = [0, 0, 0]
        for seed in 1...3 {
            for (number, passage) in try TunnelDrives.passages(longerThan: 400).enumerated() {
                guard
                    let outcome = try TunnelDrives.drive(
                        passage, hasOdometry: false, isGuided: false, deviation: deviation, lasting: lasting,
                        seed: UInt64(seed * 1_000 + number))
                else { continue }
                shares.append(outcome.error / outcome.length)
                for deviations in 1...3 where outcome.error <= Double(deviations) * outcome.sigma {
                    within[deviations - 1] += 1
                }
            }
        }
        let sorted = shares.sorted()
        let count = Double(max(sorted.count, 1))
        print(
            "tunnels without odometry, driver \(deviation) over \(lasting) s: \(sorted.count) passages, within 8 % "
                + String(format: "%.2f", Double(sorted.count { $0 <= 0.08 }) / count)
                + String(
                    format: ", p50 %.1f %%, p95 %.1f %%", 100 * sorted[sorted.count / 2],
                    100 * sorted[sorted.count * 95 / 100])
                + ", within 1, 2, 3 sigma "
                + within.map { String(format: "%.2f", Double($0) / count) }.joined(separator: " "))
        #expect(Double(within[2]) >= 0.85 * count)
    }
}
