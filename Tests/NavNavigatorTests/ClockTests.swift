import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// A step of the fixes' clock during a trip.
@Suite struct ClockTests {
    @Test(arguments: [-864_000.0, 864_000]) func clockChangeLeavesNoOldTimestamps(shift: Double) throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.shouldAdvanceLeg]
        var ride = Ride(town.map, config: config)
        ride.answersLooks = false
        ride.command(.setRoute(try town.plan("FGHMN")))
        let fixes = try town.fixes("FGHMN", .open)
        ride.drive(fixes.prefix(40))
        let old = try #require(fixes.prefix(40).last).stamp
        #expect(StoredValues.moments(in: ride.navigator).count { abs($0.value.seconds(since: old)) < 86_400 } > 8)
        for (index, fix) in fixes.dropFirst(40).prefix(10).enumerated() {
            var fix = fix
            fix.stamp = fix.stamp.advanced(bySeconds: shift)
            // The arrival times reveal a forward step of the clock.
            if shift > 0, index < 3 { fix.lead = shift }
            ride.send(.fix(fix), at: fix.stamp)
        }
        let now = try #require(ride.navigator.lastFix)
        #expect(abs(now.seconds(since: old) - shift) < 100)
        for (path, moment) in StoredValues.moments(in: ride.navigator) {
            #expect(abs(moment.seconds(since: now)) < 86_400, "\(path) has a time of the old clock")
        }
    }

    /// Before the first fix, commands are stamped by the host's clock, which may be ahead of the fixes.
    @Test func tripSetBeforeTheFirstFixContinuesOnTheFixClock() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.refresh.interval = 20
        func refreshes(lead: Double) throws -> Int {
            var ride = Ride(town.map, config: config)
            let set = NavigatorEvent.Kind.command(.setRoute(try town.plan("FGHMN")), call: 0)
            ride.send(set, at: SeededDrive.start.advanced(bySeconds: lead))
            ride.drive(try town.fixes("FGHMN", .open))
            let now = try #require(ride.navigator.lastFix)
            for (path, moment) in StoredValues.moments(in: ride.navigator) {
                #expect(abs(moment.seconds(since: now)) < 86_400, "\(path) has a time of the host's clock")
            }
            return ride.told.count {
                if case .refresh(let event) = $0.what { event.phase == .refreshing } else { false }
            }
        }
        #expect(try refreshes(lead: 0) > 2)
        #expect(try refreshes(lead: 864_000) > 2)
    }

    /// The apparent duration of a clock step must not extend the part of the route that the vehicle can have reached.
    @Test func clockSetAheadOffRouteDoesNotMoveTheVehicleAlongItsRoute() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answersLooks = false
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGHMLK")))
        // The vehicle turns off at G towards L, which the route passes only after a detour by H and M.
        let fixes = try town.fixes("FGLK")
        let end = try town.place("GL", 1)
        let near = try #require(fixes.firstIndex { Geodesy.distance($0.coordinate, end) < 130 })
        ride.drive(fixes[..<near])
        for fix in fixes[near..<(near + 3)] {
            var fix = fix
            fix.stamp = fix.stamp.advanced(bySeconds: 3_600)
            fix.lead = 3_600
            ride.send(.fix(fix), at: fix.stamp)
        }
        let now = try #require(ride.navigator.lastFix)
        #expect(now.seconds(since: fixes[near].stamp) > 3_500)
        let progress = try #require(ride.progress.last)
        #expect(
            progress.deviation.distance > 200 && progress.offset < 700, "\(progress.deviation), \(progress.offset) m")
    }
}

/// A change of the configuration during a trip.
@Suite struct ConfigurationChangeTests {
    /// Several parts of the navigator have a copy of the configuration or of a section.
    @Test func everyPartHasTheConfigurationInForce() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answersLooks = false
        ride.drive(try town.fixes("FGHMN").prefix(5))
        ride.command(.setRoute(try town.plan("FGHMN"), SimulatedDrive(speedFactor: 1)))
        var config = NavigatorConfig()
        config.cursorSlack += 1
        config.refresh.interval += 1
        config.positioning.fixes.maximumAccuracy += 1
        config.positioning.reckoning.interval += 0.1
        ride.send(.configured(config))
        func outdated<Value: Equatable>(_ wanted: Value) -> [String] {
            let found = StoredValues.all(Value.self, in: ride.navigator)
            #expect(!found.isEmpty)
            return found.filter { $0.value != wanted }.map(\.path)
        }
        #expect(outdated(config).isEmpty, "\(outdated(config))")
        #expect(outdated(config.refresh).isEmpty, "\(outdated(config.refresh))")
        let limits = outdated(config.positioning.fixes)
        #expect(limits.isEmpty, "\(limits)")
        let reckoning = outdated(config.positioning.reckoning)
        #expect(reckoning.isEmpty, "\(reckoning)")
        let paths = StoredValues.all(ReckoningConfig.self, in: ride.navigator).map(\.path)
        #expect(paths.contains { $0.hasPrefix(".simulation") }, "\(paths)")
    }
}
