import Dispatch
import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Adding a tile")
struct TileArrivalTests {
    /// Use `RandomMap(seed:size:)` with the number in the message to reproduce a failure.
    @Test("adding a tile gives the same graph as building it from all tiles", arguments: 1...12 as ClosedRange<UInt64>)
    func sameAsFresh(seed: UInt64) throws {
        let comment: Comment = "RandomMap(seed: \(seed), size: 7)"
        let (map, other) = (try RandomMap(seed: seed, size: 7), try RandomMap(seed: seed, size: 7))
        let traffic = Self.traffic(other.graph, seed: seed)
        let now = Timestamp(nanoseconds: 0)
        let fresh = Router.fastest(TurnGraph(other.graph), model: CostModel(), traffic: traffic, at: now)
        for late in map.tiles.indices {
            var some = map.tiles
            let tile = some.remove(at: late)
            let partial = RoadGraph(tiles: some, mapVersion: map.graph.mapVersion)
            #expect(partial.edgeCount == map.graph.edgeCount - tile.edgeCount, comment)
            _ = Router.fastest(TurnGraph(partial), model: CostModel(), traffic: traffic, at: now)
            let graph = RoadGraph(tiles: some + [tile], mapVersion: map.graph.mapVersion)
            Self.expectEqual(graph, other.graph, comment)
            let router = Router.fastest(TurnGraph(graph), model: CostModel(), traffic: traffic, at: now) {
                DispatchQueue.concurrentPerform(iterations: $0, execute: $1)
            }
            try Self.expectEqual(router, fresh, comment)
            var random = SeededRandom(seed: seed)
            for _ in 0..<10 {
                let ends = [Waypoint(map.place(&random)), Waypoint(map.place(&random))]
                let request = RouteRequest(waypoints: ends)
                let outcome = router.route(request, workspace: SearchWorkspace())
                #expect(outcome == fresh.route(request, workspace: SearchWorkspace()), comment)
                #expect(outcome.cost == Router(fresh.metric).route(request, workspace: SearchWorkspace()).cost, comment)
            }
        }
    }

    private static func expectEqual(_ left: RoadGraph, _ right: RoadGraph, _ comment: Comment) {
        #expect(left.nodeOSMIDs == right.nodeOSMIDs && left.edgeHeads == right.edgeHeads, comment)
        #expect(left.edgeStartBearings == right.edgeStartBearings, comment)
        #expect(left.edgeEndBearings == right.edgeEndBearings, comment)
        #expect(left.restrictions == right.restrictions && !left.restrictions.isEmpty, comment)
    }

    private static func expectEqual(_ left: Router, _ right: Router, _ comment: Comment) throws {
        for (own, other) in [(left.metric, right.metric), (left.freeFlow, right.freeFlow)] {
            for edge in 0..<other.turns.graph.edgeCount {
                let edge = EdgeIndex(edge)
                #expect(own.cost(of: edge) == other.cost(of: edge), comment)
                #expect(own.liveDuration(of: edge) == other.liveDuration(of: edge), comment)
            }
            #expect(own.turns.arcCount == other.turns.arcCount, comment)
            for arc in 0..<other.turns.arcCount { #expect(own.cost(ofArc: arc) == other.cost(ofArc: arc), comment) }
        }
        let hierarchies = [try #require(left.hierarchyMetric), try #require(right.hierarchyMetric)].map(\.hierarchy)
        #expect(hierarchies[0].arcCount == hierarchies[1].arcCount, comment)
    }

    private static func traffic(_ graph: RoadGraph, seed: UInt64) -> TrafficOverlay {
        var random = SeededRandom(seed: seed)
        var speeds: [TrafficSpeed] = []
        for edge in 0..<graph.edgeCount where random.uniform() < 0.5 {
            let shape = graph.shape(of: EdgeIndex(edge))
            speeds.append(
                TrafficSpeed(
                    wayID: graph.wayID(of: EdgeIndex(edge)), fromNodeID: shape.nodeID(0), toNodeID: shape.nodeID(1),
                    speed: random.uniform() < 0.1 ? 0 : 1 + random.uniform() * 20))
        }
        var overlay = TrafficOverlay()
        _ = overlay.apply(speeds)
        return overlay
    }

    @Test("a junction of thirty roads is routed like any other, with and without traffic")
    func manyRoads() throws {
        let ring = Array("abcdefghijklmnopqrstuvwxyzABCD")
        let (top, bottom) = (ring[..<15], ring[15...])
        let drawing = [
            top.map(String.init).joined(separator: " "), "", "              H", "",
            bottom.map(String.init).joined(separator: " "),
        ].joined(separator: "\n")
        var roads = ring.map { (way: "H\($0)", tags: ["highway": "residential"]) }
        for (left, right) in zip(ring, ring.dropFirst()) where left != top.last {
            roads.append((way: "\(left)\(right)", tags: ["highway": "service"]))
        }
        let map = try ASCIIMap(drawing, gridMetres: 60, roads: roads, nodes: [:], restrictions: [])
        var overlay = TrafficOverlay()
        var speeds: [TrafficSpeed] = []
        for (index, node) in ring.enumerated() {
            for (from, to) in [("H", node), (node, "H")] as [(Character, Character)] {
                speeds.append(
                    TrafficSpeed(
                        fromNodeID: ASCIIMap.nodeID(from), toNodeID: ASCIIMap.nodeID(to), speed: 2 + Double(index % 7)))
            }
        }
        #expect(overlay.apply(speeds) == 0)
        let router = Router(graph: map.graph).live(overlay)
        #expect(router.isHierarchical)
        for (index, node) in ring.enumerated() {
            let edge = try map.edge("H", node)
            let length = Double(map.graph.edgeLengths[edge.index])
            let seconds = try #require(router.metric.liveDuration(of: edge))
            #expect(abs(seconds - length / (2 + Double(index % 7))) < 0.001)
        }
        for from in ring {
            for to in ring where to != from {
                let request = RouteRequest(waypoints: try [from, to].map { Waypoint(try map.coordinate($0)) })
                let cost = router.route(request, workspace: SearchWorkspace()).cost
                #expect(cost != nil && cost == Router(router.metric).route(request, workspace: SearchWorkspace()).cost)
            }
        }
    }

    @Test(
        "the sort is stable and handles any range of numbers", arguments: [0, 1, 2, 1_000, 70_000])
    func order(count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        for span in [1, 2, 4_095, 4_096, 1 << 34, 1 << 48, .max] as [UInt64] {
            let numbers = ContiguousArray(
                (0..<count).map { _ in random.next() % span &+ (span < 1 << 40 ? 1 << 63 : 0) })
            let places = NumberOrder.places(of: FlatArray(numbers))
            let expected = numbers.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
            #expect((0..<places.count).map { Int(places[$0]) } == expected)
        }
    }
}
