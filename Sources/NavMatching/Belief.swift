import Glibc
import NavGeo
import NavMap
import NavRouting

/// A place on a road where the vehicle may be.
struct Place {
    var edge: EdgeIndex
    /// The opposite edge, or ``RoadGraph/noEdge``.
    var opposite: EdgeIndex
    /// The state on the edge, including the history that turn restrictions depend on.
    var state: TurnState
    /// Segment of the edge's shape.
    var segment: Int32
    /// Metres from the edge's start.
    var offset: Double
    /// Metres from the edge's start to its end.
    var length: Double
    /// Metres from the fix.
    var distance: Double
    var coordinate: Coordinate
    /// Direction of the road.
    var bearing: Double
    /// Log likelihood of the fix given this place.
    var emission = 0.0
    /// Probability given all fixes.
    var probability = 0.0
    /// Log probability of the most probable history that ends here, relative to the best of all.
    var best = 0.0
    /// The place's index when the belief was computed; unaffected when other places are dropped.
    var node: Int32 = 0
    /// The ``node`` of the previous step in that history.
    var parent = Belief.noParent
    /// The stretches driven since the previous step: the first one in the step's pool and their count.
    var firstStretch: Int32 = 0
    var stretchCount: Int32 = 0
    /// The time and position of the fix that the place is derived from.
    var origin: MovementReference
    /// The number of later fixes that were treated as outliers.
    var holds: Int32 = 0

    /// Creates a place from a lookup, in the hit's direction or in the opposite one.
    init(_ hit: RoadFinder.Hit, isOpposite: Bool, bearing: Double, coordinate: Coordinate, origin: MovementReference) {
        self.origin = origin
        edge = isOpposite ? hit.opposite : hit.edge
        opposite = isOpposite ? hit.edge : hit.opposite
        state = edge.rawValue
        segment = Int32(isOpposite ? hit.segmentCount - 1 - hit.segment : hit.segment)
        offset = isOpposite ? max(hit.length - hit.offset, 0) : hit.offset
        length = hit.length
        distance = hit.distance
        self.coordinate = coordinate
        self.bearing = bearing
    }
}

/// The belief after a fix: a probability distribution over places on roads and "on no mapped road".
struct Belief {
    static let noParent: Int32 = -1

    var places: ContiguousArray<Place> = []
    /// The probability of being on no mapped road.
    var offRoadProbability = 1.0
    /// Log probability of the most probable history that ends off the roads, relative to the best of all.
    var offRoadBest = 0.0
    var offRoadParent = Belief.noParent
    /// The index of the off-road state: the number of places when the belief was computed.
    var offRoadNode: Int32 = 0

    /// The log probability, relative to the best, below which histories are dropped: e^-14, less than one in a million.
    static let negligible = -14.0
    /// The same threshold as a probability, for places.
    private static let negligibleProbability = exp(negligible)

    mutating func clear() {
        places.removeAll(keepingCapacity: true)
        offRoadProbability = 1
        offRoadBest = 0
        offRoadParent = Belief.noParent
    }

    mutating func number() {
        for index in places.indices { places[index].node = Int32(index) }
        offRoadNode = Int32(places.count)
    }

    /// Drops negligible places and scales the remaining probabilities to a sum of one.
    mutating func normalise() {
        var total = offRoadProbability
        var best = offRoadBest
        for index in 0..<places.count {
            total += places[index].probability
            best = max(best, places[index].best)
        }
        let negligible = total * Belief.negligibleProbability
        let kept = places.withUnsafeMutableBufferPointer { places in
            var kept = 0
            for index in 0..<places.count {
                guard places[index].probability >= negligible || places[index].best - best >= Belief.negligible else {
                    total -= places[index].probability
                    continue
                }
                if kept != index { places[kept] = places[index] }
                kept += 1
            }
            for index in 0..<kept {
                places[index].probability /= total
                places[index].best -= best
            }
            return kept
        }
        offRoadProbability /= total
        offRoadBest -= best
        places.removeLast(places.count - kept)
    }
}
