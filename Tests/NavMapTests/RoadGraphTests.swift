import NavGeo
import NavMap
import NavSimulation
import NavTestSupport
import Testing

private let road = ["highway": "residential"]

@Suite("Road graph")
struct RoadGraphTests {
    static let drawing = """
        A---B---C
        |       |
        |       |
        |       |
        D---E---F
        """
    static let ways: KeyValuePairs<String, [String: String]> = [
        "AB": road, "BC": road, "AD": road, "CF": road, "DE": ["highway": "primary"],
        "EF": ["highway": "motorway_link"],
    ]

    @Test("a map across tiles and layers joins to the drawn graph", arguments: [0, 1, 2])
    func joined(placement: Int) throws {
        let places: [ASCIIMap.Placement] = [.insideTiles, .localTileCorner, .everyTileCorner]
        let map = try ASCIIMap(Self.drawing, placement: places[placement], ways: Self.ways)
        let graph = map.graph
        #expect(map.tiles.count == [3, 6, 7][placement])
        #expect(graph.nodeCount == 6)
        #expect(Set(graph.nodeOSMIDs) == Set("ABCDEF".map(ASCIIMap.nodeID)))
        for (first, second) in ["AB", "BC", "AD", "CF", "DE"].map({ (Array($0)[0], Array($0)[1]) }) {
            let there = try map.edge(first, second)
            let back = try map.edge(second, first)
            #expect(graph.opposite(there) == back && graph.opposite(back) == there)
            #expect(abs(graph.edgeLengths[there.index] - graph.edgeLengths[back.index]) < 1e-3)
            #expect(graph.edgeTails[there.index] == (try map.node(first)))
            #expect(graph.edgeHeads[there.index] == (try map.node(second)))
            let bearing = try map.bearing(first, second)
            #expect(Angle.separation(Double(graph.edgeStartBearings[there.index]), bearing) < 0.01)
        }
        for node in 0..<graph.nodeCount { #expect(!graph.isIncomplete(NodeIndex(node))) }
        let degree = graph.outgoing(try map.node("D")).count + graph.incoming(try map.node("D")).count
        #expect(degree == 4)
    }

    @Test("nodes of a missing tile are stubs that name the tile")
    func stubs() throws {
        let map = try ASCIIMap(Self.drawing, placement: .localTileCorner, ways: Self.ways)
        let tile = try map.tile(.local, at: "C")
        #expect(try map.tile(.local, at: "A") != tile)
        let graph = map.graph(without: [tile])
        let stub = try #require(graph.nodeOSMIDs.firstIndex(of: ASCIIMap.nodeID("C")))
        #expect(graph.lacksDepartures(NodeIndex(stub)) && graph.missingTiles(at: NodeIndex(stub)) == [tile])
        #expect(graph.outgoing(NodeIndex(stub)).isEmpty)
        for edge in graph.incoming(NodeIndex(stub)) { #expect(graph.opposite(edge) == nil) }
    }

    @Test("a prohibited path across tiles applies once all its tiles are loaded")
    func prohibitedPaths() throws {
        let map = try ASCIIMap(
            """
            A-------B


            D       C
            """, gridMetres: 50, placement: .localTileCorner, ways: ["AB": road, "BC": road, "CD": road],
            restrictions: [.init("no_u_turn", from: "AB", via: "BC", to: "CD")])
        #expect(map.graph.restrictions.count == 1)
        #expect(map.graph.restrictions.first?.path.map { map.letters(of: $0) } == ["AB", "BC", "CD"])
        for letter in "ABC" {
            #expect(map.graph(without: [try map.tile(.local, at: letter)]).restrictions.isEmpty)
        }
    }

    @Test("tile order and duplicate tiles do not affect the graph")
    func order() throws {
        let map = try ASCIIMap(Self.drawing, placement: .everyTileCorner, ways: Self.ways)
        let other = RoadGraph(tiles: map.tiles.reversed() + map.tiles, mapVersion: "")
        #expect(other.nodeOSMIDs == map.graph.nodeOSMIDs)
        #expect(other.edgeHeads == map.graph.edgeHeads && other.edgeOpposites == map.graph.edgeOpposites)
        #expect(other.tiles.map(\.id) == map.graph.tiles.map(\.id))
    }

    @Test("a graph of no tiles is empty")
    func empty() {
        let graph = RoadGraph(tiles: [], mapVersion: "")
        #expect(graph.edgeCount == 0 && graph.nodeCount == 0)
        #expect(graph.edges(near: TestPlaces.insideTiles, radius: 1e6).isEmpty)
    }

    @Test("the nearest edges equal those of a linear scan")
    func nearest() throws {
        let graph = try RealMap.helsinki.get().graph
        var random = SeededRandom(seed: 42)
        for round in 0..<400 {
            let start = graph.randomPlace(&random)
            let place = Geodesy.destination(
                from: start, bearing: random.uniform() * 7, distance: random.uniform() * 300)
            let radius = [5.0, 30, 100, 400][round % 4]
            let found = graph.edges(near: place, radius: radius)
            let expected = (0..<graph.edgeCount).compactMap { graph.project(place, onto: EdgeIndex($0)) }
                .filter { $0.distance <= radius }
            #expect(Set(found.map(\.edge)) == Set(expected.map(\.edge)))
            #expect(found.map(\.distance) == found.map(\.distance).sorted())
            let byEdge = Dictionary(uniqueKeysWithValues: expected.map { ($0.edge, $0) })
            for hit in found {
                guard let other = byEdge[hit.edge] else { continue }
                #expect(abs(hit.distance - other.distance) < 1e-6)
                // On a line that touches itself, equal distances may be found at either place.
                let same = graph.position(at: hit.offset, of: hit.edge).coordinate
                #expect(Geodesy.distance(same, hit.coordinate) < 0.02)
                #expect(abs(Geodesy.distance(place, hit.coordinate) - hit.distance) < 0.02)
                #expect(abs(abs(hit.sideOffset) - hit.distance) < 0.01 || hit.distance > abs(hit.sideOffset))
                #expect(graph.shape(of: hit.edge).count > hit.segment + 1)
            }
        }
    }

    @Test("the side is relative to the direction of travel")
    func sides() throws {
        let map = try ASCIIMap("A---B", ways: ["AB": road])
        let place = try map.position(between: "A", "B", at: 0.25, right: 7)
        for hit in map.graph.edges(near: place, radius: 50) {
            let isForward = hit.edge == (try map.edge("A", "B"))
            #expect(abs(hit.sideOffset - (isForward ? 7 : -7)) < 0.01)
            #expect(abs(hit.offset - (isForward ? 100 : 300)) < 0.05)
        }
        #expect(map.graph.edges(near: place, radius: 6).isEmpty)
        for radius in [-1, Double.nan, .infinity] { #expect(map.graph.edges(near: place, radius: radius).isEmpty) }
        #expect(map.graph.edges(near: Coordinate(latitude: .nan, longitude: 0), radius: 10).isEmpty)
    }

    @Test("nearby roads across the antimeridian are found")
    func antimeridian() throws {
        let map = try ASCIIMap(
            "A---B", gridMetres: 10, placement: .northWest(Coordinate(latitude: -17, longitude: 179.999)),
            ways: ["AB": road])
        let place = Coordinate(latitude: -17, longitude: -179.9999)
        let hits = map.graph.edges(near: place, radius: 200)
        #expect(hits.count == 2)
        for hit in hits { #expect(abs(hit.distance - Geodesy.distance(place, try map.coordinate("B"))) < 0.01) }
    }

    @Test("positions along a road across the antimeridian follow the shorter way")
    func positionsAcross() throws {
        let map = try ASCIIMap(
            "A---B", placement: .northWest(Coordinate(latitude: -17, longitude: 179.999)), ways: ["AB": road])
        let start = try map.coordinate("A")
        #expect(try map.coordinate("B").longitude < 0)
        for (edge, isForward) in [(try map.edge("A", "B"), true), (try map.edge("B", "A"), false)] {
            for share in [0.1, 0.5, 0.9] {
                let place = map.graph.position(at: 400 * share, of: edge).coordinate
                #expect(place.isValid)
                #expect(abs(Geodesy.distance(start, place) - 400 * (isForward ? share : 1 - share)) < 0.1)
            }
        }
    }

    @Test("positions along an edge run from node to node")
    func positions() throws {
        let graph = try RealMap.helsinki.get().graph
        for number in stride(from: 0, to: graph.edgeCount, by: 7) {
            let edge = EdgeIndex(number)
            let shape = graph.shape(of: edge)
            #expect(graph.position(at: 0, of: edge).coordinate == shape[0].coordinate)
            #expect(
                graph.position(at: Double(graph.edgeLengths[number]), of: edge).coordinate
                    == shape[shape.count - 1].coordinate)
            let length = Double(graph.edgeLengths[number])
            for share in [0.2, 0.5, 0.9] {
                let (place, _, segment) = graph.position(at: length * share, of: edge)
                let hit = try #require(graph.project(place, onto: edge))
                #expect(hit.distance < 0.01 && segment < shape.count - 1)
            }
        }
    }
}
