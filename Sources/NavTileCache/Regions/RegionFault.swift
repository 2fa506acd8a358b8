/// A reason for which an area cannot be used for an offline region.
package enum RegionFault: Error, Sendable, Hashable {
    case empty
    /// A polygon has no ring, or a ring has fewer than three distinct corners.
    case degenerateRing(polygon: Int, ring: Int)
    /// A corner is not finite, not within ±180° of longitude, or beyond the projection's ±85.05° of latitude.
    case badCorner(polygon: Int, ring: Int, corner: Int)
    /// A ring does not return to its start because it goes around a pole.
    case aroundPole(polygon: Int, ring: Int)
    /// An edge leads from 180° west to 180° east, which are the same meridian.
    case edgeWithoutWidth(polygon: Int, ring: Int, corner: Int)
    /// There are more corners than ``RegionArea/greatestCornerCount``.
    case tooManyCorners(Int)
    /// A radius or a distance is not above 0, or is larger than ``RegionArea/greatestReach``.
    case badReach(Double)
    case tooManyTiles(zoom: UInt8, limit: Int)
    /// The outline is so winding that its tiles cannot be found with bounded work, even if they are few.
    case tooComplicated(zoom: UInt8)
}

extension RegionFault: CustomStringConvertible {
    /// The fault and what to do; polygons, rings and corners are numbered from 0.
    package var description: String {
        switch self {
        case .empty: "the area has no polygon; it needs at least one"
        case .degenerateRing(let polygon, let ring):
            "ring \(ring) of polygon \(polygon) has fewer than three distinct corners"
        case .badCorner(let polygon, let ring, let corner):
            "corner \(corner) of ring \(ring) of polygon \(polygon) is not within ±180° of longitude and ±85.05° of latitude"
        case .aroundPole(let polygon, let ring):
            "ring \(ring) of polygon \(polygon) encloses a pole, which an area cannot do"
        case .edgeWithoutWidth(let polygon, let ring, let corner):
            "the edge before corner \(corner) of ring \(ring) of polygon \(polygon) runs from one side of the "
                + "antimeridian to the other, which has no width; add corners in between"
        case .tooManyCorners(let limit): "the area has more than \(limit) corners; simplify it"
        case .badReach(let reach):
            "a reach of \(reach) m is invalid; it must be above 0 and at most \(Int(RegionArea.greatestReach)) m"
        case .tooManyTiles(let zoom, let limit):
            "the area has more than \(limit) tiles of zoom level \(zoom); use a smaller area or a lower zoom level"
        case .tooComplicated(let zoom):
            "the outline of the area is too complex for zoom level \(zoom); simplify it, or use a lower zoom level"
        }
    }
}
