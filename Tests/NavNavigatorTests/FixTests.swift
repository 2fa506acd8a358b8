import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite struct FixTests {
    private static func good(_ place: Coordinate, _ second: Double, sigma: Double? = 3) -> Fix {
        Fix(
            stamp: SeededDrive.start.advanced(bySeconds: second), coordinate: place, horizontalSigma: sigma, speed: 10,
            course: .pi / 2, type: .fix3D)
    }

    /// Expects a rejected fix to be published with its reason and to have no other effect.
    private static func expectRejection(_ bad: (Town) throws -> Fix, _ reason: FixRejection.Reason) throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHI")
        func started() throws -> Ride {
            var ride = Ride(town.map)
            ride.command(.setRoute(try town.plan("FGHI")))
            ride.drive(fixes[..<10])
            ride.turnPage()
            return ride
        }
        var (ride, undisturbed) = (try started(), try started())
        let effects = ride.send(.fix(try bad(town)))
        // The only effects are the verdict and its publication.
        #expect(effects.count == 2)
        #expect(ride.rejections.map(\.reason) == [reason])
        #expect(ride.rejections.allSatisfy { ($0.value ?? 0).isFinite && ($0.limit ?? 0).isFinite })
        ride.turnPage()
        ride.drive(fixes[10...])
        undisturbed.drive(fixes[10...])
        #expect(ride.told.map { "\($0.what)" } == undisturbed.told.map { "\($0.what)" })
    }

    @Test func fixOlderThanAPredictionDoesNotMoveThePositionBack() throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHI")
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHI")))
        ride.drive(fixes[..<20])
        ride.fireTimers(until: fixes[19].stamp.advanced(bySeconds: 6))
        let known = ride.positions
        // The fix was delayed by three seconds, during which the position was predicted.
        ride.send(.fix(fixes[22]), at: fixes[22].stamp)
        #expect(ride.rejections.isEmpty && ride.positions == known)
        ride.drive(fixes[26...])
        let stamps = ride.vehiclePositions.map(\.stamp)
        #expect(stamps == stamps.sorted() && ride.vehiclePositions.contains { $0.stamp == fixes[26].stamp })
    }

    @Test func requestTimesOutWithoutFixes() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.answering = .byHand
        let order = RouteOrder(origin: try town.waypoint("FG"), waypoints: [try town.waypoint("HI")])
        ride.command(.navigate(order, nil), call: 1)
        ride.command(.calculate(order, isPreview: true), call: 2)
        ride.fireTimers(until: SeededDrive.start.advanced(bySeconds: 60))
        #expect(ride.open.isEmpty && ride.replies.count == 2)
    }

    @Test func duplicateFixIsRejected() throws {
        try FixTests.expectRejection({ try $0.fixes("FGHI")[9] }, .duplicate)
    }

    @Test func lateFixIsRejected() throws {
        try FixTests.expectRejection({ try $0.fixes("FGHI")[5] }, .outOfOrder)
    }

    @Test(arguments: [
        Coordinate(latitude: .nan, longitude: 1), Coordinate(latitude: 1, longitude: .infinity),
        Coordinate(latitude: 91, longitude: 0), Coordinate(latitude: 0, longitude: 181),
    ])
    func invalidCoordinateIsRejected(place: Coordinate) throws {
        try FixTests.expectRejection({ _ in FixTests.good(place, 10) }, .invalid)
    }

    @Test func fixWithoutAPositionIsRejected() throws {
        try FixTests.expectRejection(
            {
                var fix = FixTests.good(try $0.place("FG"), 10)
                fix.type = .noFix
                return fix
            }, .fixType)
    }

    @Test(arguments: [FixType.fix3D, .unknown, .noFix])
    func healthStatesWhetherTheTypeOfRejectedFixesIsTooLow(type: FixType) throws {
        let town = try Town.grid()
        let fixes = try town.fixes("FGHI")
        var config = NavigatorConfig()
        config.positioning.fixes.minimumType = .rtkFixed
        var ride = Ride(town.map, config: config)
        func drive(_ fixes: ArraySlice<Fix>, _ type: FixType) {
            ride.drive(
                fixes.map {
                    var fix = $0
                    fix.type = type
                    return fix
                })
        }
        drive(fixes[..<10], .rtkFixed)
        #expect(ride.states.last?.health?.level == .full)
        drive(fixes[10..<16], type)
        #expect(ride.rejections.count == 6 && ride.rejections.allSatisfy { $0.reason == .fixType })
        #expect(ride.states.last?.health?.level != .full)
        #expect(ride.states.last?.health?.reasons.contains(.fixType) == (type != .noFix))
        drive(fixes[16..<26], .rtkFixed)
        #expect(ride.states.last?.health?.level == .full)
    }

    @Test(arguments: [100.1, 1e300, .infinity])
    func inaccurateFixIsRejected(sigma: Double) throws {
        try FixTests.expectRejection({ FixTests.good(try $0.place("FG"), 10, sigma: sigma) }, .accuracy)
    }

    @Test func firstFixMustBeMoreAccurateThanLaterOnes() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let place = try town.place("FG")
        ride.drive(FixTests.good(place, 0, sigma: 20.1))
        #expect(ride.rejections.map(\.reason) == [.startAccuracy])
        #expect(ride.rejections.first?.value == 20.1 && ride.rejections.first?.limit == 20)
        #expect(ride.positions == 0)
        ride.drive(FixTests.good(place, 1, sigma: 20))
        ride.drive(FixTests.good(try town.place("FG", 0.525), 2, sigma: 100))
        #expect(ride.positions == 2)
    }

    @Test(arguments: [nil, .nan, -5, 0] as [Double?])
    func invalidAccuracyIsUnknown(sigma: Double?) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.drive(FixTests.good(try town.place("FG"), 0, sigma: sigma))
        #expect(ride.positions == 1)
    }

    @Test func clockSetBackIsFollowedAfterThreeFixes() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHIJ")
        ride.drive(fixes[..<40])
        ride.drive(
            fixes[40...].map {
                var fix = $0
                fix.stamp = fix.stamp.advanced(bySeconds: -86_400)
                return fix
            })
        #expect(ride.rejections.map(\.reason) == [.outOfOrder, .outOfOrder])
        #expect(ride.story.last == "ARRIVED")
        #expect(ride.reroutes.isEmpty)
    }

    @Test func deviationIsDetectedAfterTheClockWasSetBack() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let fixes = try town.fixes("FGHMNO")
        let off = try #require(
            fixes.firstIndex {
                ride.drive($0)
                return ride.deviations.last == .uncertain
            })
        ride.drive(
            fixes[(off + 1)...].map {
                var fix = $0
                fix.stamp = fix.stamp.advanced(bySeconds: -86_400)
                return fix
            })
        #expect(ride.story.contains("APPLIED"))
    }

    @Test func aSingleFixFromTheFutureDoesNotStopTheTrip() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        var fixes = try town.fixes("FGHIJ")
        fixes[20].stamp = fixes[20].stamp.advanced(bySeconds: 3_000)
        ride.drive(fixes)
        #expect(ride.rejections.count == 1)
        #expect(ride.story.last == "ARRIVED")
    }

    @Test func tripContinuesThroughATunnel() throws {
        let town = try Town.grid()
        for span in [20.0...35, 20.0...60, 40.0...90] {
            var ride = Ride(town.map)
            ride.command(.setRoute(try town.plan("FGHIJEDCB")))
            ride.drive(try town.fixes("FGHIJEDCB", outages: [span]))
            #expect(ride.reroutes.isEmpty, "\(span)")
            #expect(ride.story.last == "ARRIVED", "\(span)")
        }
    }

    @Test func lastingJumpIsADeviationAndASingleOneIsIgnored() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        var fixes = try town.fixes("FGHIJ")
        // One fix is four streets away, as after a reflection.
        fixes[30].coordinate = try town.place("MN")
        ride.drive(fixes)
        #expect(ride.reroutes.isEmpty)
        #expect(ride.story.last == "ARRIVED")

        var moved = Ride(town.map)
        moved.command(.setRoute(try town.plan("FGHIJ")))
        let first = Array(try town.fixes("FGHIJ").prefix(20))
        moved.drive(first)
        moved.drive(try town.fixes("KLM", after: first.last))
        #expect(moved.deviations.contains(.offRoute))
        #expect(moved.story.contains("APPLIED"))
    }

    @Test(arguments: [0.0, 0.03, 0.5, 1])
    func stationaryVehicleChangesNothing(share: Double) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        let place = try town.place("GH", share)
        let arriving = try town.fixes("FGHI").prefix { Geodesy.distance($0.coordinate, place) > 8 }
        ride.drive(arriving)
        let states = ride.states.count
        ride.turnPage()
        // Five minutes at a traffic light, with the receiver noise of a street between buildings.
        let standing = try #require(
            SeededDrive(town.snapshot.metric, route: try town.route("FGHI"))?.states.first)
        let truth = (0..<300).map {
            var state = standing
            (state.time, state.coordinate, state.speed) = (Double($0), place, 0)
            return state
        }
        let start = (arriving.last?.stamp ?? SeededDrive.start).advanced(bySeconds: 1)
        ride.drive(ReceiverModel(.urban).fixes(truth, start: start, seed: 9))
        #expect(states > 0 && ride.states.count <= 2)
        #expect(ride.reroutes.isEmpty)
        #expect(ride.spoken.count <= 1)
        let offsets = ride.progress.map(\.offset)
        #expect((offsets.last ?? 0) - (offsets.first ?? 0) < 15)
    }
}
