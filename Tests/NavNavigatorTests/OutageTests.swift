import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Outages in streets, with turning vehicles, stationary vehicles and ambiguous branches.
@Suite struct OutageTests {
    /// The output of a drive with the last prediction and its error.
    private struct Outcome {
        var ride: Ride
        var error: Double
        var last: VehiclePosition
    }

    /// Drives through crossings with wheel speed and a gyroscope; between `blind.lowerBound` and `blind.upperBound`
    /// metres no fix arrives.
    private static func drive(
        _ letters: String, planned: String?, blind: ClosedRange<Double>, hasOdometry: Bool = true, seed: UInt64 = 3
    ) throws -> Outcome {
        let town = try Town.grid()
        guard let drive = SeededDrive(town.snapshot.metric, route: try town.route(letters), rate: 20) else {
            throw NoDrive(letters: letters)
        }
        let reports = OdometryModel.car(seed: seed).reports(drive.states, start: SeededDrive.start, seed: seed + 1)
        let fixes = ReceiverModel(.open).fixes(drive.states, start: SeededDrive.start, seed: seed + 2)
        var ride = Ride(town.map)
        if let planned { ride.command(.setRoute(try town.plan(planned))) }
        var outcome: (Double, VehiclePosition)?
        for (index, state) in drive.states.enumerated() {
            if hasOdometry { ride.drive(reports[index]) } else { ride.fireTimers(until: fixes[index].stamp) }
            let isBlind = blind.contains(state.offset)
            if index % 20 == 0, !isBlind { ride.drive(fixes[index]) }
            if isBlind, let said = ride.vehiclePositions.last, said.prediction != nil {
                outcome = (Geodesy.distance(said.match.coordinate, state.coordinate), said)
            }
        }
        let (error, last) = try #require(outcome)
        return Outcome(ride: ride, error: error, last: last)
    }

    @Test(arguments: [nil, "FGHIJ", "FGHMN"], [3, 17, 40] as [UInt64])
    func turnMeasuredByOdometryIsFollowed(planned: String?, seed: UInt64) throws {
        // The crossing at which the vehicle turns follows after 600 m.
        let outcome = try OutageTests.drive("FGHMN", planned: planned, blind: 480...840, seed: seed)
        #expect(outcome.error < 20, "\(outcome.error) m from the truth")
        #expect(outcome.last.match.confidence > 0.9)
        #expect(outcome.ride.rejections.isEmpty)
        #expect(!outcome.ride.reroutesWherePredicted)
    }

    @Test func noPositionIsPublishedAfterAPredictionEnds() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHI")
        var config = NavigatorConfig()
        config.positioning.reckoning.maximumTime = 20
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHI")))
        ride.drive(fixes[..<20])
        ride.fireTimers(until: fixes[19].stamp.advanced(bySeconds: 60))
        #expect(ride.simulations.last?.end == .gaveUp)
        #expect(ride.states.contains { $0.positions == .predicted })
        #expect(ride.states.last?.positions == nil && ride.states.last?.phase == .guidance(.uncertain))
    }

    @Test func noPositionIsPublishedIfLostDuringASimulatedDrive() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHI")
        var config = NavigatorConfig()
        config.positioning.reckoning.maximumTime = 20
        var ride = Ride(town.map, config: config)
        ride.drive(fixes[..<20])
        ride.command(.navigate(RouteOrder(waypoints: [try town.waypoint("NO")]), SimulatedDrive()))
        ride.fireTimers(until: fixes[19].stamp.advanced(bySeconds: 60))
        #expect(ride.states.last?.positions == .simulated)
        ride.command(.stop)
        #expect(ride.states.last?.positions == nil && ride.states.last?.health?.level == .lost)
        ride.drive(
            town.standing(
                at: fixes[19].coordinate, seconds: 3, after: Fix(stamp: ride.now, coordinate: fixes[19].coordinate)))
        #expect(ride.states.last?.positions == .measured)
    }

    @Test func twoTurnsInARowAreFollowed() throws {
        let outcome = try OutageTests.drive("FGHMN", planned: "FGHIJ", blind: 480...1_150)
        #expect(outcome.error < 25, "\(outcome.error) m from the truth")
        #expect(outcome.ride.rejections.isEmpty)
    }

    @Test func positionsOnOtherWaysCountInTheUncertainty() throws {
        let outcome = try OutageTests.drive("FGHMN", planned: nil, blind: 480...840, hasOdometry: false)
        let predicted = outcome.ride.vehiclePositions.filter { $0.prediction != nil }
        let before = try #require(predicted.first?.road)
        let after = try #require(outcome.last.road)
        #expect(outcome.last.match.candidates.count > 1)
        #expect(before.crossSigma < 5)
        #expect(after.crossSigma > 20)
        #expect(
            outcome.error < 3 * (after.alongSigma * after.alongSigma + after.crossSigma * after.crossSigma).squareRoot()
        )
    }

    /// A receiver with one fix per minute, or a link with outages of a minute.
    @Test(arguments: [[], ["FGHIJ"]])
    func eachFixAfterALongSilenceIsFollowedImmediately(planned: [String]) throws {
        let town = try Town.grid()
        let drive = try #require(
            SeededDrive(town.snapshot.metric, route: try town.route("FGHMN"), rate: 1), "no such drive")
        let fixes = ReceiverModel(.open).fixes(drive.states, start: SeededDrive.start, seed: 7)
        var ride = Ride(town.map)
        if let planned = planned.first { ride.command(.setRoute(try town.plan(planned))) }
        var heard = 0
        for (index, state) in drive.states.enumerated() where index % 40 == 0 {
            ride.fireTimers(until: fixes[index].stamp)
            ride.drive(fixes[index])
            let said = try #require(ride.vehiclePositions.last)
            #expect(said.stamp == fixes[index].stamp && said.prediction == nil)
            #expect(Geodesy.distance(said.match.coordinate, state.coordinate) < 25)
            heard += 1
        }
        #expect(heard > 2)
    }

    @Test func rareFixesInATunnelAreFollowedImmediately() throws {
        let town = try Town(
            "A------------B", ways: ["AB": Town.road("Under Street", ["highway": "service", "tunnel": "yes"])])
        var ride = Ride(town.map)
        // The vehicle moves more slowly than its speed suggests, and is stationary at the end.
        for (minute, speed) in [8.0, 8, 8, 0].enumerated() {
            let fix = Fix(
                stamp: SeededDrive.start.advanced(bySeconds: Double(minute) * 60),
                coordinate: try town.map.position(between: "A", "B", at: 0.2 + 0.1 * Double(minute)),
                horizontalSigma: 2.5, speed: speed, course: .pi / 2, type: .fix3D)
            ride.fireTimers(until: fix.stamp)
            ride.drive(fix)
            // The first outage may be caused by the tunnel.
            guard minute != 1 else { continue }
            let said = try #require(ride.vehiclePositions.last)
            #expect(said.stamp == fix.stamp && said.prediction == nil)
            #expect(Geodesy.distance(said.match.coordinate, fix.coordinate) < 25, "minute \(minute)")
        }
    }

    /// A vehicle that is stationary when fixes stop is predicted to stay there; the first fix afterwards is 500 m away.
    @Test(arguments: [false, true])
    func vehicleAheadOfItsPredictionIsPlacedByTheFirstFix(hasStop: Bool) throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHIJ")
        var ride = Ride(town.map)
        let stops = try hasStop ? [town.waypoint("GH")] : []
        let route = try town.map.route([town.waypoint("FG")] + stops + [town.waypoint("IJ")])
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        ride.drive(fixes[..<12])
        let stood = town.standing(at: fixes[11].coordinate, seconds: 20, after: fixes[11])
        ride.drive(stood)
        let onward = try #require(
            fixes.firstIndex { Geodesy.distance($0.coordinate, fixes[11].coordinate) > 500 }, "the drive is too short")
        let last = try #require(stood.last).stamp
        ride.fireTimers(until: last.advanced(bySeconds: 45))
        let predicted = try #require(ride.vehiclePositions.last)
        #expect(predicted.prediction != nil)
        #expect(Geodesy.distance(predicted.coordinate, fixes[onward].coordinate) > 450)
        for (second, fix) in fixes[onward...].enumerated() {
            var fix = fix
            fix.stamp = last.advanced(bySeconds: 45 + Double(second))
            ride.drive(fix)
            if second == 4 {
                let placed = try #require(ride.progress.last)
                #expect(placed.leg == (hasStop ? 1 : 0) && placed.deviation.state == .onRoute)
            }
        }
        #expect(ride.reroutes.isEmpty)
        #expect(ride.story.filter { $0.hasPrefix("ARRIVED") } == (hasStop ? ["ARRIVED(1)", "ARRIVED"] : ["ARRIVED"]))
    }

    @Test func uncertaintyGrowsForAVehicleLostWhileStationary() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let driven = try town.fixes("FGH", .open).prefix(30)
        ride.drive(driven)
        let last = try #require(driven.last)
        ride.drive(town.standing(at: last.coordinate, seconds: 20, after: last))
        let stood = try #require(ride.vehiclePositions.last)
        ride.fireTimers(until: stood.stamp.advanced(bySeconds: 40))
        let predicted = ride.vehiclePositions.filter { $0.prediction != nil }
        let sigmas = predicted.compactMap { $0.road?.alongSigma }
        #expect(zip(sigmas, sigmas.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(try #require(sigmas.first) < 15)
        #expect(try #require(sigmas.last) > 80)
        // There is no evidence of movement.
        #expect(try #require(predicted.last?.road).distance(to: stood.coordinate) < 15)
    }

    @Test(arguments: [8.0, 15])
    func uncertaintyOfAStationaryVehicleCoversItsDeparture(seconds: Double) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let driven = try town.fixes("FGH", .open).prefix(30)
        ride.drive(driven)
        ride.drive(town.standing(at: try #require(driven.last).coordinate, seconds: 20, after: driven.last))
        let stood = try #require(ride.vehiclePositions.last)
        ride.fireTimers(until: stood.stamp.advanced(bySeconds: seconds + 0.5))
        let said = try #require(ride.vehiclePositions.last)
        // The vehicle drives off after two seconds, accelerating at 1.5 m/s² up to 50 km/h.
        let driving = said.stamp.seconds(since: stood.stamp) - 2
        let gathering = min(driving, 9)
        let gone = 0.75 * gathering * gathering + 13.5 * (driving - gathering)
        let sigma = try #require(said.road).alongSigma
        #expect(3 * sigma > gone)
    }

    @Test func predictionFollowsOnlyRoadsThatFitTheSpeed() throws {
        let town = try Town(
            """
            A---------B----------------C
                      D----------------E
            """, grid: 20,
            ways: [
                "ABC": Town.road("Main Road", ["highway": "trunk", "oneway": "yes"]),
                "BDE": ["highway": "service", "oneway": "yes"],
            ])
        let metric = town.snapshot.metric
        let fix = Fix(
            stamp: SeededDrive.start, coordinate: try town.map.position(between: "D", "E", at: 0.2),
            horizontalSigma: 20,
            speed: 19, course: .pi / 2, type: .fix3D)
        var tracker = PositionTracker()
        #expect(tracker.take(fix) == .accepted)
        var matcher = StreamingMatcher(metric: metric)
        var match = matcher.match(fix)
        let (mainRoad, service) = (try town.map.wayID("ABC"), try town.map.wayID("BDE"))
        func index(of way: Int64) -> Int? {
            match.candidates.firstIndex { metric.turns.graph.wayID(of: $0.edge) == way }
        }
        let (main, beside) = (try #require(index(of: mainRoad)), try #require(index(of: service)))
        #expect(match.road?.wayID == service)
        // The fix and a route make the matcher nearly certain of the adjacent road.
        for index in match.candidates.indices { match.candidates[index].probability = 0 }
        match.candidates[beside].probability = 0.96
        match.candidates[main].probability = 0.03
        match.confidence = 0.96
        var reckoning = Reckoning()
        _ = reckoning.note(fix, match, tracker.reading(at: fix.stamp), metric)
        guard
            case .predicted(let said, true) = reckoning.predict(
                at: fix.stamp.advanced(bySeconds: 3), &tracker, metric, nil)
        else {
            Issue.record("no prediction")
            return
        }
        #expect(said.road?.wayID == mainRoad)
    }

    @Test func crossUncertaintyCoversAVehicleBeforeTheCorner() throws {
        let town = try Town(
            """
            A-----------------------B
                                    |
                                    |
                                    |
                                    |
                                    C
            """, grid: 25, ways: ["ABC": Town.road("Lane")])
        let fixes = try town.fixes("ABC", .open)
        let corner = try town.map.coordinate("B")
        var ride = Ride(town.map)
        ride.drive(fixes.prefix { Geodesy.distance($0.coordinate, corner) > 120 })
        let last = try #require(ride.vehiclePositions.last)
        ride.fireTimers(until: last.stamp.advanced(bySeconds: 25))
        let behind = ride.vehiclePositions.filter {
            $0.prediction != nil && $0.road.map { Angle.separation($0.bearing, .pi) < 0.1 } ?? false
        }
        let first = try #require(behind.first?.road)
        #expect(behind.allSatisfy { $0.match.candidates.count == 1 })
        // If the vehicle is still before the corner, it is beside the road that follows the corner.
        #expect(first.crossSigma > first.alongSigma / 2)
        #expect(first.crossSigma < first.alongSigma)
    }

    /// Positions without speed every ten seconds, as reported by fleets.
    @Test func slowReceiverCausesNoPredictionBetweenItsFixes() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("KLMNOJEDCBAFGHIJ", .open).enumerated().filter { $0.offset % 10 == 0 }.map {
            var fix = $0.element
            (fix.speed, fix.course) = (nil, nil)
            return fix
        }
        var ride = Ride(town.map)
        ride.drive(fixes)
        #expect(fixes.count > 25)
        let late = ride.vehiclePositions.filter { $0.stamp > fixes[20].stamp }
        #expect(late.count { $0.prediction == nil } > 3)
        #expect(late.allSatisfy { $0.prediction == nil })
    }

    /// An unmeasured speed is not a speed of zero.
    @Test func vehicleWithOneFixIsPredictedAtTheRoadsSpeed() throws {
        let town = try Town.grid()
        var fix = try town.fixes("FGHIJ", .open)[15]
        (fix.speed, fix.course) = (nil, nil)
        var ride = Ride(town.map)
        ride.drive(fix)
        ride.fireTimers(until: fix.stamp.advanced(bySeconds: 10))
        let said = try #require(ride.vehiclePositions.last)
        #expect(said.prediction != nil)
        let gone = 13.5 * said.stamp.seconds(since: fix.stamp)
        let place = said.road?.alongSigma ?? said.sigma ?? 0
        #expect(Geodesy.distance(fix.coordinate, said.match.coordinate) + 3 * place > gone)
    }
}

extension MatchedPosition.RoadPosition {
    fileprivate func distance(to place: Coordinate) -> Double { Geodesy.distance(coordinate, place) }
}
