import NavGeo
import NavMap
import NavRouting
import NavSimulation
import NavTestSupport

/// Random queries of all kinds on a map, compared with the ``Oracle``.
struct RandomQueries {
    /// A setting shared by many queries.
    struct Setting {
        var profile = VehicleProfile()
        var departure: LocalTime?
        /// The share of edges whose traffic is known.
        var traffic = 0.0
        /// Whether some roads and an area are excluded.
        var excludes = false
        /// Whether some of the tiles are missing.
        var isPartial = false
    }

    private(set) var faults: [String] = []
    /// The number of queries compared, each with all routers.
    private(set) var compared = 0
    /// The number of those with intermediate points, and of those that requested tiles.
    private(set) var withVias = 0
    private(set) var tilesNeeded = 0
    private let tiles: [RoadTile]
    private let mapVersion: String
    private let roads: OracleRoads
    private let base: Router
    private var random: SeededRandom
    private let workspace = SearchWorkspace()
    private let trees = [Oracle.Tree(), Oracle.Tree()]

    init(_ tiles: [RoadTile], mapVersion: String, seed: UInt64) {
        self.tiles = tiles
        self.mapVersion = mapVersion
        let graph = RoadGraph(tiles: tiles, mapVersion: mapVersion)
        roads = OracleRoads(graph)
        base = Router(graph: graph)
        random = SeededRandom(seed: seed)
    }

    /// Returns a setting of each kind: both vehicles, departures, traffic, exclusions and missing tiles.
    mutating func settings() -> [Setting] {
        let truck = VehicleProfile(kind: .truck, avoid: [.motorways])
        let tanker = VehicleProfile(kind: .truck, weight: 18, axleLoad: 8, carriesDangerousGoods: true)
        return [
            Setting(), Setting(departure: time()), Setting(profile: truck),
            Setting(profile: tanker, departure: time()), Setting(traffic: 0.3),
            Setting(profile: VehicleProfile(kind: .truck), departure: time(), traffic: 0.1),
            Setting(departure: time(), excludes: true), Setting(isPartial: true),
            Setting(profile: tanker, departure: time(), isPartial: true),
        ]
    }

    private mutating func time() -> LocalTime? {
        LocalTime(
            year: 2026, month: Int(random.next() % 12) + 1, day: Int(random.next() % 28) + 1,
            hour: Int(random.next() % 24), minute: Int(random.next() % 60))
    }

    /// Compares `count` queries in one setting, `goals` from each start.
    mutating func ask(_ count: Int, goals: Int = 10, _ setting: Setting) {
        guard roads.graph.edgeCount > 0 else { return }
        var options = RouteOptions()
        var excluded: Set<EdgeIndex> = []
        if setting.excludes { excluded = exclude(&options) }
        let overlay = overlay(share: setting.traffic)
        let model = CostModel(profile: setting.profile)
        let loaded = setting.isPartial ? tiles.filter { _ in random.uniform() < 0.8 } : tiles
        let own =
            setting.isPartial
            ? Router(graph: RoadGraph(tiles: loaded, mapVersion: mapVersion), model: model, at: setting.departure)
            : base.serving(model, at: setting.departure)
        let fast = setting.traffic > 0 ? own.live(overlay) : own
        let oracle = Oracle(
            roads, model, at: setting.departure, traffic: overlay, excluding: excluded,
            roundedAs: setting.traffic > 0 ? fast.metric : nil)
        // A departure for which no router was created.
        let timeless = base.serving(model).live(overlay)
        let loadedIDs = Set(loaded.map(\.id))
        let end = compared + count
        var attempts = count * 20
        while compared < end, attempts > 0 {
            attempts -= 1
            guard let start = waypoint(loadedIDs), let trip = trip(start, loadedIDs, oracle) else { continue }
            var routers = [("hierarchy", fast), ("plain", Router(fast.metric))]
            if setting.departure != nil, !setting.isPartial { routers.append(("timeless", timeless)) }
            options.initialManeuverAvoidance = 0
            if !setting.isPartial, random.uniform() < 0.25 { options.initialManeuverAvoidance = random.uniform() * 400 }
            let tree = search(trip, options, oracle)
            for goal in 0..<min(goals, end - compared) {
                guard let waypoint = waypoint(loadedIDs) else { continue }
                let ends = nearest(waypoint, oracle)
                guard let best = ends.compactMap({ oracle.cost(tree, to: $0.edge, at: $0.offset) }).min() else {
                    continue
                }
                var request = RouteRequest(waypoints: trip.waypoints + [waypoint], snapRadius: 60, options: options)
                compared += 1
                if trip.waypoints.count > 1 { withVias += 1 }
                for (name, router) in routers where name != "timeless" || goal == 0 {
                    if name == "timeless" { request.options.departure = setting.departure }
                    judge(router.route(request, workspace: workspace), best, oracle, setting, request, name)
                }
            }
        }
    }

    private mutating func judge(
        _ outcome: RouteOutcome, _ best: UInt64, _ oracle: Oracle, _ setting: Setting, _ request: RouteRequest,
        _ name: String
    ) {
        switch outcome {
        case .found(let route) where route.cost == best:
            let fault = oracle.fault(in: route, checksCost: request.options.initialManeuverAvoidance == 0)
            if let fault { faults.append("\(name): \(fault), \(request)") }
        case .tilesNeeded where setting.isPartial: tilesNeeded += 1
        case .found(let route): faults.append("\(name): \(route.cost) instead of \(best), \(request)")
        case let other: faults.append("\(name): \(other) instead of \(best), \(request)")
        }
    }

    /// A start, possibly with an intermediate point, and their places on the roads.
    private struct Trip {
        var waypoints: [Waypoint]
        var places: [[EdgeProjection]]
    }

    private mutating func trip(_ start: Waypoint, _ loaded: Set<RoadTileID>, _ oracle: Oracle) -> Trip? {
        var trip = Trip(waypoints: [start], places: [nearest(start, oracle)])
        if random.uniform() < 0.3, var via = waypoint(loaded) {
            via.isStop = random.uniform() < 0.5
            trip.waypoints.append(via)
            trip.places.append(nearest(via, oracle))
        }
        return trip.places.contains(where: \.isEmpty) ? nil : trip
    }

    /// Returns the least costs from the last point of a trip.
    private func search(_ trip: Trip, _ options: RouteOptions, _ oracle: Oracle) -> Oracle.Tree {
        let radius = options.initialManeuverAvoidance
        oracle.search(
            trees[0], from: trip.places[0].map { Oracle.Seed(edge: $0.edge, offset: $0.offset) },
            surroundings: radius > 0 ? (trip.places[0][0].coordinate, radius) : nil)
        guard trip.places.count > 1 else { return trees[0] }
        let seeds = oracle.departures(trip.places[1], trees[0], isStop: trip.waypoints[1].isStop)
        oracle.search(trees[1], from: seeds)
        return trees[1]
    }

    private mutating func waypoint(_ loaded: Set<RoadTileID>) -> Waypoint? {
        let graph = roads.graph
        let edge = EdgeIndex(Int(random.next() % UInt64(graph.edgeCount)))
        let offset = random.uniform() * Double(graph.edgeLengths[edge.index])
        let place = graph.position(at: offset, of: edge)
        let coordinate = Geodesy.destination(from: place.coordinate, bearing: random.uniform() * 6, distance: 4)
        var waypoint = Waypoint(coordinate)
        if random.uniform() < 0.3 { waypoint.bearing = place.bearing }
        if random.uniform() < 0.2 { waypoint.approach = .kerb }
        guard loaded.count < tiles.count else { return waypoint }
        let around = graph.edges(near: coordinate, radius: 80)
        guard around.allSatisfy({ graph.key(of: $0.edge).tile.map(loaded.contains) ?? false }) else { return nil }
        return waypoint
    }

    /// Returns random speeds and closures on a share of all edges.
    private mutating func overlay(share: Double) -> TrafficOverlay {
        let graph = roads.graph
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

    /// Excludes 2 % of the edges and a box around a random road.
    private mutating func exclude(_ options: inout RouteOptions) -> Set<EdgeIndex> {
        let graph = roads.graph
        var excluded: Set<EdgeIndex> = []
        for _ in 0..<min(graph.edgeCount / 50, 200) {
            excluded.insert(EdgeIndex(Int(random.next() % UInt64(graph.edgeCount))))
        }
        options.excludedEdges = excluded.sorted().map { graph.key(of: $0) }
        let centre = graph.randomPlace(&random)
        let (south, west) = (centre.latitude - 0.000_5, centre.longitude - 0.000_7)
        let (north, east) = (centre.latitude + 0.000_9, centre.longitude + 0.000_8)
        options.excludedAreas = [ExcludedArea(BoundingBox(south: south, west: west, north: north, east: east))]
        for index in 0..<graph.edgeCount {
            let line = graph.shape(of: EdgeIndex(index)).coordinates
            let meets = zip(line, line.dropFirst()).contains { first, second in
                // Liang and Barsky (1984): the part of the segment within both sides of the box.
                var (enter, leave) = (0.0, 1.0)
                for (from, to, low, high) in [
                    (first.latitude, second.latitude, south, north), (first.longitude, second.longitude, west, east),
                ] {
                    let run = to - from
                    if run == 0 {
                        if from < low || from > high { return false }
                    } else {
                        enter = max(enter, min((low - from) / run, (high - from) / run))
                        leave = min(leave, max((low - from) / run, (high - from) / run))
                    }
                }
                return enter <= leave
            }
            if meets { excluded.insert(EdgeIndex(index)) }
        }
        return excluded
    }

    /// Returns the snapped places of a waypoint.
    private func nearest(_ waypoint: Waypoint, _ oracle: Oracle) -> [EdgeProjection] {
        let graph = roads.graph
        let hits = graph.edges(near: waypoint.coordinate, radius: 60).filter { hit in
            guard oracle.allows(hit.edge) else { return false }
            if let bearing = waypoint.bearing, Angle.separation(bearing, hit.bearing) > waypoint.bearingTolerance {
                return false
            }
            guard waypoint.approach == .kerb, abs(hit.sideOffset) > 1, let back = graph.opposite(hit.edge),
                oracle.allows(back)
            else { return true }
            return graph.traits(of: hit.edge).flags.contains(.leftHandTraffic) == (hit.sideOffset < 0)
        }
        return oracle.places(waypoint, hits)
    }
}
