import Glibc
package import NavGeo

/// The perceived direction of a road that leaves a junction.
///
/// A mapped road starts at the centre line of the road that it leaves, so its first metres model the junction, not the road. The direction
/// is therefore measured beyond them where possible, with the distances of OSRM's guidance. Turn costs and instructions use it.
package struct RoadOutline {
    /// The width of a lane, metres.
    package static let laneWidth = 3.25
    /// The inaccuracy of mapped lines, metres.
    package static let inaccuracy = 2.0
    private static let nearReach = 10.0
    private static let farReach = 40.0
    /// The distance from a junction within which the lines of its roads matter, metres.
    package static let reach = 150.0

    /// The line from the junction on, in metres relative to it.
    package private(set) var points: [LocalPoint]

    package init(_ points: [LocalPoint]) { self.points = points }

    /// Creates an outline from a road's line, from a junction to at least `reach` metres from the frame's origin.
    ///
    /// - Parameters:
    ///   - count: The number of the line's points, at least 1.
    ///   - coordinate: Returns a point of the line; 0 is the junction.
    package init(_ frame: LocalFrame, reach: Double, count: Int, coordinate: (Int) -> Coordinate) {
        points = []
        take(frame, reach: reach, count: count, coordinate: coordinate)
    }

    /// Takes the line of another road in the same way, in the memory of the old one.
    package mutating func take(_ frame: LocalFrame, reach: Double, count: Int, coordinate: (Int) -> Coordinate) {
        points.removeAll(keepingCapacity: true)
        points.reserveCapacity(min(count, 16))
        for index in 0..<count {
            let point = frame.point(coordinate(index))
            if let last = points.last, last == point { continue }
            points.append(point)
            if abs(point.east) > reach || abs(point.north) > reach { break }
        }
        if points.count == 1 { points.append(LocalPoint(east: points[0].east, north: points[0].north + 0.01)) }
    }

    /// Takes the line of an edge in the same way, from its start on or, not `isOutwards`, from its end back.
    package mutating func take(
        _ edge: EdgeIndex, in graph: RoadGraph, isOutwards: Bool, _ frame: LocalFrame, reach: Double
    ) {
        let shape = graph.shape(of: edge)
        let last = shape.count - 1
        take(frame, reach: reach, count: shape.count) { shape[isOutwards ? $0 : last - $0].coordinate }
    }

    /// Returns the direction from one point to another, degrees clockwise from north.
    package static func bearing(_ start: LocalPoint, _ end: LocalPoint) -> Double {
        degrees(atan2(end.east - start.east, end.north - start.north))
    }

    private static func distance(_ a: LocalPoint, _ b: LocalPoint) -> Double {
        let (east, north) = (a.east - b.east, a.north - b.north)
        return (east * east + north * north).squareRoot()
    }

    /// Returns the place at a distance along the line, or its end if that is nearer.
    package func point(at distance: Double) -> LocalPoint {
        point(at: distance) { Self.distance(points[$0 - 1], points[$0]) }
    }

    /// Returns the same place, given the length of the segment that ends at each point.
    private func point(at distance: Double, lengthTo: (Int) -> Double) -> LocalPoint {
        var rest = distance
        for index in 1..<points.count {
            let length = lengthTo(index)
            if length >= rest, length > 0 {
                let share = rest / length
                return LocalPoint(
                    east: points[index - 1].east + share * (points[index].east - points[index - 1].east),
                    north: points[index - 1].north + share * (points[index].north - points[index - 1].north))
            }
            rest -= length
        }
        return points[points.count - 1]
    }

    /// The direction of the very first metres.
    package var initialBearing: Double { Self.bearing(points[0], point(at: Self.inaccuracy)) }

    /// The direction beyond the first metres, as far as the junction's surroundings reach; nil when the line ends before.
    package var laterBearing: Double? {
        guard length >= Self.farReach else { return nil }
        return Self.bearing(point(at: 0.5 * Self.farReach), point(at: Self.farReach))
    }

    /// Returns the perceived direction of a road, degrees clockwise from north, 0 ..< 360.
    ///
    /// - Parameter lanes: The largest number of lanes of the junction's roads; 0 when unknown.
    package func bearing(_ roadClass: RoadClass, _ flags: RoadFlags, lanes: Int) -> Double {
        let start = points[0]
        func towards(_ point: LocalPoint) -> Double { Self.bearing(start, point) }
        guard points.count > 2 else { return towards(points[points.count - 1]) }
        if flags.contains(.roundabout) { return towards(point(at: Self.inaccuracy)) }
        if roadClass == .service || roadClass == .track || roadClass == .ferry {
            return towards(point(at: Self.nearReach))
        }
        let width = Self.widthFactor(roadClass, flags) * Double(lanes == 0 ? 2 : lanes) * Self.laneWidth
        let first = Self.distance(points[0], points[1])
        if first > width + Self.nearReach { return towards(points[1]) }

        let near = trimmed(Self.farReach + width)
        let last = near.points.count - 1
        guard last > 1, near.length > Self.inaccuracy else { return towards(near.points[last]) }
        if near.deviation(0...last, from: start, to: near.points[last]) < 0.5 * Self.laneWidth,
            Self.distance(start, near.points[last]) > 0.1
        {
            return towards(near.points[last])
        }
        let (straightIndex, straightLength) = near.straightStart()
        if straightLength >= width + Self.nearReach { return towards(near.point(at: 5)) }
        if let line = near.regression(), line.deviation < 0.35 * Self.laneWidth {
            return corrected(line.start, line.end)
        }
        let offset = max(1, straightIndex)
        if near.isOffset(at: offset, width: width) { return corrected(near.points[offset], near.points[offset + 1]) }
        if near.isCurve { return corrected(near.point(at: 4), near.point(at: 6)) }
        let skipped = 0.64 * width
        if near.length >= 0.8 * width + 2, let line = near.dropping(skipped).regression(),
            line.deviation < 0.5 * Self.laneWidth
        {
            return corrected(line.start, line.end)
        }
        return towards(near.point(at: Self.nearReach))
    }

    /// Returns the direction between two places past the junction, with the line shifted most of the way to the road's beginning.
    private func corrected(_ base: LocalPoint, _ head: LocalPoint) -> Double {
        if Self.distance(base, head) < Self.inaccuracy { return Self.bearing(points[0], head) }
        let shift = LocalPoint(
            east: 0.9 * (base.east - points[0].east), north: 0.9 * (base.north - points[0].north))
        return Self.bearing(points[0], head - shift)
    }

    /// Returns a factor for the junction's width: exits of wide roads begin with a slant across all lanes.
    private static func widthFactor(_ roadClass: RoadClass, _ flags: RoadFlags) -> Double {
        if roadClass == .motorway || roadClass == .trunk { return 2.5 }
        return roadClass == .primary && !flags.contains(.link) ? 1.5 : 1
    }

    package var length: Double {
        var sum = 0.0
        for index in 1..<points.count { sum += Self.distance(points[index - 1], points[index]) }
        return sum
    }

    package func trimmed(_ length: Double) -> RoadOutline {
        var kept: [LocalPoint] = []
        kept.reserveCapacity(points.count)
        kept.append(points[0])
        var rest = length
        for index in 1..<points.count {
            let step = Self.distance(points[index - 1], points[index])
            if step >= rest {
                kept.append(point(at: length))
                return RoadOutline(kept)
            }
            rest -= step
            kept.append(points[index])
        }
        return RoadOutline(kept)
    }

    private func dropping(_ length: Double) -> RoadOutline {
        var rest = length
        for index in 1..<points.count {
            let step = Self.distance(points[index - 1], points[index])
            if step > rest { return RoadOutline([point(at: length)] + points[index...]) }
            rest -= step
        }
        return RoadOutline([points[points.count - 1]])
    }

    /// Returns the greatest distance of points from a segment.
    private func deviation(_ range: ClosedRange<Int>, from start: LocalPoint, to end: LocalPoint) -> Double {
        var greatest = 0.0
        let (east, north) = (end.east - start.east, end.north - start.north)
        let square = east * east + north * north
        for index in range {
            let (x, y) = (points[index].east - start.east, points[index].north - start.north)
            let share = square > 0 ? max(0, min(1, (x * east + y * north) / square)) : 0
            let (dx, dy) = (x - share * east, y - share * north)
            greatest = max(greatest, (dx * dx + dy * dy).squareRoot())
        }
        return greatest
    }

    /// Returns the straight part at the line's start: its last point and its length.
    private func straightStart() -> (index: Int, length: Double) {
        var length = Self.distance(points[0], points[1])
        var index = 2
        while index < points.count, deviation(0...index - 1, from: points[0], to: points[index]) < 0.25 * Self.laneWidth
        {
            length += Self.distance(points[index - 1], points[index])
            index += 1
        }
        return (index - 1, length)
    }

    /// Whether the line up to a point only crosses half of the junction, and is straight beyond it.
    private func isOffset(at index: Int, width: Double) -> Bool {
        guard index + 1 < points.count, length >= 0.4 * Self.farReach else { return false }
        let crossed = RoadOutline(Array(points[...index])).length
        guard crossed - 0.5 * width < Self.laneWidth, length - crossed >= 0.1 * length else { return false }
        return deviation(index...points.count - 1, from: points[index], to: points[points.count - 1])
            < 0.5 * Self.laneWidth
    }

    /// Whether the line turns to one side throughout.
    private var isCurve: Bool {
        let last = points.count - 1
        let turned = abs(Self.bearing(points[0], points[1]) - Self.bearing(points[last - 1], points[last]))
        guard min(turned, 360 - turned) > 20 else { return false }
        func side(_ index: Int) -> Bool {
            let (e, n) = (points[last].east - points[0].east, points[last].north - points[0].north)
            return e * (points[index].north - points[0].north) - n * (points[index].east - points[0].east) > 0
        }
        return (1..<last).allSatisfy { side($0) == side(1) }
    }

    /// Returns the best-fitting line through points 1 m apart, from beside the first to beside the last, with the points' deviation from
    /// it.
    private func regression() -> (start: LocalPoint, end: LocalPoint, deviation: Double)? {
        guard points.count > 1 else { return nil }
        let last = points.count - 1
        let lengths = (1...last).map { Self.distance(points[$0 - 1], points[$0]) }
        let length = lengths.reduce(0, +)
        let samples = max(2, Int(length.rounded(.down)) + 1)
        var (sumE, sumN, see, snn, sen) = (0.0, 0.0, 0.0, 0.0, 0.0)
        let step = length / Double(samples - 1)
        for sample in 0..<samples {
            let place = point(at: step * Double(sample)) { lengths[$0 - 1] }
            sumE += place.east
            sumN += place.north
            see += place.east * place.east
            snn += place.north * place.north
            sen += place.east * place.north
        }
        let count = Double(samples)
        let (e, n) = (sumE / count, sumN / count)
        let (ve, vn, c) = (see / count - e * e, snn / count - n * n, sen / count - e * n)
        // The principal axis of the points.
        let trace = ve + vn
        let root = max(0, (ve - vn) * (ve - vn) + 4 * c * c).squareRoot()
        let big = (trace + root) / 2
        var axis = abs(c) > 1e-12 ? (big - vn, c) : (ve >= vn ? (1.0, 0.0) : (0.0, 1.0))
        let norm = (axis.0 * axis.0 + axis.1 * axis.1).squareRoot()
        guard norm > 1e-9 else { return nil }
        axis = (axis.0 / norm, axis.1 / norm)
        let along = (points[last].east - points[0].east) * axis.0 + (points[last].north - points[0].north) * axis.1
        if along < 0 { axis = (-axis.0, -axis.1) }
        var greatest = 0.0
        for index in 0...last {
            greatest = max(greatest, abs((points[index].east - e) * axis.1 - (points[index].north - n) * axis.0))
        }
        func beside(_ point: LocalPoint) -> LocalPoint {
            let along = (point.east - e) * axis.0 + (point.north - n) * axis.1
            return LocalPoint(east: e + along * axis.0, north: n + along * axis.1)
        }
        return (beside(points[0]), beside(points[last]), greatest)
    }

    /// Returns radians as degrees, 0 ..< 360.
    private static func degrees(_ radians: Double) -> Double {
        let degrees = Angle.degrees(radians)
        return degrees < 0 ? degrees + 360 : degrees
    }
}
