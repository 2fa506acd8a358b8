package import NavGeo
package import NavMap

/// A translation of edges from one graph to another.
package struct EdgeTranslation {
    private let old: RoadGraph
    private let new: RoadGraph
    private let sameMap: Bool

    /// The greatest distance between an edge's geometries in two versions of the map, metres.
    private static let reach = 5.0

    package init(from old: RoadGraph, to new: RoadGraph) {
        self.old = old
        self.new = new
        sameMap = old.mapVersion == new.mapVersion
    }

    /// Returns a place in the other graph; nil when its edge is missing there.
    func place(_ place: Place) -> Place? {
        guard let edge = edge(place.edge, at: place.coordinate) else { return nil }
        var place = place
        place.edge = edge
        place.opposite = new.opposite(edge) ?? RoadGraph.noEdge
        place.state = edge.rawValue
        place.length = Double(new.edgeLengths[edge.index])
        place.offset = min(place.offset, place.length)
        // Another version may split the way into other edges with another geometry.
        if !sameMap, let there = new.project(place.coordinate, onto: edge) {
            (place.offset, place.segment) = (there.offset, Int32(there.segment))
            (place.coordinate, place.bearing) = (there.coordinate, there.bearing)
        }
        return place
    }

    /// Returns the place on the other graph that is `offset` metres from the start of an edge; nil when its edge is missing there.
    package func place(_ offset: Double, on edge: EdgeIndex) -> (edge: EdgeIndex, offset: Double)? {
        let coordinate = old.position(at: offset, of: edge).coordinate
        guard let found = self.edge(edge, at: coordinate) else { return nil }
        // Another version may split the way into other edges.
        return (found, sameMap ? offset : new.project(coordinate, onto: found)?.offset ?? 0)
    }

    /// Returns the edge in the other graph at the middle of an edge; nil when it is missing there.
    package func edge(_ edge: EdgeIndex) -> EdgeIndex? {
        place(Double(old.edgeLengths[edge.index]) / 2, on: edge)?.edge
    }

    /// Returns the same edge in the other graph; nil when it is missing there.
    ///
    /// In the same map version the edge keeps its key. In another version it is the edge of the same way in the same
    /// direction at that place.
    package func edge(_ edge: EdgeIndex, at coordinate: Coordinate) -> EdgeIndex? {
        if sameMap { return new.edge(old.key(of: edge)) }
        let wayID = old.wayID(of: edge)
        guard let bearing = old.project(coordinate, onto: edge)?.bearing else { return nil }
        return new.edges(near: coordinate, radius: EdgeTranslation.reach).first {
            new.wayID(of: $0.edge) == wayID && Angle.separation($0.bearing, bearing) < 1
        }?.edge
    }
}
