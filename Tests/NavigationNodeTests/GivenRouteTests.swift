import NavGeo
import NavMessages
import NavNavigator
import NavRouting
import NavWire
import Testing

/// Routes given by a client, converted for guidance.
struct GivenRouteTests {
    @Test func waypointMayBeWithinItsRadiusOfTheRoute() async throws {
        let table = try ServiceTable()
        let destination = NavMessages.Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
        try await table.drive(try Helsinki.drive.get().prefix(3))
        let straight = CalculateRouteRequest(waypoints: [destination], preview: false)
        let direct = try #require(try await table.routes(straight).last?.routes.first)
        let line = try #require(direct.geometry?.corners)
        let middle = line[line.count / 2]
        let via = NavMessages.Waypoint(
            latitude: middle.latitude, longitude: middle.longitude, kind: .via, radiusM: 100)
        let order = CalculateRouteRequest(waypoints: [via, destination], preview: false)
        var route = try #require(try await table.routes(order).last?.routes.first)
        // A place beside the line, on either side.
        let place = try #require(
            [0, 0.5, 1, 1.5].map { Geodesy.destination(from: middle, bearing: $0 * .pi, distance: 8) }
                .first { NavGeo.Polyline(line).project($0).map { $0.distance > 4 } ?? false })
        (route.waypoints[1].latitude, route.waypoints[1].longitude) = (place.latitude, place.longitude)
        let map = try Helsinki.map.get()
        route.waypoints[2].radiusM = 500
        var metrics = MetricCache(map.router)
        let plan = try RoutePlan(route, on: map, &metrics, snapRadius: 1)
        #expect(plan.route.waypoints.count == 3 && plan.route.waypoints[1].routeOffset > 0)
        var strict = route
        strict.waypoints[1].radiusM = nil
        #expect(throws: RouteFailure.self) { try RoutePlan(strict, on: map, &metrics, snapRadius: 1) }
    }

    @Test func routeBesideTheRoadsIsRefusedWithItsPlaceAndTheRemedy() throws {
        let map = try Helsinki.map.get()
        var metrics = MetricCache(map.router)
        let straight = NavMessages.Route(geometry: NavMessages.Polyline([Helsinki.from, Helsinki.to]))
        let error = #expect(throws: RouteFailure.self) { try RoutePlan(straight, on: map, &metrics) }
        let text = try #require(error?.message)
        #expect(text.contains(" 60.1") && text.contains("; give its line with a point at each bend"), "\(text)")
        #expect(error?.code == .noRoute && error?.isRetryable == false)
    }
}
