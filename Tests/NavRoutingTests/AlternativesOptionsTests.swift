import NavGeo
import NavMap
import NavRouting
import NavTestSupport
import Testing

private let road = ["highway": "secondary"]

@Suite("Alternatives respect the route options")
struct AlternativesOptionsTests {
    /// Three ways from Z to Y: over B and C, over G and H, and over E and F, which is the longest.
    static func ways() throws -> ASCIIMap {
        try ASCIIMap(
            """
                B-----------C
                |           |
            Z---A-----------D---Y
                |           |
                |           |
                E-----------F
            """, gridMetres: 300,
            ways: [
                "ZA": road, "AB": road, "BC": road, "CD": road, "AD": road, "AE": road, "EF": road, "FD": road,
                "DY": road,
            ])
    }

    /// Lenient criteria, so that all three ways are alternatives.
    static let criteria = AlternativeCriteria(stretch: 2, detourStretch: 2.5, sharing: 0.95, localOptimality: 0.05)

    private static func ask(_ map: ASCIIMap, _ options: RouteOptions) throws -> [String] {
        let router = Router(graph: map.graph)
        let request = RouteRequest(waypoints: try "ZY".map { Waypoint(try map.coordinate($0)) }, options: options)
        let outcome = router.alternatives(request, criteria: criteria, workspace: SearchWorkspace())
        guard case .found(let routes) = outcome else {
            Issue.record("\(outcome)")
            return []
        }
        return [map.letters(of: routes.main)] + routes.alternatives.map { map.letters(of: $0.route) }
    }

    @Test("no route uses excluded edges and areas")
    func exclusions() throws {
        let map = try Self.ways()
        #expect(try Set(Self.ask(map, RouteOptions())) == ["ZADY", "ZABCDY", "ZAEFDY"])
        var options = RouteOptions()
        options.excludedEdges = [map.graph.key(of: try map.edge("B", "C"))]
        #expect(try Self.ask(map, options) == ["ZADY", "ZAEFDY"])
        options.excludedEdges = []
        let spot = try map.position(between: "E", "F")
        options.excludedAreas = [
            ExcludedArea(
                BoundingBox(
                    south: spot.latitude - 1e-4, west: spot.longitude - 1e-4, north: spot.latitude + 1e-4,
                    east: spot.longitude + 1e-4))
        ]
        #expect(try Self.ask(map, options) == ["ZADY", "ZABCDY"])
        options.excludedAreas = [ExcludedArea(corners: [])]
        let request = RouteRequest(waypoints: try "ZY".map { Waypoint(try map.coordinate($0)) }, options: options)
        let outcome = Router(graph: map.graph).alternatives(request, workspace: SearchWorkspace())
        guard case .notFound(.invalid) = outcome else {
            Issue.record("an area without corners was accepted: \(outcome)")
            return
        }
    }

    @Test("no route uses roads closed at the departure time")
    func departure() throws {
        let map = try ASCIIMap(
            """
                B-----------C
                |           |
            Z---A-----------D---Y
            """, gridMetres: 300,
            ways: [
                "ZA": road, "AB": road, "CD": road, "AD": road, "DY": road,
                "BC": ["highway": "secondary", "motor_vehicle:conditional": "no @ (22:00-06:00)"],
            ])
        var options = RouteOptions()
        options.departure = DepartureTests.monday(12)
        #expect(try Self.ask(map, options) == ["ZADY", "ZABCDY"])
        options.departure = DepartureTests.monday(23)
        #expect(try Self.ask(map, options) == ["ZADY"])
    }

    @Test("the chosen route is the main route, and the faster one an alternative")
    func chosenRoute() throws {
        let map = try Self.ways()
        var options = RouteOptions()
        options.chosenRoute = try ["ZA", "AB", "BC", "CD", "DY"].map { way in
            map.graph.key(of: try map.edge(way.first ?? "?", way.last ?? "?"))
        }
        options.chosenRouteFactor = 0.5
        let shown = try Self.ask(map, options)
        #expect(shown.first == "ZABCDY" && shown.contains("ZADY"))
    }

    @Test("no alternative has more maneuvers near the start than the main route")
    func initialManeuvers() throws {
        let map = try Self.ways()
        var options = RouteOptions()
        // Both detours leave the straight road at A, 1,200 m from the start.
        options.initialManeuverAvoidance = 1_500
        #expect(try Self.ask(map, options) == ["ZADY"])
        options.initialManeuverAvoidance = 1_000
        #expect(try Self.ask(map, options).count == 3)
    }
}
