import Synchronization

extension Router {
    /// Like ``fastest(_:forEach:)`` for a vehicle whose costs are not there yet: they are made beside the hierarchy.
    ///
    /// - Parameter forEach: Who does the parts; the calling thread unless given.
    public static func fastest(
        _ turns: TurnGraph, model: CostModel,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        let priced = Mutex<Metric?>(nil)
        let contracted = Mutex<ContractionHierarchy?>(nil)
        forEach(2) { part in
            if part == 0 {
                let hierarchy = ContractionHierarchy(turns)
                contracted.withLock { $0 = hierarchy }
            } else {
                let metric = Metric(turns, model: model)
                priced.withLock { $0 = metric }
            }
        }
        let metric = priced.withLock { $0 } ?? Metric(turns, model: model)
        guard let hierarchy = contracted.withLock({ $0 }) else { return Router(metric) }
        return Router(HierarchyMetric(hierarchy, metric, forEach: forEach))
    }
}
