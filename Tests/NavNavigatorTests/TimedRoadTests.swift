import NavGeo
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Trips over roads with time-dependent rules; drives start at midnight.
@Suite struct TimedRoadTests {
    private static let night: NavigatorConfig = {
        var config = NavigatorConfig()
        config.minutesAheadOfUTC = 0
        return config
    }()

    private func refresh(_ ride: inout Ride) throws -> RefreshEvent {
        let reply = ride.command(.refreshRoute, call: 1)
        guard case .refreshed(let event)? = reply else { throw NoRefresh(reply: reply) }
        return event
    }

    @Test func aRefreshAppliesTheSpeedLimitOfTheHour() throws {
        let town = try Town(
            """
            A---------B---------C
            """,
            ways: [
                "AB": Town.road("Main Street", ["maxspeed": "50"]),
                "BC": Town.road(
                    "High Street", ["maxspeed": "50", "maxspeed:conditional": "30 @ (22:00-06:00)"]),
            ])
        var ride = Ride(town.snapshot, config: Self.night)
        ride.command(.navigate([try town.waypoint("BC", 0.9)]))
        ride.drive(town.standing(at: try town.place("AB", 0.1), seconds: 3))
        let same = try refresh(&ride)
        #expect(same.phase == .refreshed(changedSegments: 0) && same.delta == 0)
        // Where it is noon, the night-time limit does not apply.
        var noon = Self.night
        noon.minutesAheadOfUTC = 720
        ride.send(.configured(noon))
        #expect(try refresh(&ride).delta < -20)
        ride.send(.configured(Self.night))
        #expect(try refresh(&ride).delta > 20)
    }

    @Test(arguments: [false, true])
    func alternativeOverATimedRoadStaysUntilTrafficClosesIt(isClosed: Bool) throws {
        let town = try Town(
            """
                      C-------D

            A-------B           E-------F

                      G-------H
            """,
            ways: [
                "AB": Town.road("Main Street", ["highway": "secondary"]),
                "EF": Town.road("Main Street", ["highway": "secondary"]),
                "BCDE": Town.road("North Way", ["highway": "secondary"]),
                "BGHE": Town.road("South Way", ["access": "no", "access:conditional": "yes @ (22:00-06:00)"]),
            ])
        var ride = Ride(town.snapshot, config: Self.night)
        ride.command(.navigate([try town.waypoint("EF")]))
        var offered: UInt64?
        for fix in try town.fixes("ABCDEF", .open) where offered == nil {
            ride.drive(fix)
            for case .alternatives(let update) in ride.told.map(\.what) {
                offered = update.alternatives.first?.plan.alternative.id
            }
        }
        let id = try #require(offered)
        ride.turnPage()
        if isClosed {
            var overlay = TrafficOverlay()
            _ = overlay.apply([
                TrafficSpeed(fromNodeID: ASCIIMap.nodeID("G"), toNodeID: ASCIIMap.nodeID("H"), speed: 0)
            ])
            ride.map = MapSnapshot(ride.map, router: ride.map.router.live(overlay))
            ride.send(.mapChanged(ride.map))
        }
        _ = try refresh(&ride)
        let isRemoved = ride.told.contains {
            if case .alternatives(let update) = $0.what { !update.removed.isEmpty } else { false }
        }
        #expect(isRemoved == isClosed)
        let reply = ride.command(.selectAlternative(id), call: 2)
        let isFollowed = if case .following? = reply { true } else { false }
        #expect(isFollowed != isClosed, "\(String(describing: reply))")
    }
}

private struct NoRefresh: Error { let reply: CommandReply? }
