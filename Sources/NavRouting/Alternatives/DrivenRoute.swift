import NavGeo
import NavMap

/// The rest of the route being driven, as legs on the current graph.
struct DrivenRoute {
    /// One leg for each waypoint of the request after its first.
    private(set) var legs: [LegPath] = []
    /// Direction of travel at the vehicle's position, radians clockwise from north.
    private(set) var bearing = 0.0

    /// The greatest distance between the vehicle and the route's place on the edge, metres along the edge.
    private static let tolerance = 1.0
    /// The greatest distance of a vehicle before the start of its leg, metres along the edge: arrivals at stops are detected some metres
    /// early.
    private static let arrivalReach = 30.0

    /// Nil when the vehicle is not on the route, when the route's remaining waypoints differ from the request's, or
    /// when a remaining edge is not in the graph or may not be driven.
    init?(_ route: Route, _ metric: Metric, _ request: RouteRequest, _ snapper: Snapper) {
        guard request.fault == nil, let first = request.waypoints.first else { return nil }
        let graph = metric.turns.graph
        var paths: [LegPath] = []
        func open(_ piece: RouteEdge) -> EdgeIndex? { graph.edge(piece.key).flatMap { metric.allows($0) ? $0 : nil } }
        // The vehicle must be past the last edge that is missing or closed.
        let rest = route.edges.lastIndex { open($0) == nil }.map { $0 + 1 } ?? 0
        for (index, piece) in route.edges.enumerated().dropFirst(rest) {
            guard let edge = open(piece) else { return nil }
            let isLegStart =
                index == rest || Self.startsLeg(piece, after: route.edges[index - 1], edge, graph)
            if isLegStart {
                paths.append(
                    LegPath(
                        edges: [], start: EdgePosition(edge: edge, offset: piece.startOffset),
                        end: EdgePosition(edge: edge, offset: piece.endOffset), cost: 0,
                        turnsRound: index > 0 && piece.turnDuration > 0))
            }
            paths[paths.count - 1].edges.append(edge)
            paths[paths.count - 1].end = EdgePosition(edge: edge, offset: piece.endOffset)
        }
        let ahead = request.waypoints.count - 1
        guard paths.count >= ahead else { return nil }
        let reach = paths.count > ahead ? Self.arrivalReach : Self.tolerance
        paths.removeFirst(paths.count - ahead)
        for hit in snapper.nearest(first, radius: request.snapRadius(of: 0)) {
            guard let place = paths[0].edges.firstIndex(of: hit.edge) else { continue }
            if place == 0, hit.offset < paths[0].start.offset - reach { continue }
            if place == paths[0].edges.count - 1, hit.offset > paths[0].end.offset + Self.tolerance { continue }
            paths[0].edges.removeFirst(place)
            paths[0].start = EdgePosition(edge: hit.edge, offset: hit.offset)
            paths[0].turnsRound = false
            bearing = hit.bearing
            Self.carryStates(&paths, request, metric)
            legs = paths.map { path in
                var path = path
                path.cost = Self.cost(path, metric)
                return path
            }
            return
        }
        return nil
    }

    /// Sets the state in which each leg ends, and the next begins, at pass-through points.
    private static func carryStates(_ paths: inout [LegPath], _ request: RouteRequest, _ metric: Metric) {
        let turns = metric.turns
        for number in paths.indices.dropLast() where !request.waypoints[number + 1].isStop {
            guard !paths[number + 1].turnsRound else { continue }
            var state = paths[number].start.state ?? paths[number].start.edge.rawValue
            for edge in paths[number].edges.dropFirst() {
                state =
                    turns.arcs(from: state).lazy.map { turns.arcTargets[$0] }.first { turns.edge(of: $0) == edge }
                    ?? edge.rawValue
            }
            paths[number].end.state = state
            paths[number + 1].start.state = state
        }
    }

    /// Whether a piece begins at a waypoint: it continues where the previous one ended inside an edge, or after a U-turn there.
    private static func startsLeg(_ piece: RouteEdge, after previous: RouteEdge, _ edge: EdgeIndex, _ graph: RoadGraph)
        -> Bool
    {
        if piece.key == previous.key { return piece.startOffset == previous.endOffset }
        let opposite = graph.opposite(edge).map { graph.key(of: $0) }
        return opposite == previous.key && piece.startOffset > 0
    }

    private static func cost(_ path: LegPath, _ metric: Metric) -> UInt64 {
        let turns = metric.turns
        guard path.edges.count > 1 else {
            return UInt64(metric.cost(of: path.start.edge, from: path.start.offset, to: path.end.offset))
        }
        let length = Double(turns.graph.edgeLengths[path.start.edge.index])
        var cost = UInt64(metric.cost(of: path.start.edge, from: path.start.offset, to: length))
        for index in 1..<path.edges.count {
            let edge = path.edges[index]
            if let arc = turns.arcs(from: path.edges[index - 1].rawValue).first(where: {
                turns.edge(of: turns.arcTargets[$0]) == edge
            }), metric.arcCosts[arc] != Metric.forbidden {
                cost += UInt64(metric.arcCosts[arc])
            }
            let isLast = index == path.edges.count - 1
            cost += UInt64(isLast ? metric.cost(of: edge, from: 0, to: path.end.offset) : metric.cost(of: edge))
        }
        return cost
    }
}
