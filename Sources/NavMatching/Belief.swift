import Glibc
import NavGeo
import NavMap
import NavRouting

/// A place on a road where the vehicle may be.
struct Place {
    var edge: EdgeIndex
    /// The same road in the other direction, or ``RoadGraph/noEdge``.
    var opposite: EdgeIndex
    /// The state on the edge, with what turn restrictions need of the past.
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
    /// Log likelihood of the fix from here.
    var emission = 0.0
    /// Log probability given all fixes.
    var forward = 0.0
    /// Log probability of the most probable history that ends here, relative to the best of all.
    var best = 0.0
    /// The place's number when the belief was made; it stays when others are dropped later.
    var node = 0
    /// The ``node`` before in that history.
    var parent = Belief.noParent
    /// The stretches driven since, in the step's pool.
    var stretches = 0..<0
    /// When and where the fix was taken that put the vehicle here.
    var origin: Waymark
    /// How many later fixes were taken to tell nothing.
    var holds = 0

    /// A place that a lookup found, in the direction of the hit or the other one.
    init(_ hit: RoadFinder.Hit, isOpposite: Bool, bearing: Double, coordinate: Coordinate, origin: Waymark) {
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

/// What the fixes up to one of them say: places on roads, or none of them.
struct Belief {
    static let noParent = -1

    var places: ContiguousArray<Place> = []
    /// The possibility of being on no mapped road.
    var offRoadForward = 0.0
    var offRoadBest = 0.0
    var offRoadParent = Belief.noParent
    /// Its number, the count of places when the belief was made.
    var offRoadNode = 0

    /// Places less likely than this share of everything are forgotten: e^-14, less than one in a million.
    static let negligible = -14.0

    var offRoadProbability: Double { exp(offRoadForward) }

    /// Forgets everything.
    mutating func clear() {
        places.removeAll(keepingCapacity: true)
        offRoadForward = 0
        offRoadBest = 0
        offRoadParent = Belief.noParent
    }

    /// Gives the places their numbers.
    mutating func number() {
        for index in places.indices { places[index].node = index }
        offRoadNode = places.count
    }

    /// Makes the probabilities sum to one and forgets the negligible.
    mutating func normalise() {
        var sum = LogSum()
        var best = offRoadBest
        sum.add(offRoadForward)
        for place in places {
            sum.add(place.forward)
            best = max(best, place.best)
        }
        let total = sum.value
        offRoadForward -= total
        offRoadBest -= best
        var kept = 0
        places.withUnsafeMutableBufferPointer { places in
            for index in 0..<places.count {
                places[index].forward -= total
                places[index].best -= best
                guard places[index].forward >= Belief.negligible || places[index].best >= Belief.negligible else {
                    continue
                }
                if kept != index { places[kept] = places[index] }
                kept += 1
            }
        }
        places.removeSubrange(kept...)
    }
}

/// Sums probabilities given as logarithms without leaving the range of numbers.
struct LogSum {
    private var greatest = -Double.infinity
    private var sum = 0.0

    /// What is smaller than the rest by more than this is lost in rounding: e^-37 is less than the last bit of 1.
    private static let vanishing = -37.0

    @inline(__always)
    mutating func add(_ log: Double) {
        if log <= greatest {
            let difference = log - greatest
            if difference > LogSum.vanishing { sum += exp(difference) }
        } else if log > -.infinity {
            let difference = greatest - log
            sum = difference > LogSum.vanishing ? sum * exp(difference) + 1 : 1
            greatest = log
        }
    }

    @inline(__always)
    var value: Double { sum > 0 ? greatest + log(sum) : -.infinity }
}
