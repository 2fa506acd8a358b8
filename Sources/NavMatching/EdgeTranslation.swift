package import NavGeo
package import NavMap

/// Finds the edges of one graph in another.
package struct EdgeTranslation {
    private let old: RoadGraph
    private let new: RoadGraph
    private let sameMap: Bool

    /// The greatest distance of an edge from its place in another version of the map, metres.
    private static let reach = 5.0

    package init(from old: RoadGraph, to new: RoadGraph) {
        self.old = old
        self.new = new
        sameMap = old.mapVersion == new.mapVersion
    }

    /// A place in the other graph; nil when that does not have its edge.
    func place(_ place: Place) -> Place? {
        guard let edge = edge(place.edge, at: place.coordinate) else { return nil }
        var place = place
        place.edge = edge
        place.opposite = new.opposite(edge) ?? RoadGraph.noEdge
        place.state = edge.rawValue
        place.length = Double(new.edgeLengths[edge.index])
        place.offset = min(place.offset, place.length)
        return place
    }

    /// The same edge; nil when the other graph does not have it. In the same version of the map it has the same key; in another one it is
    /// the edge of the same way that leads in the same direction there.
    package func edge(_ edge: EdgeIndex, at coordinate: Coordinate) -> EdgeIndex? {
        if sameMap { return new.edge(old.key(of: edge)) }
        let wayID = old.wayID(of: edge)
        guard let bearing = old.project(coordinate, onto: edge)?.bearing else { return nil }
        return new.edges(near: coordinate, radius: EdgeTranslation.reach).first {
            new.wayID(of: $0.edge) == wayID && Angle.separation($0.bearing, bearing) < 1
        }?.edge
    }
}
