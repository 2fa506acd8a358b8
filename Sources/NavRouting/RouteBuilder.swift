import NavGeo
import NavMap

/// A builder of routes from edges; routes of one builder share the road attributes it has read.
struct RouteBuilder {
    private let metric: Metric
    private let graph: RoadGraph
    private var attributes: [UInt64: SharedAttributes] = [:]
    private var last: (id: UInt64, attributes: SharedAttributes)?

    private var coordinates: [Coordinate] = []
    private var lengths: [Double] = []
    private var segments: [RouteSegment] = []
    private var edges: [RouteEdge] = []
    private var length = 0.0

    init(_ metric: Metric) {
        self.metric = metric
        graph = metric.turns.graph
        // More than a route through a town has.
        attributes.reserveCapacity(64)
    }

    /// Builds a route along `legs`, one for each pair of consecutive waypoints; joins legs that meet at a pass-through point.
    mutating func route(_ waypoints: [Waypoint], legs paths: [LegPath]) -> Route {
        clear(paths.reduce(0) { $0 + $1.edges.count })
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
            var (duration, freeFlow) = (0.0, 0.0)
            for edge in firstEdge..<edges.count {
                duration += edges[edge].duration + edges[edge].turnDuration
                freeFlow += edges[edge].freeFlowDuration + edges[edge].turnDuration
            }
            legs.append(
                RouteLeg(
                    edges: firstEdge..<edges.count, routeOffset: legOffset, length: length - legOffset,
                    duration: duration, freeFlowDuration: freeFlow, destination: index + 1))
            firstEdge = edges.count
            legOffset = length
        }
        return Route(
            mapVersion: graph.mapVersion, vehicle: metric.model.profile, waypoints: routeWaypoints, legs: legs,
            edges: edges, segments: segments, line: Polyline(coordinates, cumulativeLengths: lengths), cost: cost,
            trafficStamp: metric.trafficStamp)
    }

    private mutating func clear(_ edgeCount: Int) {
        length = 0
        coordinates = []
        lengths = []
        segments = []
        edges = []
        edges.reserveCapacity(edgeCount)
        // Three points per edge are typical of roads in towns.
        coordinates.reserveCapacity(edgeCount * 3)
        lengths.reserveCapacity(edgeCount * 3)
        segments.reserveCapacity(edgeCount * 3)
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
            let start = isFirst ? path.start.offset : 0
            let end = isLast ? path.end.offset : Double(graph.edgeLengths[edge.index])
            var turn = 0.0
            if !isFirst { turn = metric.turnDuration(from: path.edges[index - 1], to: edge) }
            if isFirst, path.turnsRound { turn = CostModel.uTurnDuration }
            append(edge, from: start, to: end, turn: turn)
        }
    }

    private mutating func append(_ edge: EdgeIndex, from start: Double, to end: Double, turn: Double) {
        let reading = graph.reading(of: edge)
        let shape = reading.shape
        let isWhole = end >= Double(graph.edgeLengths[edge.index])
        // Whole edges begin and end at points of their line; only partial edges need a search.
        var first = (coordinate: shape[0].coordinate, segment: 0)
        if start > 0 {
            let place = graph.position(at: start, of: edge)
            first = (place.coordinate, place.segment)
        }
        var last = (coordinate: shape[shape.count - 1].coordinate, segment: shape.count - 2)
        if !isWhole {
            let place = graph.position(at: end, of: edge)
            last = (place.coordinate, place.segment)
        }
        // Consecutive pieces share a node, or the point where a leg ends and the next begins.
        if coordinates.isEmpty {
            coordinates.append(first.coordinate)
            lengths.append(0)
        }
        let firstIndex = coordinates.count - 1
        let routeOffset = length
        var previous = coordinates[firstIndex]
        var fromNode = shape.nodeID(first.segment)
        for segment in first.segment...max(first.segment, last.segment) {
            let point = segment == last.segment ? last.coordinate : shape[segment + 1].coordinate
            let toNode = shape.nodeID(segment + 1)
            if point != previous || segment == last.segment {
                length += Geodesy.distance(previous, point)
                coordinates.append(point)
                lengths.append(length)
                segments.append(RouteSegment(fromNodeID: fromNode, toNodeID: toNode, edge: edges.count))
                previous = point
            }
            fromNode = toNode
        }
        let times = metric.times(of: edge, from: start, to: end)
        edges.append(
            RouteEdge(
                key: reading.key, wayID: reading.wayID, startOffset: start, endOffset: end, routeOffset: routeOffset,
                duration: times.duration, routerDuration: times.duration, freeFlowDuration: times.freeFlow,
                congestion: times.congestion,
                turnDuration: turn, coordinates: firstIndex...(coordinates.count - 1),
                tollBooths: tollBooths(edge, from: first.segment, to: last.segment, passesEnd: isWhole),
                sharedAttributes: attributes(reading, edge)))
    }

    /// Returns the toll booths at points after `first` up to `last` of an edge's line, and at its end.
    private func tollBooths(_ edge: EdgeIndex, from first: Int, to last: Int, passesEnd: Bool) -> Int {
        let isBooth = graph.nodeFlags[graph.edgeHeads[edge.index].index].contains(.tollBooth)
        var count = passesEnd && isBooth ? 1 : 0
        guard graph.hasFeatures(edge) else { return count }
        for feature in graph.features(of: edge)
        where feature.kind == .tollBooth && Int(feature.shapeIndex) > first && Int(feature.shapeIndex) <= last {
            count += 1
        }
        return count
    }

    /// Returns the class and names of an edge, which neighbouring edges often share.
    private mutating func attributes(_ reading: EdgeReading, _ edge: EdgeIndex) -> SharedAttributes {
        let id = reading.attributesID
        if let last, last.id == id { return last.attributes }
        if let found = attributes[id] {
            last = (id, found)
            return found
        }
        let made = shared(reading, edge)
        attributes[id] = made
        last = (id, made)
        return made
    }

    /// Edges that share their attributes also share the conditions at the time of departure.
    private func shared(_ reading: EdgeReading, _ edge: EdgeIndex) -> SharedAttributes {
        var attributes = reading.attributes
        attributes.takeLimits(of: metric.traits(of: edge))
        return SharedAttributes(attributes)
    }
}
