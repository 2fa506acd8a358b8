import NavGeo
package import NavMap

/// The conversion of a provided route's roads into a route of this map: connected, legal for the vehicle, with its waypoints.
///
/// Where the given roads are not connected, or the turn between them is forbidden here, the shortest legal path to one of the next given
/// edges replaces them. ``RouteAgreement`` determines whether the result is still the provided route.
package struct RouteFollower {
    /// A reason why a route cannot be followed.
    package struct Fault: Error {
        /// The index of the leg.
        package var leg: Int
        /// A human-readable description of the failure.
        package var message: String
        /// Missing tiles that may be the reason, by ascending id.
        package var missingTiles: [RoadTileID] = []
    }

    /// The metric of the request, in which excluded roads are forbidden.
    package let metric: Metric
    private let request: RouteRequest
    private let finder: StepFinder

    /// The greatest distance between the line's end and its road, metres: half the width of a broad street, and the
    /// difference between two maps.
    static let endTolerance = 25.0
    /// The distance within which the line's end counts as on the road, metres: the precision of six decimals and of the planar
    /// approximation.
    static let onTheRoad = 1.0

    /// Creates a follower for a router's vehicle, time and traffic, and a request's options.
    package init(_ router: Router, _ request: RouteRequest) {
        metric = router.ownMetric(for: request.options) ?? router.metric
        self.request = request
        finder = StepFinder(metric)
    }

    package func edges(_ steps: [RoadStep]) -> EdgeSequence { finder.edges(steps) }

    /// The stops that end legs, as indices in the request's waypoints.
    package var stops: [Int] {
        let last = request.waypoints.count - 1
        return request.waypoints.indices.filter { $0 > 0 && ($0 == last || request.waypoints[$0].isStop) }
    }

    /// Returns the route along some edges, given one sequence for each leg of the provided route.
    ///
    /// - Parameter budget: The number of states that may be settled to connect edges.
    package func route(
        _ provided: ProvidedRoute, along sequences: [EdgeSequence], budget: Int
    ) throws(Fault) -> Route {
        var budget = budget
        var paths: [LegPath] = []
        var firstWaypoint = 0
        for (number, (leg, stop)) in zip(provided.legs, stops).enumerated() {
            var walk = Walk(number, sequences[number])
            try place(&walk, on: leg, after: number > 0 ? paths.last : nil)
            try connectJoined(&walk, &budget)
            paths += split(walk, at: request.waypoints[(firstWaypoint + 1)..<stop])
            firstWaypoint = stop
        }
        var builder = RouteBuilder(metric)
        return builder.route(request.waypoints, legs: paths)
    }

    /// A leg under construction.
    private struct Walk {
        let leg: Int
        var edges: [EdgeIndex]
        var firstSegment: Int?
        var lastSegment: Int?
        var states: [TurnState] = []
        var start = 0.0
        var end = 0.0
        var turnsRound = false
        /// Whether the first edge is the one on which the previous leg ended instead of one of its own.
        var beginsBefore = false

        init(_ leg: Int, _ sequence: EdgeSequence) {
            self.leg = leg
            edges = sequence.edges
            firstSegment = sequence.firstSegment
            lastSegment = sequence.lastSegment
        }
    }

    // MARK: Ends

    /// Finds the places where the leg starts and ends; it starts where the previous leg ended.
    private func place(_ walk: inout Walk, on leg: ProvidedRoute.Leg, after previous: LegPath?) throws(Fault) {
        let line = leg.line
        guard let first = line.first, let last = line.last else {
            throw Fault(leg: walk.leg, message: "its line has no points")
        }
        if walk.edges.isEmpty, let hit = nearest(first, heading: line.first { $0 != first }, backwards: false) {
            // A leg of a few metres may have no edges.
            walk.edges = [hit.edge]
            (walk.firstSegment, walk.lastSegment) = (nil, nil)
        }
        guard let firstEdge = walk.edges.first, let lastEdge = walk.edges.last else {
            throw Fault(leg: walk.leg, message: "none of its roads from \(first.brief) is on the map")
        }
        walk.start = try place(.start, first, heading: line.first { $0 != first }, on: firstEdge, &walk)
        walk.end = try place(.end, last, heading: line.last { $0 != last }, on: lastEdge, &walk)
        if let previous { join(&walk, to: previous.end) }
        if walk.edges.count == 1, walk.end < walk.start {
            guard walk.start - walk.end <= Self.endTolerance else {
                throw Fault(leg: walk.leg, message: "it goes backwards along an edge at \(last.brief)")
            }
            walk.end = walk.start
        }
    }

    private enum End: String {
        case start, end
    }

    /// Returns the distance from an edge's start at which the line begins or ends, metres.
    ///
    /// The edge is the leg's own, or the previous or next one if that is nearer, which is then added to the leg.
    private func place(
        _ end: End, _ point: Coordinate, heading other: Coordinate?, on edge: EdgeIndex, _ walk: inout Walk
    ) throws(Fault) -> Double {
        let graph = metric.turns.graph
        let isStart = end == .start
        let own = graph.place(of: point, on: edge, segment: isStart ? walk.firstSegment : walk.lastSegment)
        guard own.distance > Self.onTheRoad else { return own.offset }
        let isFar = own.distance > Self.endTolerance
        if let hit = nearest(point, heading: other, backwards: !isStart), hit.distance < own.distance - Self.onTheRoad,
            hit.edge == edge || isFar
                || (isStart ? turn(hit.edge.rawValue, edge) : turn(edge.rawValue, hit.edge)) != nil
        {
            if hit.edge != edge { walk.edges.insert(hit.edge, at: isStart ? 0 : walk.edges.count) }
            return hit.offset
        }
        guard !isFar else {
            throw Fault(
                leg: walk.leg,
                message: "its \(end.rawValue) \(point.brief) is not within \(Int(Self.endTolerance)) m of a road that "
                    + "this vehicle may use",
                missingTiles: graph.missingTiles(
                    at: isStart ? graph.edgeTails[edge.index] : graph.edgeHeads[edge.index]))
        }
        return own.offset
    }

    private func nearest(_ place: Coordinate, heading other: Coordinate?, backwards: Bool) -> EdgeProjection? {
        let bearing = other.map {
            backwards ? Geodesy.bearing(from: $0, to: place) : Geodesy.bearing(from: place, to: $0)
        }
        let waypoint = Waypoint(place, bearing: bearing, bearingTolerance: .pi / 2)
        return Snapper(metric: metric).nearest(waypoint, radius: Self.endTolerance).first
    }

    /// Makes a leg begin exactly where the previous one ended.
    private func join(_ walk: inout Walk, to end: EdgePosition) {
        let graph = metric.turns.graph
        let length = Double(graph.edgeLengths[end.edge.index])
        if walk.edges[0] == end.edge {
            walk.start = end.offset
        } else if graph.opposite(end.edge) == walk.edges[0] {
            walk.start = max(length - end.offset, 0)
            walk.turnsRound = true
        } else if turn(end.edge.rawValue, walk.edges[0]) != nil,
            length - end.offset <= Self.endTolerance, walk.start <= Self.endTolerance
        {
            // The stop lies where two edges meet.
            walk.edges.insert(end.edge, at: 0)
            walk.start = end.offset
            walk.beginsBefore = true
        }
    }

    // MARK: Connection

    /// Connects the leg from the end of the previous one, or independently if the connection would change its edges.
    private func connectJoined(_ walk: inout Walk, _ budget: inout Int) throws(Fault) {
        if walk.beginsBefore {
            var joined = walk
            if (try? connect(&joined, &budget)) != nil, joined.edges == walk.edges {
                walk = joined
                return
            }
            walk.edges.removeFirst()
            walk.start = 0
        }
        try connect(&walk, &budget)
    }

    /// Connects consecutive edges according to the turn graph.
    private func connect(_ walk: inout Walk, _ budget: inout Int) throws(Fault) {
        let graph = metric.turns.graph
        var states: [TurnState] = [walk.edges[0].rawValue]
        guard metric.allows(walk.edges[0]) else {
            let place = graph.nodePositions[graph.edgeTails[walk.edges[0].index].index].coordinate.brief
            throw Fault(leg: walk.leg, message: "it starts on a road that the vehicle may not use, from \(place)")
        }
        var next = 1
        while next < walk.edges.count {
            let state = states[states.count - 1]
            if let target = turn(state, walk.edges[next]) {
                states.append(target)
                next += 1
                continue
            }
            let targets = walk.edges[next..<min(next + BridgeSearch.targets, walk.edges.count)]
            guard let bridge = BridgeSearch(metric: metric).run(from: state, to: targets, budget: &budget) else {
                let node = graph.edgeHeads[metric.turns.edge(of: state).index]
                let place = graph.nodePositions[node.index].coordinate.brief
                throw Fault(
                    leg: walk.leg,
                    message: budget > 0
                        ? "no permitted path continues the route from \(place)"
                        : "too many of its roads before \(place) do not continue one another on this map",
                    missingTiles: graph.missingTiles(at: node))
            }
            states += bridge.states
            next += bridge.target + 1
        }
        walk.states = states
        walk.edges = states.map { metric.turns.edge(of: $0) }
    }

    /// Returns the state after a permitted turn into an edge.
    private func turn(_ state: TurnState, _ edge: EdgeIndex) -> TurnState? {
        let turns = metric.turns
        for arc in turns.arcs(from: state)
        where turns.edge(of: turns.target(of: arc)) == edge && metric.cost(ofArc: arc) != Metric.forbidden
            && metric.allows(edge)
        { return turns.target(of: arc) }
        return nil
    }

    // MARK: Waypoints

    /// Splits a leg at its pass-through points.
    private func split(_ walk: Walk, at points: ArraySlice<Waypoint>) -> [LegPath] {
        var paths: [LegPath] = []
        var first = (index: 0, offset: walk.start)
        let last = (index: walk.edges.count - 1, offset: walk.end)
        for place in places(of: points, on: walk) {
            paths.append(path(walk, from: first, to: place))
            first = place
        }
        paths.append(path(walk, from: first, to: last))
        paths[0].turnsRound = walk.turnsRound
        return paths
    }

    private func path(_ walk: Walk, from start: (index: Int, offset: Double), to end: (index: Int, offset: Double))
        -> LegPath
    {
        let edges = Array(walk.edges[start.index...end.index])
        let turns = metric.turns
        var cost: UInt64 = 0
        for index in start.index...end.index {
            let edge = walk.edges[index]
            if index > start.index {
                let turn = turns.arcs(from: walk.states[index - 1]).lazy
                    .filter { turns.target(of: $0) == walk.states[index] }.map { metric.cost(ofArc: $0) }.min()
                cost += UInt64(turn ?? 0)
            }
            let length = Double(turns.graph.edgeLengths[edge.index])
            cost += UInt64(
                metric.cost(
                    of: edge, from: index == start.index ? start.offset : 0,
                    to: index == end.index ? end.offset : length))
        }
        return LegPath(
            edges: edges,
            start: EdgePosition(edge: edges[0], offset: start.offset, state: walk.states[start.index]),
            end: EdgePosition(edge: edges[edges.count - 1], offset: end.offset, state: walk.states[end.index]),
            cost: cost)
    }

    /// Returns the places where the leg passes each point, in order, minimising the total distance.
    private func places(of points: ArraySlice<Waypoint>, on walk: Walk) -> [(index: Int, offset: Double)] {
        guard !points.isEmpty else { return [] }
        typealias Hit = (index: Int, offset: Double, total: Double, parent: Int)
        let lastIndex = walk.edges.count - 1
        var layers: [[Hit]] = []
        for number in points.indices {
            let point = request.waypoints[number]
            let radius = request.snapRadius(of: number)
            let near = metric.turns.graph.edges(near: point.coordinate, radius: radius)
            var hits: [Hit] = []
            for (index, edge) in walk.edges.enumerated() {
                guard let hit = near.first(where: { $0.edge == edge }) else { continue }
                var offset = hit.offset
                if index == 0 { offset = max(offset, walk.start) }
                if index == lastIndex { offset = min(offset, walk.end) }
                var best: (total: Double, parent: Int)?
                if let before = layers.last {
                    for (parent, previous) in before.enumerated()
                    where (previous.index, previous.offset) <= (index, offset)
                        && previous.total < best?.total ?? .infinity
                    { best = (previous.total, parent) }
                } else {
                    best = (0, 0)
                }
                if let best { hits.append((index, offset, best.total + hit.distance, best.parent)) }
            }
            // A point that the leg does not pass counts as passed at the previous point.
            if hits.isEmpty {
                let before = layers.last ?? [(0, walk.start, 0, 0)]
                hits = before.enumerated().map { ($1.index, $1.offset, $1.total + radius, $0) }
            }
            layers.append(hits)
        }
        var result: [(index: Int, offset: Double)] = []
        var number = layers[layers.count - 1].indices.min {
            layers[layers.count - 1][$0].total < layers[layers.count - 1][$1].total
        }
        for layer in layers.reversed() {
            guard let current = number else { break }
            result.append((layer[current].index, layer[current].offset))
            number = layer[current].parent
        }
        return result.reversed()
    }
}

extension RoadGraph {
    /// Returns the point of an edge nearest to a position, on one segment or on all: metres from the edge's start, and
    /// metres from the position.
    fileprivate func place(of coordinate: Coordinate, on edge: EdgeIndex, segment: Int?) -> (
        offset: Double, distance: Double
    ) {
        let shape = shape(of: edge)
        guard let segment, segment >= 0, segment < shape.count - 1 else {
            let hit = project(coordinate, onto: edge)
            return (hit?.offset ?? 0, hit?.distance ?? .infinity)
        }
        var before = 0.0
        for index in 0..<segment { before += Geodesy.distance(shape[index].coordinate, shape[index + 1].coordinate) }
        let line = Polyline([shape[segment].coordinate, shape[segment + 1].coordinate])
        guard let hit = line.project(coordinate) else { return (before, .infinity) }
        return (min(before + hit.offset, Double(edgeLengths[edge.index])), hit.distance)
    }
}

extension Coordinate {
    /// The coordinate in degrees, for messages.
    package var brief: String {
        "\((latitude * 1e5).rounded() / 1e5),\((longitude * 1e5).rounded() / 1e5)"
    }
}
