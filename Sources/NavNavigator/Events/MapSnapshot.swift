package import NavGeo
package import NavMap
package import NavRouting

/// An immutable snapshot of the loaded tiles.
package struct MapSnapshot: Sendable {
    package let graph: RoadGraph
    package let turns: TurnGraph
    /// The vehicle's costs without traffic, for map matching: the vehicle may be on a road that traffic reports as closed.
    package let metric: Metric

    /// The router with these costs; it uses a contraction hierarchy when the tiles have ranks.
    package let router: Router
    /// The snapshot's number, counted from 1 by its creator.
    package var number: UInt64 = 1

    /// Creates a snapshot for a vehicle; expands, prices and contracts the graph.
    ///
    /// - Parameters:
    ///   - traffic: The known traffic; nil for none.
    ///   - now: The moment before which expired speeds are ignored; nil to use all.
    ///   - forEach: Runs the parallelisable parts of the work; by default on the calling thread.
    package init(
        graph: RoadGraph, model: CostModel = CostModel(), traffic: TrafficOverlay? = nil, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) {
        self.graph = graph
        turns = TurnGraph(graph)
        router = Router.fastest(turns, model: model, traffic: traffic, at: now, forEach: forEach)
        metric = router.freeFlow
    }

    /// Creates a snapshot of the same roads with another router, such as ``Router/live(_:at:forEach:)`` for new traffic.
    package init(_ base: MapSnapshot, router: Router) {
        graph = base.graph
        turns = base.turns
        metric = base.metric
        self.router = router
    }
}
