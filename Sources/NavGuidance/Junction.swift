internal import NavGeo
internal import NavMap
internal import NavRouting

/// The class and flags of a route edge, which suffice for most decisions at a junction.
struct RoadKind {
    var roadClass: RoadClass
    var flags: RoadFlags
}

/// A route with its edges resolved in the graph, and queries that need both.
struct RouteRoads {
    let route: Route
    let graph: RoadGraph
    /// The edges in the graph; nil for edges that it does not, or no longer, contain.
    let resolved: [EdgeIndex?]
    /// The kind of each route edge.
    let kinds: [RoadKind]
    /// The distinct labels, one for each run of equally labelled edges; `labelNumbers` holds each edge's label.
    private let labels: [RoadLabel]
    private let labelNumbers: [Int]

    init(_ route: Route, _ graph: RoadGraph) {
        self.route = route
        self.graph = graph
        resolved =
            route.mapVersion == graph.mapVersion
            ? graph.edges(route.edgeNames) : Array(repeating: nil, count: route.edges.count)
        var kinds: [RoadKind] = []
        var labels: [RoadLabel] = []
        var numbers: [Int] = []
        kinds.reserveCapacity(route.edges.count)
        numbers.reserveCapacity(route.edges.count)
        var wentByNumber = false
        route.forEachPiece { roadClass, flags, isNamedAlike in
            let goesByNumber = RoadLabel.goesByNumber(roadClass, flags)
            if !isNamedAlike || goesByNumber != wentByNumber {
                labels.append(RoadLabel(route.edges[kinds.count].attributes))
            }
            wentByNumber = goesByNumber
            kinds.append(RoadKind(roadClass: roadClass, flags: flags))
            numbers.append(labels.count - 1)
        }
        self.kinds = kinds
        self.labels = labels
        labelNumbers = numbers
    }

    /// Returns the names and signs of a route edge.
    func label(_ index: Int) -> RoadLabel { labels[labelNumbers[index]] }

    /// Whether a route edge has the same label as the one before it.
    func isLabelledAlike(_ index: Int) -> Bool { labelNumbers[index] == labelNumbers[index - 1] }

    /// Whether a route edge reaches the end of its graph edge.
    func reachesEnd(_ index: Int) -> Bool {
        guard let edge = resolved[index] else { return true }
        return route.edges[index].endOffset >= Double(graph.edgeLengths[edge.index]) - 0.5
    }

    /// Returns the node between the route edges `index - 1` and `index`; nil when the graph does not contain it, or at a waypoint inside an
    /// edge.
    func node(before index: Int) -> NodeIndex? {
        guard index > 0, let previous = resolved[index - 1], let next = resolved[index], reachesEnd(index - 1),
            route.edges[index].startOffset < 0.5, graph.edgeHeads[previous.index] == graph.edgeTails[next.index]
        else { return nil }
        return graph.edgeTails[next.index]
    }

    /// Returns the direction of travel at the end of a route edge, radians.
    func endBearing(_ index: Int) -> Double {
        if let edge = resolved[index], reachesEnd(index) { return Double(graph.edgeEndBearings[edge.index]) }
        let end = route.edges[index].routeOffset + route.edges[index].length
        return bearing(from: max(end - 15, route.edges[index].routeOffset), to: end)
    }

    /// Returns the direction of travel at the start of a route edge, radians.
    func startBearing(_ index: Int) -> Double {
        let edge = route.edges[index]
        if let known = resolved[index], edge.startOffset < 0.5 { return Double(graph.edgeStartBearings[known.index]) }
        return bearing(from: edge.routeOffset, to: min(edge.routeOffset + 15, edge.routeOffset + edge.length))
    }

    /// Returns the direction from one place of the route to another, radians; the segment's direction when they coincide.
    func bearing(from start: Double, to end: Double) -> Double {
        if end - start > 1, let first = route.line.coordinate(at: start), let last = route.line.coordinate(at: end),
            first != last
        {
            return Geodesy.bearing(from: first, to: last)
        }
        return route.line.bearing(at: start) ?? 0
    }

    /// Returns the label of the road after the start of a route edge. A nameless connection of less than `reach` metres takes the name of
    /// the road after it, if that begins before the edge `end`.
    func label(after index: Int, before end: Int, reach: Double = 40) -> RoadLabel {
        var label = label(index)
        var ahead = route.edges[index].length
        var next = index + 1
        while label.isUnnamed, next < end, ahead < reach {
            let other = self.label(next)
            (label.name, label.localNames) = (other.name, other.localNames)
            label.references = other.references
            label.prefersReference = other.prefersReference
            ahead += route.edges[next].length
            next += 1
        }
        return label
    }
}

extension RoadLabel {
    /// Creates the label of a road with the given attributes.
    init(_ attributes: RoadAttributes) {
        let references = RoadLabel.list(attributes.reference)
        // A border street has two names. A name that repeats the number is dropped, because sentences treat numbers differently from names.
        let names = RoadLabel.list(attributes.name).filter { name in
            !references.contains { RoadLabel.bareNumber($0).elementsEqual(RoadLabel.bareNumber(name)) }
        }
        self.init(
            name: names.joined(separator: " / "), references: references,
            destinations: RoadLabel.list(attributes.destination),
            destinationReferences: RoadLabel.signedReferences(attributes),
            prefersReference: RoadLabel.goesByNumber(attributes.roadClass, attributes.flags),
            localNames: names.isEmpty ? .none : attributes.localNames)
    }

    /// Returns the road numbers on the signs of a road, each once.
    private static func signedReferences(_ attributes: RoadAttributes) -> [String] {
        let joined = list(attributes.destinationReference)
        if attributes.destinationReferenceTo.isEmpty { return joined }
        return joined + list(attributes.destinationReferenceTo).filter { !joined.contains($0) }
    }

    /// Returns a road number without spaces and hyphens, which are written differently in names and numbers.
    private static func bareNumber(_ text: String) -> some Sequence<UInt8> {
        text.utf8.lazy.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "-") }
    }

    /// Whether instructions use the road's number: it has one, and no name or a number that takes precedence.
    var isCalledByNumber: Bool { !references.isEmpty && (name.isEmpty || prefersReference) }

    /// Whether instructions use a number of the road that is also on its signs.
    var isCalledBySignedNumber: Bool { isCalledByNumber && destinationReferences.contains(references[0]) }

    /// Whether another road has the name or number that instructions use for this one, regardless of affixes such as `North`.
    func isCalledLike(_ other: RoadLabel) -> Bool {
        if isCalledByNumber { return other.references.contains(references[0]) }
        if name == other.name { return true }
        let stem = NameAffixes.stem(of: name)
        return !stem.isEmpty && stem == NameAffixes.stem(of: other.name)
    }

    static func goesByNumber(_ roadClass: RoadClass, _ flags: RoadFlags) -> Bool {
        roadClass == .motorway && !flags.contains(.link)
    }

    static func list(_ text: String) -> [String] {
        // Fast path: most texts are a single entry without outer spaces.
        let bytes = text.utf8
        if bytes.isEmpty { return [] }
        if let first = bytes.first, let last = bytes.last, first > 0x20, last > 0x20, last < 0x80,
            !bytes.contains(UInt8(ascii: ";"))
        {
            return [text]
        }
        return parts(of: text) { $0 == ";" }
    }
}

/// Returns the turn from one direction (radians) to another in degrees, clockwise positive, −180 ... 180.
func degrees(from first: Double, to second: Double) -> Double {
    Angle.degrees(Angle.difference(from: first, to: second))
}
