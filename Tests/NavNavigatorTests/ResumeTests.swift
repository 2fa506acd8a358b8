import NavGeo
import NavMatching
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Trips that continue in another process.
@Suite struct ResumeTests {
    /// Returns a trip with three stops around the grid, and the fixes of the drive.
    private static func trip(_ town: Town) throws -> (route: Route, fixes: [Fix]) {
        let route = try town.map.route([
            try town.waypoint("FG"), try town.waypoint("HI"), try town.waypoint("JO"), try town.waypoint("NM"),
        ])
        let drive = SeededDrive(town.snapshot.metric, route: route, environment: .open)
        return (route, try #require(drive).fixes)
    }

    /// Returns the places of the stops that were reached.
    private static func reached(_ ride: Ride) -> [Coordinate] {
        var waypoints: [RouteWaypoint] = []
        var places: [Coordinate] = []
        for (_, what) in ride.told {
            if case .route(let plan?, _) = what { waypoints = plan.route.waypoints }
            if case .arrival(let event) = what, event.phase == .arrived {
                places.append(waypoints[event.waypoint].waypoint.coordinate)
            }
        }
        return places
    }

    @Test func tripIsResumedFromEveryMoment() throws {
        let town = try Town.grid()
        let (route, fixes) = try Self.trip(town)
        #expect(fixes.count > 150)
        for moment in 1..<(fixes.count - 1) {
            var first = Ride(town.map)
            first.command(.setRoute(RoutePlan(route, on: town.snapshot)))
            first.drive(fixes.prefix(moment))
            guard let kept = first.kept.last ?? nil else {
                #expect(first.arrivals.last?.isDestination == true, "moment \(moment)")
                continue
            }
            var second = Ride(town.map)
            second.command(.resume(kept))
            // Two seconds pass until the next process runs.
            second.drive(fixes.dropFirst(moment + 2))
            #expect(second.story.first == "ROUTE(resumed)", "moment \(moment): \(second.story)")
            #expect(second.reroutes.isEmpty && second.queries.isEmpty, "moment \(moment)")
            let before = Self.reached(first)
            let after = Self.reached(second)
            #expect(before + after == route.waypoints.dropFirst().map(\.waypoint.coordinate), "moment \(moment)")
            let contexts = second.told.map(\.context).filter { $0.routeID != 0 }
            #expect(contexts.allSatisfy { $0.sessionID == first.told.last?.context.sessionID && $0.routeID == 1 })
        }
    }

    /// The trip file of another build may contain any values.
    @Test func savedTripHeldAtItsDestinationIsReplanned() throws {
        let town = try Town.grid()
        let (route, fixes) = try Self.trip(town)
        var first = Ride(town.map)
        first.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        first.drive(fixes.prefix(20))
        for leg in [route.legs.count - 1, route.legs.count, -1] {
            var kept = try #require(first.kept.last ?? nil)
            (kept.leg, kept.isAtStop) = (leg, true)
            var second = Ride(town.map)
            second.command(.resume(kept))
            second.drive(fixes.dropFirst(22).prefix(5))
            #expect(second.queries.count == 1, "leg \(leg)")
        }
    }

    @Test func resumedTripElsewhereKeepsTheRemainingWaypoints() throws {
        let town = try Town.grid()
        let (route, fixes) = try Self.trip(town)
        var first = Ride(town.map)
        first.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        let moment = try #require(fixes.firstIndex { $0.stamp.seconds(since: fixes[0].stamp) > 75 })
        first.drive(fixes.prefix(moment))
        #expect(Self.reached(first).count == 1)
        let kept = try #require(first.kept.last ?? nil)
        var second = Ride(town.map)
        second.command(.resume(kept))
        second.drive(try town.fixes("ABCD", after: fixes[moment], pause: 600).prefix(5))
        #expect(second.story == ["ROUTE(resumed)"])
        let query = try #require(second.queries.first)
        #expect(query.request.waypoints.count == 3)
        let last = try #require(second.told.last).context
        #expect(last.sessionID == first.told.last?.context.sessionID && last.routeID == 2)
    }

    /// The new map version lacks the edges of the chosen route.
    @Test func resumedRouteReplacesALostChosenRoute() throws {
        let town = try Town.grid()
        let (route, fixes) = try Self.trip(town)
        var first = Ride(town.map)
        first.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        first.drive(fixes.prefix(20))
        var kept = try #require(first.kept.last ?? nil)
        (kept.chosenRoute, kept.chosenRouteID) = ([], 0)
        var second = Ride(town.map)
        second.command(.resume(kept))
        second.drive(fixes.dropFirst(22).prefix(5))
        #expect(second.story.first == "ROUTE(resumed)" && second.plans.last?.chosenRouteID == 1)
        second.answering = .byHand
        second.command(.reroute(nil))
        let preferred = try #require(second.queries.last).request.options.chosenRoute
        #expect(preferred == route.edges.map(\.key))
    }

    @Test func tripWaitingForItsFirstPositionIsSaved() throws {
        let town = try Town.grid()
        var first = Ride(town.map)
        first.command(.navigate([try town.waypoint("IJ")]), call: 7)
        let kept = try #require(first.kept.last ?? nil)
        #expect(kept.sessionID == 0)
        var second = Ride(town.map)
        second.command(.resume(kept))
        second.drive(try town.fixes("FGHIJ"))
        #expect(second.story == ["ROUTE(started)", "APPROACHING", "ARRIVED"])
        #expect(second.kept.last == .some(nil))
    }

    @Test func stopAndArrivalRemoveTheSavedTrip() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        ride.drive(try town.fixes("FGHIJ").prefix(5))
        #expect(ride.kept.count == 1, "fixes do not save the trip again")
        ride.command(.stop)
        #expect(ride.kept.last == .some(nil))
    }

    /// Returns a ride held at its first stop, with its fixes and the index of the fix that reached the stop.
    private static func heldTrip(
        _ town: Town
    ) throws -> (config: NavigatorConfig, fixes: [Fix], end: Int, ride: Ride) {
        let (route, fixes) = try trip(town)
        var config = NavigatorConfig()
        config.legsAutoAdvance = false
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        let end = fixes.firstIndex {
            ride.drive($0)
            return ride.arrivals.last?.phase == .held
        }
        return (config, fixes, try #require(end), ride)
    }

    @Test func tripWaitingAtAStopKeepsWaitingAfterResume() throws {
        let town = try Town.grid()
        let (config, fixes, end, first) = try Self.heldTrip(town)
        let kept = try #require(first.kept.last ?? nil)
        #expect(kept.isAtStop && kept.isHeld && kept.leg == 0)
        var second = Ride(town.map, config: config)
        second.command(.resume(kept))
        second.drive(town.standing(at: fixes[end].coordinate, seconds: 3, after: fixes[end]))
        #expect(second.states.last?.isHeld == true && second.arrivals.isEmpty)
        second.command(.advanceLeg())
        #expect(second.arrivals.last?.phase == .legStarted && second.arrivals.last?.leg == 1)
    }

    @Test func heldVehicleThatDroveOnIsStillOnItsRouteAfterResume() throws {
        let town = try Town.grid()
        let (config, fixes, end, ride) = try Self.heldTrip(town)
        var first = ride
        // The vehicle has driven some hundred metres along the route.
        let beyond = end + 25
        first.drive(fixes[..<beyond].dropFirst(beyond - 24))
        let kept = try #require(first.kept.last ?? nil)
        var second = Ride(town.map, config: config)
        second.command(.resume(kept))
        second.drive(fixes[beyond..<(beyond + 5)])
        #expect(second.deviations == [.onRoute] && second.states.last?.isHeld == true)
        let progress = try #require(second.progress.last)
        #expect(Geodesy.distance(progress.snapped, fixes[beyond + 4].coordinate) < 20)
        second.command(.advanceLeg())
        second.drive(fixes[(beyond + 5)..<(beyond + 10)])
        #expect(second.deviations == [.onRoute] && second.reroutes.isEmpty && second.queries.isEmpty)
    }
}
