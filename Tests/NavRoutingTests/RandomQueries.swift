import NavGeo
import NavMap
import NavRouting
import NavSimulation

/// Random queries of all kinds on a map, compared with ``StateDijkstra``.
struct RandomQueries {
    let tiles: [RoadTile]
    let mapVersion: String
    private(set) var faults: [String] = []
    private(set) var compared = 0
    /// Queries that asked for tiles.
    private(set) var tilesNeeded = 0
    private var random: SeededRandom
    private let workspace = SearchWorkspace()

    init(_ tiles: [RoadTile], mapVersion: String, seed: UInt64) {
        self.tiles = tiles
        self.mapVersion = mapVersion
        random = SeededRandom(seed: seed)
    }

    /// Asks `starts` × `goals` queries of one vehicle in one traffic; another call is another vehicle.
    mutating func ask(starts: Int, goals: Int, profile: VehicleProfile, trafficShare: Double, isPartial: Bool) {
        let whole = RoadGraph(tiles: tiles, mapVersion: mapVersion)
        guard whole.edgeCount > 0 else { return }
        let loaded = isPartial ? tiles.filter { _ in random.uniform() < 0.75 } : tiles
        let overlay = overlay(whole, share: trafficShare)
        let model = CostModel(profile: profile)
        let oracle = StateDijkstra(
            Metric(Metric(TurnGraph(whole), model: model), traffic: overlay))
        let router = Router(graph: RoadGraph(tiles: loaded, mapVersion: mapVersion), model: model).live(overlay)
        let plain = Router(router.metric)
        let loadedIDs = Set(loaded.map(\.id))
        for _ in 0..<starts {
            guard let start = waypoint(whole, loadedIDs) else { continue }
            var options = RouteOptions()
            if !isPartial, random.uniform() < 0.25 { options.initialManeuverAvoidance = random.uniform() * 400 }
            let origins = nearest(start, oracle.metric)
            guard let first = origins.first else { continue }
            let labels = oracle.labels(
                from: origins.map { ($0.edge, $0.offset) },
                surroundings: options.initialManeuverAvoidance > 0
                    ? (first.coordinate, options.initialManeuverAvoidance) : nil)
            for _ in 0..<goals {
                guard let goal = waypoint(whole, loadedIDs) else { continue }
                let ends = nearest(goal, oracle.metric)
                guard let best = ends.compactMap({ oracle.cost(labels, to: $0.edge, at: $0.offset) }).min() else {
                    continue
                }
                let request = RouteRequest(waypoints: [start, goal], snapRadius: 60, options: options)
                compared += 1
                for (name, router) in [("hierarchy", router), ("plain", plain)] {
                    switch router.route(request, workspace: workspace) {
                    case .found(let route) where route.cost == best: continue
                    case .tilesNeeded where isPartial: tilesNeeded += 1
                    case .found(let route): faults.append("\(name): \(route.cost) instead of \(best) for \(request)")
                    case let other: faults.append("\(name): \(other) instead of \(best) for \(request)")
                    }
                }
            }
        }
    }

    private mutating func waypoint(_ graph: RoadGraph, _ loaded: Set<RoadTileID>) -> Waypoint? {
        let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
        let offset = random.uniform() * Double(graph.edgeLengths[edge.index])
        let place = graph.position(at: offset, of: edge)
        let coordinate = Geodesy.destination(from: place.coordinate, bearing: random.uniform() * 6, distance: 4)
        var waypoint = Waypoint(coordinate)
        if random.uniform() < 0.3 { waypoint.bearing = place.bearing }
        if random.uniform() < 0.2 { waypoint.approach = .kerb }
        let around = graph.edges(near: coordinate, radius: 80)
        guard around.allSatisfy({ graph.key(of: $0.edge).tile.map(loaded.contains) ?? false }) else { return nil }
        return waypoint
    }

    /// Random speeds and closures on a share of all segments.
    private mutating func overlay(_ graph: RoadGraph, share: Double) -> TrafficOverlay {
        var overlay = TrafficOverlay()
        guard share > 0 else { return overlay }
        var speeds: [TrafficSpeed] = []
        for index in 0..<graph.edgeCount where random.uniform() < share {
            let edge = EdgeIndex(index)
            let shape = graph.shape(of: edge)
            let segment = Int(random.next() % UInt64(shape.count - 1))
            speeds.append(
                TrafficSpeed(
                    wayID: random.uniform() < 0.5 ? graph.wayID(of: edge) : nil, fromNodeID: shape.nodeID(segment),
                    toNodeID: shape.nodeID(segment + 1),
                    speed: random.uniform() < 0.03 ? 0 : 0.5 + random.uniform() * 30))
        }
        _ = overlay.apply(speeds)
        return overlay
    }

    /// The places that a waypoint stands for.
    private func nearest(_ waypoint: Waypoint, _ metric: Metric) -> [EdgeProjection] {
        let graph = metric.turns.graph
        let hits = graph.edges(near: waypoint.coordinate, radius: 60).filter { hit in
            guard metric.allows(hit.edge) else { return false }
            if let bearing = waypoint.bearing, Angle.separation(bearing, hit.bearing) > waypoint.bearingTolerance {
                return false
            }
            guard waypoint.approach == .kerb, abs(hit.sideOffset) > 1, let back = graph.opposite(hit.edge),
                metric.allows(back)
            else { return true }
            return graph.traits(of: hit.edge).flags.contains(.leftHandTraffic) == (hit.sideOffset < 0)
        }
        guard let first = hits.first else { return [] }
        return hits.filter {
            $0.edge == first.edge || graph.opposite(first.edge) == $0.edge
                || ($0.distance - first.distance < 0.1 && Geodesy.distance($0.coordinate, first.coordinate) < 0.1)
        }
    }
}
