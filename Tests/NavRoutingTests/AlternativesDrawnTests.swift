import NavGeo
import NavMap
import NavRouting
import NavTestSupport
import Testing

private let road = ["highway": "secondary"]

@Suite("Alternatives on drawn maps")
struct AlternativesDrawnTests {
    /// Two bridges over a river, of which the northern one is on the shorter way.
    static func bridges(tail: Int = 4, south: Int = 3) throws -> ASCIIMap {
        let indent = String(repeating: " ", count: tail)
        let way = String(repeating: "-", count: tail - 1)
        var lines = ["\(indent)B-----------C", "Z\(way)A           D\(way)Y"]
        for _ in 1..<south { lines.append("\(indent)|           |") }
        lines.append("\(indent)E-----------F")
        return try ASCIIMap(
            lines.joined(separator: "\n"), gridMetres: 200,
            ways: ["ZA": road, "AB": road, "BC": road, "CD": road, "AE": road, "EF": road, "FD": road, "DY": road])
    }

    @Test("two bridges give a main route and an alternative")
    func twoBridges() throws {
        let map = try Self.bridges()
        let routes = try map.alternatives("ZY")
        #expect(map.letters(of: routes.main) == "ZABCDY")
        #expect(routes.alternatives.map { map.letters(of: $0.route) } == ["ZAEFDY"])
        let alternative = try #require(routes.alternatives.first)
        #expect(alternative.durationDelta > 0 && alternative.lengthDelta > 700 && alternative.lengthDelta < 900)
        #expect(alternative.sharing > 0.3 && alternative.sharing < 0.45)
        #expect(alternative.stretch > 1.1 && alternative.stretch <= 1.4)
        #expect(Geodesy.distance(alternative.fork.coordinate, try map.coordinate("A")) < 0.1)
        #expect(abs(alternative.fork.routeOffset - 800) < 2)
        #expect(abs(alternative.lengthFromFork + alternative.fork.routeOffset - alternative.route.length) < 1e-6)
        #expect(abs(alternative.durationFromFork + alternative.fork.routeTime - alternative.route.duration) < 1e-6)
        #expect(map.graph.key(of: try map.edge("Z", "A")) == alternative.fork.edge)
    }

    @Test("the same detour on two legs has two ids")
    func twoLegs() throws {
        // A circuit: out over the bridges, back on the one-way road in the north, and out again.
        let map = try ASCIIMap(
            """
            H---------------------G
            |   B-----------C     |
            Z---A           D-----Y
                |           |
                |           |
                E-----------F
            """, gridMetres: 200,
            ways: [
                "ZA": road, "AB": road, "BC": road, "CD": road, "AE": road, "EF": road, "FD": road, "DY": road,
                "YGHZ": ["highway": "secondary", "oneway": "yes"],
            ])
        let east = {
            try Waypoint(map.position(between: "D", "Y"), bearing: map.bearing("D", "Y"), bearingTolerance: 0.5)
        }
        let west = {
            try Waypoint(map.position(between: "Z", "A"), bearing: map.bearing("Z", "A"), bearingTolerance: 0.5)
        }
        var options = RouteOptions()
        options.waypointTurns = .never
        let request = RouteRequest(waypoints: [try west(), try east(), try west(), try east()], options: options)
        let outcome = try map.fastRouter().alternatives(request, workspace: SearchWorkspace())
        guard case .found(let found) = outcome else {
            Issue.record("no route: \(outcome)")
            return
        }
        #expect(found.alternatives.count == 2)
        #expect(Set(found.alternatives.map(\.id)).count == 2)
        let legs = found.alternatives.map { alternative in
            alternative.route.legs.indices.filter {
                alternative.route.legs[$0].length > found.main.legs[$0].length + 100
            }
        }
        #expect(legs.sorted { $0.lexicographicallyPrecedes($1) } == [[0], [2]])
    }

    @Test("moving an end to a connected road does not change the alternatives")
    func movedEnd() throws {
        let map = try ASCIIMap(
            """
             B-------C
            ZA       DY IJ
             |       |
             |       |
             E-------F
            """, gridMetres: 200,
            ways: [
                "ZA": road, "AB": road, "BC": road, "CD": road, "AE": road, "EF": road, "FD": road, "DY": road,
                "IJ": road,
            ])
        for ends in ["ZI", "IZ"] {
            let routes = try map.alternatives(ends)
            #expect(map.letters(of: routes.main).sorted() == "ABCDYZ".sorted())
            #expect(abs(Double(routes.main.cost) / 1_000 - routes.main.duration) < 0.01)
            #expect(routes.alternatives.isEmpty)
            let wider = try map.alternatives(ends, criteria: AlternativeCriteria(stretch: 1.4))
            let alternative = try #require(wider.alternatives.first)
            #expect(abs(Double(alternative.route.cost) / 1_000 - alternative.route.duration) < 0.01)
            let stretch = Double(alternative.route.cost) / Double(wider.main.cost)
            #expect(stretch > 1.25 && stretch <= alternative.stretch)
        }
    }

    @Test("the names of the roads distinguish the motorway and the national road")
    func motorway() throws {
        let map = try ASCIIMap(
            """
                B---------------C


            Z---A               D---Y
                E---------------F
            """, gridMetres: 400,
            ways: [
                "ZA": road, "ABCD": ["highway": "motorway_link", "name": "Ramp"], "AE": road, "FD": road, "DY": road,
                "EF": ["highway": "primary", "name": "National Road"],
                "BC": ["highway": "motorway", "name": "Motorway", "maxspeed": "90"],
            ])
        let routes = try map.alternatives("ZY")
        let names = [routes.via] + routes.alternatives.map(\.via)
        #expect(names.contains { $0.contains("National Road") })
        #expect(Set(names).count == names.count)
    }

    @Test("a detour around a block is not an alternative")
    func block() throws {
        let map = try ASCIIMap(
            """
            A---------B-C---------D
                      | |
                      E-F
            """, ways: ["AB": road, "BC": road, "CD": road, "BE": road, "EF": road, "FC": road])
        #expect(try map.alternatives("AD").alternatives.isEmpty)
        let generous = AlternativeCriteria(stretch: 2, detourStretch: 3, sharing: 0.99, detour: 700)
        #expect(try map.alternatives("AD", criteria: generous).alternatives.isEmpty)
    }

    @Test("a route that shares too much with the main one is not an alternative")
    func sharing() throws {
        #expect(try Self.bridges(tail: 12).alternatives("ZY").alternatives.count == 1)
        #expect(try Self.bridges(tail: 40).alternatives("ZY").alternatives.isEmpty)
    }

    @Test("a route that takes too long is not an alternative")
    func stretch() throws {
        #expect(try Self.bridges(south: 9).alternatives("ZY").alternatives.isEmpty)
    }

    @Test("a route with an unnecessary detour is not an alternative")
    func localOptimality() throws {
        // The way over K is longer than straight on from M to N, but within the stretch limit.
        let map = try ASCIIMap(
            """
                B---------------C
            Z---A               D---Y
                G------M-N------H
                        K
            """, gridMetres: 200,
            ways: [
                "ZA": road, "AB": road, "BC": road, "CD": road, "AG": road, "GM": road, "MN": road, "NH": road,
                "HD": road, "MK": road, "KN": road, "DY": road,
            ])
        let routes = try map.alternatives("ZY")
        let shown = ([routes.main] + routes.alternatives.map(\.route)).map { map.letters(of: $0) }
        #expect(Set(shown) == ["ZABCDY", "ZAGMNHDY"])
    }

    @Test("two ends on one edge have no alternatives")
    func oneEdge() throws {
        let map = try Self.bridges()
        let ends = [try map.position(between: "Z", "A", at: 0.2), try map.position(between: "Z", "A", at: 0.8)]
        #expect(try map.alternatives(ends.map { Waypoint($0) }).alternatives.isEmpty)
    }

    @Test("an alternative replaces one leg at a time")
    func legs() throws {
        let map = try ASCIIMap(
            """
              B------C     G------H
            Z-A      D--S--P      Q-Y
              |      |     |      |
              E------F     I------J
            """, gridMetres: 300,
            ways: [
                "ZA": road, "AB": road, "BC": road, "CD": road, "AE": road, "EF": road, "FD": road, "DS": road,
                "SP": road, "PG": road, "GH": road, "HQ": road, "PI": road, "IJ": road, "JQ": road, "QY": road,
            ])
        let routes = try map.alternatives("ZSY")
        #expect(map.letters(of: routes.main) == "ZABCDSPGHQY")
        #expect(
            Set(routes.alternatives.map { map.letters(of: $0.route) }) == ["ZAEFDSPGHQY", "ZABCDSPIJQY"])
        for alternative in routes.alternatives {
            #expect(alternative.route.legs.count == 2 && alternative.sharing < 0.8)
            RouteInvariants.check(alternative.route, map.graph, "with a replaced leg")
        }
    }

    @Test("while driving a route, the best route from the vehicle is an alternative")
    func driven() throws {
        let map = try Self.bridges()
        let current = try #require(try map.alternatives("ZY").alternatives.first?.route)
        let here = try map.position(between: "Z", "A", at: 0.5)
        let routes = try map.alternatives([Waypoint(here), Waypoint(try map.coordinate("Y"))], to: current)
        #expect(routes.mainIsCurrent)
        #expect(map.letters(of: routes.main) == "ZAEFDY")
        #expect(abs(routes.main.length - (current.length - 400)) < 2)
        let faster = try #require(routes.alternatives.first)
        #expect(map.letters(of: faster.route) == "ZABCDY" && routes.alternatives.count == 1)
        #expect(faster.durationDelta < 0 && faster.lengthDelta < 0)
        #expect(abs(faster.fork.routeOffset - 400) < 2)
        #expect(Geodesy.distance(faster.fork.coordinate, try map.coordinate("A")) < 0.1)
    }

    @Test("past the fork there is no alternative; off route the best route is the main one")
    func pastTheFork() throws {
        let map = try Self.bridges()
        let current = try map.alternatives("ZY").main
        let goal = Waypoint(try map.coordinate("Y"))
        let past = Waypoint(try map.position(between: "B", "C", at: 0.5), bearing: try map.bearing("B", "C"))
        let routes = try map.alternatives([past, goal], to: current)
        #expect(routes.mainIsCurrent && routes.alternatives.isEmpty)
        let off = Waypoint(try map.position(between: "E", "F", at: 0.5))
        #expect(try !map.alternatives([off, goal], to: current).mainIsCurrent)
    }

    @Test("a road behind the vehicle that is closed or no longer exists does not invalidate the route being driven")
    func closedBehind() throws {
        let map = try Self.bridges()
        let current = try #require(try map.alternatives("ZY").alternatives.first?.route)
        let here = Waypoint(try map.position(between: "A", "E", at: 0.5), bearing: try map.bearing("A", "E"))
        let goal = Waypoint(try map.coordinate("Y"))
        var gone = current
        gone.edges[0].key = EdgeKey(rawValue: .max)
        #expect(try map.alternatives([here, goal], to: gone).mainIsCurrent)
        gone = current
        gone.edges[gone.edges.count - 1].key = EdgeKey(rawValue: .max)
        #expect(try !map.alternatives([here, goal], to: gone).mainIsCurrent)
        let router = try map.fastRouter()
        for (street, isCurrent) in [("ZA", true), ("EF", false)] {
            let ends = Array(street)
            let live = router.live(TrafficTests.overlay(TrafficTests.speed(street, ends[0], ends[1], 0)))
            let outcome = live.alternatives(
                RouteRequest(waypoints: [here, goal]), to: current, workspace: SearchWorkspace())
            guard case .found(let found) = outcome else {
                Issue.record("no route with \(street) closed: \(outcome)")
                continue
            }
            #expect(found.mainIsCurrent == isCurrent, "with \(street) closed")
        }
    }

    @Test("the remaining route keeps a stop ahead")
    func drivenWithStops() throws {
        let map = try Self.bridges()
        let stops = [try map.coordinate("Z"), try map.position(between: "B", "C"), try map.coordinate("Y")]
        let current = try map.route(stops.map { Waypoint($0) })
        let here = try map.position(between: "Z", "A", at: 0.25)
        let rest = [Waypoint(here)] + stops.dropFirst().map { Waypoint($0) }
        let routes = try map.alternatives(rest, to: current)
        #expect(routes.mainIsCurrent && routes.main.legs.count == 2)
        #expect(abs(routes.main.length - (current.length - 200)) < 2)
        RouteInvariants.check(routes.main, map.graph, "the remaining route")
    }

    @Test("a detour keeps its id while the vehicle approaches")
    func identity() throws {
        let map = try Self.bridges()
        let goal = Waypoint(try map.coordinate("Y"))
        let first = try map.alternatives("ZY")
        let alternative = try #require(first.alternatives.first)
        for share in [0.1, 0.5, 0.9] {
            let here = Waypoint(try map.position(between: "Z", "A", at: share))
            let later = try map.alternatives([here, goal], to: first.main)
            #expect(later.alternatives.map(\.id) == [alternative.id])
        }
        let back = try map.alternatives([Waypoint(try map.coordinate("Z")), goal], to: alternative.route)
        #expect(back.alternatives.map(\.id) != [alternative.id])
    }

    @Test("a missing hierarchy is an error, and a limit of zero gives no alternatives")
    func refusals() throws {
        let map = try Self.bridges()
        let request = RouteRequest(waypoints: [Waypoint(try map.coordinate("Z")), Waypoint(try map.coordinate("Y"))])
        guard case .notFound(.invalid) = map.router().alternatives(request, workspace: SearchWorkspace()) else {
            Issue.record("alternatives were found without a hierarchy")
            return
        }
        let router = try map.fastRouter()
        for limit in [Int.min, 0] {
            guard case .found(let routes) = router.alternatives(request, limit: limit, workspace: SearchWorkspace())
            else {
                Issue.record("no route with a limit of \(limit)")
                return
            }
            #expect(routes.alternatives.isEmpty)
        }
        var odd = request
        odd.waypoints.removeLast()
        guard case .notFound(.invalid) = router.alternatives(odd, workspace: SearchWorkspace()) else {
            Issue.record("alternatives were found to an unreachable place")
            return
        }
    }
}

extension ASCIIMap {
    /// Returns a router over a hierarchy.
    func fastRouter() throws -> Router {
        let hierarchy = try #require(ContractionHierarchy(turns))
        return Router(HierarchyMetric(hierarchy, Metric(turns, model: CostModel())))
    }

    /// Returns the routes between places.
    func alternatives(
        _ waypoints: [Waypoint], to current: Route? = nil, criteria: AlternativeCriteria = AlternativeCriteria()
    ) throws -> AlternativeRoutes {
        let outcome = try fastRouter().alternatives(
            RouteRequest(waypoints: waypoints), to: current, criteria: criteria, workspace: SearchWorkspace())
        switch outcome {
        case .found(let routes): return routes
        case .notFound(let reason):
            Issue.record("no route: \(reason)")
            return AlternativeRoutes(main: try route(waypoints))
        }
    }

    /// Returns the routes that stop at the given nodes.
    func alternatives(_ stops: String, criteria: AlternativeCriteria = AlternativeCriteria()) throws
        -> AlternativeRoutes
    {
        try alternatives(try stops.map { Waypoint(try coordinate($0)) }, criteria: criteria)
    }
}
