public import NavGeo
public import NavMap

/// Finds fastest routes with one metric. The router itself is shared; the workspace belongs to the caller.
public struct Router: Sendable {
    public let metric: Metric
    /// The costs without traffic.
    public let freeFlow: Metric
    private let traffic: Traffic?
    /// The costs in force on a hierarchy; nil for plain searches.
    let hierarchy: HierarchyMetric?

    /// Speeds, and the moment by which some of them may have ceased to hold.
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

    /// A router that searches the turns themselves: nothing to prepare, some milliseconds for each route in a city.
    public init(_ metric: Metric) { self.init(metric, freeFlow: metric, nil, nil) }

    /// A router over a contraction hierarchy: the same routes, a hundred times faster.
    public init(_ hierarchy: HierarchyMetric) {
        self.init(hierarchy.metric, freeFlow: hierarchy.metric, nil, hierarchy)
    }

    /// A router for a vehicle over a graph; expands, prices and, when the tiles came with ranks, contracts the graph.
    ///
    /// - Parameter departure: On the clocks of the place; nil leaves out what holds at times only.
    public init(graph: RoadGraph, model: CostModel = CostModel(), at departure: LocalTime? = nil) {
        self = Router.fastest(Metric(TurnGraph(graph), model: model, at: departure))
    }

    /// A router over a hierarchy when the tiles came with ranks, else one that searches the turns themselves.
    public static func fastest(
        _ metric: Metric, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        guard let hierarchy = ContractionHierarchy(metric.turns) else { return Router(metric) }
        return Router(HierarchyMetric(hierarchy, metric, forEach: forEach))
    }

    /// A router for another vehicle or another time over the same roads; it shares the turns and the hierarchy, and
    /// knows the traffic that this one was given by ``live(_:at:forEach:)``.
    ///
    /// Customises the hierarchy where there is one: ``RouterCache`` keeps what was made.
    ///
    /// - Parameters:
    ///   - departure: On the clocks of the place; nil leaves out what holds at times only.
    ///   - forEach: Who does the parts; the calling thread unless given.
    public func serving(
        _ model: CostModel, at departure: LocalTime? = nil, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        customised(Metric(metric.turns, model: model, at: departure), traffic, forEach)
    }

    /// A router for the same vehicle, time and roads in some traffic, in the place of what this one knows of it. This one
    /// stays as it is: whoever routes with it goes on.
    ///
    /// - Parameters:
    ///   - traffic: The speeds.
    ///   - now: Speeds that ceased to hold by then are left out; nil leaves none out.
    ///   - forEach: Who does the parts; the calling thread unless given.
    public func live(
        _ traffic: TrafficOverlay, at now: Timestamp? = nil, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        customised(freeFlow, Traffic(overlay: traffic, now: now), forEach)
    }

    /// A router for the same vehicle, time and roads that knows of no traffic.
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

    /// Whether it searches over a hierarchy.
    public var isHierarchical: Bool { hierarchy != nil }

    /// The fastest route through all waypoints.
    ///
    /// Exact for the given snapping: both directions of each stop's road are weighed, and a vehicle leaves a stop as it
    /// came, or turns round there for ``CostModel/uTurnDuration``; at a pass-through point it never turns round, and what
    /// was driven before still counts for turn restrictions. When a waypoint's nearest road is not connected with the
    /// others, further roads around it are tried.
    ///
    /// What only a metric of its own can answer, a departure when other conditions hold or excluded roads, is searched
    /// without the hierarchy: some milliseconds for each route in a city.
    public func route(_ request: RouteRequest, workspace: SearchWorkspace) -> RouteOutcome {
        switch solve(request, workspace) {
        case .failed(let outcome): return outcome
        case .found(let solution):
            var builder = RouteBuilder(solution.metric)
            return .found(builder.route(request.waypoints, legs: solution.legs))
        }
    }

    /// The metric that a request with some options asks for, when it is another than this router's.
    func ownMetric(for options: RouteOptions) -> Metric? {
        var own: Metric?
        if let departure = options.departure, departure != metric.departure,
            metric.turns.conditions(for: metric.model.profile, at: departure) != metric.conditions
        {
            let timed = Metric(metric.turns, model: metric.model, at: departure)
            own = traffic.map { Metric(timed, traffic: $0.overlay, at: $0.now) } ?? timed
        }
        return options.excludes ? Metric(own ?? metric, excluding: options) : own
    }
}
