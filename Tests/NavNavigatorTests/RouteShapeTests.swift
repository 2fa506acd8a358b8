import NavGeo
import NavMatching
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Routes that cross or touch themselves, and vehicles that take their parts out of order.
@Suite struct RouteShapeTests {
    private static func follow(_ town: Town, _ route: Route, rate: Double, seed: UInt64) -> Ride {
        var ride = Ride(town.map)
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        let drive = SeededDrive(town.snapshot.metric, route: route, rate: rate, environment: .urban, seed: seed)
        ride.drive(drive?.fixes ?? [])
        return ride
    }

    /// Returns the greatest distance between the reported and the true offset, metres.
    private static func worstError(_ ride: Ride, _ town: Town, _ route: Route, rate: Double, seed: UInt64) -> Double {
        let drive = SeededDrive(town.snapshot.metric, route: route, rate: rate, environment: .urban, seed: seed)
        let truth = drive?.states ?? []
        return zip(ride.progress, truth).map { abs($0.offset - $1.offset) }.max() ?? .infinity
    }

    @Test(arguments: [1.0, 10], [1, 2, 3] as [UInt64])
    func aFigureOfEightIsFollowedInOrder(rate: Double, seed: UInt64) throws {
        let town = try Town.grid()
        let route = try town.route("ABGHMLGFAB")
        let ride = RouteShapeTests.follow(town, route, rate: rate, seed: seed)
        #expect(ride.reroutes.isEmpty && !ride.deviations.contains(.offStep))
        #expect(ride.story.last == "ARRIVED")
        #expect(RouteShapeTests.worstError(ride, town, route, rate: rate, seed: seed) < 40)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func loopDrivenTwiceCountsTwice(seed: UInt64) throws {
        let town = try Town.grid()
        let route = try town.route("FGHCBGHCBGL")
        let ride = RouteShapeTests.follow(town, route, rate: 1, seed: seed)
        #expect(ride.reroutes.isEmpty && !ride.deviations.contains(.offStep))
        #expect(RouteShapeTests.worstError(ride, town, route, rate: 1, seed: seed) < 40)
        let turns = ride.spoken.filter { $0.hasPrefix("Turn left onto Third Avenue") }
        #expect(turns.count == 2)
    }

    @Test func sameStreetInBothDirectionsIsDistinguished() throws {
        let town = try Town(
            """
            A---B---C---D
                |
                S
            """, ways: ["ABCD": Town.road("Main Street"), "BS": Town.road("Dead End")])
        // The route leads to the end of the side street and back, twice past the same houses.
        let route = try town.map.route([town.waypoint("AB"), town.waypoint("BS", 0.98), town.waypoint("CD")])
        let ride = RouteShapeTests.follow(town, route, rate: 1, seed: 4)
        #expect(ride.reroutes.isEmpty)
        #expect(ride.story.filter { $0.hasPrefix("ARRIVED") } == ["ARRIVED(1)", "ARRIVED"])
        #expect(RouteShapeTests.worstError(ride, town, route, rate: 1, seed: 4) < 40)
    }

    @Test func stopBesideThePassedRoadIsNotReached() throws {
        let town = try Town(
            """
            A---B---C---D---E
                |
                S
            """, ways: ["ABCDE": Town.road("Main Street"), "BS": Town.road("Dead End")])
        var ride = Ride(town.map)
        ride.answering = .byHand
        let stops = [try town.waypoint("AB"), try town.waypoint("BS", 0.4), try town.waypoint("DE")]
        ride.command(.setRoute(RoutePlan(try town.map.route(stops), on: town.snapshot)))
        ride.drive(try town.fixes("ABCDE"))
        #expect(!ride.story.contains("ARRIVED(1)"))
        #expect(ride.deviations.contains(.offRoute))
        #expect(
            ride.queries.first?.request.waypoints.dropFirst().map(\.coordinate) == stops.dropFirst().map(\.coordinate))
    }

    @Test func shortcutRejoinsTheRouteFurtherAhead() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.rerouteDetect = false
        var ride = Ride(town.map, config: config)
        // The route makes a detour by South Street; the driver goes straight on.
        ride.command(.setRoute(try town.plan("FGLMNIJ")))
        ride.drive(try town.fixes("FGHIJ"))
        #expect(ride.deviations == [.onRoute, .uncertain, .offRoute, .offStep, .onRoute])
        #expect(ride.story.last == "ARRIVED")
    }

    @Test func aSetRouteMayBeJoinedInItsMiddle() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJEDCB")))
        ride.drive(try town.fixes("IJEDCB"))
        #expect(ride.queries.isEmpty)
        #expect(ride.story.last == "ARRIVED")
        #expect(ride.phases.first == .guidance(.initialized) && ride.phases.contains(.guidance(.tracking)))
    }

    @Test func parallelStreetIsOffRoute() throws {
        let town = try Town(
            """
            A---B---C---D
            E---F---G---H
            """, grid: 30,
            ways: [
                "ABCD": Town.road("Upper Street"), "EFGH": Town.road("Lower Street"), "AE": Town.road("West"),
                "BF": Town.road("Middle"), "DH": Town.road("East"),
            ])
        var config = NavigatorConfig()
        config.rerouteDetect = false
        var ride = Ride(town.map, config: config)
        ride.command(
            .setRoute(
                RoutePlan(try town.map.route([town.waypoint("AB", 0.1), town.waypoint("CD", 0.9)]), on: town.snapshot)))
        let other = try town.map.route([
            town.waypoint("AB", 0.1), Waypoint(try town.place("BF"), isStop: false), town.waypoint("GH", 0.9),
        ])
        ride.drive(SeededDrive(town.snapshot.metric, route: other, environment: .open)?.fixes ?? [])
        #expect(ride.deviations.last == .offRoute)
        #expect(!ride.story.contains("ARRIVED"))
    }
}
