import NavGeo
import NavGuidance
import NavMap
import NavNavigator
import NavRouting
import NavSimulation

/// The routing worker, which answers soon, late, never or wrongly, and sometimes after a cancellation.
struct SimPlanner {
    private var random: SeededRandom
    private let wildness: Double
    private let workspace = SearchWorkspace()

    init(wildness: Double, seed: UInt64) {
        random = SeededRandom(seed: seed)
        self.wildness = wildness
    }

    /// Returns the seconds until a query is answered; nil for never.
    mutating func delay() -> Double? {
        let dice = random.uniform()
        if dice < 0.5 { return 0 }
        if dice > 1 - 0.03 * wildness { return nil }
        if dice > 1 - 0.10 * wildness { return 9 + 4 * random.uniform() }
        return dice < 0.8 ? 0.4 * random.uniform() : 3 * random.uniform()
    }

    /// Returns whether the answer to a cancelled query still arrives.
    mutating func ignoresCancelling() -> Bool { random.uniform() < 0.3 }

    /// Returns whether an answer arrives twice.
    mutating func repeats() -> Bool { random.uniform() < 0.05 }

    /// Returns the answer to a query on a map, or an unusable one.
    mutating func answer(_ query: RouteQuery, on map: MapSnapshot) -> RouteAnswer {
        let dice = random.uniform()
        if dice < 0.04 * wildness {
            let codes: [RouteFailure.Code] = [
                .noRoute, .noRoadNearby, .tilesNeeded, .invalidRequest, .cancelled, .providerUnavailable, .internal,
            ]
            let code = codes[Int(random.next() % UInt64(codes.count))]
            return .failed(
                RouteFailure(
                    code: code, message: "random failure",
                    missingTiles: code == .tilesNeeded ? Array(map.graph.tiles.prefix(1).map(\.id)) : []))
        }
        let answer = search(query, map)
        guard dice > 1 - 0.02 * wildness, case .found(var found) = answer else { return answer }
        found.main = SimPlanner.spoiled(found.main, &random)
        return .found(found)
    }

    private func search(_ query: RouteQuery, _ map: MapSnapshot) -> RouteAnswer {
        guard query.alternatives > 0 else {
            return answer(map.router.route(query.request, workspace: workspace), map)
        }
        switch map.router.alternatives(
            query.request, limit: query.alternatives, to: query.current, workspace: workspace)
        {
        case .notFound(let outcome): return answer(outcome, map)
        case .found(let found):
            return .found(
                FoundRoutes(
                    main: SimPlanner.plan(found.main, map), mainIsCurrent: found.mainIsCurrent, via: found.via,
                    alternatives: found.alternatives.map {
                        AlternativePlan(
                            alternative: $0, guidance: RouteGuidance(route: $0.route, graph: map.graph))
                    }))
        }
    }

    private func answer(_ outcome: RouteOutcome, _ map: MapSnapshot) -> RouteAnswer {
        switch outcome {
        case .found(let route): .found(FoundRoutes(main: SimPlanner.plan(route, map)))
        case .tilesNeeded(let tiles):
            .failed(RouteFailure(code: .tilesNeeded, message: "tiles are missing", missingTiles: tiles))
        case .invalid(let reason): .failed(RouteFailure(code: .invalidRequest, message: reason))
        case .unreachable: .failed(RouteFailure(code: .noRoute, message: "no route"))
        case .offRoad: .failed(RouteFailure(code: .noRoadNearby, message: "no road"))
        }
    }

    static func plan(_ route: Route, _ map: MapSnapshot) -> RoutePlan {
        RoutePlan(route: route, guidance: RouteGuidance(route: route, graph: map.graph))
    }

    /// Returns a route through places, as provided by an owner.
    func plan(_ waypoints: [Waypoint], _ map: MapSnapshot) -> RoutePlan? {
        guard case .found(let route) = map.router.route(RouteRequest(waypoints: waypoints), workspace: workspace) else {
            return nil
        }
        return SimPlanner.plan(route, map)
    }

    /// Returns the route with a defect.
    static func spoiled(_ plan: RoutePlan, _ random: inout SeededRandom) -> RoutePlan {
        var plan = plan
        switch random.next() % 5 {
        case 0: plan.route.legs = []
        case 1: plan.route.edges = []
        case 2: plan.route.edges[0].duration = .nan
        case 3: plan.route.legs[0].destination = 99
        default: plan.route.legs.append(plan.route.legs[0])
        }
        return plan
    }
}
