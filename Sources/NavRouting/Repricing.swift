import NavGeo
public import NavMap

/// The pricing of roads for a vehicle in the traffic of a router, which may be another vehicle's.
///
/// A router knows the roads that are closed to its own vehicle and those that traffic closes. Of another vehicle's routes,
/// which other costs have found, only the latter is news.
public struct RoutePricing: Sendable {
    private let router: Router
    private let metric: Metric
    /// The model of another vehicle than the router's; nil for its own.
    private let other: CostModel?

    private var graph: RoadGraph { metric.turns.graph }

    /// Makes the pricing of a vehicle; nil for the router's.
    ///
    /// - Parameter usesTraffic: whether traffic counts; without it no road is closed by it either.
    public init(_ router: Router, for vehicle: VehicleProfile? = nil, usesTraffic: Bool = true) {
        self.router = router
        metric = usesTraffic ? router.metric : router.freeFlow
        let isOther = vehicle.map { $0 != router.metric.model.profile } ?? false
        other = isOther ? vehicle.map { CostModel(profile: $0) } : nil
    }

    /// Whether an edge may not be driven; so does one that is not loaded.
    public func isClosed(_ key: EdgeKey) -> Bool {
        guard let edge = graph.edge(key) else { return true }
        return other == nil ? !metric.allows(edge) : isClosedByTraffic(edge)
    }

    /// Whether a loaded edge may not be driven, and that not only at times: what is closed at times was judged when the
    /// route was found.
    public func isClosedNow(_ key: EdgeKey) -> Bool {
        guard let edge = graph.edge(key), !metric.allows(edge) else { return false }
        return isClosedByTraffic(edge) || other == nil && graph.attributes(of: edge).conditions.isEmpty
    }

    private func isClosedByTraffic(_ edge: EdgeIndex) -> Bool {
        router.freeFlow.allows(edge) && !metric.allows(edge)
    }

    /// The same way with what it takes in the traffic of the router.
    ///
    /// Only what driving takes changes, and how dense the traffic is: the line, the pieces and the turns stay as they are,
    /// and so does ``Route/cost``, which says what the search found. A piece that somebody else timed keeps its time as long
    /// as the router's own is the same, and is scaled with it when it changes.
    ///
    /// - Returns: the route and how many of its pieces take another time; nil when one of its edges is not loaded.
    public func repriced(_ route: Route) -> (route: Route, changedEdges: Int)? {
        var repriced = route
        // A provider's traffic is as old as its answer; from the first change on board on, that counts.
        if route.isTimedByRouter { repriced.trafficStamp = metric.trafficStamp }
        var changed = 0
        for index in route.edges.indices {
            guard let times = times(of: route.edges[index]) else { return nil }
            guard repriced.edges[index].take(times) else { continue }
            changed += 1
        }
        guard changed > 0 else { return (repriced, 0) }
        if let stamp = metric.trafficStamp { repriced.trafficStamp = max(stamp, repriced.trafficStamp ?? stamp) }
        for number in route.legs.indices { repriced.sumUp(number) }
        return (repriced, changed)
    }

    /// The same way with the router's own times, whoever timed the route: what it is compared with another one by.
    ///
    /// - Returns: nil when one of its edges is not loaded.
    public func priced(_ route: Route) -> Route? {
        var priced = route
        priced.trafficStamp = metric.trafficStamp
        for leg in route.legs {
            for index in leg.edges {
                let piece = route.edges[index]
                guard let edge = graph.edge(piece.key), let times = times(of: piece) else { return nil }
                priced.edges[index].routerDuration = times.duration
                priced.edges[index].duration = times.duration
                priced.edges[index].freeFlowDuration = times.freeFlow
                priced.edges[index].congestion = times.congestion
                guard index > leg.edges.lowerBound, let before = graph.edge(route.edges[index - 1].key) else {
                    continue
                }
                priced.edges[index].turnDuration = metric.turnDuration(from: before, to: edge)
            }
        }
        for number in route.legs.indices { priced.sumUp(number) }
        return priced
    }

    private func times(of piece: RouteEdge) -> EdgeTimes? {
        guard let edge = graph.edge(piece.key), Double(graph.edgeLengths[edge.index]) >= piece.endOffset else {
            return nil
        }
        return metric.times(of: edge, from: piece.startOffset, to: piece.endOffset, as: other)
    }
}

extension RouteEdge {
    /// Takes what the router says of the piece now; false when that changes nothing.
    fileprivate mutating func take(_ times: EdgeTimes) -> Bool {
        if duration == routerDuration {
            guard times.duration != duration || times.freeFlow != freeFlowDuration || times.congestion != congestion
            else { return false }
            duration = times.duration
            freeFlowDuration = times.freeFlow
            congestion = times.congestion
        } else {
            guard times.duration != routerDuration else { return false }
            if routerDuration > 0 { duration *= times.duration / routerDuration }
            freeFlowDuration = min(freeFlowDuration, duration)
            if times.congestion != .unknown { congestion = times.congestion }
        }
        routerDuration = times.duration
        return true
    }
}

extension Route {
    /// Whether the router itself has timed all of the pieces.
    fileprivate var isTimedByRouter: Bool { edges.allSatisfy { $0.duration == $0.routerDuration } }
}
