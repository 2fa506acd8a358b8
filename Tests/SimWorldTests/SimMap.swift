import NavGeo
import NavMap
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Synchronization

/// The map of a simulation: the true roads, and the partial maps that may be loaded.
///
/// There are ``count`` maps, each created once; a seed uses one of them.
struct SimMap: Sendable {
    /// All roads, which are the truth for driving.
    let roads: MapSnapshot
    /// Other maps that may be loaded: maps without some tiles, and one of another version.
    let others: [MapSnapshot]
    let bounds: BoundingBox
    /// The driving speed on each edge, m/s, and the nodes next to its ends.
    let edges: [Edge]

    struct Edge: Sendable {
        var speed: Double
        /// The OSM ids of the first, second, penultimate and last nodes.
        var (first, second, penultimate, last): (Int64, Int64, Int64, Int64)
    }

    /// The number of maps.
    static let count = 32

    /// Returns the map with a number.
    static func map(_ number: Int) throws -> SimMap {
        let number = number % count
        if let known = made.withLock({ $0[number] }) { return known }
        let map = try SimMap(number)
        made.withLock { $0[number] = map }
        return map
    }

    private static let made = Mutex<[Int: SimMap]>([:])

    private init(_ number: Int) throws {
        let seed = UInt64(7_000 + number)
        let tiles: (now: [RoadTile], later: [RoadTile])
        let versions: (String, String)
        if number % 4 == 3 {
            let now = try Country(seed: seed)
            let later = try Country(seed: seed, without: [4, 9])
            tiles = (now.tiles, later.tiles)
            versions = (now.mapVersion, later.mapVersion)
            bounds = now.bounds
        } else {
            let (size, grid) = (5 + number % 4, [120.0, 250, 400, 200, 320][number % 5])
            let now = try RandomMap(seed: seed, size: size, gridMetres: grid, hasRules: number % 2 == 0)
            let later = try RandomMap(
                seed: seed, size: size, gridMetres: grid, hasRules: number % 2 == 0, without: [2, 7, 13])
            tiles = (now.tiles, later.tiles)
            versions = (now.graph.mapVersion, later.graph.mapVersion)
            bounds = now.bounds
        }
        let roads = MapSnapshot(graph: RoadGraph(tiles: tiles.now, mapVersion: versions.0))
        self.roads = roads
        var others = [MapSnapshot(graph: RoadGraph(tiles: tiles.later, mapVersion: versions.1))]
        var random = SeededRandom(seed: seed)
        for gap in [1, 2, tiles.now.count] {
            var kept = tiles.now
            for _ in 0..<min(gap, kept.count) { kept.remove(at: Int(random.next() % UInt64(kept.count))) }
            others.append(MapSnapshot(graph: RoadGraph(tiles: kept, mapVersion: versions.0)))
        }
        self.others = others
        edges = (0..<roads.graph.edgeCount).map { index in
            let edge = EdgeIndex(index)
            let shape = roads.graph.shape(of: edge)
            let length = Double(roads.graph.edgeLengths[index])
            let seconds = roads.metric.model.duration(
                length: length, traits: roads.metric.traits(of: edge), edgeLength: length)
            return Edge(
                speed: seconds > 0 ? min(max(length / seconds, 2), 50) : 5,
                first: shape.nodeID(0), second: shape.nodeID(1),
                penultimate: shape.nodeID(shape.count - 2), last: shape.nodeID(shape.count - 1))
        }
    }

    var graph: RoadGraph { roads.graph }

    /// Returns a random place that can be driven to: an edge and an offset on it.
    func place(_ random: inout SeededRandom) -> (edge: EdgeIndex, offset: Double) {
        for _ in 0..<50 {
            let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
            if roads.metric.allows(edge) { return (edge, random.uniform() * Double(graph.edgeLengths[edge.index])) }
        }
        return (EdgeIndex(0), 0)
    }

    /// Returns the coordinate of a random place, or of a point beside it.
    func coordinate(_ random: inout SeededRandom, beside metres: Double = 0) -> Coordinate {
        let place = place(&random)
        let there = graph.position(at: place.offset, of: place.edge).coordinate
        guard metres > 0 else { return there }
        return LocalFrame(origin: there).coordinate(
            of: LocalPoint(
                east: metres * (2 * random.uniform() - 1), north: metres * (2 * random.uniform() - 1)))
    }
}
