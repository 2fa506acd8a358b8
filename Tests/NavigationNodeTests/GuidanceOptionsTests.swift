import NavGeo
import NavMessages
import NavNavigator
import NavRouting
import NavWire
import NavigationNode
import Testing

/// Options of requests and answers that concern a trip under way.
struct GuidanceOptionsTests {
    @Test func optionsWithoutAMeaningDuringGuidanceAreRefusedByName() async throws {
        let table = try ServiceTable()
        let destination = NavMessages.Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
        try await table.drive(try Helsinki.drive.get().prefix(3))
        func set(_ options: NavMessages.RouteOptions) async throws -> ErrorInfo? {
            let order = CalculateRouteRequest(waypoints: [destination], options: options)
            return try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(order))).error
        }
        let others = try await set(NavMessages.RouteOptions(alternatives: 2))
        #expect(others?.code == .invalidRequest)
        #expect(others?.message?.hasPrefix("calculate.options.alternatives: ") == true)
        // No alternatives are what SetRoute gives, and a departure decides about rules for certain hours.
        let departure = Helsinki.start
        #expect(try await set(NavMessages.RouteOptions(alternatives: 0, departureNs: departure)) == nil)
        for (options, name) in [
            (NavMessages.RouteOptions(alternatives: 1), "options.alternatives: "),
            (NavMessages.RouteOptions(departureNs: departure), "options.departure_ns: "),
        ] {
            let answer = try await table.call(NavigationService.reroute, RerouteRequest(options: options))
            #expect(answer.requestId == nil && answer.error?.code == .invalidRequest)
            #expect(answer.error?.message?.hasPrefix(name) == true, "\(answer)")
            let owner = RerouteOptionsAnswer(options: options)
            let vehicle = NavRouting.VehicleProfile()
            let refusal = #expect(throws: RouteFailure.self) { try NavNavigator.PolicyAnswer(owner, node: vehicle) }
            #expect(refusal?.message.hasPrefix(name) == true)
            // A recorded answer was accepted then.
            let recorded = NavNavigator.PolicyAnswer(
                recorded: NavMessages.PolicyDecision(content: .rerouteOptions(owner)), as: nil, node: vehicle)
            #expect(recorded.content != nil)
        }
    }
}
