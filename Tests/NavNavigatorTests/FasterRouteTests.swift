import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Decisions on faster routes, and their effect on the rest of the trip.
@Suite struct FasterRouteTests {
    /// Returns a trip along a detour for which the router finds a faster route, and the fixes of the drive.
    private static func trip(_ config: NavigatorConfig) throws -> (ride: Ride, fixes: [Fix]) {
        let town = try Town.grid()
        var config = config
        config.alternatives.isEnabled = false
        config.faster.interval = 5
        config.faster.minimumRemaining = 1
        var ride = Ride(town.map, config: config)
        // Without the intermediate points of the detour, the direct way is available.
        var route = try town.route("FGHMNIJ")
        route.waypoints = [route.waypoints[0], route.waypoints[route.waypoints.count - 1]]
        route.legs[0].destination = 1
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        return (ride, try town.fixes("FGHIJ"))
    }

    /// Returns a trip for which a faster route was found.
    private static func offered(
        _ approval: FasterRouteConfig.Approval, asked: Set<PolicyKind> = []
    ) throws -> Ride {
        var config = NavigatorConfig()
        config.faster.approval = approval
        config.policy.asked = asked
        var (ride, fixes) = try trip(config)
        for fix in fixes where events(ride).isEmpty { ride.drive(fix) }
        return ride
    }

    private static func events(_ ride: Ride) -> [FasterRouteEvent] {
        ride.told.compactMap { if case .fasterRoute(let event) = $0.what { event } else { nil } }
    }

    @Test func aShorterIntervalCountsFromTheLastSearch() throws {
        let town = try Town("A---------------B", ways: ["AB": Town.road("Main Street")])
        var config = NavigatorConfig()
        config.faster.interval = 3_600
        config.faster.minimumRemaining = 1
        config.alternatives.interval = 3_600
        var ride = Ride(town.map, config: config)
        ride.command(.navigate([try town.waypoint("AB", 0.95)]))
        let start = try town.place("AB", 0.1)
        let east = try town.map.bearing("A", "B")
        func searches(_ purpose: RoutePurpose) -> Int { ride.looks.count { $0.purpose == purpose } }
        for second in 0..<50 {
            if second == 20 {
                #expect(searches(.fasterRoute) == 0 && searches(.alternatives) == 1)
                config.faster.interval = 30
                config.alternatives.interval = 30
                ride.send(.configured(config))
            }
            ride.drive(
                Fix(
                    stamp: SeededDrive.start.advanced(bySeconds: Double(second)),
                    coordinate: Geodesy.destination(from: start, bearing: east, distance: Double(second) * 14),
                    horizontalSigma: 3, speed: 14, course: east, type: .fix3D))
        }
        #expect(searches(.fasterRoute) == 1 && searches(.alternatives) == 2)
    }

    @Test func fasterRouteAcceptedByTheDriverBecomesTheChosenRoute() throws {
        var ride = try Self.offered(.manual)
        let offer = try #require(Self.events(ride).last)
        #expect(ride.plans.last?.chosenRouteID == 1)
        ride.command(.acceptFasterRoute(true, route: offer.id), call: 7)
        #expect(ride.plans.last?.chosenRouteID == offer.id)
        // Later reroutes prefer it.
        ride.answering = .byHand
        ride.command(.reroute(nil))
        let preferred = try #require(ride.queries.last).request.options.chosenRoute
        #expect(preferred == offer.plan.route.edges.map(\.key))
    }

    @Test func fasterRouteAcceptedByTheOwnerBecomesTheChosenRoute() throws {
        var ride = try Self.offered(.policy, asked: [.acceptFasterRoute])
        let offer = try #require(Self.events(ride).last)
        let question = try #require(ride.questions.last)
        ride.send(.policyAnswer(requestID: question.requestID, PolicyAnswer(verdict: true)))
        #expect(ride.plans.last?.chosenRouteID == offer.id)
    }

    @Test func automaticFasterRouteDoesNotBecomeTheChosenRoute() throws {
        let ride = try Self.offered(.automatic)
        #expect(Self.events(ride).last?.phase == .applied(oldRouteID: 1))
        #expect(ride.plans.last?.chosenRouteID == 1)
    }

    @Test func rejectionStatesItsReason() throws {
        var ride = try Self.offered(.policy, asked: [.acceptFasterRoute])
        let question = try #require(ride.questions.last)
        ride.send(.policyAnswer(requestID: question.requestID, PolicyAnswer(verdict: false, reason: "scenic")))
        #expect(Self.events(ride).last?.phase == .rejected(.refused("scenic")))

        let unasked = try Self.offered(.policy)
        #expect(Self.events(unasked).last?.phase == .rejected(.nobodyAsked))

        var stopped = try Self.offered(.manual)
        stopped.command(.stop)
        #expect(Self.events(stopped).last?.phase == .rejected(.ended))
    }

    /// A faster route begins where it was requested; when it is found, the vehicle may be closer to its fork.
    @Test func forkIsMeasuredFromTheVehicleAfterASlowAnswer() throws {
        var config = NavigatorConfig()
        config.rerouteDeadline = 100
        config.faster.approval = .manual
        (config.faster.minimumGain, config.faster.minimumGainSeconds) = (0.01, 1)
        var (ride, fixes) = try Self.trip(config)
        ride.answersLooks = false
        for fix in fixes where ride.progress.last.map({ $0.stepDistanceRemaining > 100 }) ?? true { ride.drive(fix) }
        #expect(ride.progress.last?.deviation.state == .onRoute)
        let query = try #require(ride.looks.first { $0.purpose == .fasterRoute })
        ride.answer(query)
        #expect(Self.events(ride).isEmpty && ride.navigator.fasterRoutes.notWorthIt == 1)
    }

    @Test func trafficStampIsTheNewerOneOfBothRoutes() throws {
        var config = NavigatorConfig()
        config.faster.approval = .manual
        config.refresh.minimumInterval = 0
        var (ride, fixes) = try Self.trip(config)
        ride.answersLooks = false
        for fix in fixes where ride.looks.isEmpty { ride.drive(fix) }
        let query = try #require(ride.looks.first)
        let answer = Planner().answer(query, on: ride.map)
        // The traffic that slows the route in force arrives after the search.
        var overlay = TrafficOverlay()
        let stamp = ride.now
        overlay.stamp = stamp
        _ = overlay.apply([
            TrafficSpeed(fromNodeID: ASCIIMap.nodeID("M"), toNodeID: ASCIIMap.nodeID("N"), speed: 3)
        ])
        ride.map = MapSnapshot(ride.map, router: ride.map.router.live(overlay))
        ride.send(.mapChanged(ride.map))
        ride.answer(query, answer)
        let event = try #require(Self.events(ride).last)
        #expect(event.gain.pricing == .onBoard && event.gain.trafficStamp == stamp)
    }

    @Test func gainIsThatOfTheWholeRouteAfterASlowAnswer() throws {
        var config = NavigatorConfig()
        config.faster.approval = .manual
        var gains: [Double] = []
        for seconds in [0, 6] {
            var (ride, fixes) = try Self.trip(config)
            ride.answersLooks = false
            let asked = try #require(
                fixes.firstIndex {
                    ride.drive($0)
                    return !ride.looks.isEmpty
                })
            ride.drive(fixes[(asked + 1)...].prefix(seconds))
            ride.answer(ride.looks[0])
            gains.append(try #require(Self.events(ride).last).gain.seconds)
        }
        #expect(gains[0] > 30 && abs(gains[0] - gains[1]) < 0.1)
    }
}
