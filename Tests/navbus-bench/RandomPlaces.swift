import NavGeo
import NavMap
import NavRouting
import NavSimulation

/// Random places on a map's roads and the fastest routes between them: the same for the same map and seed.
struct RandomPlaces {
    /// Finds the ways.
    let router: Router
    private var random: SeededRandom
    private let workspace = SearchWorkspace()

    init(_ router: Router, seed: UInt64) {
        self.router = router
        random = SeededRandom(seed: seed)
    }

    /// Returns a random seed for another purpose.
    mutating func seed() -> UInt64 { random.next() }

    /// Returns the beginning of a random edge; nil when it is closed to the vehicle.
    mutating func place() -> Coordinate? {
        let graph = router.metric.turns.graph
        guard graph.edgeCount > 0 else { return nil }
        let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
        return router.metric.allows(edge) ? graph.position(at: 0, of: edge).coordinate : nil
    }

    /// Returns the fastest route; nil when there is none, or the straight distance is outside `distances`, metres.
    func route(from start: Coordinate, to end: Coordinate, apart distances: ClosedRange<Double>) -> Route? {
        guard distances.contains(Geodesy.distance(start, end)),
            case .found(let route) = router.route(
                RouteRequest(waypoints: [Waypoint(start), Waypoint(end)]), workspace: workspace)
        else { return nil }
        return route
    }
}

extension BoundingBox {
    /// Metres from corner to corner.
    var diagonal: Double {
        Geodesy.distance(
            Coordinate(latitude: south, longitude: west), Coordinate(latitude: north, longitude: east))
    }
}
