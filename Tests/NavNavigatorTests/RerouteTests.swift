import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite struct RerouteTests {
    /// Starts a trip from F straight to J on which the driver turns off at H towards M.
    private static func strayed(
        _ config: NavigatorConfig = NavigatorConfig(), _ answering: Ride.Answering = .atOnce, rate: Double = 1,
        driven: String = "FGHMNIJ"
    ) throws -> (town: Town, ride: Ride, fixes: [Fix]) {
        let town = try Town.grid()
        var ride = Ride(town.map, config: config)
        ride.answering = answering
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        let fixes = try town.fixes(driven, rate: rate)
        ride.drive(fixes)
        return (town, ride, fixes)
    }

    @Test func wrongTurnReroutesInTheRightOrder() throws {
        let (_, ride, _) = try RerouteTests.strayed()
        #expect(
            ride.story == [
                "ROUTE(set)", "WILL_REROUTE", "FETCHING", "FETCHED", "ROUTE(rerouted)", "APPLIED", "APPROACHING",
                "ARRIVED",
            ])
        #expect(ride.reroutes.allSatisfy { $0.reason == .offRoute })
        #expect(ride.deviations == [.onRoute, .uncertain, .offRoute, .onRoute])
        #expect(ride.reroutes.last?.phase == .applied(oldRouteID: 1))
        #expect(ride.told.last?.context.routeID == 2)
        #expect(ride.phases.contains(.guidance(.uncertain)) && ride.phases.contains(.guidance(.offRoute)))
    }

    @Test func reroutingEnabledOffRouteStartsWithTheNextFix() throws {
        var config = NavigatorConfig()
        config.rerouteDetect = false
        let town = try Town.grid()
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        let fixes = try town.fixes("FGHMN")
        ride.drive(fixes)
        #expect(ride.story == ["ROUTE(set)"] && ride.deviations.last == .offRoute)
        config.rerouteDetect = true
        ride.send(.configured(config))
        #expect(ride.story == ["ROUTE(set)"], "a change of thresholds decides nothing by itself")
        ride.drive(
            try town.fixes("NIJ").map { fix in
                var fix = fix
                fix.stamp = fix.stamp.advanced(
                    bySeconds: fixes[fixes.count - 1].stamp.seconds(since: fixes[0].stamp) + 1)
                return fix
            })
        #expect(ride.story.dropFirst().first == "WILL_REROUTE")
    }

    @Test(arguments: [0.5, 1, 5, 10])
    func offRouteNeedsThreeSecondsAndFourFixes(rate: Double) throws {
        let (_, ride, _) = try RerouteTests.strayed(rate: rate)
        let first = try #require(ride.progress.first { $0.deviation.state == .uncertain })
        let off = try #require(ride.progress.first { $0.deviation.state == .offRoute })
        let seconds = off.position.stamp.seconds(since: first.position.stamp)
        #expect(seconds >= 3 - 1e-6)
        #expect(seconds <= max(3 + 1 / rate, 3 / rate) + 1e-6)
        #expect(off.deviation.since == off.position.stamp)
    }

    @Test func rerouteStartsInTheDirectionOfTravelWithTheRemainingWaypoints() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let stops = [
            try town.waypoint("FG"), try town.waypoint("GH"), try town.waypoint("HI"), try town.waypoint("IJ"),
        ]
        ride.command(.setRoute(RoutePlan(try town.map.route(stops), on: town.snapshot)))
        ride.drive(try town.fixes("FGHM"))
        let query = try #require(ride.queries.first)
        #expect(query.request.waypoints.dropFirst().map(\.coordinate) == stops[2...].map(\.coordinate))
        let bearing = try #require(query.request.waypoints[0].bearing)
        #expect(Angle.separation(bearing, .pi) < 0.1)
        #expect(ride.states.last?.destination == stops[3])
    }

    @Test func passThroughPointBehindTheVehicleIsNotRequestedAgain() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGHIJ")))
        ride.drive(try town.fixes("FGHMN"))
        let query = try #require(ride.queries.first)
        // The intermediate points lie on GH, HI and IJ; the one on GH has been passed.
        #expect(query.request.waypoints.count == 3)
        #expect(query.request.waypoints[1].isStop == false && query.request.waypoints[2].isStop)
    }

    @Test func routeIsRejectedOnceTheVehicleIsBackOnItsRoute() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.rerouteDeadline = 600
        var ride = Ride(town.map, config: config)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGHIJ")))
        // The vehicle leaves the route at H and rejoins it at I.
        for fix in try town.fixes("FGHMNIJ")
        where !(ride.deviations.contains(.offRoute) && ride.deviations.last == .onRoute) { ride.drive(fix) }
        ride.answerOpen()
        #expect(
            ride.story.filter { $0 != "APPROACHING" } == [
                "ROUTE(set)", "WILL_REROUTE", "FETCHING", "FETCHED", "REJECTED(backOnRoute)",
            ])
        #expect(ride.told.last?.context.routeID == 1)
        #expect(ride.states.last?.isRerouting == false)
    }

    @Test func onlyOneRouteRequestIsPending() throws {
        var config = NavigatorConfig()
        config.rerouteDeadline = 600
        let (_, ride, _) = try RerouteTests.strayed(config, .byHand, driven: "FGHMNO")
        #expect(ride.queries.count == 1)
        #expect(ride.story == ["ROUTE(set)", "WILL_REROUTE", "FETCHING"])
        #expect(ride.states.last?.isRerouting == true)
    }

    @Test func failuresBackOffExponentiallyUpToTheLongestPause() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .failing(RouteFailure(code: .providerUnavailable, message: "down"))
        ride.command(.setRoute(try town.plan("FGHIJ")))
        // Circles the block beside the route for long enough.
        let lap = try town.fixes("LMCBLMCBLMCBLMCBLMCBLMCBLMCBLMCBL")
        let start = try town.fixes("FGL")
        ride.drive(start)
        ride.drive(
            (0..<260).map {
                let place = lap[$0 % lap.count]
                return Fix(
                    stamp: (start.last?.stamp ?? SeededDrive.start).advanced(bySeconds: Double($0 + 1)),
                    coordinate: place.coordinate, horizontalSigma: 3, speed: place.speed, course: nil, type: .fix3D)
            })
        let asked = ride.queries.map { $0.deadline }
        let pauses = zip(asked, asked.dropFirst()).map { $1.seconds(since: $0).rounded() }
        #expect(pauses.prefix(8) == [1, 2, 4, 8, 16, 32, 64, 64])
        let attempts = ride.reroutes.compactMap { if case .fetching(let attempt) = $0.phase { attempt } else { nil } }
        #expect(attempts == Array(1...attempts.count))
        for event in ride.reroutes {
            guard case .failed(let failure, let next) = event.phase else { continue }
            #expect(failure.message == "down" && next != nil)
        }
        // The first request keeps the direction of travel; later ones may turn round.
        #expect(ride.queries[0].request.waypoints[0].bearing != nil)
        #expect(ride.queries[1].request.waypoints[0].bearing == nil)
    }

    @Test func failedManualAndAutomaticReroutesAreCountedSeparately() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .failing(RouteFailure(code: .noRoute, message: "none"))
        ride.command(.setRoute(try town.plan("FGHIJ")))
        func attempts() -> [Int] {
            ride.reroutes.compactMap { if case .fetching(let attempt) = $0.phase { attempt } else { nil } }
        }
        for fix in try town.fixes("FGHMN") where attempts().count < 3 {
            ride.drive(fix)
            if attempts().count == 1 { ride.command(.reroute(nil)) }
        }
        #expect(
            ride.reroutes.compactMap { $0.phase == .willReroute ? $0.reason : nil } == [.offRoute, .manual, .offRoute])
        #expect(attempts() == [1, 1, 2])
    }

    /// The owner may exclude the destination, or choose a place in the sea.
    @Test(arguments: [false, true]) func optionsWithoutARouteAreLeftOut(isByHand: Bool) throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.rerouteOptions]
        var ride = Ride(town.map, config: config)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        let destination = try town.place("IJ")
        for fix in try town.fixes("FGHMN") where ride.questions.isEmpty {
            ride.drive(fix)
            if isByHand, ride.progress.count == 5 { ride.command(.reroute(nil), call: 7) }
        }
        let question = try #require(ride.questions.first)
        let sea = Waypoint(Coordinate(latitude: 0, longitude: 0))
        ride.send(
            .policyAnswer(
                requestID: question.requestID, PolicyAnswer(verdict: true, content: .reroute(nil, [sea]))))
        let patched = try #require(ride.open.first)
        #expect(patched.request.waypoints.last == sea)
        ride.answer(patched, .failed(RouteFailure(code: .noRoadNearby, message: "no road there")))
        let own = try #require(ride.open.first)
        #expect(own.requestID != patched.requestID && own.request.waypoints.last?.coordinate == destination)
        #expect(
            ride.story.suffix(5) == ["WILL_REROUTE", "FETCHING", "FAILED(noRoadNearby)", "WILL_REROUTE", "FETCHING"])
        let failed = ride.reroutes.first { if case .failed = $0.phase { true } else { false } }
        guard case .failed(let failure, let next)? = failed?.phase else { return }
        #expect(failure.message.contains("RerouteOptions") && next == ride.now)
        #expect(ride.questions.count == 1, "no second request to the owner")
        ride.answer(own)
        #expect(ride.story.suffix(3) == ["FETCHED", "ROUTE(rerouted)", "APPLIED"])
    }

    @Test func searchWithoutTheOwnersOptionsIsTriedOnce() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.rerouteOptions]
        var ride = Ride(town.map, config: config)
        ride.answering = .failing(RouteFailure(code: .noRoute, message: "none"))
        ride.command(.setRoute(try town.plan(from: "FG", to: "IJ")))
        for fix in try town.fixes("FGHMN") where ride.questions.isEmpty { ride.drive(fix) }
        let question = try #require(ride.questions.first)
        ride.send(
            .policyAnswer(
                requestID: question.requestID,
                PolicyAnswer(verdict: true, content: .reroute(nil, [try town.waypoint("AB")]))))
        #expect(ride.queries.count == 2 && ride.states.last?.isRerouting == false)
        #expect(ride.story.suffix(3) == ["WILL_REROUTE", "FETCHING", "FAILED(noRoute)"])
    }

    @Test func permanentFailureIsNotRetriedUntilTheVehicleIsBackOnItsRoute() throws {
        let failure = RouteFailure(code: .invalidRequest, message: "nonsense")
        let (_, ride, _) = try RerouteTests.strayed(answering: .failing(failure))
        #expect(ride.queries.count == 1)
        #expect(ride.reroutes.last?.phase == .failed(failure, nextAttempt: nil))
    }

    @Test func missingTilesAreRequestedAndEndTheBackoffOnArrival() throws {
        let town = try Town.grid()
        let tile = try town.map.tile(.local, at: "H")
        var ride = Ride(town.map)
        ride.answering = .failing(RouteFailure(code: .tilesNeeded, message: "tiles", missingTiles: [tile]))
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHMNO")
        let asked = try #require(
            fixes.firstIndex {
                ride.drive($0)
                return ride.queries.count == 3
            })
        #expect(ride.neededTiles.contains(tile))
        // New traffic does not provide the missing tiles.
        ride.send(.mapChanged(MapSnapshot(ride.map, router: ride.map.router.live(TrafficOverlay()))))
        ride.drive(fixes[asked + 1])
        #expect(ride.queries.count == 3)
        ride.answering = .atOnce
        let graph = RoadGraph(tiles: town.map.graph.tiles, mapVersion: town.map.graph.mapVersion)
        ride.send(.mapChanged(MapSnapshot(graph: graph)))
        ride.drive(fixes[asked + 2])
        #expect(ride.queries.count == 4)
        #expect(ride.story.last == "APPLIED")
    }

    @Test func anAnswerAfterTheDeadlineIsIgnored() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHMNOJE")
        var late: RouteQuery?
        for fix in fixes {
            ride.drive(fix)
            late = late ?? ride.open.first
            if ride.reroutes.contains(where: { Ride.word($0.phase) == "FAILED(deadlineExceeded)" }) { break }
        }
        let query = try #require(late)
        #expect(ride.cancelled == [query.requestID])
        #expect(ride.now >= query.deadline && ride.now.seconds(since: query.deadline) <= 1)
        let told = ride.told.count
        ride.answer(query)
        #expect(ride.told.count == told)
    }

    @Test(arguments: [4.0, 9, 20])
    func delayedFixesReplaceThePredictionWithoutAReroute(_ seconds: Double) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("ABCDEJO")))
        let fixes = try town.fixes("ABCDEJO")
        let middle = fixes.count / 3
        for (index, fix) in fixes.enumerated() {
            ride.drive(fix)
            // The following fixes are delayed; meanwhile the vehicle is predicted to continue.
            if index == middle { ride.fireTimers(until: fix.stamp.advanced(bySeconds: seconds)) }
        }
        #expect(ride.vehiclePositions.count { $0.prediction != nil } > 1)
        #expect(ride.reroutes.isEmpty)
        #expect(ride.story.last == "ARRIVED", "\(ride.story)")
    }

    @Test func fixWithoutAPositionAndWithAWrongClockEndsNoRequest() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.command(.navigate([try town.waypoint("IJ")]))
        let fixes = try town.fixes("FGHI")
        ride.drive(fixes[0])
        #expect(ride.open.count == 1)
        var wild = fixes[1]
        wild.stamp = wild.stamp.advanced(bySeconds: 86_400)
        wild.type = .noFix
        ride.send(.fix(wild), at: wild.stamp)
        #expect(ride.rejections.count == 1 && ride.cancelled.isEmpty && ride.open.count == 1)
        ride.drive(fixes[2])
        ride.answerOpen()
        #expect(ride.story == ["ROUTE(started)"])
    }

    @Test func reroutesKeepAMinimumIntervalAndDistance() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        // The router always returns the old route, which the vehicle has left.
        ride.answering = .byHand
        let plan = try town.plan("FGHIJ")
        ride.command(.setRoute(plan))
        var asked: [(Timestamp, Coordinate)] = []
        for fix in try town.fixes("FGLMNOJED", rate: 5) {
            ride.drive(fix)
            if let query = ride.open.first {
                asked.append((fix.stamp, fix.coordinate))
                ride.answer(query, .found(FoundRoutes(main: plan)))
            }
        }
        #expect(asked.count > 3)
        for (first, second) in zip(asked, asked.dropFirst()) {
            #expect(second.0.seconds(since: first.0) >= 5)
            #expect(Geodesy.distance(first.1, second.1) >= 50)
        }
    }

    @Test func disabledReroutingReportsOffRouteWithoutARequest() throws {
        var config = NavigatorConfig()
        config.rerouteDetect = false
        let (_, ride, _) = try RerouteTests.strayed(config, driven: "FGHMN")
        #expect(ride.queries.isEmpty && ride.reroutes.isEmpty)
        #expect(ride.deviations == [.onRoute, .uncertain, .offRoute])
        #expect(ride.phases.last == .guidance(.offRoute))
    }

    @Test func remainingDistanceOffRouteIncludesTheWayBackButTheFractionDoesNot() throws {
        var config = NavigatorConfig()
        config.rerouteDetect = false
        let (_, ride, _) = try RerouteTests.strayed(config, driven: "FGHMN")
        let length = try #require(ride.plans.last).route.length
        let off = ride.progress.filter { $0.deviation.state == .offRoute }
        #expect(off.contains { $0.offset + $0.distanceRemaining > length + 20 })
        for progress in ride.progress { #expect(abs(progress.fraction - progress.offset / length) < 1e-9) }
        for (before, after) in zip(off, off.dropFirst()) { #expect(after.fraction >= before.fraction) }
    }

    /// A vehicle backs up for 20 m at walking pace, and some fixes report a higher speed.
    @Test(arguments: [0, 1, 3]) func oneWrongSpeedDoesNotMakeBackingUpTheWrongWay(fastFixes: Int) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let there = try town.fixes("FGH")
        var last = there[there.count * 3 / 4]
        ride.drive(there.prefix { $0.stamp <= last.stamp })
        for _ in 1...3 {
            last.stamp = last.stamp.advanced(bySeconds: 1)
            (last.speed, last.course) = (0, nil)
            ride.drive([last])
        }
        for second in 1...10 {
            var fix = last
            fix.stamp = last.stamp.advanced(bySeconds: Double(second))
            fix.coordinate = LocalFrame(origin: last.coordinate)
                .coordinate(of: LocalPoint(east: -2 * Double(second), north: 0))
            fix.course = 1.5 * .pi
            fix.speed = (8..<8 + fastFixes).contains(second) ? 5 : 2
            ride.drive([fix])
        }
        #expect(ride.deviations.contains(.wrongWay) == (fastFixes > 1), "\(ride.deviations)")
    }

    @Test func uTurnOnTheRouteIsTheWrongWay() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let there = try town.fixes("FGH")
        ride.drive(there)
        ride.drive(try town.fixes("HGF", after: there.last))
        #expect(ride.deviations.contains(.wrongWay))
        #expect(ride.reroutes.first?.reason == .wrongWay)
        #expect(
            ride.reroutes.map { Ride.word($0.phase) }.prefix(4) == ["WILL_REROUTE", "FETCHING", "FETCHED", "APPLIED"])
    }

    @Test func noRerouteNearTheDestination() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let destination = try town.place("HI", 0.1)
        ride.command(
            .setRoute(
                RoutePlan(try town.map.route([try town.waypoint("GH", 0.2), Waypoint(destination)]), on: town.snapshot))
        )
        // 40 m before the destination the driver turns into the side street and stops there.
        let fixes = try town.fixes("GHM", rate: 1)
        let corner = try town.map.coordinate("H")
        let near = fixes.prefix { $0.coordinate.latitude > corner.latitude - 0.0003 }
        ride.drive(near)
        ride.drive(town.standing(at: near.last?.coordinate ?? destination, seconds: 20, after: near.last))
        #expect(ride.queries.isEmpty)
    }

    @Test func vehicleThatPassesTheDestinationIsRerouted() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(
            .setRoute(
                RoutePlan(
                    try town.map.route([try town.waypoint("GH", 0.2), try town.waypoint("HI", 0.1)]), on: town.snapshot)
            ))
        ride.drive(try town.fixes("GHMN"))
        #expect(ride.queries.count >= 1)
        #expect(ride.story.contains("APPLIED"))
    }

    @Test func noInstructionOrApproachWhileOffRoute() throws {
        var config = NavigatorConfig()
        config.rerouteDetect = false
        let (_, ride, _) = try RerouteTests.strayed(config, driven: "FGHMNIDE")
        var isOff = false
        for (_, what) in ride.told {
            switch what {
            case .progress(let progress):
                isOff = progress.deviation.state != .onRoute && progress.deviation.state != .offStep
            // The banner is cleared.
            case .visual(nil, _, _): #expect(isOff)
            case .visual, .spoken: #expect(!isOff)
            default: break
            }
        }
        #expect(ride.deviations.contains(.offRoute))
    }

    @Test func manualRerouteIsAppliedOnRouteAndNotRetriedOnFailure() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.reroute(nil))
        ride.command(.setRoute(try town.plan("FGHIJ")))
        ride.command(.reroute(nil))
        #expect(ride.queries.isEmpty, "there is no position yet")
        let fixes = try town.fixes("FGHIJ")
        ride.drive(fixes[..<20])
        ride.command(.reroute(nil))
        #expect(ride.story.suffix(5) == ["WILL_REROUTE", "FETCHING", "FETCHED", "ROUTE(rerouted)", "APPLIED"])
        #expect(ride.reroutes.allSatisfy { $0.reason == .manual })
        ride.answering = .failing(RouteFailure(code: .noRoute, message: "none"))
        ride.command(.reroute(nil))
        ride.drive(fixes[20...])
        #expect(ride.queries.count == 2)
        #expect(ride.reroutes.last?.phase == .failed(RouteFailure(code: .noRoute, message: "none"), nextAttempt: nil))
        ride.command(.reroute(nil))
        #expect(ride.queries.count == 2, "the trip is complete")
    }

    @Test func arrivalCancelsAPendingRouteRequest() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        ride.command(.setRoute(try town.plan("FGH")))
        let fixes = try town.fixes("FGH")
        ride.drive(fixes[..<(fixes.count - 8)])
        ride.command(.reroute(nil))
        ride.drive(fixes[(fixes.count - 8)...])
        #expect(ride.story.suffix(2) == ["ARRIVED", "REJECTED(superseded)"])
        #expect(ride.cancelled == ride.queries.map(\.requestID))
        #expect(ride.states.last?.isRerouting == false)
    }
}

extension RerouteTests {
    private static func strayed(answering: Ride.Answering, driven: String = "FGHMNIJ") throws
        -> (town: Town, ride: Ride, fixes: [Fix])
    { try strayed(NavigatorConfig(), answering, driven: driven) }
}
