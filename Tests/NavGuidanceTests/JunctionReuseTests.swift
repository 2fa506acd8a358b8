import NavGeo
import NavGuidance
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Reused junctions")
struct JunctionReuseTests {
    @Test("Earlier routes do not change a route's guidance")
    func formerRoutes() throws {
        let map = try RealMap.helsinki.get()
        let router = map.router()
        var random = SeededRandom(seed: 17)
        var routes: [Route] = []
        while routes.count < 60 {
            let waypoints = (0..<2).map { _ in Waypoint(map.graph.randomPlace(&random)) }
            let outcome = router.route(RouteRequest(waypoints: waypoints), workspace: SearchWorkspace())
            if case .found(let route) = outcome { routes.append(route) }
        }
        let fresh = routes.map { RouteGuidance(route: $0, graph: map.graph) }
        for order in [Array(routes.indices), routes.indices.reversed()] {
            let reused = JunctionModel(map.graph, for: router.metric.model.profile.access)
            // The last ten routes are guided a second time, with all their junctions cached.
            for index in order + order.prefix(10) {
                let guidance = RouteGuidance(route: routes[index], junctions: reused, options: GuidanceOptions())
                #expect(guidance == fresh[index], "route \(index)")
            }
        }
    }
}
