import Glibc
import NavGeo
import NavMap
import NavMatching
import NavPositioning
import NavRouting

/// The placement of a position on the part of the route that the vehicle can have reached.
struct RoutePlacement {
    /// The kind of match between the position and the route.
    enum Kind {
        /// The vehicle is on an edge of the route within reach, in its direction.
        case onEdge
        /// The vehicle is on such an edge, but behind the predicted place.
        case behindPrediction
        /// The vehicle is on an edge of the route, but further ahead than it can have driven.
        case ahead
        /// The vehicle is on the road of an edge within reach, in the other direction.
        case opposite
        /// The nearest point within reach, without evidence from the vehicle's road.
        case nearby
    }

    var kind: Kind
    /// Metres from the route's start.
    var offset: Double
    /// Metres between the position and the route.
    var distance: Double
    /// Direction of the route there, radians clockwise from north.
    var bearing: Double
    /// Probability that the vehicle is on no edge of the route within reach, 0 ... 1.
    var strayProbability = 0.0
    /// The smallest angle between the vehicle's course and the parts of the route within the position's noise, radians; nil on the route's
    /// edges, and without a course.
    var leastSeparation: Double?

    /// Whether the place is expected from following the route.
    var isFollowing: Bool { kind == .onEdge || kind == .behindPrediction }
}

/// The vehicle's place along its route, which only moves forwards.
///
/// The cursor searches only the part of the route that the vehicle can have driven since it was last seen there, so that a loop or an
/// overlap further ahead cannot move it forwards. An edge beyond reach on the same leg is reported as a jump, which the monitor may accept.
/// The cursor does not decide whether the vehicle follows the route.
///
/// It moves back only to undo a prediction that was ahead of the vehicle, and never behind the place where the vehicle was last seen. A
/// prediction moves the cursor but passes no waypoint.
struct RouteCursor {
    private var route: Route
    var config: NavigatorConfig
    /// The first passage of each edge, and the next passage of the same edge for each passage.
    private var firstPassage: [EdgeKey: Int] = [:]
    private var nextPassage: ContiguousArray<Int?> = []
    /// Metres from the route's start.
    private(set) var offset = 0.0
    /// The offset at which the vehicle was last seen, not predicted.
    private var seen = 0.0
    /// The offset confirmed by fixes or odometry; a waypoint beyond it is not passed.
    private(set) var confirmed = 0.0
    /// Metres that the vehicle can have driven since the cursor last moved.
    private var driven = 0.0
    /// Whether the cursor followed the last position, so that the next one is expected just ahead.
    private var isFollowing = true
    /// Whether the vehicle has passed the leg's stop since the cursor last moved.
    private(set) var hasPassedStop = false
    private var last: (stamp: Timestamp, coordinate: Coordinate)?
    /// The last measured position.
    private var lastDecisive: (stamp: Timestamp, coordinate: Coordinate)?
    /// The highest plausible speed, m/s. A faster movement is a jump of the position: it does not pass a stop, and extends the reach by no
    /// more than this speed allows.
    private static let greatestSpeed = 80.0

    /// Creates a cursor at the route's start; `origin` is the vehicle's position when the route was requested.
    init(_ route: Route, config: NavigatorConfig, origin: VehiclePosition?) {
        self.route = route
        self.config = config
        last = origin.map { ($0.stamp, $0.coordinate) }
        lastDecisive = last
        index()
    }

    /// Continues on the same route after the ids of its edges have changed.
    mutating func adopt(_ renamed: Route) {
        route = renamed
        index()
    }

    private mutating func index() {
        var first: [EdgeKey: Int] = [:]
        var next = ContiguousArray<Int?>(repeating: nil, count: route.edges.count)
        for (index, edge) in route.edges.enumerated().reversed() {
            next[index] = first.updateValue(index, forKey: edge.key)
        }
        firstPassage = first
        nextPassage = next
    }

    /// Moves the times of the last positions when the clock is set, so that the step counts neither as a gap nor as a standstill.
    mutating func moveClock(by nanoseconds: Int64) {
        last?.stamp.move(by: nanoseconds)
        lastDecisive?.stamp.move(by: nanoseconds)
    }

    /// Places a position; the cursor stays where it is until ``advance(to:limit:by:)``.
    mutating func place(_ position: VehiclePosition, on graph: RoadGraph, leg: RouteLeg, stop: Coordinate)
        -> RoutePlacement
    {
        let moved = move(to: position, stop: stop)
        let legEnd = leg.routeOffset + leg.length
        // A fix may revert a prediction.
        let lower = max((position.isSeen ? seen : offset) - config.cursorBackwardReach, 0)
        let slack = slack(of: position)
        // The search extends past the leg's end only once the stop has been passed, so that a stop beside the road is not skipped.
        let end = isFollowing || hasPassedStop ? max(legEnd, offset + driven + slack) : legEnd
        let upper = max(min(offset + driven + config.cursorForwardReach, end), lower)
        var window = lower...upper
        var placement = locate(
            position, on: graph, within: window, drivable: lower...max(min(offset + driven + slack, upper), lower),
            legEnd: legEnd, expected: isFollowing ? offset + moved : offset)
        if position.isSeen, placement.kind == .nearby || placement.kind == .opposite,
            let road = position.road
        {
            let earlier = max(min(seen, lower) - config.cursorBackwardReach, 0)...upper
            if seen < lower,
                let hit = passage(of: road.edgeKey, at: road.offset, within: earlier, near: seen, position)
            {
                placement = self.placement(.behindPrediction, at: hit, position)
                window = earlier
            }
        }
        let isAgainst = position.road?.isAgainst ?? false
        placement.strayProbability = isAgainst ? 1 : strayProbability(position, on: graph, within: window)
        if placement.kind == .opposite || placement.kind == .nearby && !mayBeAhead(position, on: graph, of: upper) {
            // An off-road position is more uncertain than the receiver reports.
            let reach = position.road == nil ? 2 * slack : slack
            placement.leastSeparation = position.course.map {
                separation(of: $0, at: position.coordinate, reach: reach, within: window)
            }
        }
        return placement
    }

    private func locate(
        _ position: VehiclePosition, on graph: RoadGraph, within window: ClosedRange<Double>,
        drivable: ClosedRange<Double>,
        legEnd: Double, expected: Double
    ) -> RoutePlacement {
        guard let road = position.road else { return nearest(position, drivable, .nearby) }
        if road.isAgainst { return nearest(position, drivable, meets(road.edgeKey, window) ? .opposite : .nearby) }
        if let hit = passage(of: road.edgeKey, at: road.offset, within: window, near: expected, position) {
            return placement(.onEdge, at: hit, position)
        }
        if let opposite = graph.opposite(road.edge), meets(graph.key(of: opposite), window) {
            return nearest(position, drivable, .opposite)
        }
        let near = nearest(position, drivable, .nearby)
        let jumps = window.upperBound...max(legEnd, window.upperBound)
        guard
            let hit = passage(of: road.edgeKey, at: road.offset, within: jumps, near: window.upperBound, position),
            !isAt(near, position)
        else { return near }
        let ahead = placement(.ahead, at: hit, position)
        // On the edge that contains the leg's end, the vehicle may be beyond that end.
        return ahead.distance <= road.distance + slack(of: position) ? ahead : near
    }

    /// Whether a position fits the part of the route within reach: where the route crosses itself, both parts are near, and only further
    /// driving distinguishes them.
    private func isAt(_ placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        guard placement.distance <= config.deviationEdgeDistance else { return false }
        guard let course = position.course, (position.speed ?? 0) >= config.deviationCourseMinimumSpeed else {
            return true
        }
        return Angle.separation(course, placement.bearing) <= config.deviationCourse
    }

    /// Returns the matcher's total probability of the edges outside a part of the route.
    private func strayProbability(
        _ position: VehiclePosition, on graph: RoadGraph, within window: ClosedRange<Double>
    ) -> Double {
        var probability = 1.0
        for candidate in position.match.candidates where candidate.probability > RouteCursor.negligible {
            let key = graph.key(of: candidate.edge)
            if passage(of: key, at: candidate.offset, within: window, near: offset, position) != nil {
                probability -= candidate.probability
            }
        }
        return min(max(probability, 0), 1)
    }

    /// Whether a vehicle that is currently off the roads may have reached a later part of the route.
    private func mayBeAhead(_ position: VehiclePosition, on graph: RoadGraph, of upper: Double) -> Bool {
        guard position.road == nil else { return false }
        let later = upper...max(route.length, upper)
        return position.match.candidates.contains {
            $0.probability > RouteCursor.negligible
                && passage(of: graph.key(of: $0.edge), at: $0.offset, within: later, near: upper, position) != nil
        }
    }

    /// Returns the smallest angle between a course and the route around a place; π when the route is not nearby.
    ///
    /// At a corner, with an uncertain position, and where the route soon returns, several directions of the route fit.
    private func separation(
        of course: Double, at place: Coordinate, reach: Double, within window: ClosedRange<Double>
    ) -> Double {
        let line = route.line
        guard line.coordinates.count > 1 else { return 0 }
        let first = min(line.segment(at: window.lowerBound), line.coordinates.count - 2)
        let last = min(line.segment(at: window.upperBound), line.coordinates.count - 2, first + RouteCursor.mostPieces)
        let frame = LocalFrame(origin: place)
        let origin = LocalPoint(east: 0, north: 0)
        var least = Double.pi
        var start = frame.point(line.coordinates[first])
        for index in first...max(first, last) {
            let end = frame.point(line.coordinates[index + 1])
            defer { start = end }
            guard SegmentProjection(of: origin, start: start, end: end).distance <= reach else { continue }
            let along = end - start
            least = min(least, Angle.separation(course, atan2(along.east, along.north)))
        }
        return least
    }

    /// The maximum number of the line's segments searched around a place; bounds the work.
    private static let mostPieces = 200

    /// The probability below which a candidate affects no decision.
    private static let negligible = 0.001

    /// Moves the cursor to a placement, but not beyond `limit`.
    ///
    /// A fix reverts earlier predictions.
    mutating func advance(to placement: RoutePlacement, limit: Double, by position: VehiclePosition) {
        let isSeen = position.isSeen
        let least = isSeen || placement.kind == .behindPrediction ? seen : offset
        offset = max(least, min(placement.offset, limit))
        if isSeen { seen = offset }
        if position.isDecisive { confirmed = offset }
        if placement.offset <= limit {
            driven = 0
            hasPassedStop = false
        }
        isFollowing = placement.kind != .nearby
    }

    /// Records that the vehicle was not seen on the route; a given offset reverts a prediction beyond it, once.
    mutating func stay(atMost offset: Double? = nil) {
        isFollowing = false
        guard let offset else { return }
        self.offset = max(seen, min(offset, self.offset))
        seen = self.offset
    }

    /// Moves the cursor to the start of the next leg.
    mutating func skip(to offset: Double) {
        self.offset = max(self.offset, offset)
        seen = self.offset
        confirmed = self.offset
        hasPassedStop = false
    }

    /// Records that the vehicle passed the leg's stop and is some metres beyond it.
    mutating func passStop(by metres: Double) {
        hasPassedStop = true
        driven = metres
    }

    /// Whether a fix is so far behind the predicted place that the prediction was wrong.
    func isBehindPrediction(by placement: RoutePlacement, _ position: VehiclePosition) -> Bool {
        position.isSeen && offset > seen && placement.offset < offset - slack(of: position)
    }

    /// Returns the distance by which noise may move a position along the route, metres.
    func slack(of position: VehiclePosition) -> Double { config.cursorSlack + 2 * (position.sigma ?? 0) }

    /// Returns the metres driven since the last position: by speed or by distance, whichever is more.
    private mutating func move(to position: VehiclePosition, stop: Coordinate) -> Double {
        defer { last = (position.stamp, position.coordinate) }
        guard let last else { return 0 }
        let slack = slack(of: position)
        let seconds = min(max(position.stamp.seconds(since: last.stamp), 0), config.cursorLongestGap)
        // The last place may be a prediction that lags far behind, so the possible distance counts from the last measured position.
        let from = lastDecisive ?? last
        let farthest = Self.greatestSpeed * max(position.stamp.seconds(since: from.stamp), 0) + slack
        let straight = min(Geodesy.distance(last.coordinate, position.coordinate), farthest)
        let moved = max((position.speed ?? 0) * min(seconds, config.cursorSpeedValidity), straight)
        // At a standstill, position noise would accumulate; only the speed reveals creeping.
        let isStationary = straight <= slack && position.speed.map { $0 <= config.deviationMinimumSpeed } ?? false
        // The road may have been winding during a gap.
        let reach =
            seconds > config.cursorSpeedValidity
            ? max(moved, config.cursorGapSpeed * seconds)
            : 1.5 * (isStationary ? max(position.speed ?? 0, 0) * seconds : moved)
        driven = min(driven + reach, route.length)
        guard position.isDecisive else { return moved }
        let frame = LocalFrame(origin: position.coordinate)
        let passing = SegmentProjection(
            of: frame.point(stop), start: frame.point(from.coordinate), end: LocalPoint(east: 0, north: 0))
        if passing.distance <= slack, Geodesy.distance(from.coordinate, position.coordinate) <= farthest {
            hasPassedStop = true
        }
        lastDecisive = (position.stamp, position.coordinate)
        return moved
    }

    private func placement(_ kind: RoutePlacement.Kind, at offset: Double, _ position: VehiclePosition)
        -> RoutePlacement
    {
        let snapped = route.line.coordinate(at: offset) ?? position.coordinate
        return RoutePlacement(
            kind: kind, offset: offset, distance: Geodesy.distance(snapped, position.coordinate),
            bearing: route.line.bearing(at: offset) ?? 0)
    }

    private func nearest(_ position: VehiclePosition, _ window: ClosedRange<Double>, _ kind: RoutePlacement.Kind)
        -> RoutePlacement
    {
        guard let projection = route.line.project(position.coordinate, within: window) else {
            return placement(kind, at: offset, position)
        }
        return RoutePlacement(
            kind: kind, offset: projection.offset, distance: projection.distance,
            bearing: route.line.bearing(at: projection.offset) ?? 0)
    }

    /// Returns the best-fitting passage of an edge: a passage that includes the place is preferred to one that only ends near it, then the
    /// passage nearest to the expected offset.
    private func passage(
        of key: EdgeKey, at edgeOffset: Double, within window: ClosedRange<Double>, near expected: Double,
        _ position: VehiclePosition
    ) -> Double? {
        let reach = max(config.deviationMinimumDistance, slack(of: position))
        var best: (offset: Double, outside: Double, miss: Double)?
        var next = firstPassage[key]
        while let index = next {
            next = nextPassage[index]
            let edge = route.edges[index]
            let along = min(max(edgeOffset - edge.startOffset, 0), max(edge.length, 0))
            let offset = edge.routeOffset + along
            guard window.contains(offset) else { continue }
            // Once the vehicle has reached the stop that divides the edge, it is no longer on the route beyond it.
            let beyond = edgeOffset - edge.startOffset - along
            guard beyond <= reach || self.offset < offset - 1 else { continue }
            // Differences of up to a metre are ignored.
            let outside = max(abs(edgeOffset - edge.startOffset - along), 1)
            let miss = abs(offset - expected)
            if let best, (best.outside, best.miss) <= (outside, miss) { continue }
            best = (offset, outside, miss)
        }
        return best?.offset
    }

    private func meets(_ key: EdgeKey, _ window: ClosedRange<Double>) -> Bool {
        var next = firstPassage[key]
        while let index = next {
            next = nextPassage[index]
            let edge = route.edges[index]
            if edge.routeOffset <= window.upperBound, edge.routeOffset + edge.length >= window.lowerBound {
                return true
            }
        }
        return false
    }
}
