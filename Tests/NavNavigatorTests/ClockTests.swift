import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// A clock of the fixes that is set while a trip is under way.
@Suite struct ClockTests {
    /// Every moment that a value keeps, by where it is.
    private static func moments(_ value: Any, _ path: String = "") -> [(path: String, moment: Timestamp)] {
        if let moment = value as? Timestamp { return [(path, moment)] }
        let mirror = Mirror(reflecting: value)
        // The trip is an object of the navigator's own; other objects are shared or given.
        let isOwn = ["Navigator", "Trip"].contains("\(mirror.subjectType)")
        guard mirror.displayStyle != .class || isOwn else { return [] }
        return mirror.children.flatMap { child in
            // Positioning starts over by itself.
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
            // A clock that is set forward shows by the arrivals.
            if shift > 0, index < 3 { fix.lead = shift }
            ride.send(.fix(fix), at: fix.stamp)
        }
        let now = try #require(ride.navigator.lastFix)
        #expect(abs(now.seconds(since: old) - shift) < 100)
        for (path, moment) in Self.moments(ride.navigator) {
            #expect(abs(moment.seconds(since: now)) < 86_400, "\(path) is of the old clock")
        }
    }
}
