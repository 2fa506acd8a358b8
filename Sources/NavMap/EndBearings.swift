internal import NavGeo
import Synchronization

/// The directions in which an edge begins and ends, radians clockwise from north.
struct EndBearings {
    let start: Float
    let end: Float

    /// Measures the bearings over the first and last metres, so that a short stub at a kerb does not distort a turn's angle.
    ///
    /// - Parameter shape: The points of the edge in travel order, at least 2, with indexes from 0.
    init<Shape: RandomAccessCollection>(_ shape: Shape) where Shape.Element == FixedCoordinate, Shape.Index == Int {
        let reach = 15.0
        let last = shape.count - 1
        func pointsWithin(_ order: (Int) -> Int) -> Int {
            var index = 1
            if last == 1 { return index }
            let origin = shape[order(0)].coordinate
            while index < last, Geodesy.distance(origin, shape[order(index)].coordinate) < reach { index += 1 }
            return index
        }
        let (near, far) = (pointsWithin { $0 }, last - pointsWithin { last - $0 })
        start = Float(Geodesy.bearing(from: shape[0].coordinate, to: shape[near].coordinate))
        // On most edges both are the bearing from end to end.
        end =
            near == last && far == 0
            ? start : Float(Geodesy.bearing(from: shape[far].coordinate, to: shape[last].coordinate))
    }
}

/// The end bearings of a tile's edges, computed on first use; concurrent callers wait.
///
/// The computation takes half as long as joining the tiles; the result takes 8 bytes for each edge.
final class LazyEndBearings: Sendable {
    private let made = Mutex<ContiguousArray<EndBearings>?>(nil)

    func callAsFunction(_ tile: RoadTile) -> ContiguousArray<EndBearings> {
        made.withLock { made in
            if let made { return made }
            let bearings = ContiguousArray(tile.edges.lazy.map { EndBearings(EdgeShape(tile: tile, record: $0)) })
            made = bearings
            return bearings
        }
    }
}
