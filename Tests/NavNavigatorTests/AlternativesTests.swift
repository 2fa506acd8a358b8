import NavGeo
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite struct AlternativesTests {
    /// Roads that part at a small angle can be distinguished only late.
    @Test func refreshKeepsAnAlternativeUntilItsForkHasCertainlyBeenPassed() throws {
        let town = try Town(
            """
                      C-------D

            A-------B           E-------F

                      G-------H
            """,
            ways: [
                "AB": Town.road("Main Street", ["highway": "secondary"]),
                "EF": Town.road("Main Street", ["highway": "secondary"]),
                "BCDE": Town.road("North Way", ["highway": "secondary"]), "BGHE": Town.road("South Way"),
            ])
        var ride = Ride(town.snapshot)
        ride.command(.navigate([try town.waypoint("EF")]))
        for fix in try town.fixes("ABCDEF", .open) {
            ride.drive(fix)
            ride.command(.refreshRoute)
        }
        var offset = 0.0
        var fork: Double?
        var passed: Double?
        for (_, what) in ride.told {
            switch what {
            case .progress(let progress): offset = progress.offset
            case .alternatives(let update):
                guard passed == nil else { continue }
                fork = update.alternatives.first?.forkOffset ?? fork
                if update.removed.map(\.reason).contains(.forkPassed) { passed = offset }
            default: break
            }
        }
        #expect(try #require(passed) - #require(fork) > 100)
    }
}
