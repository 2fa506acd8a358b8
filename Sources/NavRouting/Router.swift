import NavGeo
public import NavMap

/// Finds fastest routes with one metric. The router itself is shared; the workspace belongs to the caller.
public struct Router: Sendable {
    /// The costs in force.
    public let metric: Metric
    /// The same costs on a hierarchy; nil for plain searches.
    let hierarchy: HierarchyMetric?

    /// A router that searches the turns themselves: nothing to prepare, some milliseconds for each route in a city.
    public init(_ metric: Metric) {
        self.metric = metric
        hierarchy = nil
    }

    /// A router over a contraction hierarchy: the same routes, a hundred times faster.
    public init(_ hierarchy: HierarchyMetric) {
        metric = hierarchy.metric
        self.hierarchy = hierarchy
    }

    /// A router for a vehicle over a graph; expands and prices the graph.
    public init(graph: RoadGraph, model: CostModel = CostModel()) {
        self.init(Metric(TurnGraph(graph), model: model))
    }

    private func search(_ workspace: SearchWorkspace) -> any LegSearch {
        guard let hierarchy else { return BidirectionalSearch(metric, workspace) }
        return HierarchySearch(hierarchy, workspace)
    }

    /// The fastest route through all waypoints.
    ///
    /// Exact for the given snapping: both directions of each stop's road are weighed, and a vehicle leaves a stop as it
    /// came, or turns round there for ``CostModel/uTurnDuration``; at a pass-through point it never turns round. When a
    /// waypoint's nearest road is not connected with the others, further roads around it are tried.
    public func route(_ request: RouteRequest, workspace: SearchWorkspace) -> RouteOutcome {
        switch solve(request, workspace) {
        case .failed(let outcome): return outcome
        case .found(let solution):
            var builder = RouteBuilder(metric)
            return .found(builder.route(request.waypoints, legs: solution.legs))
        }
    }

    /// The legs of the fastest route, or why there is none.
    func solve(_ request: RouteRequest, _ workspace: SearchWorkspace) -> SolveOutcome {
        guard request.waypoints.count >= 2 else { return .failed(.invalid("a route needs a start and a destination")) }
        for (index, waypoint) in request.waypoints.enumerated() where !waypoint.coordinate.isValid {
            return .failed(.invalid("waypoint \(index) is not a position on Earth"))
        }
        for (index, waypoint) in request.waypoints.enumerated() {
            guard waypoint.bearing?.isFinite ?? true, waypoint.bearingTolerance >= 0 else {
                return .failed(.invalid("waypoint \(index) has a bearing or a tolerance that is no angle"))
            }
        }
        guard (0...RouteRequest.greatestSnapRadius).contains(request.snapRadius) else {
            return .failed(.invalid("the snap radius is not within 0 ... \(Int(RouteRequest.greatestSnapRadius)) m"))
        }
        let snapper = Snapper(metric: metric)
        var nearest: [[EdgeProjection]] = []
        for (index, waypoint) in request.waypoints.enumerated() {
            let candidates = snapper.nearest(waypoint, radius: request.snapRadius)
            if candidates.isEmpty { return .failed(.offRoad(waypoint: index)) }
            nearest.append(candidates)
        }
        let outcome = route(request, candidates: nearest, detour: false, workspace)
        guard case .failed(.unreachable) = outcome else { return outcome }
        let wider = request.waypoints.map { snapper.around($0, radius: request.snapRadius) }
        return route(request, candidates: wider, detour: true, workspace)
    }

    private func route(
        _ request: RouteRequest, candidates: [[EdgeProjection]], detour: Bool, _ workspace: SearchWorkspace
    ) -> SolveOutcome {
        let snapper = Snapper(metric: metric)
        let search = search(workspace)
        let places = candidates.map { $0.map { snapper.place($0, detour: detour) } }
        if places.count == 2 {
            switch search.run(from: places[0], to: places[1]) {
            case .unreachable: return .failed(.unreachable(waypoint: 1))
            case .tilesNeeded(let tiles): return .failed(.tilesNeeded(tiles))
            case .path(let edges, let cost, let origin, let destination):
                let leg = LegPath(edges: edges, start: origin, end: destination, cost: cost)
                return .found(Solution(legs: [leg], places: places))
            }
        }
        return throughWaypoints(request, places: places, search)
    }

    /// Dynamic programming over the candidates of each waypoint.
    private func throughWaypoints(
        _ request: RouteRequest, places: [[EdgePosition]], _ search: any LegSearch
    ) -> SolveOutcome {
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
                // The way to a waypoint beside the road is paid on arrival there, once.
                var place = place
                if index > 1 { place.penalty = 0 }
                for (to, destination) in places[index].enumerated() {
                    switch search.run(from: [place], to: [destination]) {
                    case .unreachable: continue
                    case .tilesNeeded(let tiles): missing.formUnion(tiles)
                    case .path(let edges, let cost, let origin, let end):
                        let total = arrival.cost + cost + (turned ? UInt64(CostModel.uTurnDuration * 1_000) : 0)
                        guard total < next[to]?.cost ?? .max else { continue }
                        let leg = LegPath(edges: edges, start: origin, end: end, cost: cost, turnsRound: turned)
                        next[to] = Arrival(cost: total, legs: arrival.legs + [leg])
                    }
                }
            }
            if !missing.isEmpty { return .failed(.tilesNeeded(missing.sorted())) }
            guard next.contains(where: { $0 != nil }) else { return .failed(.unreachable(waypoint: index)) }
            arrivals = next
        }
        guard let best = arrivals.compactMap({ $0 }).min(by: { $0.cost < $1.cost }) else {
            return .failed(.unreachable(waypoint: places.count - 1))
        }
        return .found(Solution(legs: best.legs, places: places))

        /// The best way to stand at a candidate ready to leave along it: having arrived on it, or having turned round
        /// at a stop.
        func departure(_ candidate: Int, at waypoint: Int) -> (Arrival, turned: Bool)? {
            let straight = arrivals[candidate]
            guard waypoint > 0, request.waypoints[waypoint].isStop,
                let opposite = metric.turns.graph.opposite(places[waypoint][candidate].edge),
                let other = places[waypoint].firstIndex(where: { $0.edge == opposite }), let back = arrivals[other],
                back.cost + UInt64(CostModel.uTurnDuration * 1_000) < straight?.cost ?? .max
            else { return straight.map { ($0, false) } }
            return (back, true)
        }
    }
}

/// A route before it is drawn.
struct Solution {
    /// One for each waypoint after the first.
    var legs: [LegPath]
    /// The places that each waypoint may stand for.
    var places: [[EdgePosition]]
}

/// What a search through waypoints comes to.
enum SolveOutcome {
    case found(Solution)
    /// Never `found`.
    case failed(RouteOutcome)
}

/// A found way between two waypoints.
struct LegPath {
    var edges: [EdgeIndex]
    var start: EdgePosition
    var end: EdgePosition
    var cost: UInt64
    /// Whether the vehicle turns round before it sets out.
    var turnsRound = false
}
