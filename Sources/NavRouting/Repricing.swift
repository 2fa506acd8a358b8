import NavGeo
public import NavMap

/// The pricing of roads in a router's traffic, for the router's vehicle or another one.
///
/// A router distinguishes closures for its own vehicle from closures by traffic. For another vehicle's routes, which
/// were found with other costs, only closures by traffic count.
public struct RoutePricing: Sendable {
    private let metric: Metric
    /// The model of another vehicle; nil for the router's own.
    private let other: CostModel?
    /// The conditions that hold for the vehicle; nil when the metric's own do.
    private let timed: ConditionSet?

    private var graph: RoadGraph { metric.turns.graph }

    /// Creates the pricing for a vehicle; nil for the router's own.
    ///
    /// - Parameters:
    ///   - usesTraffic: Whether traffic counts; without it no road is closed by traffic either.
    ///   - time: The local time, for time-dependent speed limits; nil for the router's own.
    public init(
        _ router: Router, for vehicle: VehicleProfile? = nil, usesTraffic: Bool = true, at time: LocalTime? = nil
    ) {
        let metric = usesTraffic ? router.metric : router.freeFlow
        self.metric = metric
        let isOther = vehicle.map { $0 != router.metric.model.profile } ?? false
        let other = isOther ? vehicle.map { CostModel(profile: $0) } : nil
        self.other = other
        // Only the traits of single roads are needed: a metric for the time would price all roads and turns.
        let conditions = time.map { metric.turns.conditions(for: (other ?? metric.model).profile, at: $0) }
        let areOwn = conditions == metric.conditions && (other == nil || conditions == ConditionSet.none)
        timed = areOwn ? nil : conditions
    }

    /// Whether an edge is not loaded, or may not be driven as in ``isClosedNow(_:)``.
    public func isClosed(_ key: EdgeKey) -> Bool { graph.edge(key) == nil || isClosedNow(key) }

    /// Whether a loaded edge may not be driven for a reason other than its time-dependent conditions, which were
    /// evaluated when the route was found.
    public func isClosedNow(_ key: EdgeKey) -> Bool {
        guard let edge = graph.edge(key), !metric.allows(edge) else { return false }
        return metric.isClosedByTraffic(edge) || other == nil && graph.attributes(of: edge).conditions.isEmpty
    }

    /// Returns the same route with its times in the router's traffic and the speed limits that hold now.
    ///
    /// Only driving times, congestion and time-dependent speed limits change. The line, the pieces, the turns and
    /// ``Route/cost``, which is the cost found by the search, stay as they are. A piece timed by another provider keeps its
    /// time while the router's own time is unchanged, and is scaled when that changes.
    ///
    /// - Parameter offset: The vehicle's place, metres from the route's start. A piece behind the vehicle whose edge is not loaded keeps
    ///   its times.
    /// - Returns: The route and the number of segments with another time or limit; nil when a remaining edge is not loaded.
    public func repriced(_ route: Route, from offset: Double = 0) -> (route: Route, changedSegments: Int)? {
        var repriced = route
        // A provider's traffic keeps the stamp of its answer until a time changes; a route timed by the router has the
        // router's stamp.
        if route.isTimedByRouter { repriced.trafficStamp = metric.trafficStamp }
        var changed = 0
        var hasNewTimes = false
        let first = route.pieces(from: offset).startIndex
        for index in route.edges.indices {
            guard let times = times(of: route.edges[index]) else {
                guard index < first else { return nil }
                continue
            }
            let isRetimed = repriced.edges[index].take(times)
            let isRelimited = takeLimits(&repriced.edges[index])
            if isRetimed || isRelimited { changed += route.edges[index].segmentCount }
            hasNewTimes = hasNewTimes || isRetimed
        }
        guard hasNewTimes else { return (repriced, changed) }
        if let stamp = metric.trafficStamp { repriced.trafficStamp = max(stamp, repriced.trafficStamp ?? stamp) }
        for number in route.legs.indices { repriced.sumUp(number) }
        return (repriced, changed)
    }

    /// Returns the same route with the router's own times, for comparison with other routes.
    ///
    /// - Parameter offset: As for ``repriced(_:from:)``.
    /// - Returns: Nil when a remaining edge is not loaded.
    public func priced(_ route: Route, from offset: Double = 0) -> Route? {
        var priced = route
        let first = route.pieces(from: offset).startIndex
        priced.trafficStamp = metric.trafficStamp
        for leg in route.legs {
            for index in leg.edges {
                let piece = route.edges[index]
                guard let edge = graph.edge(piece.key), let times = times(of: piece) else {
                    guard index < first else { return nil }
                    continue
                }
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

    /// Updates the speed limits of a piece on a loaded edge to the current ones; returns whether they changed.
    private func takeLimits(_ piece: inout RouteEdge) -> Bool {
        guard !piece.attributes.conditions.isEmpty, let edge = graph.edge(piece.key) else { return false }
        let traits =
            timed.map { metric.turns.traits(of: edge, for: (other ?? metric.model).profile, under: $0) }
            ?? metric.traits(of: edge)
        var attributes = piece.attributes
        guard attributes.takeLimits(of: traits) else { return false }
        piece.attributes = attributes
        return true
    }

    private func times(of piece: RouteEdge) -> EdgeTimes? {
        guard let edge = graph.edge(piece.key), Double(graph.edgeLengths[edge.index]) >= piece.endOffset else {
            return nil
        }
        return metric.times(of: edge, from: piece.startOffset, to: piece.endOffset, as: other, under: timed)
    }
}

extension RoadAttributes {
    private static let limitFlags: RoadFlags = [.taggedSpeedLimit, .unlimitedSpeed]

    /// Updates the speed limits to those under the conditions that hold; returns whether they changed.
    @discardableResult
    mutating func takeLimits(of traits: EdgeTraits) -> Bool {
        let flags = flags.subtracting(Self.limitFlags).union(traits.flags.intersection(Self.limitFlags))
        guard
            (speedLimit, truckSpeedLimit, self.flags) != (traits.speedLimit, traits.truckSpeedLimit, flags)
        else { return false }
        (speedLimit, truckSpeedLimit, self.flags) = (traits.speedLimit, traits.truckSpeedLimit, flags)
        return true
    }
}

extension RouteEdge {
    /// Updates the piece to the router's current times; returns whether they changed.
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
    /// Whether all pieces were timed by the router itself.
    fileprivate var isTimedByRouter: Bool { edges.allSatisfy { $0.duration == $0.routerDuration } }
}
