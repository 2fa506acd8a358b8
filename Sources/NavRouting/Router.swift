public import NavGeo
public import NavMap

/// Finds fastest routes with one metric. The router itself is shared; the workspace belongs to the caller.
public struct Router: Sendable {
    /// The costs in force.
    public let metric: Metric
    /// The costs without traffic.
    private let freeFlow: Metric
    /// The costs in force on a hierarchy; nil for plain searches.
    let hierarchy: HierarchyMetric?

    private init(_ metric: Metric, freeFlow: Metric, _ hierarchy: HierarchyMetric?) {
        self.metric = metric
        self.freeFlow = freeFlow
        self.hierarchy = hierarchy
    }

    /// A router that searches the turns themselves: nothing to prepare, some milliseconds for each route in a city.
    public init(_ metric: Metric) { self.init(metric, freeFlow: metric, nil) }

    /// A router over a contraction hierarchy: the same routes, a hundred times faster.
    public init(_ hierarchy: HierarchyMetric) { self.init(hierarchy.metric, freeFlow: hierarchy.metric, hierarchy) }

    /// A router for a vehicle over a graph; expands, prices and, when the tiles came with ranks, contracts the graph.
    public init(graph: RoadGraph, model: CostModel = CostModel()) {
        self = Router.fastest(Metric(TurnGraph(graph), model: model))
    }

    /// A router over a hierarchy when the tiles came with ranks, else one that searches the turns themselves.
    public static func fastest(
        _ metric: Metric, forEach: HierarchyMetric.ForEach = { count, body in for part in 0..<count { body(part) } }
    ) -> Router {
        guard let hierarchy = ContractionHierarchy(metric.turns) else { return Router(metric) }
        return Router(HierarchyMetric(hierarchy, metric, forEach: forEach))
    }

    /// A router for another vehicle over the same roads; it shares the turns and the hierarchy, and knows no traffic.
    ///
    /// The turns are those of the graph's kind of vehicle: what turns restrictions forbid others alone is not known.
    public func serving(
        _ model: CostModel, forEach: HierarchyMetric.ForEach = { count, body in for part in 0..<count { body(part) } }
    ) -> Router {
        let other = Metric(metric.turns, model: model)
        guard let hierarchy else { return Router(other) }
        return Router(HierarchyMetric(hierarchy.hierarchy, other, forEach: forEach))
    }

    /// A router for the same vehicle and roads in some traffic, in the place of what this one knows of it. This one
    /// stays as it is: whoever routes with it goes on.
    ///
    /// - Parameters:
    ///   - traffic: The speeds.
    ///   - now: Speeds that ceased to hold by then are left out; nil leaves none out.
    ///   - forEach: Who does the parts; the calling thread unless given.
    public func live(
        _ traffic: TrafficOverlay, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = { count, body in for part in 0..<count { body(part) } }
    ) -> Router {
        let live = Metric(freeFlow, traffic: traffic, at: now, forEach: forEach)
        return Router(
            live, freeFlow: freeFlow, hierarchy.map { HierarchyMetric($0.hierarchy, live, forEach: forEach) })
    }

    /// Whether it searches over a hierarchy.
    public var isHierarchical: Bool { hierarchy != nil }

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
        if let fault = request.options.fault { return .failed(.invalid(fault)) }
        if request.options.excludes {
            var rest = request
            rest.options.excludedEdges = []
            rest.options.excludedAreas = []
            return Router(Metric(metric, excluding: request.options)).solve(rest, workspace)
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
        let start = candidates[0].first?.coordinate ?? request.waypoints[0].coordinate
        let search = WishfulSearch(search(workspace), metric, request.options, start: start)
        let places = candidates.map { $0.map { snapper.place($0, detour: detour) } }
        if places.count == 2 {
            switch search.run(from: places[0], to: places[1], isFirst: true) {
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
        _ request: RouteRequest, places: [[EdgePosition]], _ search: WishfulSearch
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
                    switch search.run(from: [place], to: [destination], isFirst: index == 1) {
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
            guard waypoint > 0, mayTurn(at: waypoint),
                let opposite = metric.turns.graph.opposite(places[waypoint][candidate].edge),
                let other = places[waypoint].firstIndex(where: { $0.edge == opposite }), let back = arrivals[other],
                back.cost + UInt64(CostModel.uTurnDuration * 1_000) < straight?.cost ?? .max
            else { return straight.map { ($0, false) } }
            return (back, true)
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

/// A search that heeds the options of a request.
struct WishfulSearch {
    private let search: any LegSearch
    private let metric: Metric
    private let options: RouteOptions
    private let start: Coordinate

    init(_ search: any LegSearch, _ metric: Metric, _ options: RouteOptions, start: Coordinate) {
        self.search = search
        self.metric = metric
        self.options = options
        self.start = start
    }

    /// - Parameter isFirst: Whether the leg begins at the start of the route.
    func run(from origins: [EdgePosition], to destinations: [EdgePosition], isFirst: Bool) -> LegResult {
        var places = destinations
        var joinings: [ChosenRoute.Joining] = []
        if !options.chosenRoute.isEmpty {
            for place in destinations { joinings += ChosenRoute(options, to: place, metric).joinings }
            places += joinings.map(\.place)
        }
        let result: LegResult
        if isFirst, options.initialManeuverAvoidance > 0 {
            var stretch = InitialStretch(metric, start: start, radius: options.initialManeuverAvoidance)
            result = stretch.run(from: origins, to: places, search)
        } else {
            result = search.run(from: origins, to: places)
        }
        guard case .path(let edges, let cost, let origin, let end) = result,
            let joining = joinings.first(where: { $0.place == end })
        else { return result }
        return .path(edges + joining.onward, cost: cost, origin: origin, destination: joining.destination)
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
