internal import NavGeo
internal import NavMap
internal import NavRouting

/// A road that leaves a junction.
struct Branch {
    /// The edge.
    var edge: EdgeIndex
    /// The turn onto it, degrees, clockwise positive.
    var angle: Double
    /// Class, flags and access.
    var traits: EdgeTraits
    /// Name and numbers.
    var label: RoadLabel
}

/// A route with its edges found in the graph, and the questions about it that need both.
struct RouteRoads {
    let route: Route
    let graph: RoadGraph
    /// The edges in the graph; nil where it does not hold them (any more).
    let resolved: [EdgeIndex?]

    init(_ route: Route, _ graph: RoadGraph) {
        self.route = route
        self.graph = graph
        let sameMap = route.mapVersion == graph.mapVersion
        resolved = route.edges.map { edge in
            guard sameMap, let index = graph.edge(edge.key), graph.wayID(of: index) == edge.wayID else { return nil }
            return index
        }
    }

    /// Whether the piece reaches the end of its edge.
    func reachesEnd(_ index: Int) -> Bool {
        guard let edge = resolved[index] else { return true }
        return route.edges[index].endOffset >= Double(graph.edgeLengths[edge.index]) - 0.5
    }

    /// The node between the pieces `index - 1` and `index`; nil when the graph does not know it or there is none (a waypoint inside an edge).
    func node(before index: Int) -> NodeIndex? {
        guard index > 0, let previous = resolved[index - 1], let next = resolved[index], reachesEnd(index - 1),
            route.edges[index].startOffset < 0.5, graph.edgeHeads[previous.index] == graph.edgeTails[next.index]
        else { return nil }
        return graph.edgeTails[next.index]
    }

    /// Direction of travel at the end of a piece, radians.
    func endBearing(_ index: Int) -> Double {
        if let edge = resolved[index], reachesEnd(index) { return Double(graph.edgeEndBearings[edge.index]) }
        let end = route.edges[index].routeOffset + route.edges[index].length
        return bearing(from: max(end - 15, route.edges[index].routeOffset), to: end)
    }

    /// Direction of travel at the start of a piece, radians.
    func startBearing(_ index: Int) -> Double {
        let edge = route.edges[index]
        if let known = resolved[index], edge.startOffset < 0.5 { return Double(graph.edgeStartBearings[known.index]) }
        return bearing(from: edge.routeOffset, to: min(edge.routeOffset + 15, edge.routeOffset + edge.length))
    }

    /// The direction from one place of the route to another, radians; that of the segment when they coincide.
    func bearing(from start: Double, to end: Double) -> Double {
        if end - start > 1, let first = route.line.coordinate(at: start), let last = route.line.coordinate(at: end),
            first != last
        {
            return Geodesy.bearing(from: first, to: last)
        }
        return route.line.bearing(at: start) ?? 0
    }

    /// The turn between the pieces `index - 1` and `index`, degrees, clockwise positive.
    func turn(before index: Int) -> Double {
        degrees(from: endBearing(index - 1), to: startBearing(index))
    }

    /// Whether the route turns round there, onto the same road in the other direction.
    func isUTurn(before index: Int) -> Bool {
        guard let previous = resolved[index - 1], let next = resolved[index] else { return false }
        return graph.opposite(previous) == next
    }

    /// Other roads that a car may take before the piece `index`, the way back along the same road left out.
    func alternatives(before index: Int) -> [Branch] {
        guard let node = node(before: index), let previous = resolved[index - 1], let next = resolved[index] else {
            return []
        }
        let back = graph.opposite(previous)
        let approach = endBearing(index - 1)
        return graph.outgoing(node).compactMap { edge in
            guard edge != next, edge != back else { return nil }
            let traits = graph.traits(of: edge)
            guard traits.access.contains(.car) else { return nil }
            let bearing = Double(graph.edgeStartBearings[edge.index])
            // The same road drawn twice is no choice.
            if graph.edgeHeads[edge.index] == graph.edgeHeads[next.index],
                abs(degrees(from: Double(graph.edgeStartBearings[next.index]), to: bearing)) < 3
            {
                return nil
            }
            return Branch(
                edge: edge, angle: degrees(from: approach, to: bearing), traits: traits,
                label: RoadLabel(graph.attributes(of: edge)))
        }
    }

    /// The turns, in degrees, by which traffic from other roads enters the piece `index`; opposite directions of its own roads left out.
    func turnsOfOthers(into index: Int) -> [Double] {
        guard let node = node(before: index), let previous = resolved[index - 1], let next = resolved[index] else {
            return []
        }
        let own = graph.opposite(next)
        return graph.incoming(node).compactMap { edge in
            guard edge != previous, edge != own, graph.traits(of: edge).access.contains(.car) else { return nil }
            return degrees(from: Double(graph.edgeEndBearings[edge.index]), to: startBearing(index))
        }
    }

    /// The label of the road after the start of a piece. A nameless connection of less than `reach` metres takes the name of what follows.
    func label(after index: Int, before end: Int, reach: Double = 40) -> RoadLabel {
        var label = RoadLabel(route.edges[index].attributes)
        var ahead = route.edges[index].length
        var next = index + 1
        while label.isUnnamed, next < end, ahead < reach {
            let other = RoadLabel(route.edges[next].attributes)
            label.name = other.name
            label.references = other.references
            label.prefersReference = other.prefersReference
            ahead += route.edges[next].length
            next += 1
        }
        return label
    }
}

extension RoadLabel {
    /// The label of a road with such attributes.
    init(_ attributes: RoadAttributes) {
        self.init(
            name: attributes.name, references: RoadLabel.list(attributes.reference),
            destinations: RoadLabel.list(attributes.destination),
            destinationReferences: RoadLabel.list(attributes.destinationReference),
            prefersReference: attributes.roadClass == .motorway && !attributes.flags.contains(.link))
    }

    private static func list(_ text: String) -> [String] {
        text.isEmpty ? [] : text.split(separator: ";").map { String(trimmed($0)) }.filter { !$0.isEmpty }
    }

    /// Whether both carry the same name, or the same number where neither has a name or both go by their number.
    func sharesName(with other: RoadLabel) -> Bool {
        if prefersReference, other.prefersReference, !references.isEmpty, !other.references.isEmpty {
            return sharesReference(with: other)
        }
        if !name.isEmpty || !other.name.isEmpty { return name == other.name }
        return sharesReference(with: other)
    }

    /// Whether both carry the same name or a number in common.
    func continues(_ other: RoadLabel) -> Bool {
        !name.isEmpty && name == other.name || sharesReference(with: other)
    }

    private func sharesReference(with other: RoadLabel) -> Bool {
        references.contains { other.references.contains($0) }
    }
}

/// The turn from one direction (radians) to another in degrees, clockwise positive, −180 ... 180.
func degrees(from first: Double, to second: Double) -> Double {
    Angle.degrees(Angle.difference(from: first, to: second))
}
