import NavGeo

/// The relation of a vehicle to its route.
enum RouteRelation {
    /// On the route, in its direction or without a known direction.
    case along
    /// On the route, against its direction.
    case back
    /// Beside the route.
    case away
}

/// A finder of the relation of a true position to a route, which searches near the previous position first.
struct RouteFollower {
    private let truth: Truth
    private let line: NavGeo.Polyline
    /// The offset along the route nearest to the previous position.
    private var offset = 0.0
    /// Whether the latest motion leads back, cached because a stationary vehicle keeps the same motion for a long time.
    private var known: (motion: Truth.Motion, isBack: Bool)?

    /// The distance along a route around the last position within which the next one is searched first, metres; vehicles drive less between
    /// two positions.
    private static let reach = 100.0
    /// The least distance along the route of a motion in its direction, metres.
    private static let leastProgress = 1.0

    /// The distance along the route from the previous position to its end, metres.
    var remaining: Double { line.length - offset }

    init(_ truth: Truth, _ line: NavGeo.Polyline) { (self.truth, self.line) = (truth, line) }

    /// Returns the relation at a point of the truth.
    mutating func relation(at index: Int) -> RouteRelation {
        let place = truth.line.coordinates[index]
        let near = line.project(place, within: offset - Self.reach...offset + Self.reach)
        // The whole line is searched only when the place is not on the part around the last one.
        let isNear = near.map { $0.distance <= DriveFigures.leavingDistance } ?? false
        guard let hit = isNear ? near : line.project(place) else { return .along }
        offset = hit.offset
        guard hit.distance <= DriveFigures.leavingDistance else { return .away }
        guard let motion = truth.motions[index] else { return .along }
        if let known, known.motion == motion { return known.isBack ? .back : .along }
        let isBack = leadsBack(motion)
        known = (motion, isBack)
        return isBack ? .back : .along
    }

    /// Whether a motion ends on the route but follows none of the parts there in their direction; a route may pass a road twice.
    private func leadsBack(_ motion: Truth.Motion) -> Bool {
        let (from, to) = (truth.line.coordinates[motion.from], truth.line.coordinates[motion.to])
        let length = Geodesy.distance(from, to)
        let course = Geodesy.bearing(from: from, to: to)
        func isForward(_ end: Double) -> Bool {
            // The route may begin within the motion, so the offset along it may grow only slightly.
            if end < length {
                guard let bearing = line.bearing(at: end) else { return true }
                return Angle.separation(course, bearing) <= .pi / 2
            }
            // Along a winding road the distance may exceed that of the straight line.
            let range = end - 3 * length - 2 * DriveFigures.leavingDistance...end
            guard let start = line.project(from, within: range) else { return true }
            return end - start.offset >= Self.leastProgress
        }
        let around = offset - Self.reach...offset + Self.reach
        if line.offsets(near: to, within: around).contains(where: isForward) { return false }
        let ends = line.offsets(near: to, within: 0...line.length)
        return !ends.isEmpty && !ends.contains(where: isForward)
    }
}

extension NavGeo.Polyline {
    /// Returns the nearest point of each segment in a range on which a vehicle at `place` may be, as metres from the line's start.
    fileprivate func offsets(near place: NavGeo.Coordinate, within range: ClosedRange<Double>) -> [Double] {
        guard coordinates.count > 1 else { return [] }
        let frame = LocalFrame(origin: place)
        let first = segment(at: range.lowerBound)
        var start = frame.point(coordinates[first])
        var found: [Double] = []
        for index in first...segment(at: range.upperBound) {
            let end = frame.point(coordinates[index + 1])
            let hit = SegmentProjection(of: LocalPoint(east: 0, north: 0), start: start, end: end)
            start = end
            guard hit.distance <= DriveFigures.leavingDistance else { continue }
            let length = cumulativeLengths[index + 1] - cumulativeLengths[index]
            found.append(cumulativeLengths[index] + hit.fraction * length)
        }
        return found
    }
}
