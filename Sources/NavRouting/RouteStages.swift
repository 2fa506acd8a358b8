public import NavMap

/// The fastest way between two or more waypoints, before it is drawn: what a matrix, a matcher or a measurement needs.
public struct RoutePath: Sendable, Equatable {
    /// The edges in travel order, of all legs; where legs meet inside an edge it comes twice.
    public var edges: [EdgeIndex]
    /// Metres from the start of the first edge at which it is entered.
    public var startOffset: Double
    /// Metres from the start of the last edge at which it is left.
    public var endOffset: Double
    /// The cost of the way, ms: as ``Route/cost``.
    public var cost: UInt64
}

/// The answer to a request for a ``RoutePath``.
public enum RoutePathOutcome: Sendable, Equatable {
    /// The fastest way.
    case found(RoutePath)
    /// There is none; the outcome says why and is never `found`.
    case failed(RouteOutcome)
}

extension Router {
    /// The edges of the fastest route through all waypoints, the same as those of ``route(_:workspace:)``.
    public func path(_ request: RouteRequest, workspace: SearchWorkspace) -> RoutePathOutcome {
        switch solve(request, workspace) {
        case .failed(let outcome): return .failed(outcome)
        case .found(var solution):
            guard let start = solution.legs.first?.start, let end = solution.legs.last?.end else {
                return .failed(.invalid("a route needs a start and a destination"))
            }
            var cost: UInt64 = 0
            for leg in solution.legs {
                cost += leg.cost + (leg.turnsRound ? UInt64(CostModel.uTurnDuration * 1_000) : 0)
            }
            let edges: [EdgeIndex]
            if solution.legs.count == 1 {
                edges = solution.legs.removeLast().edges
            } else {
                edges = solution.legs.flatMap(\.edges)
            }
            return .found(RoutePath(edges: edges, startOffset: start.offset, endOffset: end.offset, cost: cost))
        }
    }

    /// Returns the number of places on roads that a waypoint may stand for: the first stage of a request, for measurements.
    package func placeCount(of waypoint: Waypoint, radius: Double) -> Int {
        Snapper(metric: metric).nearest(waypoint, radius: radius).count
    }

    /// The seeds of the search between two waypoints, for measurements; nil when one lies off all roads or the router
    /// has no hierarchy.
    package func seeds(
        from origin: Waypoint, to destination: Waypoint, radius: Double, workspace: SearchWorkspace
    ) -> (origins: [HierarchySeed], destinations: [HierarchySeed])? {
        guard let hierarchy else { return nil }
        let snapper = Snapper(metric: metric)
        let places = [origin, destination].map {
            snapper.nearest($0, radius: radius).map { snapper.place($0, detour: false) }
        }
        let ends = HierarchySearch(hierarchy, workspace).ends(places[0], places[1])
        guard !ends.origins.isEmpty, !ends.destinations.isEmpty else { return nil }
        return (ends.origins, ends.destinations)
    }

    /// The hierarchy with the costs in force; nil for plain searches.
    package var hierarchyMetric: HierarchyMetric? { hierarchy }
}

extension Metric {
    /// The cost of driving an edge between two distances from its start, ms.
    package func cost(ofPart edge: EdgeIndex, from start: Double, to end: Double) -> UInt32 {
        cost(of: edge, from: start, to: end)
    }
}
