import NavGeo
import NavMap
import NavMatching
import NavRouting

/// Where a position lies in relation to the part of the route that the vehicle can have reached.
struct RoutePlacement {
    /// Metres from the route's start.
    var offset: Double
    /// Metres between the position and the route.
    var distance: Double
    /// The point on the route.
    var snapped: Coordinate
    /// Direction of the route there, radians clockwise from north.
    var bearing: Double
    /// The vehicle is on one of the route's edges within reach, in its direction.
    var isOnEdge: Bool
    /// The vehicle is on the road of such an edge, in the other direction.
    var isOnOpposite: Bool
    /// The edge is further ahead than the vehicle can have driven.
    var isAhead: Bool
}

/// Follows the vehicle along its route, forwards only.
///
/// The cursor looks at the part of the route that the vehicle can have driven since the last fix, so that a loop or an overlap further
/// ahead cannot draw it forwards; only an edge of the matcher that is not within reach, but later on the same leg, is accepted as a jump.
struct RouteCursor {
    private let route: Route
    private let edgesByKey: [EdgeKey: [Int]]
    /// Metres from the route's start.
    private(set) var offset = 0.0
    private var lastStamp: Timestamp?

    /// How far back noise may put the vehicle, metres.
    static let backwardReach = 80.0
    /// How far ahead of the driven distance it may be seen, metres.
    static let forwardReach = 100.0
    /// Fastest assumed speed for gaps in the fixes, m/s.
    static let gapSpeed = 45.0

    init(_ route: Route) {
        self.route = route
        var byKey: [EdgeKey: [Int]] = [:]
        for (index, edge) in route.edges.enumerated() { byKey[edge.key, default: []].append(index) }
        edgesByKey = byKey
    }

    /// Where the position lies, without moving there.
    func place(_ position: Sighting, opposite: EdgeKey?, leg: RouteLeg) -> RoutePlacement? {
        let elapsed = lastStamp.map { max(position.stamp.seconds(since: $0), 0) } ?? 0
        let speed = position.speed ?? RouteCursor.gapSpeed
        let legEnd = leg.routeOffset + leg.length
        let reach = max(speed * 1.5, elapsed > 10 ? RouteCursor.gapSpeed : 0) * min(elapsed, 600)
        let window =
            max(
                offset - RouteCursor.backwardReach, leg.routeOffset)...max(
                min(offset + reach + RouteCursor.forwardReach, legEnd), leg.routeOffset)
        let matched = position.road
        if let matched {
            let expected = offset + (position.speed ?? 0) * min(elapsed, 10)
            if let hit = hit(on: matched.edgeKey, edgeOffset: matched.offset, within: window, nearest: expected) {
                return placement(at: hit, of: position, onEdge: true)
            }
        }
        guard let projected = route.line.project(position.coordinate, within: window) else { return nil }
        var placement = placement(at: projected.offset, of: position, onEdge: false)
        placement.distance = projected.distance
        if matched != nil, let opposite, hit(on: opposite, edgeOffset: nil, within: window, nearest: offset) != nil {
            placement.isOnOpposite = true
        }
        if let matched, !placement.isOnOpposite, window.upperBound < legEnd,
            let ahead = hit(
                on: matched.edgeKey, edgeOffset: matched.offset, within: window.upperBound...legEnd,
                nearest: window.upperBound)
        {
            placement = self.placement(at: ahead, of: position, onEdge: true)
            placement.isAhead = true
        }
        return placement
    }

    /// Takes a placement over; the cursor never moves backwards.
    mutating func advance(to placement: RoutePlacement, at stamp: Timestamp) {
        offset = max(offset, placement.offset)
        lastStamp = stamp
    }

    /// Notes that time has passed without a usable placement.
    mutating func stay(at stamp: Timestamp) { lastStamp = stamp }

    private func hit(
        on key: EdgeKey, edgeOffset: Double?, within window: ClosedRange<Double>, nearest expected: Double
    ) -> Double? {
        var best: Double?
        for index in edgesByKey[key] ?? [] {
            let edge = route.edges[index]
            let along = min(max((edgeOffset ?? edge.startOffset) - edge.startOffset, 0), edge.length)
            let candidate = edge.routeOffset + along
            let touches =
                edgeOffset == nil
                ? window.overlaps(edge.routeOffset...(edge.routeOffset + edge.length)) : window.contains(candidate)
            guard touches, abs(candidate - expected) < best.map({ abs($0 - expected) }) ?? .infinity else { continue }
            best = candidate
        }
        return best
    }

    private func placement(at offset: Double, of position: Sighting, onEdge: Bool) -> RoutePlacement {
        let snapped = route.line.coordinate(at: offset) ?? position.coordinate
        return RoutePlacement(
            offset: offset, distance: Geodesy.distance(snapped, position.coordinate), snapped: snapped,
            bearing: route.line.bearing(at: offset) ?? 0, isOnEdge: onEdge, isOnOpposite: false, isAhead: false)
    }
}
