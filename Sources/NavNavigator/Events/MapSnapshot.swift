public import NavGeo
public import NavMap
public import NavRouting

/// The map as the core sees it: an immutable snapshot of the loaded tiles.
public struct MapSnapshot: Sendable {
    public let graph: RoadGraph
    public let turns: TurnGraph
    /// The vehicle's costs without traffic: where it can be. A road that is said to be closed may be driven all the same.
    public let metric: Metric

    /// Finds routes with these costs: over a contraction hierarchy when the tiles came with ranks.
    public let router: Router
    /// Number of the snapshot, counted from 1 by whoever makes them.
    public var number: UInt64 = 1

    /// A snapshot for a vehicle; expands, prices and contracts the graph.
    ///
    /// - Parameters:
    ///   - traffic: What is known of the traffic; nil for nothing.
    ///   - now: Speeds that ceased to hold by then are left out; nil leaves none out.
    ///   - forEach: Who does the parts of what can be shared out; the calling thread unless given.
    public init(
        graph: RoadGraph, model: CostModel = CostModel(), traffic: TrafficOverlay? = nil, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) {
        self.graph = graph
        turns = TurnGraph(graph)
        router = Router.fastest(turns, model: model, traffic: traffic, at: now, forEach: forEach)
        metric = router.freeFlow
    }

    /// The same roads with another router, such as one of ``Router/live(_:at:forEach:)``: new traffic.
    public init(_ base: MapSnapshot, router: Router) {
        graph = base.graph
        turns = base.turns
        metric = base.metric
        self.router = router
    }
}
