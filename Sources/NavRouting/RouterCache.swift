public import NavMap

/// Routers over the same roads for the vehicles and times that are asked for, the most recent ones kept: a hierarchy is
/// customised once for each vehicle and set of conditions.
///
/// It looks at no clock: who asks says when. New traffic or tiles make another router, and another cache.
public struct RouterCache: Sendable {
    /// The router whose roads, traffic and first metric are shared.
    public let base: Router
    /// The most routers that are kept besides ``base``; a city's costs are some 15 MB for each.
    public let capacity: Int
    /// The most recently used last.
    private var kept: [Router] = []

    /// - Parameter capacity: at least 0.
    public init(_ base: Router, capacity: Int = 3) {
        self.base = base
        self.capacity = max(capacity, 0)
    }

    /// The number of routers kept besides ``base``.
    public var count: Int { kept.count }

    /// The router for a vehicle at a time: the same one for all times at which the same conditions hold.
    ///
    /// - Parameters:
    ///   - departure: On the clocks of the place; nil leaves out what holds at times only.
    ///   - forEach: Who customises; the calling thread unless given.
    public mutating func router(
        for model: CostModel, at departure: LocalTime?, forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        let conditions = base.metric.turns.conditions(for: model.profile, at: departure)
        func fits(_ router: Router) -> Bool {
            router.metric.conditions == conditions && router.metric.model == model
        }
        if fits(base) { return base }
        if let index = kept.firstIndex(where: fits) {
            let router = kept.remove(at: index)
            kept.append(router)
            return router
        }
        let router = base.serving(model, at: departure, forEach: forEach)
        if kept.count >= capacity, !kept.isEmpty { kept.removeFirst() }
        if capacity > 0 { kept.append(router) }
        return router
    }
}
