package import NavGeo
package import NavMap
package import NavRouting

/// An immutable snapshot of the loaded tiles.
package struct MapSnapshot: Sendable {
    package let graph: RoadGraph
    package let turns: TurnGraph
    /// The vehicle's costs without traffic, for map matching: the vehicle may be on a road that is reported closed.
    package let metric: Metric

    /// Finds routes with these costs; uses a contraction hierarchy when the tiles carry ranks.
    package let router: Router
    /// The snapshot's number, counted from 1 by its maker.
    package var number: UInt64 = 1

    /// A snapshot for a vehicle; expands, prices and contracts the graph.
    ///
    /// - Parameters:
    ///   - traffic: The known traffic; nil for none.
    ///   - now: Speeds that expired before this moment are left out; nil leaves none out.
    ///   - forEach: Runs the parts of the work that can be parallel; on the calling thread unless given.
    package init(
        graph: RoadGraph, model: CostModel = CostModel(), traffic: TrafficOverlay? = nil, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) {
        self.graph = graph
        turns = TurnGraph(graph)
        router = Router.fastest(turns, model: model, traffic: traffic, at: now, forEach: forEach)
        metric = router.freeFlow
    }

    /// A snapshot of the same roads with another router, such as ``Router/live(_:at:forEach:)`` for new traffic.
    package init(_ base: MapSnapshot, router: Router) {
        graph = base.graph
        turns = base.turns
        metric = base.metric
        self.router = router
    }
}
