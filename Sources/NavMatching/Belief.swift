import Glibc
import NavGeo
import NavMap
import NavRouting

/// A place on a road where the vehicle may be.
struct Place {
    var edge: EdgeIndex
    /// The state on the edge, with what turn restrictions need of the past.
    var state: TurnState
    /// Metres from the edge's start.
    var offset: Double
    /// Metres from the fix.
    var distance: Double
    var coordinate: Coordinate
    /// Direction of the road.
    var bearing: Double
    /// Segment of the edge's shape.
    var segment: Int
    /// Log probability given all fixes.
    var forward = 0.0
    /// Log probability of the most probable history that ends here, relative to the best of all.
    var best = 0.0
    /// The place before in that history.
    var parent = Belief.noParent
    /// The stretches driven since, in the step's pool.
    var stretches = 0..<0
    /// When and where the fix was taken that put the vehicle here.
    var origin: Waymark
    /// How many later fixes were taken to tell nothing.
    var holds = 0

    init(_ hit: EdgeProjection, origin: Waymark) {
        self.origin = origin
        edge = hit.edge
        state = hit.edge.rawValue
        offset = hit.offset
        distance = hit.distance
        coordinate = hit.coordinate
        bearing = hit.bearing
        segment = hit.segment
    }
}

/// What the fixes up to one of them say: places on roads, or none of them.
struct Belief {
    static let noParent = -1

    var places: ContiguousArray<Place> = []
    /// The possibility of being on no mapped road; its number as a parent is the count of places.
    var offRoadForward = 0.0
    var offRoadBest = 0.0
    var offRoadParent = Belief.noParent

    /// Places less likely than this share of everything are forgotten: e^-20.
    static let negligible = -20.0

    var offRoadProbability: Double { exp(offRoadForward) }

    /// The most probable place; the first of equals.
    var bestPlace: Int? {
        places.indices.max {
            places[$0].forward < places[$1].forward || places[$0].forward == places[$1].forward && $0 > $1
        }
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
        for index in places.indices {
            places[index].forward -= total
            places[index].best -= best
        }
        offRoadForward -= total
        offRoadBest -= best
        places.removeAll { $0.forward < Belief.negligible && $0.best < Belief.negligible }
    }
}

/// Sums probabilities given as logarithms without leaving the range of numbers.
struct LogSum {
    private var greatest = -Double.infinity
    private var sum = 0.0

    @inline(__always)
    mutating func add(_ log: Double) {
        guard log > -.infinity else { return }
        if log <= greatest {
            sum += exp(log - greatest)
        } else {
            sum = sum * exp(greatest - log) + 1
            greatest = log
        }
    }

    @inline(__always)
    var value: Double { sum > 0 ? greatest + log(sum) : -.infinity }
}
