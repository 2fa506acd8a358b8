public import NavMap

/// A cache of the last metric that a router priced for another vehicle or time, for later routes under the same conditions.
///
/// New traffic or tiles require another router and another cache.
public struct MetricCache: Sendable {
    /// The router whose roads and traffic are priced.
    public let base: Router
    private var kept: (metric: Metric, usesTraffic: Bool)?

    public init(_ base: Router) { self.base = base }

    /// Returns the metric of ``Router/metric(for:at:usesTraffic:)``; the same one while the same vehicle, conditions and traffic are
    /// requested.
    public mutating func metric(for model: CostModel, at departure: LocalTime?, usesTraffic: Bool = true) -> Metric {
        let departure = base.departure(departure, for: model)
        let conditions = base.metric.turns.conditions(for: model.profile, at: departure)
        if let kept, kept.usesTraffic == usesTraffic, kept.metric.model == model, kept.metric.conditions == conditions {
            return kept.metric
        }
        let metric = base.metric(for: model, at: departure, usesTraffic: usesTraffic)
        if metric !== base.metric, metric !== base.freeFlow { kept = (metric, usesTraffic) }
        return metric
    }
}
