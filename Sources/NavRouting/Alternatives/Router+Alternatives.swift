import NavMap

extension Router {
    /// Returns the best route with up to `limit` alternatives, or alternatives to the route being driven.
    ///
    /// Every alternative meets all `criteria` on the metric in force. The order minimises twice the cost plus the
    /// shared cost minus the plateau, the objective of Abraham et al. (2013). It depends only on map, metric and
    /// request.
    ///
    /// With several waypoints, an alternative replaces one leg and the criteria apply within that leg.
    ///
    /// All ``RouteOptions`` are respected. With a chosen route or an initial stretch, the main route is the result of
    /// these options, and no alternative makes more maneuvers in the initial stretch than the main route.
    ///
    /// For excluded roads or another time of departure, the hierarchy is customised for this one request.
    ///
    /// - Parameters:
    ///   - request: The waypoints; with a route being driven, the vehicle's position and the waypoints still ahead.
    ///   - limit: The maximum number of alternatives, 0 ... 2; larger values are clamped.
    ///   - current: The route being driven, which need not be the best. The best route replaces it when the vehicle is
    ///     not on it, or when some of its remaining edges are not loaded or may not be driven.
    public func alternatives(
        _ request: RouteRequest, limit: Int = 2, to current: Route? = nil,
        criteria: AlternativeCriteria = AlternativeCriteria(), workspace: SearchWorkspace
    ) -> AlternativesOutcome {
        guard let hierarchy else {
            return .notFound(.invalid("alternatives need a router over a contraction hierarchy"))
        }
        // The search below reports invalid options; a metric cannot be made for invalid areas.
        if request.options.fault == nil, let own = ownMetric(for: request.options) {
            var rest = request
            rest.options.excludedEdges = []
            rest.options.excludedAreas = []
            rest.options.departure = nil
            return Router(HierarchyMetric(hierarchy.hierarchy, own)).alternatives(
                rest, limit: limit, to: current, criteria: criteria, workspace: workspace)
        }
        let remaining = current.flatMap { DrivenRoute($0, metric, request, Snapper(metric: metric)) }
        var fixed = request
        if let remaining { fixed.waypoints[0].bearing = remaining.bearing }
        let solution: Solution
        switch solve(fixed, workspace) {
        case .failed(let outcome): return .notFound(outcome)
        case .found(let found): solution = found
        }
        let options = request.options
        let hasPreferences = !options.chosenRoute.isEmpty || options.initialManeuverAvoidance > 0
        // The legs that alternatives are requested for, if they are not the fastest ones.
        let given = remaining?.legs ?? (hasPreferences ? solution.legs : nil)
        let limit = min(max(limit, 0), 2)
        var choices: [LegChoice] = []
        for (number, leg) in solution.legs.enumerated() where limit > 0 {
            let isFirst = number == 0
            let isLast = number == solution.legs.count - 1
            let driven = given?[number]
            // Where legs meet, an alternative must fit the next leg.
            let start = driven?.start ?? leg.start
            let end = driven?.end ?? leg.end
            let origins = isFirst && driven == nil ? start.peers(among: solution.places[0]) : [start.unpenalised]
            let destinations =
                isLast && driven == nil ? end.peers(among: solution.places[number + 1]) : [end.unpenalised]
            let ends = HierarchySearch(hierarchy, workspace).ends(origins, destinations)
            let search = AlternativeSearch(hierarchy, criteria, ends, workspace)
            guard let best = search.best(), best.cost <= ends.direct?.cost ?? .max else { continue }
            let path = driven.flatMap { search.path(of: $0) }
            if driven != nil, path == nil { continue }
            let isCalm = isFirst ? calmness(options, path ?? best, search, start) : nil
            for found in search.run(limit: limit, best: best, current: path, accepting: isCalm ?? { _ in true }) {
                choices.append(
                    LegChoice(
                        leg: number, path: search.leg(of: found.path, turnsRound: leg.turnsRound),
                        extraCost: Int64(found.path.cost) - Int64(path?.cost ?? best.cost), order: choices.count,
                        sharing: min(Double(found.comparison.shared) / Double(max(best.cost, 1)), 1),
                        stretch: found.stretch))
            }
        }
        if solution.legs.count > 1 { choices.sort { ($0.extraCost, $0.order) < ($1.extraCost, $1.order) } }
        let legs = remaining?.legs ?? solution.legs
        var builder = RouteBuilder(metric)
        let main = builder.route(request.waypoints, legs: legs)
        var alternatives: [AlternativeRoute] = []
        for choice in choices.prefix(limit) {
            var replaced = legs
            replaced[choice.leg] = choice.path
            alternatives.append(
                AlternativeRoute(
                    builder.route(request.waypoints, legs: replaced), to: main, sharing: choice.sharing,
                    stretch: choice.stretch))
        }
        return .found(
            AlternativeRoutes(main: main, mainIsCurrent: remaining != nil, alternatives: alternatives))
    }

    /// Returns a check that a path makes no more maneuvers than `main` within the initial stretch; nil when there is no
    /// initial stretch.
    private func calmness(
        _ options: RouteOptions, _ main: StatePath, _ search: AlternativeSearch, _ start: EdgePosition
    ) -> ((StatePath) -> Bool)? {
        guard options.initialManeuverAvoidance > 0 else { return nil }
        let place = metric.turns.graph.position(at: start.offset, of: start.edge).coordinate
        let stretch = InitialStretch(metric, start: place, radius: options.initialManeuverAvoidance)
        func maneuvers(_ path: StatePath) -> Int {
            stretch.maneuvers(search.leg(of: path, turnsRound: false).edges)
        }
        let most = maneuvers(main)
        return { maneuvers($0) <= most }
    }

    private struct LegChoice {
        var leg: Int
        var path: LegPath
        /// Extra cost over the main route, ms.
        var extraCost: Int64
        var order: Int
        var sharing: Double
        var stretch: Double
    }
}

extension EdgePosition {
    /// The place without its snapping penalty, so that paths are compared by their cost on the road.
    fileprivate var unpenalised: EdgePosition {
        var place = self
        place.penalty = 0
        return place
    }

    /// Returns the places with the same snapping penalty, so that paths between them are compared by their cost on the road.
    ///
    /// If an end was moved to a connected road, these are that road's places; otherwise all of them.
    fileprivate func peers(among places: [EdgePosition]) -> [EdgePosition] {
        places.filter { $0.penalty == penalty }.map(\.unpenalised)
    }
}

extension AlternativeSearch {
    func leg(of path: StatePath, turnsRound: Bool) -> LegPath {
        let turns = costs.hierarchy.turns
        let end = ends.destinationPlaces[ends.places[path.destination]]
        var edges: [EdgeIndex] = []
        edges.reserveCapacity(path.states.count + 1)
        for state in path.states { edges.append(turns.edge(of: state)) }
        edges.append(end.edge)
        return LegPath(
            edges: edges, start: ends.originPlaces[path.origin], end: end, cost: UInt64(path.cost),
            turnsRound: turnsRound)
    }

    /// Returns a leg being driven as a path through the turn graph; nil when this metric forbids one of its turns.
    func path(of leg: LegPath) -> StatePath? {
        let turns = costs.hierarchy.turns
        guard leg.edges.count > 1, let seed = ends.origins.first else { return nil }
        var path = StatePath()
        path.states = [leg.start.state ?? leg.edges[0].rawValue]
        path.costs = [seed.cost]
        for edge in leg.edges[1...] {
            guard
                let arc = turns.arcs(from: path.states[path.states.count - 1]).first(where: {
                    turns.edge(of: turns.arcTargets[$0]) == edge
                }), costs.metric.arcCosts[arc] != Metric.forbidden, costs.metric.allows(edge)
            else { return nil }
            path.append(turns.arcTargets[arc], costs.metric)
        }
        // The last edge is the destination's, which the seed includes.
        path.states.removeLast()
        path.costs.removeLast()
        guard let last = path.states.last,
            let end = ends.destinations.indices.filter({ ends.destinations[$0].state == last }).min(by: {
                ends.destinations[$0].cost < ends.destinations[$1].cost
            })
        else { return nil }
        path.destination = end
        path.cost = path.costs[path.costs.count - 1] &+ ends.destinations[end].cost
        return path
    }
}
