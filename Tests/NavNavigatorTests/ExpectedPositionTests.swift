import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Outages without odometry: expected positions are displayed but trigger no decisions.
@Suite struct ExpectedPositionTests {
    /// The remaining distance at which fixes stop, metres.
    private static let left = 730.0

    /// Drives along `letters` until `left` metres before the end, followed by `outage` seconds without fixes.
    private static func ride(
        _ town: Town, _ letters: String, left: Double = left, outage: Double, config: NavigatorConfig = .init()
    ) throws -> (ride: Ride, last: Fix) {
        let goal = try #require(try town.route(letters).waypoints.last)
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan(letters)))
        let driven = try town.fixes(letters).prefix { Geodesy.distance($0.coordinate, goal.snapped) > left }
        ride.drive(driven)
        let last = try #require(driven.last)
        ride.fireTimers(until: last.stamp.advanced(bySeconds: outage))
        return (ride, last)
    }

    @Test func vehicleStoppedBeforeItsDestinationStaysInGuidance() throws {
        let town = try Town.grid()
        let (begun, last) = try Self.ride(town, "FGHIJ", outage: 120)
        var ride = begun
        #expect(ride.vehiclePositions.contains { $0.prediction == .alongRoute })
        #expect(ride.arrivals.isEmpty)
        let said = ride.spoken
        var stood = last
        stood.stamp = last.stamp.advanced(bySeconds: 119)
        ride.drive(town.standing(at: last.coordinate, seconds: 20, after: stood))
        // The effects of the prediction are reverted, even while the vehicle is stationary.
        let progress = try #require(ride.progress.last)
        #expect(abs(progress.distanceRemaining - Self.left) < 40, "\(progress.distanceRemaining) m")
        #expect(ride.arrivals.isEmpty && ride.reroutes.isEmpty)
        #expect(ride.spoken == said)
        // The vehicle continues and arrives.
        let rest = try town.fixes("FGHIJ").filter { $0.stamp > last.stamp }.map {
            var fix = $0
            fix.stamp = fix.stamp.advanced(bySeconds: 140)
            return fix
        }
        ride.drive(rest)
        #expect(ride.story == ["ROUTE(set)", "APPROACHING", "ARRIVED"])
        #expect(ride.spoken.last?.contains("arrived") == true || ride.spoken.count > said.count)
    }

    @Test(arguments: [22.0, 40], [1.0, 3])
    func positionsBesideTheRoadSoonCountAsMeasuredAgain(beside: Double, sigma: Double) throws {
        let town = try Town.grid()
        var (ride, last) = try Self.ride(town, "FGHIJ", outage: 20)
        // The vehicle has parked where the map has no road, and the matcher keeps it on the adjacent road.
        let place = try #require(try town.fixes("FGHIJ").first { $0.stamp.seconds(since: last.stamp) > 20 })
        var coordinate = place.coordinate
        coordinate.latitude -= beside / 111_200
        ride.turnPage()
        ride.drive(town.standing(at: coordinate, seconds: 60, after: place, sigma: sigma))
        let seen = ride.vehiclePositions.filter { $0.prediction == nil }
        #expect(seen.count >= 50 && seen.first?.evidence == .blended)
        #expect(seen.dropFirst(12).allSatisfy { $0.evidence == .measured })
    }

    @Test func odometryArrivesWithoutFixes() throws {
        let town = try Town.grid()
        guard let drive = SeededDrive(town.snapshot.metric, route: try town.route("FGHIJ"), rate: 20) else {
            throw NoDrive(letters: "FGHIJ")
        }
        let reports = OdometryModel.car(seed: 3).reports(drive.states, start: SeededDrive.start, seed: 4)
        let fixes = ReceiverModel(.open).fixes(drive.states, start: SeededDrive.start, seed: 5)
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        for (index, state) in drive.states.enumerated() {
            ride.drive(reports[index])
            if index % 20 == 0, state.offset < 600 { ride.drive(fixes[index]) }
        }
        #expect(ride.vehiclePositions.last?.prediction == .odometry)
        #expect(ride.story == ["ROUTE(set)", "APPROACHING", "ARRIVED"])
    }

    @Test func lateOdometryDoesNotCauseAnArrival() throws {
        let town = try Town.grid()
        let (begun, last) = try Self.ride(town, "FGHIJ", outage: 20)
        var ride = begun
        // Odometry resumes after 200 m without measurements.
        for tenth in 0..<600 {
            let stamp = last.stamp.advanced(bySeconds: 20 + Double(tenth) / 10)
            ride.drive(Odometry(stamp: stamp, speed: 13))
        }
        #expect(ride.vehiclePositions.last?.prediction == .odometry)
        #expect(ride.vehiclePositions.last?.evidence == .expected)
        #expect(ride.arrivals.isEmpty)
    }

    @Test func predictionDoesNotPassAStop() throws {
        let town = try Town.grid()
        let route = try town.map.route([
            try town.waypoint("FG"), Waypoint(try town.place("GH"), isStop: false), try town.waypoint("HI"),
            try town.waypoint("IJ"),
        ])
        var ride = Ride(town.map)
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        let driven = try town.fixes("FGHIJ").prefix(10)
        ride.drive(driven)
        let last = try #require(driven.last)
        let before = try #require(ride.progress.last).waypointsRemaining
        #expect(before == 3)
        ride.fireTimers(until: last.stamp.advanced(bySeconds: 100))
        let predicted = try #require(ride.progress.last)
        #expect(predicted.waypointsRemaining == 3 && predicted.leg == 0 && predicted.offset > 500)
        #expect(predicted.stopsRemaining == 2)
        #expect(ride.arrivals.isEmpty)
    }

    /// The prediction passes two more roads, the vehicle only one; the banner of that one is displayed.
    @Test func bannerPredictedTooFarAheadIsReplaced() throws {
        let town = try Town(
            "A-------B-------C-------D",
            ways: ["AB": Town.road("First Road"), "BC": Town.road("Second Road"), "CD": Town.road("Third Road")])
        let fixes = try town.fixes("ABCD")
        let (corner, beyond) = (try town.place("BC", 0), try town.place("BC", 0.3))
        let driven = fixes.prefix { Geodesy.distance($0.coordinate, corner) > 60 }
        let last = try #require(driven.last)
        var ride = Ride(town.map)
        let route = try town.route("ABCD")
        let guidance = RouteGuidance(
            route: route, graph: town.snapshot.graph, options: GuidanceOptions(announcesNameChanges: true))
        ride.command(.setRoute(RoutePlan(route: route, guidance: guidance)))
        ride.drive(driven)
        ride.fireTimers(until: last.stamp.advanced(bySeconds: 90))
        let foreseen = try #require(ride.banners.last)
        #expect(foreseen.id.step == 2)
        let rest = fixes.drop { Geodesy.distance($0.coordinate, beyond) > 15 }
        let first = try #require(rest.first)
        for fix in rest.prefix(8) {
            var fix = fix
            fix.stamp = last.stamp.advanced(bySeconds: 90 + fix.stamp.seconds(since: first.stamp))
            ride.drive(fix)
        }
        let progress = try #require(ride.progress.last)
        #expect(progress.step == 1 && progress.deviation.state == .onRoute)
        #expect(progress.visualInstruction == ride.banners.last?.id)
        #expect(ride.banners.last?.id.step == 1)
    }

    /// One fix places the vehicle on a later part of the route, and predictions continue there; this is still a single
    /// fix.
    @Test func predictionsDoNotSkipPartOfTheRoute() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJEDCB")))
        let fixes = try town.fixes("IJEDCB")
        let first = try #require(fixes.first)
        ride.drive(first)
        ride.fireTimers(until: first.stamp.advanced(bySeconds: 10))
        #expect(ride.vehiclePositions.last?.prediction != nil)
        #expect(ride.deviations == [.uncertain])
        #expect(ride.progress.last?.offset == 0 && ride.banners.isEmpty)
        ride.drive(fixes.dropFirst(10))
        #expect(ride.deviations == [.uncertain, .offStep, .onRoute])
        #expect(ride.story.last == "ARRIVED")
    }

    /// A receiver without a solution and with a wrong date, where the host's clock takes precedence.
    @Test(arguments: [86_400.0, 3e8, -3_600]) func messageWithAWrongTimeDoesNotEndAPrediction(leap: Double) throws {
        let town = try Town.grid()
        let (begun, last) = try Self.ride(town, "FGHIJ", outage: 10)
        var ride = begun
        let before = ride.vehiclePositions.count
        var void = last
        (void.stamp, void.type, void.lead) = (last.stamp.advanced(bySeconds: 10 + leap), .noFix, leap)
        ride.send(.fix(void), at: void.stamp)
        #expect(ride.rejections.map(\.reason) == [.fixType])
        #expect(ride.vehiclePositions.count == before && ride.simulations.last?.phase == .began)
        #expect(ride.states.last?.health?.level == .reduced)
        ride.fireTimers(until: last.stamp.advanced(bySeconds: 15))
        #expect(ride.vehiclePositions.count > before && ride.simulations.last?.phase == .began)
    }

    @Test func clockSetBackDuringADwellKeepsTheArrival() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.arrivalDwell = 5
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHIJ")
        ride.drive(fixes)
        let last = try #require(fixes.last)
        ride.drive(town.standing(at: last.coordinate, seconds: 2, after: last))
        var back = last
        back.stamp = last.stamp.advanced(bySeconds: -3_600)
        ride.drive(town.standing(at: last.coordinate, seconds: 15, after: back))
        #expect(ride.arrivals.last?.phase == .arrived)
    }

    /// One fix per minute, with the fields that fleet receivers report.
    @Test func oneFixPerMinuteGivesOneMeasuredPositionPerMinute() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("KLMNOJEDCBAFGHIJONMLKFABCDEJIHGF").enumerated().filter { $0.offset % 60 == 0 }
            .map(\.element)
        var ride = Ride(town.map)
        for fix in fixes { ride.drive(fix) }
        #expect(fixes.count > 10)
        let measured = Set(ride.vehiclePositions.filter { $0.prediction == nil }.map(\.stamp))
        for fix in fixes.dropFirst(3) { #expect(measured.contains(fix.stamp), "\(fix.stamp)") }
    }

    /// A latency step without arrival times: predictions run ahead of the next fixes, and these end them.
    @Test func fixesWithIncreasedLatencyEndThePrediction() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHIJONMLK")
        var ride = Ride(town.map)
        for (index, fix) in fixes.enumerated() {
            // The node's time continues from the last accepted fix; from the 20th on, fixes are 4 s late.
            if index == 20 { ride.fireTimers(until: fixes[19].stamp.advanced(bySeconds: 4.7)) }
            ride.send(.fix(fix), at: fix.stamp)
        }
        let late = ride.vehiclePositions.filter { $0.stamp > fixes[27].stamp }
        #expect(late.count > 20 && late.allSatisfy { $0.prediction == nil })
        #expect(ride.simulations.count == 4)
    }
}
