import NavGeo
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Detected deviations and false alarms.
struct DeviationTests {
    /// Returns a long street with a parallel one 20 m away, and crossings between them.
    private func parallelStreets() throws -> Town {
        try Town(
            """
            A----B----------C----D
            E----F----------G----H
                 |
                 K
            """, grid: 20,
            ways: [
                "ABCD": Town.road("Upper Street"), "EFGH": Town.road("Lower Street"), "BF": Town.road("First Lane"),
                "CG": Town.road("Second Lane"), "FK": Town.road("Long Lane"),
            ])
    }

    @Test func reflectionOntoTheParallelStreetIsNoDeviation() throws {
        let town = try parallelStreets()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("ABCD")))
        var fixes = try town.fixes("ABCD", .open)
        let middle = fixes.count / 2
        for index in (middle - 4)...(middle + 5) {
            fixes[index].coordinate = LocalFrame(origin: fixes[index].coordinate)
                .coordinate(of: LocalPoint(east: 0, north: -21))
        }
        ride.drive(fixes)
        #expect(!ride.deviations.contains(.offRoute) && !ride.deviations.contains(.wrongWay))
        #expect(ride.story.last == "ARRIVED")
    }

    @Test(arguments: [1.0, 10])
    func turnOntoTheParallelStreetIsDetected(rate: Double) throws {
        let town = try parallelStreets()
        var config = NavigatorConfig()
        config.rerouteDetect = false
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("ABCD")))
        ride.drive(try town.fixes("ABFG", rate: rate, .open))
        let off = try #require(ride.progress.first { $0.deviation.state == .offRoute })
        #expect(off.deviation.probability > 0.8)
        #expect(off.deviation.distance < 30)
    }

    /// Displaces fixes by an error of at most `metres` that grows and shrinks by 4 m per second.
    private func reflect(_ fixes: [Fix], east: Double, north: Double, metres: Double, where isReflected: (Fix) -> Bool)
        -> [Fix]
    {
        var error = 0.0
        return fixes.map { fix in
            error = isReflected(fix) ? min(error + 4, metres) : max(error - 4, 0)
            var fix = fix
            fix.coordinate = LocalFrame(origin: fix.coordinate)
                .coordinate(of: LocalPoint(east: east * error, north: north * error))
            return fix
        }
    }

    @Test func reflectionNearTheRouteDoesNotHideADeviation() throws {
        let town = try Town.grid()
        let plan = try town.plan("FGHIJ")
        var config = NavigatorConfig()
        config.rerouteDetect = false
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(plan))
        let fixes = try town.fixes("FGHMN", .open)
        let corner = try town.place("GH", 1)
        ride.drive(
            reflect(fixes, east: 0, north: 1, metres: 28) { Geodesy.distance($0.coordinate, corner) < 120 })
        let left = try #require(fixes.first { (plan.route.line.project($0.coordinate)?.distance ?? 0) > 20 })
        let off = try #require(ride.progress.first { $0.deviation.state == .offRoute })
        #expect(off.position.stamp.seconds(since: left.stamp) <= 4)
        #expect(off.deviation.distance < 25)
    }

    @Test func reflectionAtAHairpinIsNoDeviation() throws {
        let town = try Town(
            """
            A-------------------B
                                |
            C-------------------D
            """, grid: 20, ways: ["ABDC": Town.road("Hill Road")])
        for (east, north) in [(1.0, 0.0), (-1, 0), (0, 1), (0, -1)] {
            var ride = Ride(town.map)
            ride.command(.setRoute(try town.plan("ABDC")))
            let corner = try town.place("BD", 0.5)
            ride.drive(
                reflect(try town.fixes("ABDC", .open), east: east, north: north, metres: 20) {
                    Geodesy.distance($0.coordinate, corner) < 100
                })
            #expect(!ride.deviations.contains(.offRoute) && !ride.deviations.contains(.wrongWay), "\(east) \(north)")
            #expect(ride.story.last == "ARRIVED")
        }
    }

    @Test func offRouteProbabilityIsLowOnTheRouteAndHighBesideIt() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.rerouteDetect = false
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHIJ")))
        ride.drive(try town.fixes("FGHMN", .open))
        let on = ride.progress.filter { $0.offset > 50 && $0.offset < 300 }
        #expect(!on.isEmpty && on.allSatisfy { $0.deviation.probability < 0.05 })
        let last = try #require(ride.progress.last)
        #expect(last.deviation.state == .offRoute && last.deviation.probability > 0.95)
        #expect(ride.progress.allSatisfy { (0...1).contains($0.deviation.probability) })
    }

    @Test(arguments: [0.5, 1, 10])
    func aRouteThatCrossesItselfIsFollowedInOrder(rate: Double) throws {
        // The route passes G twice: from the west, and from the north after circling a block.
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHCBGL")))
        ride.drive(try town.fixes("FGHCBGL", rate: rate, .open))
        #expect(ride.deviations.allSatisfy { $0 == .onRoute })
        let offsets = ride.progress.map(\.offset)
        #expect(zip(offsets, offsets.dropFirst()).allSatisfy { $0 <= $1 && $1 - $0 < 60 })
        #expect(ride.story.last == "ARRIVED")
    }

    @Test func stationaryVehicleAtASelfCrossingDoesNotSkipAhead() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHCBGL")))
        let crossing = try town.place("FG", 1)
        let fixes = try town.fixes("FGHC", rate: 10).prefix { Geodesy.distance($0.coordinate, crossing) > 5 }
        ride.drive(fixes)
        let before = try #require(ride.progress.last?.offset)
        let last = try #require(fixes.last)
        for count in 1...100 {
            var fix = last
            fix.stamp = last.stamp.advanced(bySeconds: Double(count) / 10)
            // At the crossing, within the receiver's noise.
            fix.coordinate = LocalFrame(origin: crossing).coordinate(
                of: LocalPoint(east: Double(count % 5) - 2, north: Double(count % 3) - 1))
            fix.speed = 0.1
            fix.course = nil
            ride.drive(fix)
        }
        let after = try #require(ride.progress.last?.offset)
        #expect(after - before < 20, "\(before) \(after)")
        #expect(!ride.deviations.contains(.offStep))
    }

    /// After a long wait the vehicle omits a loop of its route, and thereby skips a part of it.
    @Test func longWaitDoesNotMakeALaterPartOfTheRouteReachable() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.rerouteDetect = false
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHCBGL")))
        let crossing = LocalFrame(origin: try town.place("FG", 1))
        let fixes = try town.fixes("FGHC", rate: 10).prefix {
            Geodesy.distance($0.coordinate, crossing.origin) > 5
        }
        ride.drive(fixes)
        var fix = try #require(fixes.last)
        for count in 1...1_600 {
            fix.stamp = fix.stamp.advanced(bySeconds: 0.1)
            // Within the receiver's noise for two minutes; then the vehicle creeps down the street on which the loop
            // ends.
            fix.coordinate = crossing.coordinate(
                of: LocalPoint(
                    east: Double(count % 5) - 2, north: Double(count % 3) - 1 - 0.09 * Double(max(count - 1_200, 0))))
            fix.speed = count > 1_200 ? 0.9 : 0
            fix.course = nil
            ride.drive(fix)
        }
        #expect(ride.deviations.contains(.offStep), "\(ride.deviations) \(ride.progress.last?.offset ?? 0)")
    }
}
