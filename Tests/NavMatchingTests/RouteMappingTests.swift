import NavGeo
import NavMap
import NavMatching
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Mapping of provided routes")
struct RouteMappingTests {
    private let road = ["highway": "residential"]

    private func grid(_ more: [String: String] = [:]) throws -> ASCIIMap {
        try ASCIIMap(
            """
            A---B---C---D
            |   |   |   |
            E---F---G---H
            |   |   |   |
            I---J---K---L
            """, gridMetres: 50,
            ways: [
                "ABCD": road, "EFGH": road, "IJKL": road, "AEI": road, "BFJ": road, "CGK": road.merging(more) { $1 },
                "DHL": road,
            ])
    }

    /// Returns a leg over nodes of a drawing, with a duration per segment in seconds.
    private func leg(
        _ nodes: String, on map: ASCIIMap, seconds: Double = 20, turns: Double = 0, withNodes: Bool = true
    ) throws -> ProvidedRoute.Leg {
        let line = try nodes.map { try map.coordinate($0) }
        let durations = line.dropFirst().map { _ in seconds }
        return ProvidedRoute.Leg(
            line: line, nodeIDs: withNodes ? nodes.map(ASCIIMap.nodeID) : [], durations: Array(durations),
            duration: durations.reduce(0, +) + turns, length: Polyline(line).length)
    }

    private func request(_ places: String, on map: ASCIIMap) throws -> RouteRequest {
        RouteRequest(waypoints: try places.map { Waypoint(try map.coordinate($0)) }, snapRadius: 50)
    }

    private func mapping(_ map: ASCIIMap) -> RouteMapping {
        RouteMapping(Router(Metric(map.turns, model: CostModel())))
    }

    @Test("a provided route over known nodes is kept even if it is not the fastest", arguments: [true, false])
    func known(withNodes: Bool) throws {
        let map = try grid()
        let provided = ProvidedRoute(legs: [try leg("ABFGCDHLK", on: map, withNodes: withNodes)])
        let mapped = try mapping(map).map(provided, for: request("AK", on: map))
        #expect(map.letters(of: mapped.route) == "ABFGCDHLK")
        #expect(mapped.share == 1)
        #expect(mapped.route.vehicle == VehicleProfile() && mapped.route.cost > 0)
        #expect(mapped.route.mapVersion == map.graph.mapVersion)
    }

    @Test("durations and traffic are the provider's, and turns get the remaining time")
    func times() throws {
        let map = try grid()
        var leg = try leg("ABFG", on: map, turns: 12)
        leg.durations = [10, 30, 50]
        leg.duration = 102
        leg.congestion = [.low, .heavy, .unknown]
        let mapped = try mapping(map).map(ProvidedRoute(legs: [leg]), for: request("AG", on: map))
        let edges = mapped.route.edges
        #expect(edges.map { $0.duration.rounded() } == [10, 30, 50])
        #expect(edges.map(\.congestion) == [.low, .heavy, .unknown])
        #expect(abs(edges.reduce(0) { $0 + $1.turnDuration } - 12) < 0.1)
        #expect(edges[0].turnDuration == 0 && edges[1].turnDuration > 0 && edges[2].turnDuration > 0)
        #expect(abs(mapped.route.duration - 102) < 0.1)
        #expect(edges.allSatisfy { $0.freeFlowDuration <= $0.duration && $0.freeFlowDuration > 0 })
        #expect((mapped.route.trafficDelay ?? 0) > 10)
        // Without segment durations those of the map are scaled.
        leg.durations = []
        let scaled = try mapping(map).map(ProvidedRoute(legs: [leg]), for: request("AG", on: map))
        #expect(abs(scaled.route.duration - 102) < 0.1)
    }

    @Test("a route begins and ends within edges if its line does")
    func parts() throws {
        let map = try grid()
        var leg = try leg("ABFG", on: map)
        leg.line[0] = try map.position(between: "A", "B")
        leg.line[3] = try map.position(between: "F", "G", at: 0.25)
        let request = RouteRequest(waypoints: [Waypoint(leg.line[0]), Waypoint(leg.line[3])])
        for nodes in [leg.nodeIDs, []] {
            leg.nodeIDs = nodes
            let route = try mapping(map).map(ProvidedRoute(legs: [leg]), for: request).route
            #expect(map.letters(of: route) == "ABFG")
            let first = try #require(route.edges.first)
            let last = try #require(route.edges.last)
            #expect(
                abs(first.startOffset - first.endOffset / 2) < 1 && abs(route.length - Polyline(leg.line).length) < 1)
            #expect(last.startOffset == 0 && route.waypoints.allSatisfy { $0.snapDistance < 0.5 })
        }
    }

    @Test("a pass-through point keeps its position within a leg; a stop ends the leg and permits a U-turn")
    func waypoints() throws {
        let map = try grid()
        var silent = try request("AFK", on: map)
        silent.waypoints[1].isStop = false
        let through = try mapping(map).map(ProvidedRoute(legs: [try leg("ABFGK", on: map)]), for: silent).route
        #expect(through.legs.count == 1 && through.waypoints.count == 3)
        #expect(abs(through.waypoints[1].routeOffset - 300) < 1 && abs(through.waypoints[2].routeOffset - 600) < 1)
        #expect(map.letters(of: through) == "ABFGK")

        var leg = try leg("AB", on: map)
        var back = try self.leg("BA", on: map)
        let middle = try map.position(between: "A", "B")
        leg.line[1] = middle
        back.line[0] = middle
        let request = RouteRequest(
            waypoints: [Waypoint(leg.line[0]), Waypoint(middle), Waypoint(leg.line[0])], snapRadius: 50)
        let there = try mapping(map).map(ProvidedRoute(legs: [leg, back]), for: request).route
        #expect(there.legs.count == 2 && there.edges.count == 2)
        #expect(abs(there.length - 200) < 1 && abs(there.duration - 40) < 1)
    }

    @Test("several pass-through points near one road keep their order")
    func crowdedPoints() throws {
        let map = try grid()
        var request = try request("AFBFK", on: map)
        for index in 1...3 { request.waypoints[index].isStop = false }
        let provided = ProvidedRoute(legs: [try leg("ABFBFGK", on: map)])
        // U-turns at B and F are not permitted, so the route is not mapped exactly as provided.
        if let mapped = try? mapping(map).map(provided, for: request) {
            let offsets = mapped.route.waypoints.map(\.routeOffset)
            #expect(offsets == offsets.sorted() && offsets.count == 5)
        }
        let straight = try mapping(map).map(ProvidedRoute(legs: [try leg("ABFGK", on: map)]), for: request).route
        let offsets = straight.waypoints.map(\.routeOffset)
        #expect(offsets == offsets.sorted() && offsets.count == 5)
    }

    // MARK: Differences

    @Test("a node missing in the map is not a gap if the road is the same")
    func newNode() throws {
        let map = try grid()
        var leg = try leg("ABCD", on: map)
        leg.line.insert(try map.position(between: "B", "C"), at: 2)
        leg.nodeIDs.insert(999, at: 2)
        leg.durations.append(20)
        leg.duration = 80
        let mapped = try mapping(map).map(ProvidedRoute(legs: [leg]), for: request("AD", on: map))
        #expect(map.letters(of: mapped.route) == "ABCD" && mapped.share == 1)
        #expect(abs(mapped.route.duration - 80) < 0.5)
    }

    @Test("a short unknown road is bridged and lowers the mapped share")
    func shortGap() throws {
        // The provider's road from F to G differs from that of the map, 30 m south.
        let map = try ASCIIMap(
            "A------------------------------B-C------------------------------D\n                               | |\n                               E-F",
            gridMetres: 50,
            ways: ["ABCD": road, "BEFC": road])
        let line =
            try ["A", "B"].map { try map.coordinate($0) } + [map.coordinate("C", east: -50, north: 30)]
            + ["C", "D"].map { try map.coordinate($0) }
        let provided = ProvidedRoute(legs: [
            ProvidedRoute.Leg(
                line: line, nodeIDs: [65, 66, 500, 67, 68], durations: [80, 5, 5, 80], duration: 170,
                length: Polyline(line).length)
        ])
        let request = try request("AD", on: map)
        let mapped = try mapping(map).map(provided, for: request)
        #expect(map.letters(of: mapped.route) == "ABCD")
        #expect(mapped.share < 1 && mapped.share >= 0.95)
        #expect(mapped.route.edges.allSatisfy { $0.duration.isFinite && $0.duration > 0 })
    }

    @Test("a route whose unmapped length exceeds the limit is rejected")
    func longGap() throws {
        let map = try grid()
        let south = try map.coordinate("L", north: -400)
        let line = try [map.coordinate("A"), map.coordinate("E"), map.coordinate("I"), south, map.coordinate("L")]
        let provided = ProvidedRoute(legs: [
            ProvidedRoute.Leg(
                line: line, nodeIDs: [65, 69, 73, 500, 76], duration: 100, length: Polyline(line).length)
        ])
        let request = try request("AL", on: map)
        let error = #expect(throws: RouteMappingError.self) { try mapping(map).map(provided, for: request) }
        #expect(error?.code == .unmapped && (error?.share ?? 1) < 0.5)
        let text = try #require(error?.message)
        #expect(text.contains("less than 95 %: the longest part without a road begins at "), "\(text)")
    }

    @Test("a route that is longer on the map states where it leaves the given line")
    func longerWay() throws {
        // The only way from F to G leads along the three other sides of a block of 1,200 m by 300 m.
        let map = try ASCIIMap(
            """
            A---F           G---D
                |           |
                |           |
                J-----------K
            """, gridMetres: 100, ways: ["AFJKGD": road])
        let leg = try leg("AFGD", on: map)
        var config = RouteMapping.Config()
        config.minimumShare = 0
        let mapping = RouteMapping(Router(Metric(map.turns, model: CostModel())), config: config)
        let error = #expect(throws: RouteMappingError.self) {
            try mapping.map(ProvidedRoute(legs: [leg]), for: request("AD", on: map))
        }
        let text = try #require(error?.message)
        #expect(error?.code == .unmapped)
        #expect(text.contains("m longer on this map: the longest way beside its line begins at "), "\(text)")
    }

    @Test("prohibited turns and closed roads of the map are not used")
    func rules() throws {
        let forbidden = try ASCIIMap(
            """
            A---B---C
            |   |   |
            E---F---G
            """, gridMetres: 50,
            ways: ["AB": road, "BC": road, "AE": road, "EF": road, "FG": road, "CG": road, "BF": road],
            restrictions: [ASCIIMap.Restriction("no_right_turn", from: "AB", via: "B", to: "BF")])
        let provided = ProvidedRoute(legs: [try leg("ABF", on: forbidden)])
        let request = try request("AF", on: forbidden)
        if let mapped = try? mapping(forbidden).map(provided, for: request) {
            #expect(map(forbidden, avoids: "ABF", mapped.route))
        }
        var config = RouteMapping.Config()
        config.minimumShare = 0
        config.maximumDetour = 10
        let around = try RouteMapping(Router(Metric(forbidden.turns, model: CostModel())), config: config)
            .map(provided, for: request)
        #expect(map(forbidden, avoids: "ABF", around.route))

        let closed = try grid(["motor_vehicle": "no"])
        let through = ProvidedRoute(legs: [try leg("BCGKJ", on: closed)])
        let error = #expect(throws: RouteMappingError.self) {
            try mapping(closed).map(through, for: self.request("BJ", on: closed))
        }
        #expect(error?.code == .unmapped || error?.code == .interrupted)
    }

    private func map(_ map: ASCIIMap, avoids way: String, _ route: Route) -> Bool {
        !map.letters(of: route).contains(way)
    }

    @Test("excluded roads are not used")
    func exclusions() throws {
        let map = try grid()
        var request = try request("AK", on: map)
        request.options.excludedEdges = [map.graph.key(of: try map.edge("F", "G"))]
        let provided = ProvidedRoute(legs: [try leg("ABFGK", on: map)])
        let error = #expect(throws: RouteMappingError.self) { try mapping(map).map(provided, for: request) }
        #expect(error?.code == .unmapped)
    }

    @Test("a road on a missing tile is unmapped, and the tile is reported")
    func missingTile() throws {
        let map = try ASCIIMap(
            "A---B---C---D---E---F", gridMetres: 40, placement: .localTileCorner,
            ways: ["AB": road, "BC": road, "CD": road, "DE": road, "EF": road])
        let tile = try map.tile(.local, at: "F")
        let graph = map.graph(without: [tile])
        let router = Router(Metric(TurnGraph(graph), model: CostModel()))
        let provided = ProvidedRoute(legs: [try leg("ABCDEF", on: map)])
        let error = #expect(throws: RouteMappingError.self) {
            try RouteMapping(router).map(provided, for: request("AF", on: map))
        }
        #expect(error?.code == .interrupted && error?.missingTiles.contains(tile) == true)
    }

    // MARK: Invalid input

    @Test("invalid provided routes are rejected")
    func nonsense() throws {
        let map = try grid()
        let good = try leg("ABFG", on: map)
        let request = try request("AG", on: map)
        func broken(_ change: (inout ProvidedRoute.Leg) -> Void) -> ProvidedRoute {
            var leg = good
            change(&leg)
            return ProvidedRoute(legs: [leg])
        }
        let far = Coordinate(latitude: -40, longitude: 170)
        for provided in [
            ProvidedRoute(legs: []), ProvidedRoute(legs: [good, good]), broken { $0.line = [] },
            broken { $0.line = [far] }, broken { $0.line[1].latitude = .nan }, broken { $0.duration = .nan },
            broken { $0.duration = -1 }, broken { $0.durations[0] = .infinity }, broken { $0.durations.removeLast() },
            broken { $0.nodeIDs.removeLast() }, broken { $0.congestion = [.low] },
            broken {
                $0.line = [far, Coordinate(latitude: 60, longitude: -10)]
                $0.nodeIDs = []
                $0.durations = []
            },
        ] {
            let error = #expect(throws: RouteMappingError.self) { try mapping(map).map(provided, for: request) }
            #expect(error?.code == .invalid)
        }
        for provided in [
            broken { $0.nodeIDs = [1, 2, 3, 4] }, broken { $0.nodeIDs = [.min, .max, .min, .max] },
            broken { $0.nodeIDs = [65, 65, 65, 65] }, broken { $0.line = [far, far, far, far] },
            broken { $0.line = [$0.line[0], $0.line[0], $0.line[0], $0.line[0]] },
        ] {
            do throws(RouteMappingError) {
                let mapped = try mapping(map).map(provided, for: request)
                #expect(mapped.route.edges.allSatisfy { $0.duration.isFinite })
            } catch {
                #expect(error.code != .invalid)
            }
        }
    }

    // MARK: Random routes

    @Test(
        "a route of the map is reproduced from its nodes, and from its line alone",
        arguments: 1...30 as ClosedRange<UInt64>)
    func foundAgain(seed: UInt64) throws {
        let map = try RandomMap(seed: seed, size: 8, gridMetres: 150)
        let router = Router(Metric(TurnGraph(map.graph), model: CostModel()))
        let workspace = SearchWorkspace()
        var random = SeededRandom(seed: seed &+ 77)
        for round in 0..<12 {
            var request = RouteRequest(waypoints: (0..<(2 + round % 3)).map { _ in Waypoint(map.place(&random)) })
            if round % 2 == 0 { for index in request.waypoints.indices { request.waypoints[index].isStop = false } }
            guard case .found(let route) = router.route(request, workspace: workspace), route.length > 50 else {
                continue
            }
            let provided = ProvidedRoute(route, factor: 1.5)
            let mapped = try RouteMapping(router).map(provided, for: request)
            #expect(driven(mapped.route) == driven(route), "seed \(seed), round \(round)")
            #expect(mapped.share == 1 && abs(mapped.route.length - route.length) < 0.5, "seed \(seed), round \(round)")
            #expect(abs(mapped.route.duration - 1.5 * route.duration) < 0.01 * route.duration + 0.5)
            var bare = provided
            for leg in bare.legs.indices { bare.legs[leg].nodeIDs = [] }
            let byLine = try RouteMapping(router).map(bare, for: request)
            #expect(byLine.share > 0.98, "seed \(seed), round \(round)")
            #expect(abs(byLine.route.length - route.length) < 0.02 * route.length + 20, "seed \(seed), round \(round)")
        }
    }

    @Test("only lines without node ids are limited in length")
    func distantPoints() throws {
        let map = try RandomMap(seed: 1, size: 8, gridMetres: 150)
        let router = Router(Metric(TurnGraph(map.graph), model: CostModel()))
        var random = SeededRandom(seed: 7)
        let request = RouteRequest(waypoints: (0..<2).map { _ in Waypoint(map.place(&random)) })
        guard case .found(let route) = router.route(request, workspace: SearchWorkspace()), route.length > 300 else {
            Issue.record("no route")
            return
        }
        var config = RouteMapping.Config()
        config.maximumSamples = 20
        var provided = ProvidedRoute(route, factor: 1)
        #expect(try RouteMapping(router, config: config).map(provided, for: request).share == 1)
        provided.legs[0].nodeIDs = []
        let error = #expect(throws: RouteMappingError.self) {
            try RouteMapping(router, config: config).map(provided, for: request)
        }
        #expect(error?.code == .invalid && error?.message.contains("no OSM node ids") == true)
        #expect(error?.message.hasSuffix("at most 20 are matched") == true)
    }

    @Test("lines longer than the Earth's circumference are rejected, even with node ids")
    func misplacedPoints() throws {
        let map = try grid()
        let (zero, far) = (Coordinate(latitude: 0, longitude: 0), Coordinate(latitude: 0, longitude: 179))
        func provided(jumps: Int, legs: Int) -> ProvidedRoute {
            let line = (0...jumps).map { $0 % 2 == 0 ? zero : far }
            let nodes = (0...jumps).map { ASCIIMap.nodeID($0 < jumps ? "A" : "B") }
            let leg = ProvidedRoute.Leg(line: line, nodeIDs: nodes, duration: 100, length: 100)
            return ProvidedRoute(legs: Array(repeating: leg, count: legs))
        }
        for (jumps, legs, stops) in [(100, 1, "AB"), (1, 3, "ABAB")] {
            let error = #expect(throws: RouteMappingError.self) {
                try mapping(map).map(provided(jumps: jumps, legs: legs), for: request(stops, on: map))
            }
            #expect(error?.code == .invalid && error?.message.contains("at most 40000 km are accepted") == true)
        }
    }

    @Test("the total effort of searches between disconnected roads is limited")
    func scatteredNodes() throws {
        let map = try grid()
        func mapped(_ legs: [String], _ stops: String, settled: Int) throws -> MappedRoute {
            var config = RouteMapping.Config()
            (config.minimumShare, config.maximumDetour, config.maximumSettled) = (0, 100, settled)
            let provided = ProvidedRoute(legs: try legs.map { try leg($0, on: map) })
            let mapping = RouteMapping(Router(Metric(map.turns, model: CostModel())), config: config)
            return try mapping.map(provided, for: request(stops, on: map))
        }
        // Connected roads require no search.
        #expect(try mapped(["ABFGCDHLK"], "AK", settled: 0).share == 1)
        let least = try #require((1...1_000).first { (try? mapped(["ABKL"], "AL", settled: $0)) != nil })
        #expect(try mapped(["ABKL", "LKBA"], "ALA", settled: 1_000).route.legs.count == 2)
        let error = #expect(throws: RouteMappingError.self) {
            try mapped(["ABKL", "LKBA"], "ALA", settled: least)
        }
        #expect(error?.code == .interrupted && error?.message.contains("do not continue one another") == true)
    }

    @Test("in a real town the line alone determines the same roads")
    func helsinki() throws {
        let router = try RealMap.helsinki.get().router()
        let graph = router.metric.turns.graph
        let workspace = SearchWorkspace()
        var random = SeededRandom(seed: 5)
        func place() -> Waypoint {
            let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
            return Waypoint(
                graph.position(at: random.uniform() * Double(graph.edgeLengths[edge.index]), of: edge).coordinate)
        }
        var (routes, length, missed) = (0, 0.0, 0.0)
        while routes < 150 {
            let request = RouteRequest(waypoints: [place(), place()])
            guard case .found(let route) = router.route(request, workspace: workspace), route.length > 500 else {
                continue
            }
            routes += 1
            var provided = ProvidedRoute(route, factor: 1)
            let byNodes = try RouteMapping(router).map(provided, for: request)
            #expect(driven(byNodes.route) == driven(route))
            provided.legs[0].nodeIDs = []
            let byLine = try RouteMapping(router).map(provided, for: request)
            #expect(byLine.share > 0.97 && abs(byLine.route.duration - route.duration) < 0.05 * route.duration + 5)
            // The ends may differ by less than a metre; everything between them is the same.
            let kept = Set(driven(byLine.route))
            length += route.length
            for edge in route.edges where !kept.contains(edge.key) {
                missed += edge.length
                #expect(edge.length < 6, "round \(routes)")
            }
            #expect(Set(driven(route)).isSuperset(of: kept), "round \(routes)")
        }
        #expect(missed < 0.000_5 * length)
    }

    /// Returns the edges of a route; an edge that a waypoint divides occurs once.
    private func driven(_ route: Route) -> [EdgeKey] {
        route.edges.indices.filter { $0 == 0 || route.edges[$0].key != route.edges[$0 - 1].key }
            .map { route.edges[$0].key }
    }

    @Test("nodes in any order give a legal route or an error", arguments: 1...10 as ClosedRange<UInt64>)
    func shuffledNodes(seed: UInt64) throws {
        let map = try RandomMap(seed: seed, size: 5)
        let router = Router(Metric(TurnGraph(map.graph), model: CostModel()))
        var random = SeededRandom(seed: seed)
        var config = RouteMapping.Config()
        config.minimumShare = 0
        config.maximumDetour = 100
        for _ in 0..<40 {
            let count = 2 + Int(random.next() % 12)
            let nodes = (0..<count).map { _ in NodeIndex(Int(random.next() % UInt64(map.graph.nodeCount))) }
            let line = nodes.map { map.graph.nodePositions[$0.index].coordinate }
            let leg = ProvidedRoute.Leg(
                line: line, nodeIDs: nodes.map { map.graph.nodeOSMIDs[$0.index] }, duration: 100, length: 100)
            let request = RouteRequest(waypoints: [Waypoint(line[0]), Waypoint(line[count - 1])])
            guard let mapped = try? RouteMapping(router, config: config).map(ProvidedRoute(legs: [leg]), for: request)
            else { continue }
            for (first, second) in zip(mapped.route.edges, mapped.route.edges.dropFirst()) {
                let edges = try [#require(map.graph.edge(first.key)), #require(map.graph.edge(second.key))]
                #expect(router.metric.turns.allows(edges[0], edges[1]), "seed \(seed)")
            }
        }
    }
}

extension ProvidedRoute {
    /// Creates a route of the map as a provider would return it, with other durations.
    fileprivate init(_ route: Route, factor: Double) {
        self.init(
            legs: route.legs.map { leg in
                let edges = route.edges[leg.edges]
                let first = edges.first?.coordinates.lowerBound ?? 0
                let last = edges.last?.coordinates.upperBound ?? 0
                let segments = route.segments[first..<last]
                var durations: [Double] = []
                for edge in edges {
                    let lengths = edge.coordinates.dropLast().map {
                        Geodesy.distance(route.coordinates[$0], route.coordinates[$0 + 1])
                    }
                    let total = lengths.reduce(0, +)
                    durations += lengths.map { total > 0 ? factor * edge.duration * $0 / total : 0 }
                }
                return Leg(
                    line: Array(route.coordinates[first...last]),
                    nodeIDs: segments.map(\.fromNodeID) + [segments.last?.toNodeID ?? 0], durations: durations,
                    duration: factor * leg.duration, length: leg.length)
            })
    }
}
