public import NavGeo
import Synchronization

extension Router {
    /// Returns a router like ``fastest(_:forEach:)`` for a vehicle whose costs are not computed yet.
    ///
    /// It computes the costs and the traffic matching in parallel with the hierarchy, and customises once, with the
    /// given traffic.
    ///
    /// - Parameters:
    ///   - traffic: The speeds; nil or none for free flow.
    ///   - now: The current time: expired speeds are ignored; nil to use all speeds.
    ///   - forEach: The executor of the parts; the calling thread by default.
    public static func fastest(
        _ turns: TurnGraph, model: CostModel, traffic: TrafficOverlay? = nil, at now: Timestamp? = nil,
        forEach: HierarchyMetric.ForEach = HierarchyMetric.inTurn
    ) -> Router {
        let known = traffic.flatMap { $0.speeds.isEmpty ? nil : Traffic(overlay: $0, now: now) }
        let priced = Mutex<Metric?>(nil)
        let contracted = Mutex<ContractionHierarchy?>(nil)
        forEach(known == nil ? 2 : 3) { part in
            switch part {
            case 0:
                let hierarchy = ContractionHierarchy(turns)
                contracted.withLock { $0 = hierarchy }
            case 1:
                let metric = Metric(turns, model: model)
                priced.withLock { $0 = metric }
            default: turns.prepareForTraffic()
            }
        }
        let freeFlow = priced.withLock { $0 } ?? Metric(turns, model: model)
        let live = Self.metric(freeFlow, in: known, forEach)
        let hierarchy = contracted.withLock { $0 }
        return Router(
            live, freeFlow: freeFlow, known, hierarchy.map { HierarchyMetric($0, live, forEach: forEach) })
    }
}
