internal import NavGeo
internal import NavMap
internal import NavRouting

extension HorizonBuilder {
    /// Returns the points along edges up to a distance, sorted by their offsets.
    func points(of edges: [EdgeIndex], length: Double, along route: HorizonRoute?) -> [HorizonPoint] {
        var points: [HorizonPoint] = []
        var begin = 0.0
        for (index, edge) in edges.enumerated() where begin < length {
            let end = begin + Double(graph.edgeLengths[edge.index])
            addFeatures(of: edge, from: begin, to: &points)
            if end <= length {
                addNode(after: edge, at: end, before: index + 1 < edges.count ? edges[index + 1] : nil, to: &points)
            }
            begin = end
        }
        if let route { addPlaces(of: route, to: &points) }
        points.removeAll { $0.offset > length }
        var order = Array(points.indices)
        order.sort { (points[$0].offset, $0) < (points[$1].offset, $1) }
        return order.map { points[$0] }
    }

    private func addFeatures(of edge: EdgeIndex, from begin: Double, to points: inout [HorizonPoint]) {
        let features = graph.features(of: edge)
        guard !features.isEmpty else { return }
        let shape = graph.shape(of: edge)
        let line = Polyline(shape.coordinates)
        let scale = line.length > 0 ? Double(graph.edgeLengths[edge.index]) / line.length : 1
        for feature in features {
            let place = min(Int(feature.shapeIndex), shape.count - 1)
            points.append(
                HorizonPoint(
                    offset: begin + line.cumulativeLengths[place] * scale, kind: HorizonPoint.Kind(feature.kind),
                    nodeID: shape.nodeID(place)))
        }
    }

    private func addNode(
        after edge: EdgeIndex, at offset: Double, before next: EdgeIndex?, to points: inout [HorizonPoint]
    ) {
        let node = graph.edgeHeads[edge.index]
        let flags = graph.nodeFlags[node.index]
        let nodeID = graph.nodeOSMIDs[node.index]
        func add(_ kind: HorizonPoint.Kind, lanes: [Lane] = [], text: String = "") {
            points.append(HorizonPoint(offset: offset, kind: kind, nodeID: nodeID, lanes: lanes, text: text))
        }
        if flags.contains(.junction) { add(.junction, lanes: next.map { lanes(before: $0, after: edge) } ?? []) }
        if flags.contains(.motorwayJunction) { add(.exit, text: graph.exitReference(of: node)) }
        if flags.contains(.trafficSignals) { add(.trafficSignal) }
        if flags.contains(.stop) { add(.stop) }
        if flags.contains(.giveWay) { add(.giveWay) }
        if flags.contains(.crossing) { add(.crossing) }
        if flags.contains(.tollBooth) { add(.toll) }
        let barriers: NodeFlags = [.gate, .impassable, .truckImpassable, .privateGate, .truckPrivateGate]
        if !flags.isDisjoint(with: barriers)
            || flags.contains(.sizeLimited) && !vehicle.fits(graph.sizeLimits(of: node))
        {
            add(.barrier)
        }
        guard let next else { return }
        let (here, there) = (graph.attributes(of: edge).country, graph.attributes(of: next).country)
        if !here.isEmpty, !there.isEmpty, here != there { add(.border, text: there) }
    }

    /// Returns the lanes of an edge before the junction at its end, with those marked that lead onto the next edge.
    private func lanes(before next: EdgeIndex, after edge: EdgeIndex) -> [Lane] {
        let tag = graph.attributes(of: edge).turnLanes
        guard !tag.isEmpty, let seen = junctions.intersection(after: edge),
            let road = seen.roads.firstIndex(where: { $0.leaving == next })
        else { return [] }
        return LaneGuidance.lanes(tag, at: seen, onto: road, for: vehicle.access, width: vehicle.width)
    }

    /// Returns the node of a step's maneuver; nil at a waypoint inside an edge.
    private func nodeID(of step: RouteStep, _ route: Route) -> Int64? {
        guard route.edges.indices.contains(step.maneuver.edge) else { return nil }
        let piece = route.edges[step.maneuver.edge]
        guard piece.startOffset < 0.5, let edge = graph.edge(piece.key) else { return nil }
        return graph.nodeOSMIDs[graph.edgeTails[edge.index].index]
    }

    private func addPlaces(of route: HorizonRoute, to points: inout [HorizonPoint]) {
        let here = route.route.edges[route.piece].routeOffset
        for step in route.guidance.steps where step.routeOffset > here {
            points.append(
                HorizonPoint(
                    offset: step.routeOffset - route.begin, kind: .maneuver, nodeID: nodeID(of: step, route.route)))
        }
        for waypoint in route.route.waypoints where waypoint.routeOffset > here {
            points.append(
                HorizonPoint(
                    offset: waypoint.routeOffset - route.begin, kind: .waypoint, text: waypoint.waypoint.name))
        }
    }
}

extension HorizonPoint.Kind {
    init(_ kind: PointFeature.Kind) {
        switch kind {
        case .trafficSignals: self = .trafficSignal
        case .stop: self = .stop
        case .giveWay: self = .giveWay
        case .crossing: self = .crossing
        case .tollBooth: self = .toll
        case .gate: self = .barrier
        case .trafficCalming: self = .trafficCalming
        }
    }
}
