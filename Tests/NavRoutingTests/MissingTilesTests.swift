import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSupport
import Testing

private let road = ["highway": "residential"]
private let oneway = ["highway": "residential", "oneway": "yes"]

@Suite("Routes with missing tiles")
struct MissingTilesTests {
    /// A road whose middle is in another tile than its ends.
    static func corner(_ tags: [String: String]) throws -> ASCIIMap {
        try ASCIIMap(
            """
            B-------C


            A       D
            """, gridMetres: 50, placement: .localTileCorner, ways: ["AB": tags, "BC": tags, "CD": tags])
    }

    @Test("a missing tile in the middle is reported, not treated as the end of the road", arguments: [road, oneway])
    func gap(tags: [String: String]) throws {
        let map = try Self.corner(tags)
        for missing in ["B", "C"] as [Character] {
            let tile = try map.tile(.local, at: missing)
            let router = Router(graph: map.graph(without: [tile]))
            let request = RouteRequest(waypoints: [
                Waypoint(try map.position(between: "A", "B", at: 0.1)),
                Waypoint(try map.position(between: "C", "D", at: 0.9)),
            ])
            let outcome = router.route(request, workspace: SearchWorkspace())
            if missing == "B" || tags == road {
                #expect(outcome == .tilesNeeded([tile]))
            }
        }
        #expect(try map.route("AD") == "ABCD")
    }

    @Test("a destination on a missing tile requests it, unless its street is loaded")
    func ends() throws {
        let map = try ASCIIMap(
            """
            B-------C


            A       D-------E
            """, gridMetres: 50, placement: .localTileCorner, ways: ["AB": road, "BC": road, "CD": road, "DE": road])
        let tile = try map.tile(.local, at: "D")
        let router = Router(graph: map.graph(without: [tile]))
        func outcome(_ from: Coordinate, _ to: Coordinate) -> RouteOutcome {
            router.route(RouteRequest(waypoints: [Waypoint(from), Waypoint(to)]), workspace: SearchWorkspace())
        }
        let start = try map.position(between: "A", "B", at: 0.1)
        let beyond = try map.position(between: "D", "E", at: 0.5)
        #expect(outcome(start, beyond) == .tilesNeeded([tile]))
        guard case .found = outcome(start, try map.position(between: "C", "D", at: 0.9)) else {
            Issue.record("a loaded street CD was not found: it is on the tile of C")
            return
        }
        #expect(router.metric.turns.graph.missingTiles([.local], within: 0, of: beyond) == [tile])
        #expect(map.graph.missingTiles([.local], within: 0, of: beyond).isEmpty)
    }

    @Test("a destination near a missing tile requests it if it may contain a nearer road")
    func besideBorder() throws {
        // The border is 50 m west of CD and runs between the latitudes of C and D.
        let map = try ASCIIMap(
            """
            A        C      E


            B--------D      F
            """, gridMetres: 50, placement: .localTileCorner, ways: ["AB": road, "BD": road, "CD": road, "EF": road])
        let missing = Set([try map.tile(.local, at: "C"), try map.tile(.local, at: "D")])
        let start = Waypoint(try map.position(between: "A", "B", at: 0.9))
        func outcome(_ graph: RoadGraph, _ to: Coordinate) -> RouteOutcome {
            Router(graph: graph).route(RouteRequest(waypoints: [start, Waypoint(to)]), workspace: SearchWorkspace())
        }
        // 80 m from CD and 120 m from BD.
        let destination = try map.position(between: "C", "D", at: 0.2, right: 80)
        let graph = map.graph(without: missing, knowsAll: true)
        #expect(graph.hasLoaded(RoadTileID(layer: .local, containing: destination)) == true)
        #expect(outcome(graph, destination) == .tilesNeeded(missing.sorted()))
        guard case .found(let route) = outcome(map.graph, destination) else {
            Issue.record("no route although all tiles are loaded")
            return
        }
        #expect(map.letters(of: route) == "ABDC")
        guard case .found = outcome(graph, try map.position(between: "A", "B", at: 0.2, right: 25)) else {
            Issue.record("a tile was requested although the nearest road is nearer than the border")
            return
        }
    }

    @Test("missing tiles around a place are sorted by distance, also beyond the antimeridian")
    func aroundPlaces() throws {
        func tile(_ latitude: Double, _ longitude: Double) -> RoadTileID {
            RoadTileID(layer: .local, containing: Coordinate(latitude: latitude, longitude: longitude))
        }
        let place = Coordinate(latitude: 0.001, longitude: 179.998)
        let (own, south) = (tile(0.001, 179.998), tile(-0.001, 179.998))
        let (east, southEast) = (tile(0.001, -179.998), tile(-0.001, -179.998))
        let graph = RoadGraph(tiles: [], mapVersion: "", catalogue: [southEast, east, south, own, tile(1, 1)])
        for (radius, tiles) in [
            (0.0, [own]), (150, [own, south]), (230, [own, south, east]), (300, [own, south, east, southEast]),
        ] {
            #expect(graph.missingTiles([.local, .arterial], within: radius, of: place) == tiles, "\(radius) m")
        }
    }

    @Test("with a known tile list, an end on a disconnected missing tile is not off-road")
    func listedEnds() throws {
        let map = try ASCIIMap(
            """
            B-------C


            A       D-------E               F-------G
            """, gridMetres: 50, placement: .localTileCorner,
            ways: ["AB": road, "BC": road, "CD": road, "DE": road, "FG": road])
        let places = [try map.position(between: "A", "B", at: 0.1), try map.position(between: "F", "G", at: 0.5)]
        let missing = Set(map.tiles.map(\.id)).subtracting([RoadTileID(layer: .local, containing: places[0])])
        #expect(missing.contains(RoadTileID(layer: .local, containing: places[1])))
        func outcome(knowsAll: Bool, _ places: [Coordinate]) -> RouteOutcome {
            Router(graph: map.graph(without: missing, knowsAll: knowsAll)).route(
                RouteRequest(waypoints: places.map { Waypoint($0) }, snapRadius: 100), workspace: SearchWorkspace())
        }
        let far = RoadTileID(layer: .local, containing: places[1])
        #expect(outcome(knowsAll: true, places) == .tilesNeeded([far]))
        #expect(outcome(knowsAll: true, places.reversed()) == .tilesNeeded([far]))
        let nowhere = Coordinate(latitude: places[0].latitude + 0.5, longitude: places[0].longitude)
        #expect(outcome(knowsAll: true, [places[0], nowhere]) == .offRoad(waypoint: 1))
    }

    @Test("a one-way road from a missing tile is an open end for the backward search")
    func arrivals() throws {
        let map = try Self.corner(oneway)
        // A's tile has A→B; no edge of D's tile leads back: only its arrivals show that an edge arrives from C.
        let tile = try map.tile(.local, at: "B")
        let graph = map.graph(without: [tile])
        let node = try #require(graph.nodeOSMIDs.firstIndex(of: ASCIIMap.nodeID("C")))
        #expect(graph.lacksArrivals(NodeIndex(node)) && !graph.lacksDepartures(NodeIndex(node)))
        #expect(graph.missingTiles(at: NodeIndex(node)) == [tile])
        #expect(map.graph.nodeOSMIDs.indices.allSatisfy { !map.graph.isIncomplete(NodeIndex($0)) })
    }

    @Test("a missing layer does not create false dead ends")
    func noFalseDeadEnds() throws {
        let map = try ASCIIMap(
            """
            A---B---C
            """, ways: ["AB": road, "BC": ["highway": "primary"]])
        let arterial = try map.tile(.arterial, at: "B")
        let router = Router(graph: map.graph(without: [arterial]))
        let request = RouteRequest(waypoints: [
            Waypoint(try map.position(between: "A", "B", at: 0.8), bearing: .pi / 2),
            Waypoint(try map.position(between: "A", "B", at: 0.2), bearing: 3 * .pi / 2),
        ])
        #expect(router.route(request, workspace: SearchWorkspace()) == .tilesNeeded([arterial]))
    }

    @Test("open ends that are too far away for a faster route are ignored")
    func farEnds() throws {
        let map = try ASCIIMap(
            """
            A-B-C--------------------------D
            """, gridMetres: 100, placement: .localTileCorner, ways: ["AB": road, "BC": road, "CD": road])
        let missing = try map.tile(.local, at: "D")
        #expect(try map.tile(.local, at: "C") != missing)
        let router = Router(graph: map.graph(without: [missing]))
        let request = RouteRequest(waypoints: [
            Waypoint(try map.coordinate("A")), Waypoint(try map.position(between: "B", "C")),
        ])
        guard case .found(let route) = router.route(request, workspace: SearchWorkspace()) else {
            Issue.record("a route inside one tile requested the neighbouring tile")
            return
        }
        #expect(map.letters(of: route) == "ABC")
    }

    /// Use `RandomMap(seed:size:gridMetres:)` with the number in the message to reproduce a failure.
    @Test(
        "with missing tiles the outcome equals that with all tiles, or requests tiles",
        arguments: 1...120 as ClosedRange<UInt64>)
    func randomTowns(seed: UInt64) throws {
        let map = try RandomMap(seed: seed, size: 7, gridMetres: 150)
        try Self.compare(
            map.tiles, map.graph, seed: seed, rounds: 40, comment: "RandomMap(seed: \(seed), size: 7, 150)"
        ) {
            map.place(&$0)
        }
    }

    @Test("on Andorra with gaps", .needs("osm/andorra.osm.pbf"))
    func andorra() throws {
        let map = try RealMap.andorra.get()
        try Self.compare(map.tiles, map.graph, seed: 3, rounds: 60, comment: "Andorra") {
            ExactnessTests.place(on: map.graph, &$0)
        }
    }

    private static func compare(
        _ tiles: [RoadTile], _ graph: RoadGraph, seed: UInt64, rounds: Int, comment: Comment,
        place: (inout SeededRandom) -> Coordinate
    ) throws {
        let all = Router(graph: graph)
        var random = SeededRandom(seed: seed &+ 5_000)
        for _ in 0..<rounds {
            // The radius is smaller than the area kept below, since snapping is not under test here.
            let request = RouteRequest(waypoints: [Waypoint(place(&random)), Waypoint(place(&random))], snapRadius: 60)
            let full = all.route(request, workspace: SearchWorkspace())
            guard case .found(let best) = full else { continue }
            // The tiles of the waypoints' roads are kept, since snapping is not under test here.
            let kept = Set(
                request.waypoints.flatMap { waypoint in
                    graph.edges(near: waypoint.coordinate, radius: 250).compactMap { graph.key(of: $0.edge).tile }
                })
            let loaded = tiles.filter { kept.contains($0.id) || random.uniform() < 0.6 }
            let metric = Metric(TurnGraph(RoadGraph(tiles: loaded, mapVersion: graph.mapVersion)), model: CostModel())
            let hierarchy = try #require(ContractionHierarchy(metric.turns), comment)
            let outcome = Router(metric).route(request, workspace: SearchWorkspace())
            switch (outcome, Router(HierarchyMetric(hierarchy, metric)).route(request, workspace: SearchWorkspace())) {
            case (.found(let first), .found(let second)): #expect(first.cost == second.cost, comment)
            case (let first, let second): #expect(first == second, comment)
            }
            switch outcome {
            case .found(let route):
                #expect(route.cost == best.cost, comment)
                #expect(route.duration == best.duration || route.edges.map(\.key) != best.edges.map(\.key), comment)
            case .tilesNeeded(let needed):
                #expect(!needed.isEmpty && needed == needed.sorted(), comment)
                #expect(Set(needed).isDisjoint(with: loaded.map(\.id)), comment)
                #expect(Set(needed).isSubset(of: tiles.map(\.id)), comment)
                try converges(request, best, tiles, loaded.map(\.id), graph.mapVersion, comment)
            case let other:
                Issue.record("\(comment): \(other) although a route exists with all tiles")
            }
        }
    }

    /// Expects that loading the requested tiles leads to the route.
    private static func converges(
        _ request: RouteRequest, _ best: Route, _ tiles: [RoadTile], _ loaded: [RoadTileID], _ version: String,
        _ comment: Comment
    ) throws {
        var loaded = Set(loaded)
        for _ in 0...tiles.count {
            let router = Router(graph: RoadGraph(tiles: tiles.filter { loaded.contains($0.id) }, mapVersion: version))
            switch router.route(request, workspace: SearchWorkspace()) {
            case .tilesNeeded(let needed): loaded.formUnion(needed)
            case .found(let route):
                #expect(route.cost == best.cost, comment)
                return
            case let other:
                Issue.record("\(comment): \(other) after loading the requested tiles")
                return
            }
        }
        Issue.record("\(comment): requests tiles endlessly")
    }
}
