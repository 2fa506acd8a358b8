import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// A change of the fixes' clock during a trip.
@Suite struct ClockTests {
    /// Every timestamp stored in a value, by its path.
    private static func moments(_ value: Any, _ path: String = "") -> [(path: String, moment: Timestamp)] {
        if let moment = value as? Timestamp { return [(path, moment)] }
        let mirror = Mirror(reflecting: value)
        // The navigator owns the trip object; other objects are shared or injected.
        let isOwn = ["Navigator", "Trip"].contains("\(mirror.subjectType)")
        guard mirror.displayStyle != .class || isOwn else { return [] }
        return mirror.children.flatMap { child in
            // Positioning resets its own state.
            child.label == "positioning" && path.isEmpty
                ? [] : moments(child.value, child.label.map { path + "." + $0 } ?? path)
        }
    }

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
        #expect(Self.moments(ride.navigator).count { abs($0.moment.seconds(since: old)) < 86_400 } > 8)
        for (index, fix) in fixes.dropFirst(40).prefix(10).enumerated() {
            var fix = fix
            fix.stamp = fix.stamp.advanced(bySeconds: shift)
            // The arrival times reveal a clock that is set forward.
            if shift > 0, index < 3 { fix.lead = shift }
            ride.send(.fix(fix), at: fix.stamp)
        }
        let now = try #require(ride.navigator.lastFix)
        #expect(abs(now.seconds(since: old) - shift) < 100)
        for (path, moment) in Self.moments(ride.navigator) {
            #expect(abs(moment.seconds(since: now)) < 86_400, "\(path) is of the old clock")
        }
    }

    /// Before the first fix, commands have the time of the host, which may be ahead of the fixes.
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
            for (path, moment) in Self.moments(ride.navigator) {
                #expect(abs(moment.seconds(since: now)) < 86_400, "\(path) is of the host's clock")
            }
            return ride.told.count {
                if case .refresh(let event) = $0.what { event.phase == .refreshing } else { false }
            }
        }
        #expect(try refreshes(lead: 0) > 2)
        #expect(try refreshes(lead: 864_000) > 2)
    }
}
