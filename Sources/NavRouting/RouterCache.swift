public import NavMap

/// A cache of routers over the same roads for different vehicles and times.
///
/// It keeps the most recently used routers, so that each vehicle and set of conditions is customised once.
///
/// It reads no clock: callers pass the time. New traffic or tiles need another router and another cache.
public struct RouterCache: Sendable {
    /// The router whose roads, traffic and initial metric are shared.
    public let base: Router
    /// The maximum number of routers kept in addition to ``base``; each takes some 15 MB for a city.
    public let capacity: Int
    /// The kept routers, the most recently used last.
    private var kept: [Router] = []

    /// - Parameter capacity: At least 0.
    public init(_ base: Router, capacity: Int = 3) {
        self.base = base
        self.capacity = max(capacity, 0)
    }

    /// The number of routers kept in addition to ``base``.
    public var count: Int { kept.count }

    /// Returns the router for a vehicle at a time; the same one for all times at which the same conditions hold.
    ///
    /// - Parameters:
    ///   - departure: The local time; nil to ignore time-dependent rules.
    ///   - forEach: The executor of the customisation; the calling thread by default.
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
