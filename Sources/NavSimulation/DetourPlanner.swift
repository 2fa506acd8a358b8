import NavGeo
package import NavMap
package import NavRouting

/// A path to drive: connected edges, with the start on the first and the end on the last.
package struct DrivePath: Sendable, Equatable {
    package var edges: [EdgeIndex]
    /// The distance along the first edge to the start, metres.
    package var start: Double
    /// The distance along the last edge to the end, metres.
    package var end: Double
    /// The distance from the start to the point at which the path leaves the planned route, metres; nil when it follows the route.
    package var deviation: Double?

    /// Creates the path of a route; nil when the graph does not contain all its edges.
    package init?(_ route: Route, graph: RoadGraph) {
        let resolved = route.edges.map { graph.edge($0.key) }
        let edges = resolved.compactMap { $0 }
        guard edges.count == resolved.count, let first = route.edges.first, let last = route.edges.last else {
            return nil
        }
        var merged: [EdgeIndex] = []
        for (index, edge) in edges.enumerated() {
            // A leg that ends within an edge and continues there counts as one passage.
            if index > 0, edge == merged.last, route.edges[index].startOffset > 0 { continue }
            merged.append(edge)
        }
        self.edges = merged
        start = first.startOffset
        end = last.endOffset
        deviation = nil
    }

    init(edges: [EdgeIndex], start: Double, end: Double, deviation: Double?) {
        self.edges = edges
        self.start = start
        self.end = end
        self.deviation = deviation
    }
}

/// A planner of the path of a driver who takes a wrong turn and is then rerouted.
package struct DetourPlanner {
    private let router: Router
    private let workspace: SearchWorkspace

    /// The distance that the driver stays on the wrong road before following directions again, metres: enough to detect the deviation.
    package static let wrongDistance = 250.0

    package init(router: Router, workspace: SearchWorkspace) {
        self.router = router
        self.workspace = workspace
    }

    /// Returns the path of a driver who follows `route` and takes the first possible wrong turn after `distance` metres; nil when there is
    /// none.
    ///
    /// The driver then continues for ``wrongDistance`` as straight as possible, and takes the fastest way to the waypoints still ahead.
    package func path(along route: Route, wrongTurnAfter distance: Double) -> DrivePath? {
        let metric = router.metric
        let graph = metric.turns.graph
        guard let planned = DrivePath(route, graph: graph), let destination = route.waypoints.last else { return nil }
        var travelled = -planned.start
        for index in 0..<(planned.edges.count - 1) {
            travelled += Double(graph.edgeLengths[planned.edges[index].index])
            guard travelled >= distance else { continue }
            let ahead = route.waypoints.dropLast().filter { $0.routeOffset > travelled } + [destination]
            for wrong in exits(from: planned.edges[index], besides: planned.edges[index + 1]) {
                guard let stray = continuation(from: wrong), let last = stray.last else { continue }
                let length = Double(graph.edgeLengths[last.index])
                // Slightly before the end of the road, where no other road coincides with it.
                let place = graph.position(at: max(length - 5, length / 2), of: last)
                let start = Waypoint(place.coordinate, bearing: place.bearing, bearingTolerance: 0.3)
                let request = RouteRequest(waypoints: [start] + ahead.map(\.waypoint))
                guard case .found(let back) = router.route(request, workspace: workspace),
                    let rest = DrivePath(back, graph: graph), rest.edges.first == last
                else { continue }
                return DrivePath(
                    edges: Array(planned.edges[...index]) + stray.dropLast() + rest.edges, start: planned.start,
                    end: rest.end, deviation: travelled)
            }
        }
        return nil
    }

    /// Returns the permitted edges after `edge` other than the planned one and a U-turn, the straightest first.
    private func exits(from edge: EdgeIndex, besides planned: EdgeIndex?) -> [EdgeIndex] {
        let metric = router.metric
        let graph = metric.turns.graph
        return metric.turns.arcs(from: edge.rawValue)
            .filter { metric.cost(ofArc: $0) != Metric.forbidden }
            .map { metric.turns.edge(of: metric.turns.target(of: $0)) }
            .filter { $0 != planned && $0 != graph.opposite(edge) }
            .filter { graph.traits(of: $0).flags.isDisjoint(with: [.privateAccess, .destinationOnly, .parkingAisle]) }
            .sorted { (bend(edge, $0), $0) < (bend(edge, $1), $1) }
    }

    private func continuation(from first: EdgeIndex) -> [EdgeIndex]? {
        let graph = router.metric.turns.graph
        var path = [first]
        var length = Double(graph.edgeLengths[first.index])
        while length < DetourPlanner.wrongDistance {
            guard let last = path.last, let next = exits(from: last, besides: nil).first(where: { !path.contains($0) })
            else { return nil }
            path.append(next)
            length += Double(graph.edgeLengths[next.index])
        }
        return path
    }

    private func bend(_ first: EdgeIndex, _ second: EdgeIndex) -> Double {
        let graph = router.metric.turns.graph
        return Angle.separation(
            Double(graph.edgeEndBearings[first.index]), Double(graph.edgeStartBearings[second.index]))
    }
}
