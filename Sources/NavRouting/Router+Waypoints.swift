import NavGeo
import NavMap

extension Router {
    /// Returns the legs of the fastest route, or the reason why there is none.
    func solve(_ request: RouteRequest, _ workspace: SearchWorkspace) -> SolveOutcome {
        if let fault = request.fault { return .failed(.invalid(fault)) }
        if let own = ownMetric(for: request.options) {
            var rest = request
            rest.options.excludedEdges = []
            rest.options.excludedAreas = []
            rest.options.departure = nil
            return Router(own).solve(rest, workspace)
        }
        let limits = request.waypoints.indices.map { request.snapRadius(of: $0) }
        let outcome = solve(request, within: limits, workspace)
        guard case .failed(let reason) = outcome else { return outcome }
        switch reason {
        case .offRoad(waypoint: 0, _) where request.positionSnapRadius != nil && request.waypoints[0].bearing != nil:
            // A vehicle may leave a car park at any angle.
            var undirected = request
            undirected.waypoints[0].bearing = nil
            return solve(undirected, workspace)
        case .offRoad:
            guard let next = nextRoad(request, limits, workspace) else { return outcome }
            return .failed(.offRoad(waypoint: next.waypoint, nearest: next.distance))
        case .unreachable:
            guard let next = nextRoad(request, limits, workspace) else { return outcome }
            return .failed(.unreachable(waypoint: next.waypoint, nearest: next.distance))
        case .found, .tilesNeeded, .invalid: return outcome
        }
    }

    /// The distance within which the next road is searched for a waypoint without one in range, metres.
    public static let farthestRoad = 5_000.0

    /// Returns the waypoint that is too far from the roads that connect the others, and its distance; nil when there
    /// are no such roads nearby.
    private func nextRoad(
        _ request: RouteRequest, _ limits: [Double], _ workspace: SearchWorkspace
    ) -> (waypoint: Int, distance: Double)? {
        for reach in [Self.farthestRoad * 0.4, Self.farthestRoad] where !workspace.cancellation.isCancelled {
            let tried = max(limits.max() ?? 0, Snapper.alternativeReach)
            let outcome = solve(request, within: limits.map { max($0, reach) }, from: tried * 2, workspace)
            guard case .found(let solution) = outcome, let first = solution.legs.first else { continue }
            let places = [first.start] + solution.legs.map(\.end)
            for (index, place) in places.enumerated() {
                let point = metric.turns.graph.position(at: place.offset, of: place.edge).coordinate
                let distance = Geodesy.distance(request.waypoints[index].coordinate, point)
                if distance > limits[index] { return (index, distance) }
            }
            return nil
        }
        return nil
    }

    private func solve(
        _ request: RouteRequest, within limits: [Double], from firstReach: Double = Snapper.alternativeReach,
        _ workspace: SearchWorkspace
    ) -> SolveOutcome {
        let snapper = Snapper(metric: metric)
        var nearest: [[EdgeProjection]] = []
        var missing: Set<RoadTileID> = []
        for (index, waypoint) in request.waypoints.enumerated() {
            let candidates = snapper.nearest(waypoint, radius: limits[index])
            // The vehicle is on a loaded road, but its route may lead over a missing tile.
            if index > 0 || candidates.isEmpty {
                let tiles = snapper.missingTiles(at: waypoint, nearest: candidates.first, radius: limits[index])
                missing.formUnion(tiles)
                if tiles.isEmpty, candidates.isEmpty { return .failed(.offRoad(waypoint: index)) }
            }
            nearest.append(candidates)
        }
        if !missing.isEmpty { return .failed(.tilesNeeded(missing.sorted())) }
        let outcome = route(request, candidates: nearest, detour: false, workspace)
        guard case .failed(.unreachable) = outcome else { return outcome }
        guard request.waypoints.count == 2 else {
            let count = candidateCount(legs: request.waypoints.count - 1)
            let wider = zip(request.waypoints, limits).map { snapper.around($0, radius: $1, atMost: count) }
            return route(request, candidates: wider, detour: true, workspace)
        }
        // The reach grows step by step, because an island may be a whole car park and many roads mean many search seeds.
        var reach = firstReach
        let farthest = limits.max() ?? 0
        while true {
            let wider = zip(request.waypoints, limits).map { snapper.hits($0, within: min(reach, $1)) }
            let outcome = route(request, candidates: wider, detour: true, workspace)
            guard case .failed(.unreachable) = outcome, reach < farthest else { return outcome }
            reach *= 4
        }
    }

    /// Returns the number of roads' directions to try for each of several waypoints when the nearest ones are not connected.
    ///
    /// Each pair requires a search. Without a hierarchy, a search takes milliseconds, so requests with many legs try fewer roads.
    private func candidateCount(legs: Int) -> Int {
        let greatest = Snapper.alternativeRoads * 2
        guard hierarchy == nil else { return greatest }
        return (4...greatest).last { legs * $0 * $0 <= Self.greatestSearches } ?? 4
    }

    /// The maximum number of searches for trying more roads: at some milliseconds each, a few seconds in a city.
    private static let greatestSearches = 2_304
    /// The number of candidate pairs from which a leg is first searched as a whole.
    private static let leastPairs = 16

    /// Returns the passages of a place: one for each state of its edge where the permitted continuations depend on the route so far.
    private func passages(_ place: EdgePosition) -> [EdgePosition] {
        let states = metric.turns.states(on: place.edge)
        guard states.count > 1 else { return [place] }
        return states.map { state in
            var passage = place
            passage.state = state
            return passage
        }
    }

    private func search(_ workspace: SearchWorkspace) -> any LegSearch {
        guard let hierarchy else { return BidirectionalSearch(metric, workspace) }
        return HierarchySearch(hierarchy, workspace)
    }

    private func route(
        _ request: RouteRequest, candidates: [[EdgeProjection]], detour: Bool, _ workspace: SearchWorkspace
    ) -> SolveOutcome {
        let snapper = Snapper(metric: metric)
        let start = candidates[0].first?.coordinate ?? request.waypoints[0].coordinate
        let search = ConstrainedSearch(search(workspace), metric, request.options, start: start)
        let places = candidates.indices.map { index in
            let places = candidates[index].map { snapper.place($0, detour: detour) }
            let isPassed = index > 0 && index < candidates.count - 1 && !request.waypoints[index].isStop
            return isPassed ? places.flatMap(passages) : places
        }
        if places.count == 2 {
            switch search.run(from: places[0], to: places[1], isFirst: true) {
            case .unreachable: return .failed(.unreachable(waypoint: 1))
            case .tilesNeeded(let tiles): return .failed(.tilesNeeded(tiles))
            case .path(let edges, let cost, let origin, let destination):
                let leg = LegPath(edges: edges, start: origin, end: destination, searched: cost)
                workspace.onWaypoint?(1, 1)
                return .found(Solution(metric: metric, legs: [leg], places: places))
            }
        }
        return throughWaypoints(request, places: places, search, workspace)
    }

    /// Finds the best candidates of all waypoints by dynamic programming.
    private func throughWaypoints(
        _ request: RouteRequest, places: [[EdgePosition]], _ search: ConstrainedSearch,
        _ workspace: SearchWorkspace
    ) -> SolveOutcome {
        let cancellation = workspace.cancellation
        // A single search shows that no pair of a leg is connected, which would otherwise take hundreds of searches for pairs of this and
        // earlier legs.
        for index in 1..<places.count where places[index - 1].count * places[index].count >= Self.leastPairs {
            if cancellation.isCancelled { break }
            let result = search.run(from: places[index - 1], to: places[index], isFirst: index == 1)
            if case .unreachable = result { return .failed(.unreachable(waypoint: index)) }
        }
        struct Arrival {
            var cost: UInt64
            var legs: [LegPath]
        }
        var arrivals: [Arrival?] = places[0].map { _ in Arrival(cost: 0, legs: []) }
        for index in 1..<places.count {
            var next: [Arrival?] = Array(repeating: nil, count: places[index].count)
            var missing: Set<RoadTileID> = []
            for (from, place) in places[index - 1].enumerated() {
                guard let (arrival, turned) = departure(from, at: index - 1) else { continue }
                // The penalty for a waypoint beside the road is paid once, on arrival.
                var place = place
                if index > 1 { place.penalty = 0 }
                for (to, destination) in places[index].enumerated() {
                    if cancellation.isCancelled { return .failed(.unreachable(waypoint: index)) }
                    switch search.run(from: [place], to: [destination], isFirst: index == 1) {
                    case .unreachable: continue
                    case .tilesNeeded(let tiles): missing.formUnion(tiles)
                    case .path(let edges, let cost, let origin, let end):
                        let total = arrival.cost + cost + (turned ? UInt64(CostModel.uTurnDuration * 1_000) : 0)
                        guard total < next[to]?.cost ?? .max else { continue }
                        let leg = LegPath(edges: edges, start: origin, end: end, searched: cost, turnsRound: turned)
                        next[to] = Arrival(cost: total, legs: arrival.legs + [leg])
                    }
                }
            }
            if !missing.isEmpty { return .failed(.tilesNeeded(missing.sorted())) }
            guard next.contains(where: { $0 != nil }) else { return .failed(.unreachable(waypoint: index)) }
            arrivals = next
            workspace.onWaypoint?(index, places.count - 1)
        }
        guard let best = arrivals.compactMap({ $0 }).min(by: { $0.cost < $1.cost }) else {
            return .failed(.unreachable(waypoint: places.count - 1))
        }
        return .found(Solution(metric: metric, legs: best.legs, places: places))

        /// Returns the cheapest way to leave a candidate along its edge: after arriving on it, or after a U-turn.
        func departure(_ candidate: Int, at waypoint: Int) -> (Arrival, turned: Bool)? {
            let straight = arrivals[candidate].map { ($0, turned: false) }
            let place = places[waypoint][candidate]
            // A U-turn leads to the edge's own state only.
            guard waypoint > 0, mayTurn(at: waypoint), place.state ?? place.edge.rawValue == place.edge.rawValue,
                let opposite = metric.turns.graph.opposite(place.edge)
            else { return straight }
            var back: Arrival?
            for (other, arrival) in zip(places[waypoint], arrivals) where other.edge == opposite {
                if let arrival, arrival.cost < back?.cost ?? .max { back = arrival }
            }
            guard let back, back.cost + UInt64(CostModel.uTurnDuration * 1_000) < straight?.0.cost ?? .max else {
                return straight
            }
            return (back, turned: true)
        }

        func mayTurn(at waypoint: Int) -> Bool {
            switch request.options.waypointTurns {
            case .atStops: request.waypoints[waypoint].isStop
            case .everywhere: true
            case .never: false
            }
        }
    }
}
