import NavGeo
import NavMap
import NavRouting
import NavSimulation

/// Random places on a map's roads and the fastest routes between them, determined by map and seed.
struct RandomPlaces {
    /// The router of the routes.
    let router: Router
    private var random: SeededRandom
    private let workspace = SearchWorkspace()

    init(_ router: Router, seed: UInt64) {
        self.router = router
        random = SeededRandom(seed: seed)
    }

    /// Returns a random seed for another purpose.
    mutating func seed() -> UInt64 { random.next() }

    /// Returns the beginning of a random edge; nil if the edge is closed to the vehicle.
    mutating func place() -> Coordinate? {
        let graph = router.metric.turns.graph
        guard graph.edgeCount > 0 else { return nil }
        let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
        return router.metric.allows(edge) ? graph.position(at: 0, of: edge).coordinate : nil
    }

    /// Returns the fastest route; nil if there is none or the straight distance is outside `distances`, metres.
    func route(from start: Coordinate, to end: Coordinate, apart distances: ClosedRange<Double>) -> Route? {
        guard distances.contains(Geodesy.distance(start, end)),
            case .found(let route) = router.route(
                RouteRequest(waypoints: [Waypoint(start), Waypoint(end)]), workspace: workspace)
        else { return nil }
        return route
    }
}

extension BoundingBox {
    /// The distance from corner to corner of the map, metres.
    var diagonal: Double {
        Geodesy.distance(
            Coordinate(latitude: south, longitude: west), Coordinate(latitude: north, longitude: east))
    }
}
