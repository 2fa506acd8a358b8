import NavGeo
import NavMessages
import NavVerdict
import Testing

/// The figures of a drive compared with its truth, on straight roads near 60° N.
struct DriveFiguresTests {
    /// A place, in metres east and north of a corner.
    private typealias Place = (east: Double, north: Double)

    private static let frame = LocalFrame(origin: NavGeo.Coordinate(latitude: 60, longitude: 25))

    private static func coordinate(_ place: Place) -> NavGeo.Coordinate {
        frame.coordinate(of: LocalPoint(east: place.east, north: place.north))
    }

    /// Returns the places of a drive along a line, one per second.
    private static func drive(_ corners: [Place], speed: Double = 10) -> [Place] {
        var places: [Place] = [corners[0]]
        for (start, end) in zip(corners, corners.dropFirst()) {
            let (east, north) = (end.east - start.east, end.north - start.north)
            let steps = max(Int((east * east + north * north).squareRoot() / speed), 1)
            for step in 1...steps {
                let share = Double(step) / Double(steps)
                places.append((start.east + east * share, start.north + north * share))
            }
        }
        return places
    }

    private static func truth(_ places: [Place], from start: Double = 0) -> Truth {
        Truth(places.enumerated().map { (start + Double($0.offset), coordinate($0.element)) })
    }

    private static func route(_ corners: [Place]) -> Route {
        let points = corners.map(coordinate).map { (latitude: $0.latitude, longitude: $0.longitude) }
        return Route(geometry: NavMessages.Polyline(points))
    }

    /// Returns the figures of a drive, with routes that come into force and reroutes at the given times.
    private static func figures(
        _ truth: Truth, _ routes: [(time: Double, corners: [Place])], reroutes: [Double] = [],
        because reason: RerouteReason = .offRoute, until end: Double, off: Range<Double>? = nil, arrival: Double? = nil,
        eta: Double? = nil
    ) -> [String: Double] {
        var figures = DriveFigures(truth: truth)
        for (time, corners) in routes { figures.take(route(corners), at: time, start: 0) }
        for time in reroutes {
            figures.take(RerouteEvent(phase: .willReroute, reason: reason), at: time, start: 0)
        }
        for second in 0...Int(end) {
            let deviation: DeviationState = off?.contains(Double(second)) == true ? .wrongWay : .onRoute
            let progress = RouteProgress(etaNs: eta.map { Int64($0 * 1e9) }, deviation: deviation)
            figures.take(progress, at: Double(second), start: 0)
        }
        if let arrival {
            figures.take(ArrivalEvent(phase: .arrived, isDestination: true), at: arrival, start: 0)
        }
        return figures.metrics()
    }

    private static let road: [Place] = [(0, 0), (3_000, 0)]

    @Test func turningBackIsADeviation() {
        let drive = Self.drive([(0, 0), (1_000, 0), (0, 0)])
        let unseen = Self.figures(Self.truth(drive), [(0, Self.road)], until: 200)
        #expect(unseen["missed_deviations"] == 1 && unseen["false_reroutes"] == 0 && unseen["deviation_delay_s"] == nil)
        let seen = Self.figures(
            Self.truth(drive), [(0, Self.road), (110, [(900, 0), (-500, 0)])], reroutes: [110], until: 200)
        #expect(seen["missed_deviations"] == 0 && seen["false_reroutes"] == 0)
        #expect((8...10).contains(seen["deviation_delay_s"] ?? 0))
        // Before the turn the reroute has no reason.
        #expect(Self.figures(Self.truth(drive), [(0, Self.road)], reroutes: [90], until: 200)["false_reroutes"] == 1)
    }

    @Test func deviationRerouteWithoutADeviationIsFalse() {
        let truth = Self.truth(Self.drive([(0, 0), (1_000, 0), (0, 0)]))
        for (reason, count) in [(RerouteReason.offRoute, 1.0), (.wrongWay, 1), (.manual, 0), (.waypoint, 0)] {
            // The first reroute has no reason; at the second the vehicle is driving back.
            let figures = Self.figures(truth, [(0, Self.road)], reroutes: [90, 110], because: reason, until: 200)
            #expect(figures["false_reroutes"] == count, "\(reason)")
        }
    }

    @Test func turningBackBeforeACornerIsOneDeviation() {
        let corner: [Place] = [(0, 0), (500, 0), (500, 1_000)]
        let drive = Self.drive([(0, 0), (500, 0), (500, 300), (500, 0), (0, 0)])
        #expect(Self.figures(Self.truth(drive), [(0, corner)], until: 160)["missed_deviations"] == 1)
        #expect(Self.figures(Self.truth(Self.drive(corner)), [(0, corner)], until: 150)["missed_deviations"] == 0)
        // Without a reroute the state stays off-route, which also reports the later deviations.
        let crossing = drive + Self.drive([(0, 0), (0, 100), (200, 100), (200, -500)])
        let told = Self.figures(Self.truth(crossing), [(0, corner)], until: 250, off: 88..<251)
        #expect(told["missed_deviations"] == 0 && told["deviation_delay_s"].map { $0 > 4 } == true, "\(told)")
    }

    @Test func deviationAfterTheEndOfTheDriveIsNotMissed() {
        // A recording that is cut from a longer one has the whole truth.
        let whole = Self.truth(Self.drive([(0, 0), (1_000, 0), (1_000, 1_000)]))
        #expect(Self.figures(whole, [(0, Self.road)], until: 95)["missed_deviations"] == 0)
        #expect(Self.figures(whole, [(0, Self.road)], until: 130)["missed_deviations"] == 1)
    }

    @Test func routeThatPassesARoadTwiceIsFollowed() {
        let there: [Place] = [(0, 0), (1_000, 0), (0, 0), (0, 500)]
        for speed in [10.0, 2] {
            // The vehicle turns round before the end of the road, or in a place beside it.
            for end: [Place] in [[(1_000, 0)], [(970, 0)], [(990, 0), (1_000, 10), (990, 8)]] {
                let drive = Self.drive([(0, 0)] + end + [(0, 0), (0, 500)], speed: speed)
                let figures = Self.figures(
                    Self.truth(drive), [(0, there)], reroutes: [100], until: Double(drive.count - 1))
                #expect(figures["missed_deviations"] == 0 && figures["false_reroutes"] == 1, "\(speed) \(end)")
            }
        }
    }

    @Test func manoeuvresAndCreepingAreNoDeviations() {
        let standing = [Place](repeating: (300, 6), count: 60)
        // The vehicle backs 30 m into a parking place, stops there, and creeps on.
        let parking = Self.drive([(0, 0), (330, 0)]) + Self.drive([(330, 0), (300, 6)], speed: 1) + standing
        let drive = parking + Self.drive([(300, 6), (340, 0)], speed: 0.3) + Self.drive([(340, 0), (3_000, 0)])
        let figures = Self.figures(Self.truth(drive), [(0, Self.road)], until: Double(drive.count - 1))
        #expect(figures["missed_deviations"] == 0)
        // A route that is found while the vehicle is stationary begins there.
        let found = Self.figures(
            Self.truth(standing + Self.drive([(300, 6), (900, 0)])), [(0, Self.road), (30, [(300, 0), (3_000, 0)])],
            reroutes: [50], until: 110)
        #expect(found["missed_deviations"] == 0 && found["false_reroutes"] == 1)
    }

    @Test func unreportedDeviationCountsFromTenSeconds() {
        for (seconds, missed) in [(8, 0.0), (15, 1)] {
            let away = Self.drive([(500, 0), (500 + Double(seconds) * 10, 0)]).map { ($0.east, 30.0) }
            let drive = Self.drive([(0, 0), (490, 0)]) + away + Self.drive([(700, 0), (1_000, 0)])
            let figures = Self.figures(Self.truth(drive), [(0, Self.road)], until: Double(drive.count - 1))
            #expect(figures["missed_deviations"] == missed, "\(seconds) s")
        }
    }

    @Test func deviationThatItsRerouteEndsAtOnceIsJudged() {
        // The vehicle leaves the road at the corner, at 100 s.
        let truth = Self.truth(Self.drive([(0, 0), (1_000, 0), (1_000, 1_000)]))
        let north: [Place] = [(1_000, 0), (1_000, 1_000)]
        for time in [102.5, 103] {
            let figures = Self.figures(truth, [(0, Self.road), (time, north)], reroutes: [time], until: 150)
            #expect((0.5...2.5).contains(figures["deviation_delay_s"] ?? -1), "\(figures)")
            #expect(figures["missed_deviations"] == 0 && figures["false_reroutes"] == 0)
        }
        // Another route may have other reasons, and a report may concern the previous route.
        let unreported = [(0.0, nil), (97, 95..<97)].map { (start: Double, off: Range<Double>?) in
            Self.figures(truth, [(0, Self.road), (start, Self.road), (103, north)], until: 150, off: off)
        }
        #expect(unreported.allSatisfy { $0["deviation_delay_s"] == nil && $0["missed_deviations"] == 0 })
    }

    @Test func rerouteThatPrecedesTheDistanceIsADeviationsReport() {
        // A sharp turn from a recorded drive, in which the vehicle stays within 10 m of its route for 4 s.
        let old: [Place] = [
            (111.5, 17.6), (96.4, 28.2), (81.6, 34), (59, 34.6), (35.5, 27.1), (5, 5), (-0.4, -0.4), (-3.4, -3.4),
            (-28.1, -43.4), (-35.6, -57.2), (-38.5, -76.1),
        ]
        let drive: [Place] = [
            (111.3, 17.7), (100.5, 25.3), (89.4, 30.9), (78.8, 34.1), (67, 34.4), (54.5, 33.2), (41.2, 28.9),
            (29.5, 22.8), (20.2, 16.1), (12.6, 10.5), (6.5, 6.1), (2.5, 2.5), (0, 0), (0.1, 1.5), (1.2, 5.2),
            (2.7, 10.3), (4.6, 16.9), (8, 24.3), (13, 31.2), (17.9, 38.2), (22.9, 45.2), (27.9, 52.2), (34.4, 57.8),
            (41.1, 63.1), (48.5, 67.5), (56, 71.5), (63.6, 75.6), (68.9, 82.3), (74, 89.1), (77.9, 96.7), (81.2, 104.7),
            (84.2, 112.1), (86.8, 118.3),
        ]
        for (time, delay) in [(16, 0.0), (22, 5)] {
            let figures = Self.figures(
                Self.truth(drive), [(0, old), (Double(time), Array(drive[time...]))], reroutes: [Double(time)],
                until: 32)
            #expect(figures["false_reroutes"] == 0 && figures["missed_deviations"] == 0, "\(time): \(figures)")
            #expect(figures["deviation_delay_s"] == delay, "\(time): \(figures)")
        }
    }

    @Test func rerouteBeforeABriefDepartureIsFalse() {
        for (seconds, count) in [(2, 1.0), (4, 0)] {
            var drive = Self.drive([(0, 0), (1_000, 0)])
            for index in 95..<95 + seconds { drive[index].north = 20 }
            let figures = Self.figures(Self.truth(drive), [(0, Self.road)], reroutes: [90], until: 100)
            #expect(figures["false_reroutes"] == count, "\(seconds) s")
            #expect(figures["deviation_delay_s"] == (count == 0 ? 0 : nil), "\(seconds) s")
        }
    }

    @Test func departureAfterTheArrivalIsNoReasonForAReroute() {
        let truth = Self.truth(Self.drive([(0, 0), (1_000, 0), (1_000, 200)]))
        for (arrival, count) in [(99, 1), (nil, 0)] as [(Double?, Double)] {
            let figures = Self.figures(
                truth, [(0, [(0, 0), (1_000, 0)])], reroutes: [93], until: 115, arrival: arrival)
            #expect(figures["false_reroutes"] == count, "\(figures)")
        }
    }

    @Test func arrivalIsComparedWithTheTruth() {
        let corners: [Place] = [(0, 0), (1_000, 0)]
        // The vehicle reaches the destination at 100 s and stays there.
        let truth = Self.truth(Self.drive(corners) + [Place](repeating: (1_000, 0), count: 30))
        let cases: [(told: Double?, end: Double, missed: Double, error: Double?)] = [
            (98, 130, 0, 20), (70, 130, 0, 300), (125, 130, 1, 0), (nil, 130, 1, nil), (nil, 105, 1, nil),
            (nil, 101, 0, nil),
        ]
        for (told, end, missed, error) in cases {
            let figures = Self.figures(truth, [(0, corners)], until: end, arrival: told)
            #expect(figures["missed_arrivals"] == missed, "\(told ?? -1) \(end)")
            let found = figures["arrival_error_m"]
            #expect(error.map { abs($0 - (found ?? -1)) < 1 } ?? (found == nil), "\(found ?? -1)")
        }
        // The driver continues to another destination.
        let onwards = Self.figures(truth, [(0, corners), (105, [(1_000, 0), (1_000, 900)])], until: 130)
        #expect(onwards["missed_arrivals"] == 0)
        let short = Self.truth(Array(Self.drive(corners).prefix(60)))
        let unknown = Self.figures(short, [(0, corners)], until: 130, arrival: 98)
        #expect(unknown["missed_arrivals"] == nil && unknown["arrival_error_m"] == nil && unknown["arrivals"] == 1)
    }

    @Test func roundTripArrivesAtItsEnd() {
        let round: [Place] = [(0, 0), (500, 0), (500, 500), (0, 500), (0, 0)]
        // The drive begins beside the road, nearest to the last part of the route.
        let drive = [(-15, 5)] + Self.drive(round) + [Place](repeating: (0, 0), count: 20)
        for (told, missed) in [(nil, 1), (199, 0)] as [(Double?, Double)] {
            let figures = Self.figures(Self.truth(drive), [(0, round)], until: 220, arrival: told)
            #expect(figures["missed_arrivals"] == missed, "\(figures)")
        }
    }

    @Test func truthThatDoesNotCoverTheDriveJudgesNothing() {
        let drive = Self.drive([(0, 0), (1_000, 0)])
        let names = [
            "missed_deviations", "false_reroutes", "deviation_delay_s", "eta_error_s", "missed_arrivals",
            "arrival_error_m",
        ]
        let corners: [Place] = [(0, 0), (1_000, 0)]
        let routes = [(time: 0.0, corners: corners)]
        func figures(_ truth: Truth) -> [String: Double] {
            Self.figures(truth, routes, reroutes: [38], until: 100, arrival: 98, eta: 107.6)
        }
        let whole = figures(Self.truth(drive))
        #expect(whole["missed_deviations"] == 0 && whole["false_reroutes"] == 1 && whole["arrivals"] == 1)
        #expect(whole["eta_error_s"].map { abs($0 - 11) < 1 } == true, "\(whole)")
        // Times from another epoch; only the beginning; all but a minute in the middle.
        let hole = drive.enumerated().filter { !(20...80).contains($0.offset) }
        let partial = [
            Self.truth(drive, from: -1.7e9), Self.truth(Array(drive.prefix(30))), Self.truth(Array(drive.prefix(39))),
        ]
        for truth in partial { #expect(names.allSatisfy { figures(truth)[$0] == nil }) }
        let holed = figures(Truth(hole.map { (Double($0.offset), Self.coordinate($0.element)) }))
        #expect(holed["missed_deviations"] == nil && holed["eta_error_s"] == whole["eta_error_s"])
        // The truth does not show whether a reroute after its last position is false.
        let short = Self.figures(Self.truth(Array(drive.prefix(95))), routes, reroutes: [99], until: 100)
        #expect(short["missed_deviations"] == 0 && short["false_reroutes"] == nil)
    }

    @Test func eachTripHasItsOwnArrival() {
        let truth = Self.truth(Self.drive([(0, 0), (1_000, 0), (1_000, 1_000)]))
        var figures = DriveFigures(truth: truth)
        // The first destination is abandoned after 20 s; the second is reached at 97 s, the third at 197 s.
        for second in 0...200 {
            let time = Double(second)
            switch second {
            case 0: figures.take(Self.route(Self.road), at: time, start: 0)
            case 20: figures.take(Self.route([(200, 0), (1_000, 0)]), at: time, start: 0)
            case 110: figures.take(Self.route([(1_000, 100), (1_000, 1_000)]), at: time, start: 0)
            case 97, 197: figures.take(ArrivalEvent(phase: .arrived, isDestination: true), at: time, start: 0)
            default: break
            }
            let eta = second < 20 ? 300 : second <= 97 ? 107.6 : second < 110 ? 400 : 207.6
            figures.take(RouteProgress(etaNs: Int64(eta * 1e9), deviation: .onRoute), at: time, start: 0)
        }
        let error = figures.metrics()["eta_error_s"]
        #expect(error.map { abs($0 - 11) < 1 } == true, "\(error ?? -1)")
    }

    @Test func driveEndsAtItsDestination() {
        // After its arrival the vehicle continues, and passes the destination again.
        let drive = Self.drive([(0, 0), (1_000, 0), (1_000, 500), (1_000, -500)])
        let figures = Self.figures(
            Self.truth(drive), [(0, [(0, 0), (1_000, 0)])], until: 100, arrival: 100, eta: 100)
        #expect(figures["missed_deviations"] == 0)
        #expect(figures["eta_error_s"].map { $0 < 5 } == true, "\(figures)")
    }
}
