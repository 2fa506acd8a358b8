public import NavGeo
import Synchronization

extension Router {
    /// Like ``fastest(_:forEach:)`` for a vehicle whose costs are not there yet: they are made beside the hierarchy, and
    /// the hierarchy is customised once, for the traffic that is known already.
    ///
    /// - Parameters:
    ///   - traffic: The speeds; nil or none for free traffic.
    ///   - now: Speeds that ceased to hold by then are left out; nil leaves none out.
    ///   - forEach: Who does the parts; the calling thread unless given.
    public static func fastest(
        _ turns: TurnGraph, model: CostModel, traffic: TrafficOverlay? = nil, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        let known = traffic.flatMap { $0.speeds.isEmpty ? nil : Traffic(overlay: $0, now: now) }
        @Sendable func price() -> (freeFlow: Metric, live: Metric) {
            let freeFlow = Metric(turns, model: model)
            return (freeFlow, Self.metric(freeFlow, in: known, HierarchyMetric.inTurn))
        }
        let priced = Mutex<(freeFlow: Metric, live: Metric)?>(nil)
        let contracted = Mutex<ContractionHierarchy?>(nil)
        forEach(2) { part in
            if part == 0 {
                let hierarchy = ContractionHierarchy(turns)
                contracted.withLock { $0 = hierarchy }
            } else {
                let metrics = price()
                priced.withLock { $0 = metrics }
            }
        }
        let (freeFlow, live) = priced.withLock { $0 } ?? price()
        let hierarchy = contracted.withLock { $0 }
        return Router(
            live, freeFlow: freeFlow, known, hierarchy.map { HierarchyMetric($0, live, forEach: forEach) })
    }
}
