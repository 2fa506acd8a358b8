import NavGeo
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite struct AlternativesTests {
    /// Roads that diverge at a small angle are distinguishable only late.
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

    @Test func aHeldTripDoesNotContinueOnAnAlternative() throws {
        let town = try Town(
            """
                                          C-------D

            A-----------------------------B           E-------F

                                          G-------H
            """,
            ways: [
                "AB": Town.road("Main Street", ["highway": "secondary"]),
                "EF": Town.road("Main Street", ["highway": "secondary"]),
                "BCDE": Town.road("North Way", ["highway": "secondary"]), "BGHE": Town.road("South Way"),
            ])
        var config = NavigatorConfig()
        config.legsAutoAdvance = false
        var ride = Ride(town.snapshot, config: config)
        ride.command(.navigate([try town.waypoint("AB", 0.6), try town.waypoint("EF")]))
        ride.drive(try town.fixes("ABGHEF", .open))
        let held = ride.told.firstIndex {
            if case .arrival(let event) = $0.what, case .held = event.phase { true } else { false }
        }
        let since = ride.told[try #require(held)...].map(\.what)
        #expect(
            since.contains { if case .alternatives(let update) = $0 { !update.alternatives.isEmpty } else { false } })
        #expect(!since.contains { if case .route = $0 { true } else { false } })
        #expect(ride.states.last?.isHeld == true)
    }

    @Test func roadClosedBehindTheVehicleDoesNotEndAnAlternative() throws {
        let town = try Town(
            """
                      C-------D

            A---X---B           E-------F

                      G-------H
            """,
            ways: [
                "AX": Town.road("Main Street", ["highway": "secondary"]),
                "XB": Town.road("Main Street", ["highway": "secondary"]),
                "EF": Town.road("Main Street", ["highway": "secondary"]),
                "BCDE": Town.road("North Way", ["highway": "secondary"]), "BGHE": Town.road("South Way"),
            ])
        var ride = Ride(town.snapshot)
        ride.command(.navigate([try town.waypoint("EF")]))
        // The drive ends halfway between X and the fork.
        for fix in try town.fixes("AXBCDEF", .open) where ride.progress.last?.offset ?? 0 < 400 { ride.drive(fix) }
        let offered = ride.told.compactMap {
            if case .alternatives(let update) = $0.what { update.alternatives.first } else { nil }
        }
        let id = try #require(offered.last).plan.alternative.id
        ride.turnPage()
        var closed = TrafficOverlay()
        _ = closed.apply([TrafficSpeed(fromNodeID: ASCIIMap.nodeID("A"), toNodeID: ASCIIMap.nodeID("X"), speed: 0)])
        ride.map = MapSnapshot(town.snapshot, router: town.snapshot.router.live(closed))
        ride.send(.mapChanged(ride.map))
        ride.command(.refreshRoute)
        #expect(
            !ride.told.contains {
                if case .alternatives(let update) = $0.what { !update.removed.isEmpty } else { false }
            })
        let reply = ride.command(.selectAlternative(id), call: 1)
        guard case .following? = reply else {
            Issue.record("the alternative cannot be selected: \(String(describing: reply))")
            return
        }
    }
}
