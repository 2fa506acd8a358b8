import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite struct CommandTests {
    @Test func tripRequestedBeforeTheFirstFixWaitsForIt() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.navigate([try town.waypoint("IJ")]))
        #expect(ride.queries.isEmpty && ride.phases == [.idle])
        let fixes = try town.fixes("FGHIJ")
        ride.drive(fixes)
        #expect(ride.queries.count == 1)
        #expect(ride.story == ["ROUTE(started)", "APPROACHING", "ARRIVED"])
        #expect(ride.told.last?.context.sessionID == UInt64(fixes[0].stamp.nanoseconds))
    }

    @Test func aTripDoesNotStartFromAnInaccuratePosition() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        var fixes = try town.fixes("FGHIJ")
        for index in 5..<10 { fixes[index].horizontalSigma = 50 }
        ride.drive(fixes[..<10])
        ride.command(.navigate([try town.waypoint("IJ")]))
        #expect(ride.queries.isEmpty)
        ride.drive(fixes[10])
        #expect(ride.story == ["ROUTE(started)"])
    }

    @Test func fasterRouteKeepsThePreferencesOfARerouteByHand() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.faster.interval = 30
        config.faster.minimumRemaining = 1
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHIJ")
        ride.drive(fixes[..<5])
        var preferences = RoutePreferences()
        preferences.vehicle = VehicleProfile()
        preferences.vehicle?.avoid = .tolls
        ride.command(.reroute(preferences))
        ride.drive(fixes[5..<80])
        let faster = ride.looks.filter { $0.purpose == .fasterRoute }
        #expect(!faster.isEmpty && faster.allSatisfy { $0.vehicle?.avoid == .tolls })
        let alternatives = ride.looks.filter { $0.purpose == .alternatives }
        #expect(alternatives.dropFirst().allSatisfy { $0.vehicle?.avoid == .tolls })
    }

    @Test func tripThatCannotStartIsRetriedWithBackoff() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .failing(RouteFailure(code: .noRoute, message: "none"))
        ride.command(.navigate([try town.waypoint("IJ")]))
        ride.drive(town.standing(at: try town.place("FG"), seconds: 40))
        let asked = ride.queries.map(\.deadline)
        #expect(zip(asked, asked.dropFirst()).map { $1.seconds(since: $0) } == [1, 2, 4, 8, 16])
        #expect(Set(ride.story) == ["FAILED(noRoute)"])
        ride.answering = .atOnce
        ride.drive(
            town.standing(
                at: try town.place("FG"), seconds: 40, after: Fix(stamp: ride.now, coordinate: try town.place("FG"))))
        #expect(ride.story.last == "ROUTE(started)")
        #expect(ride.queries.count == 7)
    }

    @Test(arguments: ["the answer", "the end of the call", "a second call"])
    func failedCallKeepsThePendingTrip(by end: String) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let missing = RouteFailure(code: .tilesNeeded, message: "a tile is missing")
        ride.answering = .failing(missing)
        ride.command(.navigate([try town.waypoint("IJ")]))
        ride.drive(town.standing(at: try town.place("FG"), seconds: 4))
        ride.answering = .byHand
        ride.command(.navigate([try town.waypoint("MN")]), call: 7)
        if end == "a second call" { ride.command(.navigate([try town.waypoint("NO")]), call: 8) }
        let asked = try #require(ride.open.last)
        if end == "the end of the call" {
            ride.send(.callEnded(7))
        } else {
            ride.answer(asked, .failed(missing))
        }
        if end != "the end of the call" {
            guard case .failed(let failure)? = ride.replies.last else {
                Issue.record("\(ride.replies)")
                return
            }
            #expect(failure.code == .tilesNeeded)
        }
        ride.answering = .atOnce
        ride.drive(
            town.standing(
                at: try town.place("FG"), seconds: 20, after: Fix(stamp: ride.now, coordinate: try town.place("FG"))))
        #expect(ride.story.last == "ROUTE(started)")
        #expect(ride.states.last?.destination?.coordinate == (try town.place("IJ")))
    }

    @Test func aCallThatStopsOrSucceedsEndsThePendingTrip() throws {
        let town = try Town.grid()
        for command in [NavigatorCommand.stop, .navigate([try town.waypoint("MN")])] {
            var ride = Ride(town.map)
            ride.answering = .failing(RouteFailure(code: .tilesNeeded, message: "a tile is missing"))
            ride.command(.navigate([try town.waypoint("IJ")]))
            ride.drive(town.standing(at: try town.place("FG"), seconds: 4))
            ride.answering = .atOnce
            ride.command(command, call: 7)
            ride.command(.stop, call: 8)
            let asked = ride.queries.count
            ride.drive(
                town.standing(
                    at: try town.place("FG"), seconds: 20,
                    after: Fix(stamp: ride.now, coordinate: try town.place("FG"))))
            #expect(ride.queries.count == asked)
        }
    }

    @Test func tripWithALateRouteIsRetried() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.command(.navigate([try town.waypoint("IJ")]))
        ride.drive(town.standing(at: try town.place("FG"), seconds: 14))
        #expect(ride.story == ["FAILED(deadlineExceeded)"])
        #expect(ride.queries.count == 2 && ride.open.count == 1)
        ride.answerOpen()
        #expect(ride.story.last == "ROUTE(started)")
    }

    @Test func tripToAnUnreachablePlaceFailsOnce() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.drive(town.standing(at: try town.place("FG"), seconds: 2))
        ride.command(.navigate([]))
        ride.drive(
            town.standing(
                at: try town.place("FG"), seconds: 20, after: Fix(stamp: ride.now, coordinate: try town.place("FG"))))
        #expect(ride.story == ["FAILED(invalidRequest)"])
    }

    @Test func newTripReplacesThePendingOne() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.drive(town.standing(at: try town.place("FG"), seconds: 2))
        ride.command(.navigate([try town.waypoint("IJ")]))
        ride.command(.navigate([try town.waypoint("MN")]))
        #expect(ride.cancelled == [ride.queries[0].requestID])
        ride.answer(ride.queries[0])
        #expect(ride.story.isEmpty)
        ride.answerOpen()
        #expect(ride.states.last?.destination?.coordinate == (try town.place("MN")))
    }

    @Test func pendingTripKeepsTheOldOneWithoutReroutes() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.rerouteDeadline = 600
        var ride = Ride(town.map, config: config)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHMN")
        ride.drive(fixes[..<10])
        ride.command(.navigate([try town.waypoint("NO")]))
        ride.drive(fixes[10...])
        #expect(ride.deviations.last == .offRoute)
        #expect(ride.queries.count == 1)
    }

    @Test func stopClearsRouteAndBanner() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.stop, call: 0)
        #expect(ride.story.isEmpty)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHIJ")
        ride.drive(fixes[..<20])
        let session = try #require(ride.told.last?.context.sessionID)
        ride.turnPage()
        ride.command(.stop, call: 0)
        #expect(ride.story == ["NO_ROUTE"])
        guard case .visual(nil, _, _)? = ride.told.first?.what else {
            Issue.record("the banner was not cleared")
            return
        }
        #expect(ride.told[0].context.sessionID == session)
        #expect(ride.phases == [.freeDrive])
        ride.turnPage()
        ride.drive(fixes[20...])
        #expect(ride.progress.isEmpty && ride.told.allSatisfy { $0.context.sessionID == 0 && $0.context.routeID == 0 })
    }

    @Test func stopCancelsAPendingRouteRequest() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGHIJ")))
        for fix in try town.fixes("FGHMN") where ride.queries.isEmpty { ride.drive(fix) }
        ride.command(.stop, call: 0)
        #expect(ride.story.suffix(2) == ["REJECTED(superseded)", "NO_ROUTE"])
        #expect(ride.cancelled == ride.queries.map(\.requestID))
        let told = ride.told.count
        ride.answer(ride.queries[0])
        #expect(ride.told.count == told)
    }

    @Test func invalidPlanIsRefused() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let good = try town.plan("FGHIJ")
        var broken: [RoutePlan] = []
        for change in [
            { $0.edges = [] }, { $0.legs = [] }, { $0.line = Polyline([]) }, { $0.legs[0].destination = 99 },
            { $0.legs[0].destination = -1 }, { $0.waypoints = [] }, { $0.legs[0].length = .nan },
            { $0.edges[1].routeOffset = -.infinity }, { $0.edges[0].duration = .nan }, { $0.legs += $0.legs },
        ] as [(inout Route) -> Void] {
            var route = good.route
            change(&route)
            broken.append(RoutePlan(route: route, guidance: good.guidance))
        }
        for plan in broken {
            ride.turnPage()
            guard case .failed(let failure)? = ride.command(.setRoute(plan), call: 7) else {
                Issue.record("the route was not refused")
                continue
            }
            #expect(failure.code == .internal && ride.story.isEmpty)
        }
        ride.drive(try town.fixes("FGHI"))
        #expect(ride.progress.isEmpty)
    }

    @Test func mapChangesDoNotDisturbTheTrip() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHIJ")
        let empty = MapSnapshot(graph: RoadGraph(tiles: [], mapVersion: town.map.graph.mapVersion))
        ride.drive(fixes[..<20])
        ride.send(.mapChanged(MapSnapshot(graph: town.map.graph)))
        ride.drive(fixes[20..<35])
        ride.send(.mapChanged(empty))
        ride.drive(fixes[35..<45])
        ride.send(.mapChanged(MapSnapshot(graph: town.map.graph)))
        ride.drive(fixes[45...])
        #expect(ride.reroutes.isEmpty)
        #expect(ride.story == ["ROUTE(set)", "APPROACHING", "ARRIVED"])
        for (before, after) in zip(ride.progress, ride.progress.dropFirst()) {
            #expect(after.offset >= before.offset && after.offset - before.offset < 60)
        }
    }

    @Test func stateIsPublishedOnlyOnChange() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.navigate([try town.waypoint("IJ")]))
        ride.drive(try town.fixes("FGHMNIJ", .urban))
        for (before, after) in zip(ride.states, ride.states.dropFirst()) { #expect(before != after) }
    }

    @Test func stateIsPublishedAgainForAnotherMapVersion() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.drive(try town.fixes("FGHIJ")[..<10])
        let known = ride.states.count
        ride.send(.mapChanged(MapSnapshot(graph: RoadGraph(tiles: town.map.graph.tiles, mapVersion: "other"))))
        #expect(ride.states.count == known + 1)
    }

    @Test func previewReportsMissingAlternatives() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.drive(try town.fixes("FGH")[..<3])
        let order = RouteOrder(waypoints: [try town.waypoint("GH")], alternatives: 2)
        ride.command(.calculate(order, isPreview: true), call: 7)
        let previews = ride.told.compactMap { if case .preview(let preview) = $0.what { preview } else { nil } }
        let preview = try #require(previews.last)
        #expect(!preview.routes.isEmpty && preview.routes.count < 3)
        #expect(preview.failure?.message == "\(preview.routes.count - 1) of 2 alternatives found")
    }

    @Test func previewIsFollowedOnAnotherMapVersion() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.drive(try town.fixes("FGHIJ")[..<5])
        ride.command(.calculate(RouteOrder(waypoints: [try town.waypoint("IJ")]), isPreview: true), call: 7)
        ride.send(.mapChanged(MapSnapshot(graph: RoadGraph(tiles: town.map.graph.tiles, mapVersion: "other"))))
        let previews = ride.told.compactMap { if case .preview(let preview) = $0.what { preview } else { nil } }
        #expect(previews.count == 2 && previews[1].routes.map(\.plan.route.mapVersion) == ["other"])
        ride.command(.start(preview: nil, nil), call: 8)
        let plan = try #require(ride.plans.last)
        #expect(plan.route.mapVersion == "other" && plan.route.edges.allSatisfy { town.map.graph.edge($0.key) != nil })
    }

    @Test func routeThatWasFoundOnAnotherMapVersionIsNotUsed() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.drive(try town.fixes("FGHIJ")[..<5])
        ride.command(.calculate(RouteOrder(waypoints: [try town.waypoint("IJ")]), isPreview: true), call: 7)
        ride.send(.mapChanged(MapSnapshot(graph: RoadGraph(tiles: town.map.graph.tiles, mapVersion: "other"))))
        // The router still uses the old map.
        ride.answerOpen()
        guard case .failed(let failure)? = ride.replies.last else {
            Issue.record("\(ride.replies)")
            return
        }
        #expect(failure.isRetryable && failure.message.contains("map was replaced"))
    }

    @Test func simulatedDriveContinuesFromItsPlaceOnAnotherRoute() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.drive(try town.fixes("FGHIJ")[..<5])
        ride.command(.navigate(RouteOrder(waypoints: [try town.waypoint("IJ")]), SimulatedDrive()))
        let start = ride.now
        ride.fireTimers(until: start.advanced(bySeconds: 20))
        let before = try #require(ride.progress.last)
        ride.command(.reroute(nil))
        ride.fireTimers(until: start.advanced(bySeconds: 23))
        let after = try #require(ride.progress.last)
        #expect(ride.plans.count == 2 && before.offset > 100)
        #expect(abs(after.distanceRemaining - before.distanceRemaining) < 100, "\(before) then \(after)")
    }

    @Test func tripThatWaitsForAPositionDoesNotStartFromASimulatedOne() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let order = RouteOrder(origin: try town.waypoint("FG"), waypoints: [try town.waypoint("IJ")])
        ride.command(.navigate(order, SimulatedDrive()))
        ride.fireTimers(until: ride.now.advanced(bySeconds: 5))
        #expect(ride.vehiclePositions.count > 3)
        #expect(ride.command(.navigate([try town.waypoint("CH")]), call: 7) == .awaitingPosition)
        ride.fireTimers(until: ride.now.advanced(bySeconds: 5))
        #expect(ride.plans.count == 1)
        // The vehicle's fixes start the trip, even during the simulated drive.
        let start = try town.place("KL")
        ride.drive(town.standing(at: start, seconds: 2, after: Fix(stamp: ride.now, coordinate: start)))
        #expect(ride.plans.count == 2)
        let origin = try #require(ride.plans.last?.route.waypoints.first?.waypoint.coordinate)
        #expect(Geodesy.distance(origin, start) < 10)
    }

    @Test func refreshPricesTheRouteForTheVehicleOfItsReroute() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        ride.drive(try town.fixes("FGHIJ")[..<5])
        var preferences = RoutePreferences()
        preferences.vehicle = VehicleProfile()
        preferences.vehicle?.maximumSpeed = 3
        // The test's router supports only cars, so the route has durations for a car.
        ride.command(.reroute(preferences))
        for expected in [100...1_000, -1...1] as [ClosedRange<Double>] {
            guard case .refreshed(let refreshed)? = ride.command(.refreshRoute, call: 7) else {
                Issue.record("\(ride.replies)")
                return
            }
            #expect(expected.contains(refreshed.delta))
        }
    }

    @Test func skipReplyHasTheSkippedWaypoint() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        var via = try town.waypoint("GH")
        via.isStop = false
        ride.command(.navigate([via, try town.waypoint("HI"), try town.waypoint("IJ")]))
        ride.drive(try town.fixes("FGHIJ")[..<5])
        guard case .requested(_, let skipped)? = ride.command(.skipWaypoint(nil), call: 7) else {
            Issue.record("no route was requested")
            return
        }
        #expect(skipped == 1)
    }

    @Test func everyEventHasItsContext() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        let fixes = try town.fixes("FGHMNIJ")
        ride.drive(fixes)
        #expect(ride.told.map(\.context.eventSequence) == (1...UInt64(ride.told.count)).map { $0 })
        let session = ride.told[0].context.sessionID
        #expect(session == UInt64(SeededDrive.start.nanoseconds))
        for (context, what) in ride.told {
            #expect(context.sessionID == session)
            switch what {
            case .position(let position):
                #expect(context.causeSequence == position.fix.sequence)
                #expect(context.stamp == position.stamp)
            default: break
            }
        }
        let routes = ride.told.map(\.context.routeID)
        #expect(routes.first == 1 && routes.last == 2)
        #expect(zip(routes, routes.dropFirst()).allSatisfy { $0 <= $1 })
        ride.command(.setRoute(try town.plan("FGHIJ")))
        #expect((ride.told.last?.context.sessionID ?? 0) > session)
        #expect(ride.told.last?.context.routeID == 3, "route numbers are unique within a run")
    }

    @Test func unansweredPolicyRequestKeepsItsCause() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHMNIJ")
        var config = NavigatorConfig()
        config.policy.asked = [.shouldReroute]
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        ride.drive(fixes)
        let question = ride.told.first { if case .policyRequest = $0.what { true } else { false } }
        let asked = try #require(question).context
        #expect(asked.causeSequence != 0)
        // A timer ends the wait, and the router's answer has no cause sequence, either.
        var followed: [String] = []
        for (context, what) in ride.told where context.eventSequence > asked.eventSequence {
            guard case .reroute(let event) = what else { continue }
            #expect(context.causeSequence == asked.causeSequence, "\(event.phase)")
            followed.append(Ride.word(event.phase))
            if case .applied = event.phase { break }
        }
        #expect(followed == ["WILL_REROUTE", "FETCHING", "FETCHED", "APPLIED"])
        // A request caused by a call has no cause on a topic, whichever fix follows its deadline.
        config.policy.asked = [.rerouteOptions]
        ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        ride.drive(fixes.prefix(10))
        ride.turnPage()
        ride.command(.reroute(nil), call: 1)
        #expect(ride.questions.count == 1)
        ride.send(.fix(fixes[10]), at: fixes[10].stamp, cause: 11)
        let causes = ride.told.compactMap { context, what -> UInt64? in
            if case .reroute = what { context.causeSequence } else { nil }
        }
        #expect(causes.count >= 2 && causes.allSatisfy { $0 == 0 }, "\(causes)")
    }

    @Test func vehiclePositionAsFirstWaypointOfTheOwnerIsNoStop() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.rerouteOptions]
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        let fixes = try town.fixes("FGH").prefix(10)
        ride.drive(fixes)
        ride.command(.reroute(nil), call: 1)
        let question = try #require(ride.questions.last)
        let vehicle = Waypoint(try #require(fixes.last).coordinate)
        let places = [vehicle, try town.waypoint("HC"), try town.waypoint("IJ")]
        ride.send(
            .policyAnswer(
                requestID: question.requestID, PolicyAnswer(verdict: true, content: .reroute(nil, places))),
            at: question.stamp)
        let asked = try #require(ride.queries.last).request.waypoints
        #expect(asked.dropFirst().map(\.coordinate) == places.dropFirst().map(\.coordinate))
    }

    @Test func tripsStartedAtTheSameTimeHaveDistinctSessions() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let sessions = Set(ride.told.map(\.context.sessionID))
        #expect(sessions.count == 2)
    }

    @Test func equalEventsGiveEqualEffects() throws {
        func transcript() throws -> [String] {
            let town = try Town.grid()
            var ride = Ride(town.map)
            ride.answering = .after(2)
            ride.command(.navigate([try town.waypoint("HC"), try town.waypoint("IJ")]))
            ride.drive(try town.fixes("FGHMNIDE", rate: 5, .urban, outages: [30...36], seed: 11))
            return ride.transcript
        }
        let first = try transcript()
        #expect(first.count > 500)
        #expect(first == (try transcript()))
    }
}
