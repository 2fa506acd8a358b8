internal import NavGeo
package import NavMap
package import NavRouting

/// A builder of electronic horizons. Equal maps, places and routes give equal horizons.
package struct HorizonBuilder {
    let metric: Metric
    let live: Metric
    let vehicle: VehicleProfile
    let time: LocalTime?
    var graph: RoadGraph { metric.turns.graph }
    private let choice: PathChoice
    package let junctions: JunctionModel

    /// - Parameters:
    ///   - metric: the costs of the roads that the vehicle may use.
    ///   - live: the same with current traffic.
    ///   - vehicle: the vehicle whose limits apply.
    ///   - junctions: a model from earlier horizons to reuse if it matches; nil for none.
    ///   - time: the local time; nil leaves time-dependent limits unknown.
    package init(
        metric: Metric, live: Metric, vehicle: VehicleProfile, junctions: JunctionModel? = nil, at time: LocalTime?
    ) {
        self.metric = metric
        self.live = live
        self.vehicle = vehicle
        self.time = time
        self.junctions = .reusing(junctions, of: metric.turns.graph, for: vehicle.access)
        choice = PathChoice(junctions: self.junctions, metric: metric)
    }

    /// An arm that branches off a path.
    private struct Branch {
        var arm: PathArm
        var offset: Double
        var probability: Double
        var entry: RoundaboutEntry?
    }

    /// A path as edges, with the arms that branch off it.
    private struct Walk {
        var edges: [EdgeIndex] = []
        var length = 0.0
        var probability = 1.0
        var isTruncated = false
        /// The number of leading edges that belong to the route.
        var routed = 0
        var branches: [Branch] = []
    }

    /// Returns the horizon of a vehicle on an edge.
    ///
    /// - Parameters:
    ///   - offset: metres from the edge's start.
    ///   - approach: the last edge before the roundabout of this edge; nil when unknown or not on a roundabout.
    package func horizon(
        on edge: EdgeIndex, at offset: Double, after approach: EdgeIndex? = nil, along route: HorizonRoute?,
        extent: HorizonExtent
    ) -> Horizon {
        let offset = min(max(offset, 0), Double(graph.edgeLengths[edge.index]))
        let main = walk(
            from: edge.rawValue, entry: choice.entry(from: approach, onto: edge, nil), length: offset + extent.length,
            along: route)
        var horizon = Horizon(
            paths: [path(main, id: HorizonPath.mainID, length: offset + extent.length, along: route)],
            offset: offset, isTruncated: main.isTruncated)
        guard extent.stubLength > 0 else { return horizon }
        var used: Set<UInt32> = [HorizonPath.mainID]
        for branch in main.branches.prefix(max(extent.mostPaths - 1, 0)) {
            let stub = walk(from: branch.arm.state, entry: branch.entry, length: extent.stubLength, along: nil)
            let id = identity(of: branch.arm.edge, &used)
            var path = path(stub, id: id, length: extent.stubLength, along: nil)
            path.parent = HorizonPath.Parent(id: HorizonPath.mainID, offset: branch.offset)
            path.probability = branch.probability
            path.turnAngle = branch.arm.turnAngle
            horizon.paths.append(path)
            if stub.isTruncated { horizon.isTruncated = true }
        }
        return horizon
    }

    /// Returns a number derived from the first edge, or the next one that no other path of the horizon has.
    private func identity(of edge: EdgeIndex, _ used: inout Set<UInt32>) -> UInt32 {
        // Hashed, because the keys of neighbouring edges differ in few bits.
        var id = UInt32(truncatingIfNeeded: SplitMix64.mixed(graph.key(of: edge).rawValue))
        while id == 0 || !used.insert(id).inserted { id &+= 1 }
        return id
    }

    private func walk(
        from start: TurnState, entry: RoundaboutEntry?, length: Double, along route: HorizonRoute?
    ) -> Walk {
        var walk = Walk()
        var entry = entry
        var visited: Set<EdgeIndex> = []
        var state = start
        var isRouted = route != nil
        while true {
            let edge = metric.turns.edge(of: state)
            // A path that returns to an edge it has passed, as on a ring without exits, ends there.
            guard visited.insert(edge).inserted else { return walk }
            walk.edges.append(edge)
            walk.length += Double(graph.edgeLengths[edge.index])
            if isRouted { walk.routed += 1 }
            guard walk.length < length else { return walk }
            let next = isRouted ? nextEdge(walk.routed, of: route) : nil
            isRouted = next != nil
            let node = graph.edgeHeads[edge.index]
            if graph.lacksDepartures(node) {
                walk.isTruncated = true
                if next == nil { return walk }
            }
            let arms = choice.arms(from: state, next: next, entry: entry)
            guard let taken = PathChoice.best(arms, next: next) else { return walk }
            if taken.edge != next { isRouted = false }
            for arm in arms where arm.edge != taken.edge {
                walk.branches.append(
                    Branch(
                        arm: arm, offset: walk.length, probability: walk.probability * arm.probability,
                        entry: choice.entry(from: edge, onto: arm.edge, entry)))
            }
            walk.probability *= taken.probability
            entry = choice.entry(from: edge, onto: taken.edge, entry)
            state = taken.state
        }
    }

    /// Returns the edge that the route takes after `count` edges; nil where the route or the loaded map ends.
    private func nextEdge(_ count: Int, of route: HorizonRoute?) -> EdgeIndex? {
        guard let route else { return nil }
        var piece = route.piece
        var passed = 0
        // At a stop inside an edge the route has two pieces on it.
        while passed < count {
            piece += 1
            guard piece < route.route.edges.count else { return nil }
            if route.route.edges[piece].key != route.route.edges[piece - 1].key
                || route.route.edges[piece].startOffset < route.route.edges[piece - 1].endOffset - 1
            {
                passed += 1
            }
        }
        return graph.edge(route.route.edges[piece].key)
    }

    private func path(_ walk: Walk, id: UInt32, length: Double, along route: HorizonRoute?) -> HorizonPath {
        let length = min(length, walk.length)
        var coordinates: [Coordinate] = []
        for edge in walk.edges {
            coordinates.append(contentsOf: graph.shape(of: edge).coordinates.dropFirst(coordinates.isEmpty ? 0 : 1))
        }
        let whole = Polyline(coordinates)
        let line = length < whole.length ? Polyline(whole.slice(from: 0, to: length)) : whole
        var path = HorizonPath(
            id: id, probability: walk.probability, line: line, length: length,
            edges: walk.edges.map { graph.key(of: $0) }, isOnRoute: route != nil)
        path.spans = spans(of: walk.edges, line: line, length: length)
        path.points = points(of: walk.edges, length: length, along: route)
        return path
    }
}
