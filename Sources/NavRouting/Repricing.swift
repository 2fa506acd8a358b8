public import NavMap

/// What roads take a vehicle in the traffic of a router, which may be another vehicle's.
///
/// A router knows the roads that are closed to its own vehicle and those that traffic closes. Of another vehicle's routes,
/// which other costs have found, only the latter is news.
public struct RoutePricing: Sendable {
    private let router: Router
    /// The model of another vehicle than the router's; nil for its own.
    private let other: CostModel?

    private var graph: RoadGraph { router.metric.turns.graph }

    /// What roads take a vehicle; nil for the router's.
    public init(_ router: Router, for vehicle: VehicleProfile? = nil) {
        self.router = router
        let isOther = vehicle.map { $0 != router.metric.model.profile } ?? false
        other = isOther ? vehicle.map { CostModel(profile: $0) } : nil
    }

    /// Whether an edge may not be driven; so does one that is not loaded.
    public func isClosed(_ key: EdgeKey) -> Bool {
        guard let edge = graph.edge(key) else { return true }
        return other == nil ? !router.metric.allows(edge) : isClosedByTraffic(edge)
    }

    /// Whether a loaded edge may not be driven, and that not only at times: what is closed at times was judged when the
    /// route was found.
    public func isClosedNow(_ key: EdgeKey) -> Bool {
        guard let edge = graph.edge(key), !router.metric.allows(edge) else { return false }
        return isClosedByTraffic(edge) || other == nil && graph.attributes(of: edge).conditions.isEmpty
    }

    private func isClosedByTraffic(_ edge: EdgeIndex) -> Bool {
        router.freeFlow.allows(edge) && !router.metric.allows(edge)
    }

    /// The same way with what it takes in the traffic of the router.
    ///
    /// Only what driving takes changes, and how dense the traffic is: the line, the pieces and the turns stay as they are,
    /// and so does ``Route/cost``, which says what the search found.
    ///
    /// - Returns: the route and how many of its pieces take another time; nil when one of its edges is not loaded.
    public func repriced(_ route: Route) -> (route: Route, changedEdges: Int)? {
        var edges = route.edges
        var changed = 0
        for index in edges.indices {
            let piece = edges[index]
            guard let edge = graph.edge(piece.key), Double(graph.edgeLengths[edge.index]) >= piece.endOffset else {
                return nil
            }
            let times = router.metric.times(of: edge, from: piece.startOffset, to: piece.endOffset, as: other)
            guard
                times.duration != piece.duration || times.freeFlow != piece.freeFlowDuration
                    || times.congestion != piece.congestion
            else { continue }
            changed += 1
            edges[index].duration = times.duration
            edges[index].freeFlowDuration = times.freeFlow
            edges[index].congestion = times.congestion
        }
        guard changed > 0 else { return (route, 0) }
        var repriced = route
        repriced.edges = edges
        for (number, leg) in route.legs.enumerated() {
            var (duration, freeFlow) = (0.0, 0.0)
            for edge in edges[leg.edges] {
                duration += edge.duration + edge.turnDuration
                freeFlow += edge.freeFlowDuration + edge.turnDuration
            }
            repriced.legs[number].duration = duration
            repriced.legs[number].freeFlowDuration = freeFlow
        }
        return (repriced, changed)
    }
}
