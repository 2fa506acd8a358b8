import Glibc
import NavGeo
import NavMap
import NavMatching
import NavRouting

/// A place on the turn graph.
struct RoadPlace: Sendable {
    var edge: EdgeIndex
    /// The state on the edge, including the history that turn restrictions depend on.
    var state: TurnState
    /// Metres from the edge's start.
    var offset: Double

    init(edge: EdgeIndex, offset: Double) {
        self.edge = edge
        state = edge.rawValue
        self.offset = offset
    }

    init(edge: EdgeIndex, state: TurnState, offset: Double) {
        self.edge = edge
        self.state = state
        self.offset = offset
    }
}

/// An exit from the end of an edge.
struct RoadExit {
    var state: TurnState
    var edge: EdgeIndex
    var weight: Double
    var isRoute: Bool
}

/// The roads ahead of a driver, with their connections and driving speeds.
struct RoadAhead {
    let metric: Metric
    let prior: RoutePrior?

    /// The turning angle that makes an exit less likely by a factor of e, radians: at a crossing, two of ten vehicles turn off.
    private static let turnScale = 0.8
    /// The factor for an exit to another road class, or onto or off a ramp.
    private static let otherClass = 0.4
    /// The factor for the route: of ten guided drivers, nine follow it where two exits are alike.
    private static let routeFactor = 9.0

    /// Comfortable acceleration, m/s² (ISO 15622 allows 2).
    static let acceleration = 1.3
    /// Comfortable deceleration, m/s² (ITE, Traffic Engineering Handbook: at most 3 is comfortable).
    private static let deceleration = 1.8
    /// Lateral acceleration that drivers accept in bends, m/s² (comfortable: 2 to 2.5).
    private static let lateralAcceleration = 2.2
    /// Slowest speed in a bend, m/s.
    private static let cornerSpeed = 2.5
    /// The bend at a point below which it is an artefact of the mapping, radians.
    private static let straightness = 0.05
    /// Half the length over which a bend at one point is driven, metres: a mapped corner is rounded in reality.
    private static let cornerReach = 5.0...30.0
    /// The maximum number of points examined ahead; bounds the work.
    private static let maximumPoints = 200
    private static let maximumEdges = 40

    // MARK: Exits

    /// Calls `body` with each exit from the end of an edge, without U-turns.
    func exits(of place: RoadPlace, _ body: (RoadExit) -> Void) {
        let turns = metric.turns
        let graph = turns.graph
        let opposite = graph.opposite(place.edge)
        let bearing = Double(graph.edgeEndBearings[place.edge.index])
        let traits = graph.traits(of: place.edge)
        let isRoute = prior?.contains(place.edge) ?? false
        for arc in turns.arcs(from: place.state) where metric.cost(ofArc: arc) != Metric.forbidden {
            let state = turns.target(of: arc)
            let next = turns.edge(of: state)
            guard next != opposite, metric.allows(next) else { continue }
            let onRoute = isRoute && (prior?.contains(next) ?? false)
            let angle = Angle.separation(bearing, Double(graph.edgeStartBearings[next.index]))
            var weight = exp(-angle / RoadAhead.turnScale)
            let other = graph.traits(of: next)
            if other.roadClass != traits.roadClass || other.flags.contains(.link) != traits.flags.contains(.link) {
                weight *= RoadAhead.otherClass
            }
            if onRoute { weight *= RoadAhead.routeFactor }
            body(RoadExit(state: state, edge: next, weight: weight, isRoute: onRoute))
        }
    }

    /// Returns the most likely exit: the route's, otherwise the straightest onto a similar road.
    func mainExit(of place: RoadPlace) -> RoadExit? {
        var best: RoadExit?
        exits(of: place) { exit in
            guard let other = best else { return best = exit }
            if exit.isRoute != other.isRoute ? exit.isRoute : exit.weight > other.weight { best = exit }
        }
        return best
    }

    /// Returns the place some metres ahead along the most likely exits.
    func place(_ metres: Double, from start: RoadPlace) -> RoadPlace {
        var place = start
        place.offset += max(metres, 0)
        for _ in 0..<RoadAhead.maximumEdges {
            let length = Double(metric.turns.graph.edgeLengths[place.edge.index])
            guard place.offset > length, let next = mainExit(of: place) else { break }
            place = RoadPlace(edge: next.edge, state: next.state, offset: place.offset - length)
        }
        return place
    }

    func isTunnel(_ edge: EdgeIndex) -> Bool { metric.turns.graph.traits(of: edge).flags.contains(.tunnel) }

    // MARK: Speeds

    /// Returns the free-flow speed on an edge, m/s.
    func freeSpeed(of edge: EdgeIndex) -> Double {
        let length = Double(metric.turns.graph.edgeLengths[edge.index])
        let duration = metric.freeFlowDuration(of: edge, from: 0, to: length)
        return duration > 0 && length > 0 ? min(max(length / duration, 1), 70) : 10
    }

    /// Returns the speed at which a driver passes a place, m/s: the driver's pace on that road, limited so that the
    /// vehicle can brake for bends and slower roads ahead.
    ///
    /// Also returns the limit due to bends alone for a typical driver.
    func speed(at start: RoadPlace, _ pace: DriverPace) -> (expected: Double, inBends: Double) {
        let graph = metric.turns.graph
        let share = min(max(pace.share, 0.75), 1.2)
        // The examined stretch is short enough for a local plane.
        let frame = LocalFrame(origin: graph.shape(of: start.edge)[0].coordinate)
        var place = start
        var lowest = pace.speed(onRoad: freeSpeed(of: place.edge))
        var inBends = Double.infinity
        /// Metres from the start to the examined point.
        var ahead = -place.offset
        var points = 0
        var before: (bearing: Double, length: Double)?
        for _ in 0..<RoadAhead.maximumEdges {
            let shape = graph.shape(of: place.edge)
            var point = frame.point(shape[0].coordinate)
            for index in 1..<max(shape.count, 1) {
                let next = frame.point(shape[index].coordinate)
                let length = (next - point).length
                // Segments behind the vehicle are skipped, but the direction of the last segment is needed.
                if ahead + length >= 0 {
                    let bearing = atan2(next.east - point.east, next.north - point.north)
                    if let before, ahead >= 0 {
                        let corner = RoadAhead.speed(inBend: before, (bearing, length))
                        inBends = min(inBends, RoadAhead.speed(before: ahead, of: corner))
                        lowest = min(lowest, RoadAhead.speed(before: ahead, of: corner * share))
                    }
                    before = (bearing, length)
                    points += 1
                }
                ahead += length
                point = next
            }
            // Nothing further ahead can force braking here.
            guard ahead < lowest * lowest / (2 * RoadAhead.deceleration), points < RoadAhead.maximumPoints,
                let exit = mainExit(of: place)
            else { break }
            place = RoadPlace(edge: exit.edge, state: exit.state, offset: 0)
            let next = pace.speed(onRoad: freeSpeed(of: place.edge))
            lowest = min(lowest, RoadAhead.speed(before: max(ahead, 0), of: next))
        }
        return (max(lowest, RoadAhead.cornerSpeed * share), inBends)
    }

    /// Returns the speed from which a driver can brake to a target speed within a distance, m/s.
    private static func speed(before metres: Double, of target: Double) -> Double {
        (target * target + 2 * deceleration * metres).squareRoot()
    }

    /// Returns the speed in the bend between two segments, on the circle tangent to both.
    private static func speed(
        inBend first: (bearing: Double, length: Double), _ second: (bearing: Double, length: Double)
    ) -> Double {
        let bend = Angle.separation(first.bearing, second.bearing)
        guard bend > straightness else { return .infinity }
        let reach = min(
            max(min(first.length, second.length) / 2, cornerReach.lowerBound), cornerReach.upperBound)
        let radius = reach / tan(min(bend, 3) / 2)
        return max((lateralAcceleration * radius).squareRoot(), cornerSpeed)
    }
}
