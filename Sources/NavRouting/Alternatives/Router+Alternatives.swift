import NavMap

extension Router {
    /// The best route with up to `limit` alternatives, or alternatives to a route that is being driven.
    ///
    /// Every alternative satisfies all `criteria`, on the metric in force. The most useful comes first: that with the
    /// least of twice its cost plus what it shares less its plateau, the objective of Abraham et al. (2013); the order
    /// depends on nothing but map, metric and request. With several waypoints an alternative replaces one leg and the
    /// criteria hold within that leg.
    ///
    /// All ``RouteOptions`` are heeded. With a chosen route or an initial stretch the main route is the one that they
    /// lead to, and alternatives are alternatives to it; none makes more maneuvers in the initial stretch than it does.
    /// Excluded roads and another time of departure customise the hierarchy for this one request.
    ///
    /// - Parameters:
    ///   - request: where from and where to; with a route that is being driven, from the vehicle's position through the
    ///     waypoints that are still ahead.
    ///   - limit: how many alternatives at most, 0 ... 2; more are not sought.
    ///   - current: the route that is being driven, which need not be the best. When the vehicle is not on it, or it
    ///     leads over edges that are not loaded, the best route takes its place.
    public func alternatives(
        _ request: RouteRequest, limit: Int = 2, to current: Route? = nil,
        criteria: AlternativeCriteria = AlternativeCriteria(), workspace: SearchWorkspace
    ) -> AlternativesOutcome {
        guard let hierarchy else {
            return .notFound(.invalid("alternatives need a router over a contraction hierarchy"))
        }
        // A fault is found by the search, which comes first; areas without sense make no metric.
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
        let isWishful = !options.chosenRoute.isEmpty || options.initialManeuverAvoidance > 0
        // The legs that alternatives are asked for, where these are not the fastest ones.
        let given = remaining?.legs ?? (isWishful ? solution.legs : nil)
        let limit = min(max(limit, 0), 2)
        var choices: [LegChoice] = []
        for (number, leg) in solution.legs.enumerated() where limit > 0 {
            let isFirst = number == 0
            let isLast = number == solution.legs.count - 1
            let driven = given?[number]
            // Where legs meet, an alternative must fit to the leg after it.
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

    /// Whether a way makes no more maneuvers than `main` before it has left the initial stretch; nil without one.
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
        /// ms more than the main route.
        var extraCost: Int64
        var order: Int
        var sharing: Double
        var stretch: Double
    }
}

extension EdgePosition {
    /// The place without what choosing it costs: ways are compared by what they cost on the road.
    fileprivate var unpenalised: EdgePosition {
        var place = self
        place.penalty = 0
        return place
    }

    /// The places that are as good a choice as this one, so that ways between them compare by what they cost on the road:
    /// where an end was moved to a connected road, that road's; all of them where none was moved.
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

    /// A leg that is being driven as a path through the turn graph; nil where it makes a turn that this metric forbids.
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
        // The last edge is the destination's, which a seed stands for.
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
