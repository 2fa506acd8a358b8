public import NavGeo
public import NavMap

/// A router that finds fastest routes with one metric; it can be shared, because each caller provides its own workspace.
public struct Router: Sendable {
    public let metric: Metric
    /// The costs without traffic.
    public let freeFlow: Metric
    private let traffic: Traffic?
    /// The costs in force on a hierarchy; nil for a router without one.
    let hierarchy: HierarchyMetric?

    /// The speeds given to the router, and the time used to ignore expired ones.
    struct Traffic {
        var overlay: TrafficOverlay
        var now: Timestamp?
    }

    init(_ metric: Metric, freeFlow: Metric, _ traffic: Traffic?, _ hierarchy: HierarchyMetric?) {
        self.metric = metric
        self.freeFlow = freeFlow
        self.traffic = traffic
        self.hierarchy = hierarchy
    }

    /// Creates a router that searches the turn graph directly: it needs no preparation and takes some milliseconds per route in a city.
    public init(_ metric: Metric) { self.init(metric, freeFlow: metric, nil, nil) }

    /// Creates a router over a contraction hierarchy: the same routes, a hundred times faster.
    public init(_ hierarchy: HierarchyMetric) {
        self.init(hierarchy.metric, freeFlow: hierarchy.metric, nil, hierarchy)
    }

    /// Creates a router for a vehicle over a graph; it expands, prices and, if the tiles have ranks, contracts the graph.
    ///
    /// - Parameter departure: The local time; nil to ignore time-dependent rules.
    public init(graph: RoadGraph, model: CostModel = CostModel(), at departure: LocalTime? = nil) {
        self = Router.fastest(Metric(TurnGraph(graph), model: model, at: departure))
    }

    /// Returns a router over a hierarchy if the tiles have ranks, otherwise one that searches the turn graph directly.
    public static func fastest(
        _ metric: Metric, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        guard let hierarchy = ContractionHierarchy(metric.turns) else { return Router(metric) }
        return Router(HierarchyMetric(hierarchy, metric, forEach: forEach))
    }

    /// Returns a router for another vehicle or time over the same roads.
    ///
    /// The new router shares the turns, the hierarchy, and the traffic of this one from ``live(_:at:forEach:)``.
    ///
    /// It customises the hierarchy if there is one; ``RouterCache`` caches the results.
    ///
    /// - Parameters:
    ///   - departure: The local time; nil to ignore time-dependent rules.
    ///   - forEach: The executor of the parts; the calling thread by default.
    public func serving(
        _ model: CostModel, at departure: LocalTime? = nil, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        customised(Metric(metric.turns, model: model, at: departure), traffic, forEach)
    }

    /// Returns a router for the same vehicle, time and roads with new traffic, which replaces the traffic of this one.
    ///
    /// This router is unchanged and stays usable.
    ///
    /// - Parameters:
    ///   - traffic: The speeds.
    ///   - now: The current time: expired speeds are ignored; nil to use all speeds.
    ///   - forEach: The executor of the parts; the calling thread by default.
    public func live(
        _ traffic: TrafficOverlay, at now: Timestamp? = nil, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        customised(freeFlow, Traffic(overlay: traffic, now: now), forEach)
    }

    /// Returns a router for the same vehicle, time and roads without traffic.
    public func withoutTraffic(forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn) -> Router {
        traffic == nil ? self : customised(freeFlow, nil, forEach)
    }

    private func customised(_ freeFlow: Metric, _ traffic: Traffic?, _ forEach: HierarchyMetric.ForEach) -> Router {
        let live = Self.metric(freeFlow, in: traffic, forEach)
        return Router(
            live, freeFlow: freeFlow, traffic,
            hierarchy.map { HierarchyMetric($0.hierarchy, live, forEach: forEach) })
    }

    static func metric(_ freeFlow: Metric, in traffic: Traffic?, _ forEach: HierarchyMetric.ForEach) -> Metric {
        guard let traffic else { return freeFlow }
        return Metric(freeFlow, traffic: traffic.overlay, at: traffic.now, forEach: forEach)
    }

    /// Whether the router searches over a hierarchy.
    public var isHierarchical: Bool { hierarchy != nil }

    /// Returns the fastest route through all waypoints.
    ///
    /// Exact for the given snapping. Both directions of each stop's road are considered. A vehicle leaves a stop in its
    /// direction of arrival, or makes a U-turn that takes ``CostModel/uTurnDuration``. At a pass-through point it makes
    /// no U-turn, and turn restrictions span the point.
    ///
    /// When a waypoint's nearest road is not connected with the others, further roads around it are tried.
    ///
    /// A request that needs a separate metric, for another set of conditions or for excluded roads, is searched without
    /// the hierarchy: some milliseconds per route in a city.
    public func route(_ request: RouteRequest, workspace: SearchWorkspace) -> RouteOutcome {
        switch solve(request, workspace) {
        case .failed(let outcome): return outcome
        case .found(let solution):
            var builder = RouteBuilder(solution.metric)
            return .found(builder.route(request.waypoints, legs: solution.legs))
        }
    }

    /// Returns the metric for a vehicle and time over the same roads, in the same traffic or without any.
    ///
    /// It prices all roads and turns unless this router's own metric applies. ``MetricCache`` caches the last result;
    /// for many routes, use ``serving(_:at:forEach:)``.
    ///
    /// - Parameter departure: The local time; nil for the router's own departure for its own vehicle, and no time-dependent rules for
    ///   another vehicle.
    public func metric(for model: CostModel, at departure: LocalTime?, usesTraffic: Bool = true) -> Metric {
        let departure = self.departure(departure, for: model)
        let isOwn =
            model == metric.model
            && (departure == metric.departure
                || metric.turns.conditions(for: model.profile, at: departure) == metric.conditions)
        if isOwn { return usesTraffic ? metric : freeFlow }
        let timed = Metric(metric.turns, model: model, at: departure)
        return usesTraffic ? Self.metric(timed, in: traffic, HierarchyMetric.inTurn) : timed
    }

    /// Returns the given departure, or else the metric's own for the metric's own vehicle; nil for another vehicle.
    func departure(_ given: LocalTime?, for model: CostModel) -> LocalTime? {
        given ?? (model == metric.model ? metric.departure : nil)
    }

    /// Returns the metric that a request's options need; nil when this router's suffices.
    func ownMetric(for options: RouteOptions) -> Metric? {
        let timed = metric(for: metric.model, at: options.departure)
        guard options.excludes else { return timed === metric ? nil : timed }
        return Metric(timed, excluding: options)
    }
}
