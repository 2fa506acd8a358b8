import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Decisions on faster routes, and what they mean for the rest of the trip.
@Suite struct FasterRouteTests {
    /// A trip along a detour, to which the router finds a faster route.
    private static func offered(
        _ approval: FasterRouteConfig.Approval, asked: Set<PolicyKind> = []
    ) throws -> Ride {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.alternatives.isEnabled = false
        config.faster.interval = 5
        config.faster.minimumRemaining = 1
        config.faster.approval = approval
        config.policy.asked = asked
        var ride = Ride(town.map, config: config)
        // Without the points that were drawn on the detour, the direct way is open.
        var route = try town.route("FGHMNIJ")
        route.waypoints = [route.waypoints[0], route.waypoints[route.waypoints.count - 1]]
        route.legs[0].destination = 1
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        for fix in try town.fixes("FGHIJ") where events(ride).isEmpty { ride.drive(fix) }
        return ride
    }

    private static func events(_ ride: Ride) -> [FasterRouteEvent] {
        ride.told.compactMap { if case .fasterRoute(let event) = $0.what { event } else { nil } }
    }

    @Test func fasterRouteOfTheDriverIsTheChosenOne() throws {
        var ride = try Self.offered(.manual)
        let offer = try #require(Self.events(ride).last)
        #expect(ride.plans.last?.chosenRouteID == 1)
        ride.command(.acceptFasterRoute(true, route: offer.id), call: 7)
        #expect(ride.plans.last?.chosenRouteID == offer.id)
        // Reroutes prefer it from now on.
        ride.answering = .byHand
        ride.command(.reroute(nil))
        let preferred = try #require(ride.queries.last).request.options.chosenRoute
        #expect(preferred == offer.plan.route.edges.map(\.key))
    }

    @Test func fasterRouteOfTheOwnerIsTheChosenOne() throws {
        var ride = try Self.offered(.policy, asked: [.acceptFasterRoute])
        let offer = try #require(Self.events(ride).last)
        let question = try #require(ride.questions.last)
        ride.send(.policyAnswer(requestID: question.requestID, PolicyAnswer(verdict: true)))
        #expect(ride.plans.last?.chosenRouteID == offer.id)
    }

    @Test func fasterRouteThatNobodyDecidedOnIsNotChosen() throws {
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
}
