import NavGeo
import NavMap

/// Turns found edges into a ``Route``.
struct RouteBuilder {
    private let metric: Metric
    private let graph: RoadGraph

    private var coordinates: [Coordinate] = []
    private var segments: [RouteSegment] = []
    private var edges: [RouteEdge] = []
    private var length = 0.0

    init(_ metric: Metric) {
        self.metric = metric
        graph = metric.turns.graph
    }

    /// A route along `legs`, one per pair of consecutive waypoints; legs that meet at a pass-through point are joined.
    func route(_ waypoints: [Waypoint], legs paths: [LegPath]) -> Route {
        var builder = self
        return builder.build(waypoints, paths)
    }

    private mutating func build(_ waypoints: [Waypoint], _ paths: [LegPath]) -> Route {
        var legs: [RouteLeg] = []
        var routeWaypoints: [RouteWaypoint] = []
        var cost: UInt64 = 0
        var firstEdge = 0
        var legOffset = 0.0
        if let first = paths.first { routeWaypoints.append(snapped(waypoints[0], first.start)) }
        for (index, path) in paths.enumerated() {
            append(path)
            cost += path.cost + (path.turnsRound ? UInt64(CostModel.uTurnDuration * 1_000) : 0)
            routeWaypoints.append(snapped(waypoints[index + 1], path.end))
            guard waypoints[index + 1].isStop || index == paths.count - 1 else { continue }
            let duration = edges[firstEdge...].reduce(0) { $0 + $1.duration + $1.turnDuration }
            legs.append(
                RouteLeg(
                    edges: firstEdge..<edges.count, routeOffset: legOffset, length: length - legOffset,
                    duration: duration, destination: index + 1))
            firstEdge = edges.count
            legOffset = length
        }
        return Route(
            mapVersion: graph.mapVersion, waypoints: routeWaypoints, legs: legs, edges: edges, segments: segments,
            line: Polyline(coordinates), cost: cost)
    }

    private func snapped(_ waypoint: Waypoint, _ place: EdgePosition) -> RouteWaypoint {
        let point = graph.position(at: place.offset, of: place.edge).coordinate
        return RouteWaypoint(
            waypoint: waypoint, snapped: point, snapDistance: Geodesy.distance(waypoint.coordinate, point),
            routeOffset: length)
    }

    private mutating func append(_ path: LegPath) {
        for (index, edge) in path.edges.enumerated() {
            let isFirst = index == 0
            let isLast = index == path.edges.count - 1
            let edgeLength = Double(graph.edgeLengths[edge.index])
            let start = isFirst ? path.start.offset : 0
            let end = isLast ? path.end.offset : edgeLength
            var turn = 0.0
            if !isFirst { turn = metric.turnDuration(from: path.edges[index - 1], to: edge) }
            if isFirst, path.turnsRound { turn = CostModel.uTurnDuration }
            append(edge, from: start, to: end, turn: turn)
        }
    }

    private mutating func append(_ edge: EdgeIndex, from start: Double, to end: Double, turn: Double) {
        let shape = graph.shape(of: edge)
        let first = graph.position(at: start, of: edge)
        let last = graph.position(at: end, of: edge)
        // Pieces meet: they share a node, or the point where a leg ends and the next begins.
        if coordinates.isEmpty { coordinates.append(first.coordinate) }
        let firstIndex = coordinates.count - 1
        let routeOffset = length
        for segment in first.segment...max(first.segment, last.segment) {
            let point = segment == last.segment ? last.coordinate : shape[segment + 1].coordinate
            guard let previous = coordinates.last, point != previous || segment == last.segment else { continue }
            length += Geodesy.distance(previous, point)
            coordinates.append(point)
            segments.append(
                RouteSegment(
                    fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1), edge: edges.count))
        }
        edges.append(
            RouteEdge(
                key: graph.key(of: edge), wayID: graph.wayID(of: edge), startOffset: start, endOffset: end,
                routeOffset: routeOffset, duration: metric.duration(of: edge, from: start, to: end), turnDuration: turn,
                coordinates: firstIndex...(coordinates.count - 1), attributes: graph.attributes(of: edge)))
    }
}
