import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

private let road = ["highway": "residential"]

@Suite("Route options")
struct OptionsTests {
    /// Returns the route with options, which both searches must find alike.
    static func route(_ map: ASCIIMap, _ waypoints: [Waypoint], _ options: RouteOptions) throws -> Route? {
        let request = RouteRequest(waypoints: waypoints, options: options)
        let fast = Router(graph: map.graph)
        let outcome = fast.route(request, workspace: SearchWorkspace())
        #expect(outcome.cost == Router(fast.metric).route(request, workspace: SearchWorkspace()).cost)
        guard case .found(let route) = outcome else { return nil }
        return route
    }

    static func ends(_ map: ASCIIMap, _ places: String) throws -> [Waypoint] {
        try places.map { Waypoint(try map.coordinate($0)) }
    }

    static func block() throws -> ASCIIMap {
        try ASCIIMap(
            """
            A---B---C---F
            |       |
            D-------E
            """, ways: ["AB": road, "BC": road, "CF": road, "AD": road, "CE": road, "DE": road])
    }

    @Test("excluded edges are not used in their direction")
    func edges() throws {
        let map = try Self.block()
        var options = RouteOptions()
        let edge = try #require(map.graph.edge("B", "C"))
        options.excludedEdges = [map.graph.key(of: edge)]
        #expect(map.letters(of: try #require(try Self.route(map, Self.ends(map, "AF"), options))) == "ADECF")
        #expect(map.letters(of: try #require(try Self.route(map, Self.ends(map, "FA"), options))) == "FCBA")
    }

    @Test("an excluded area is not entered, and a road that crosses it is not used")
    func areas() throws {
        let map = try Self.block()
        let middle = try map.position(between: "B", "C")
        var options = RouteOptions()
        options.excludedAreas = [
            ExcludedArea(
                corners: [0.0, 2.1, 4.2].map { Geodesy.destination(from: middle, bearing: $0, distance: 60) })
        ]
        #expect(map.letters(of: try #require(try Self.route(map, Self.ends(map, "AF"), options))) == "ADECF")
        // The hole of an area is not excluded.
        let rings = [900.0, 350].map { radius in
            [0.0, 1.6, 3.1, 4.7].map { Geodesy.destination(from: middle, bearing: $0, distance: radius) }
        }
        options.excludedAreas = [ExcludedArea(corners: rings[0], holes: [rings[1]])]
        let near = [-30.0, 30].map { Waypoint(Geodesy.destination(from: middle, bearing: .pi / 2, distance: $0)) }
        #expect(try Self.route(map, near, options).map { map.letters(of: $0) } == "BC")
        options.excludedAreas = [ExcludedArea(corners: rings[0])]
        #expect(try Self.route(map, near, options) == nil)
        let c = try map.coordinate("C")
        options.excludedAreas = [
            ExcludedArea(
                BoundingBox(
                    south: c.latitude - 1e-4, west: c.longitude - 1e-4, north: c.latitude + 1e-4,
                    east: c.longitude + 1e-4))
        ]
        #expect(map.letters(of: try #require(try Self.route(map, Self.ends(map, "AD"), options))) == "AD")
        #expect(try Self.route(map, Self.ends(map, "AE"), options).map { map.letters(of: $0) } == "ADE")
    }

    @Test("invalid options are rejected")
    func refusals() throws {
        let map = try Self.block()
        let waypoints = try Self.ends(map, "AF")
        var wrong: [RouteOptions] = []
        for radius in [-1, .nan, 1e9] {
            wrong.append(RouteOptions())
            wrong[wrong.count - 1].initialManeuverAvoidance = radius
        }
        for factor in [0, -1, 1.1, .nan] {
            wrong.append(RouteOptions())
            wrong[wrong.count - 1].chosenRouteFactor = factor
        }
        let bad = Coordinate(latitude: .nan, longitude: 0)
        let far = Coordinate(latitude: 0, longitude: 90)
        for corners in [
            [], [bad, bad, bad], [waypoints[0].coordinate, far, bad], [waypoints[0].coordinate, far, far],
        ] {
            wrong.append(RouteOptions())
            wrong[wrong.count - 1].excludedAreas = [ExcludedArea(corners: corners)]
        }
        for options in wrong {
            let outcome = map.router().route(
                RouteRequest(waypoints: waypoints, options: options), workspace: SearchWorkspace())
            guard case .invalid = outcome else {
                Issue.record("\(options) was accepted")
                continue
            }
        }
    }

    @Test("near the start, going straight on is preferred to turning")
    func initialManeuvers() throws {
        let map = try ASCIIMap(
            """
            A---B---C
                |   |
                D---E---F
            """,
            ways: ["ABC": road, "BD": ["highway": "primary"], "DE": ["highway": "primary"], "CE": road, "EF": road])
        let start = Waypoint(try map.coordinate("A"))
        let goal = Waypoint(try map.coordinate("F"))
        var options = RouteOptions()
        let usual = try #require(try Self.route(map, [start, goal], options))
        #expect(map.letters(of: usual) == "ABDEF")
        options.initialManeuverAvoidance = 500
        let careful = try #require(try Self.route(map, [start, goal], options))
        #expect(map.letters(of: careful) == "ABCEF")
        #expect(careful.duration < usual.duration + 120)
        // Where every way has maneuvers, the way with the fewest is used.
        options.initialManeuverAvoidance = 3_000
        let toD = try Self.route(map, [start, Waypoint(try map.position(between: "B", "D", at: 0.1))], options)
        #expect(toD.map { map.letters(of: $0) } == "ABD")
    }

    @Test("the chosen route is kept even if another is slightly faster")
    func chosenRoute() throws {
        let map = try ASCIIMap(
            """
            A---B-------C---D
                |       |
                E-------F
            """, ways: ["AB": road, "BC": road, "CD": road, "BE": road, "EF": road, "FC": road])
        let ends = try Self.ends(map, "AD")
        var detour = RouteOptions()
        detour.excludedEdges = [map.graph.key(of: try #require(map.graph.edge("B", "C")))]
        let other = try #require(try Self.route(map, ends, detour))
        var options = RouteOptions()
        options.chosenRoute = other.edges.map(\.key)
        #expect(map.letters(of: try #require(try Self.route(map, ends, options))) == "ABCD")
        options.chosenRouteFactor = 0.4
        let kept = try #require(try Self.route(map, ends, options))
        #expect(map.letters(of: kept) == "ABEFCD")
        #expect(kept.edges.map(\.key) == options.chosenRoute)
    }

    @Test("the side of the kerb determines the direction, mirrored in left-hand traffic", arguments: [false, true])
    func kerb(left: Bool) throws {
        let map = try ASCIIMap(
            """
            A---B-------C
                |       |
                D-------E
            """, ways: ["AB": road, "BC": road, "BD": road, "DE": road, "CE": road], leftHandTraffic: left)
        let start = Waypoint(try map.coordinate("A"))
        for north in [true, false] {
            let place = Geodesy.destination(
                from: try map.position(between: "B", "C"), bearing: north ? 0 : .pi, distance: 10)
            let free = try #require(try Self.route(map, [start, Waypoint(place)], RouteOptions()))
            #expect(map.letters(of: free) == "ABC")
            let kerb = try #require(try Self.route(map, [start, Waypoint(place, approach: .kerb)], RouteOptions()))
            #expect(map.letters(of: kerb) == (north == left ? "ABC" : "ABDECB"))
        }
    }

    @Test("U-turns at waypoints are allowed at stops, everywhere or nowhere")
    func turns() throws {
        let map = try ASCIIMap(
            """
            A---B---C---D
                |   |
                E---F
            """, ways: ["AB": road, "BC": road, "CD": road, "BE": road, "EF": road, "FC": road])
        let start = Waypoint(try map.coordinate("A"))
        let place = try map.position(between: "B", "C")
        for isStop in [true, false] {
            let trip = [start, Waypoint(place, isStop: isStop), start]
            var options = RouteOptions()
            options.waypointTurns = .everywhere
            #expect(map.letters(of: try #require(try Self.route(map, trip, options))) == "ABCBA")
            options.waypointTurns = .never
            let round = map.letters(of: try #require(try Self.route(map, trip, options)))
            #expect(["ABCFEBA", "ABEFCBA"].contains(round))
        }
    }

    @Test("on random towns the chosen route is joined at the best place", arguments: 1...12 as ClosedRange<UInt64>)
    func chosenOracle(seed: UInt64) throws {
        let map = try RandomMap(seed: seed &+ 70, size: 7)
        let router = Router(graph: map.graph)
        let oracle = Oracle(OracleRoads(map.graph), router.metric.model)
        let tree = Oracle.Tree()
        var random = SeededRandom(seed: seed)
        var compared = 0
        for _ in 0..<20 {
            let places = (0..<3).map { _ in Waypoint(map.place(&random)) }
            guard
                case .found(let chosen) = router.route(
                    RouteRequest(waypoints: [places[0], places[1]]), workspace: SearchWorkspace()),
                chosen.edges.count > 3
            else { continue }
            var options = RouteOptions()
            options.chosenRoute = chosen.edges.map(\.key)
            options.chosenRouteFactor = 0.6
            let edges = try chosen.edges.map { try #require(map.graph.edge($0.key)) }
            let end = try #require(chosen.edges.last)
            // The same end in the chosen route's direction, so that only one place is possible.
            let goal = Waypoint(
                chosen.waypoints[1].snapped,
                bearing: map.graph.position(at: end.endOffset, of: edges[edges.count - 1]).bearing,
                bearingTolerance: 0.3)
            let spot = try #require(map.graph.edges(near: places[2].coordinate, radius: 1_000).first)
            let start = Waypoint(places[2].coordinate, bearing: spot.bearing, bearingTolerance: 0.3)
            let request = RouteRequest(waypoints: [start, goal], options: options)
            let plain = RouteRequest(waypoints: [start, goal])
            guard case .found(let usual) = router.route(plain, workspace: SearchWorkspace()),
                case .found(let route) = router.route(request, workspace: SearchWorkspace()),
                usual.edges.last?.key == end.key, route.edges.last?.key == end.key,
                route.edges[0].key == usual.edges[0].key, route.edges[0].key == map.graph.key(of: spot.edge)
            else { continue }
            oracle.search(tree, from: [Oracle.Seed(edge: spot.edge, offset: usual.edges[0].startOffset)])
            var best = usual.cost
            for index in edges.indices.dropLast() {
                guard let reached = oracle.cost(tree, edges[index].index) else { continue }
                var rest: UInt64 = 0
                for next in (index + 1)..<edges.count {
                    rest += try #require(oracle.turnCost(edges[next - 1], edges[next]))
                    rest += oracle.part(
                        edges[next], 0,
                        next == edges.count - 1 ? usual.edges[usual.edges.count - 1].endOffset : .infinity)
                }
                best = min(best, reached + UInt64((Double(rest) * 0.6).rounded()))
            }
            compared += 1
            #expect(route.cost <= usual.cost && route.cost == best, "RandomMap(seed: \(seed &+ 70))")
        }
        #expect(compared > 0)
    }
}

extension RoadGraph {
    /// Returns the edge between two drawn nodes.
    fileprivate func edge(_ from: Character, _ to: Character) -> EdgeIndex? {
        (0..<edgeCount).map { EdgeIndex($0) }.first {
            nodeOSMIDs[edgeTails[$0.index].index] == ASCIIMap.nodeID(from)
                && nodeOSMIDs[edgeHeads[$0.index].index] == ASCIIMap.nodeID(to)
        }
    }
}
