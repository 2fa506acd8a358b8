import NavGeo
public import NavMap

extension Metric {
    /// Creates the same costs without some edges.
    ///
    /// Copies the costs, which takes a millisecond for a city, for a search without a hierarchy. For a lasting
    /// exclusion, customise a hierarchy instead: ``HierarchyMetric/init(_:_:forEach:)``.
    public convenience init(_ base: Metric, excluding edges: [EdgeIndex]) {
        self.init(base, live: nil, closed: edges)
    }

    /// Creates the same costs without the excluded edges and areas of some options.
    ///
    /// An area extends at most ``ExcludedArea/greatestReach`` from its middle.
    public convenience init(_ base: Metric, excluding options: RouteOptions) {
        let graph = base.turns.graph
        var edges = options.excludedEdges.compactMap { graph.edge($0) }
        for area in options.excludedAreas
        where area.rings.allSatisfy({ $0.count >= 3 && $0.allSatisfy(\.isValid) }) {
            let shape = AreaShape(area)
            let reach = min(shape.reach, ExcludedArea.greatestReach)
            for hit in graph.edges(near: shape.frame.origin, radius: reach) where shape.meets(graph.shape(of: hit.edge))
            {
                edges.append(hit.edge)
            }
        }
        self.init(base, excluding: edges)
    }
}

/// An area as a polygon on the plane around its middle.
struct AreaShape {
    let frame: LocalFrame
    /// The outline, and the holes.
    private let rings: [[LocalPoint]]
    /// The greatest distance of a corner from the middle, metres.
    let reach: Double

    init(_ area: ExcludedArea) {
        let first = area.corners.first ?? Coordinate(latitude: 0, longitude: 0)
        // Averaged relative to the first corner, so that an area across the antimeridian stays in one piece.
        let local = LocalFrame(origin: first)
        let points = area.corners.map { local.point($0) }
        let count = Double(max(points.count, 1))
        let middle = LocalPoint(
            east: points.reduce(0) { $0 + $1.east } / count, north: points.reduce(0) { $0 + $1.north } / count)
        let centre = local.coordinate(of: middle)
        frame = LocalFrame(origin: centre.isValid ? centre : first)
        var placed: [[LocalPoint]] = []
        for ring in area.rings { placed.append(ring.map(frame.point)) }
        rings = placed
        // Slightly more than the farthest corner, because the search around the middle measures on another plane.
        reach = (placed.joined().map(\.length).max() ?? 0) * 1.01 + 1
    }

    /// Whether a point of an edge's geometry lies inside, and in no hole.
    func meets(_ shape: EdgeShape) -> Bool {
        var previous = frame.point(shape[0].coordinate)
        if contains(previous) { return true }
        for index in 1..<shape.count {
            let point = frame.point(shape[index].coordinate)
            if contains(point) || crosses(previous, point) { return true }
            previous = point
        }
        return false
    }

    func contains(_ point: LocalPoint) -> Bool {
        isInside(rings[0], point) && !rings.dropFirst().contains { isInside($0, point) }
    }

    /// Whether each hole begins within the outline.
    var holesAreInside: Bool { rings.dropFirst().allSatisfy { isInside(rings[0], $0[0]) } }

    /// Applies the even-odd rule.
    private func isInside(_ corners: [LocalPoint], _ point: LocalPoint) -> Bool {
        var isInside = false
        var previous = corners[corners.count - 1]
        for corner in corners {
            if (corner.north > point.north) != (previous.north > point.north) {
                let fraction = (point.north - corner.north) / (previous.north - corner.north)
                if point.east < corner.east + (previous.east - corner.east) * fraction { isInside.toggle() }
            }
            previous = corner
        }
        return isInside
    }

    private func crosses(_ start: LocalPoint, _ end: LocalPoint) -> Bool {
        rings.contains { crosses(start, end, $0) }
    }

    private func crosses(_ start: LocalPoint, _ end: LocalPoint, _ corners: [LocalPoint]) -> Bool {
        func side(_ a: LocalPoint, _ b: LocalPoint, _ c: LocalPoint) -> Double {
            (b.east - a.east) * (c.north - a.north) - (b.north - a.north) * (c.east - a.east)
        }
        var previous = corners[corners.count - 1]
        for corner in corners {
            if side(start, end, previous) * side(start, end, corner) <= 0,
                side(previous, corner, start) * side(previous, corner, end) <= 0,
                max(min(start.east, end.east), min(previous.east, corner.east))
                    <= min(max(start.east, end.east), max(previous.east, corner.east)),
                max(min(start.north, end.north), min(previous.north, corner.north))
                    <= min(max(start.north, end.north), max(previous.north, corner.north))
            {
                return true
            }
            previous = corner
        }
        return false
    }
}
