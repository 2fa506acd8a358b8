package import NavGeo
package import NavMap
package import NavRouting
import Glibc

/// The true state of a simulated vehicle at a moment.
package struct DriveState: Sendable, Equatable {
    /// Seconds since the drive's start.
    package var time: Double
    /// Metres from the drive's start.
    package var offset: Double
    package var coordinate: Coordinate
    /// Direction of travel, radians clockwise from north.
    package var course: Double
    /// Speed, m/s.
    package var speed: Double
    /// The index of the edge in ``Drive/edges``.
    package var edge: Int
    /// Whether the vehicle reverses; its body then points against ``course``.
    package var reverses = false

    /// Direction of the body, radians clockwise from north.
    package var heading: Double { reverses ? Angle.normalised(course + .pi) : course }
}

/// A drive along a path of edges, with the speeds of a calm driver.
package struct Drive: Sendable {
    /// The edges driven, in order.
    package let edges: [EdgeIndex]
    package let line: Polyline

    /// Comfortable acceleration, m/s² (ISO 15622 allows 2; a calm driver takes less).
    package static let acceleration = 1.5
    /// Comfortable deceleration, m/s².
    package static let deceleration = 2.0
    /// Comfortable lateral acceleration, m/s².
    package static let lateralAcceleration = 2.5

    private let speedLimits: [Double]
    private let edgeOfSegment: [Int]

    /// Creates a drive over connected edges, from a distance along the first edge to a distance along the last; nil for a path of length 0.
    package init?(_ metric: Metric, edges: [EdgeIndex], from start: Double, to end: Double) {
        let graph = metric.turns.graph
        var coordinates: [Coordinate] = []
        var limits: [Double] = []
        var owners: [Int] = []
        for (index, edge) in edges.enumerated() {
            let length = Double(graph.edgeLengths[edge.index])
            let from = index == 0 ? start : 0
            let to = index == edges.count - 1 ? end : length
            let duration = metric.model.duration(
                length: length, traits: metric.traits(of: edge), edgeLength: length)
            let speed = duration > 0 ? max(length / duration, 1) : 1
            // Stored lengths are rounded: a whole edge must end exactly at its node.
            let piece = Polyline(graph.shape(of: edge).coordinates).slice(from: from, to: to < length ? to : .infinity)
            for point in piece where coordinates.last != point {
                if !coordinates.isEmpty {
                    limits.append(speed)
                    owners.append(index)
                }
                coordinates.append(point)
            }
        }
        guard coordinates.count > 1 else { return nil }
        self.edges = edges
        line = Polyline(coordinates)
        speedLimits = limits
        edgeOfSegment = owners
    }

    /// Returns `rate` states per second of the vehicle, from standstill to standstill.
    ///
    /// Speeds follow the edges' speeds, drop in bends and turns to keep the lateral acceleration comfortable, and change no faster than
    /// ``acceleration`` and ``deceleration``. The result is empty unless the rate is finite and above 0.
    package func states(rate: Double) -> [DriveState] {
        guard rate > 0, rate.isFinite else { return [] }
        let profile = speedProfile()
        var states: [DriveState] = []
        var time = 0.0
        var sample = 0
        var index = 0
        while index < profile.count - 1 {
            let (first, second) = (profile[index], profile[index + 1])
            let length = second.offset - first.offset
            let mean = max((first.speed + second.speed) / 2, 0.3)
            let duration = length / mean
            while Double(sample) / rate <= time + duration {
                let share = duration > 0 ? (Double(sample) / rate - time) / duration : 0
                // Under constant acceleration the position is the integral of the speed, scaled if `mean` is at its lower bound.
                let gain = (second.speed - first.speed) / (2 * mean)
                states.append(
                    state(
                        at: first.offset + length * (share + gain * share * (share - 1)), time: Double(sample) / rate,
                        speed: first.speed + (second.speed - first.speed) * share))
                sample += 1
            }
            time += duration
            index += 1
        }
        states.append(state(at: line.length, time: Double(sample) / rate, speed: 0))
        return states
    }

    func state(at offset: Double, time: Double, speed: Double) -> DriveState {
        DriveState(
            time: time, offset: offset, coordinate: line.coordinate(at: offset) ?? line.coordinates[0],
            course: line.bearing(at: offset) ?? 0, speed: speed, edge: edgeOfSegment[line.segment(at: offset)])
    }

    /// Returns the speeds at points at most 10 m apart.
    private func speedProfile() -> [(offset: Double, speed: Double)] {
        var points: [(offset: Double, speed: Double)] = []
        for segment in 0..<(line.coordinates.count - 1) {
            let start = line.cumulativeLengths[segment]
            let length = line.cumulativeLengths[segment + 1] - start
            var limit = speedLimits[segment]
            if segment > 0 { limit = min(limit, speedLimits[segment - 1], cornerSpeed(segment)) }
            points.append((start, limit))
            let pieces = Int((length / 10).rounded(.down))
            for piece in stride(from: 1, to: pieces, by: 1) {
                points.append((start + length * Double(piece) / Double(pieces), speedLimits[segment]))
            }
        }
        points.append((line.length, 0))
        points[0].speed = 0
        for index in 1..<points.count {
            let distance = points[index].offset - points[index - 1].offset
            let reachable = (points[index - 1].speed * points[index - 1].speed + 2 * Drive.acceleration * distance)
                .squareRoot()
            points[index].speed = min(points[index].speed, reachable)
        }
        for index in (0..<(points.count - 1)).reversed() {
            let distance = points[index + 1].offset - points[index].offset
            let reachable = (points[index + 1].speed * points[index + 1].speed + 2 * Drive.deceleration * distance)
                .squareRoot()
            points[index].speed = min(points[index].speed, reachable)
        }
        return points
    }

    /// Returns the speed for the bend at a point: that of a circle tangent to both segments half-way along them.
    private func cornerSpeed(_ segment: Int) -> Double {
        let bend = Angle.separation(
            Geodesy.bearing(from: line.coordinates[segment - 1], to: line.coordinates[segment]),
            Geodesy.bearing(from: line.coordinates[segment], to: line.coordinates[segment + 1]))
        guard bend > 0.05 else { return .infinity }
        let before = line.cumulativeLengths[segment] - line.cumulativeLengths[segment - 1]
        let after = line.cumulativeLengths[segment + 1] - line.cumulativeLengths[segment]
        let reach = min(max(min(before, after) / 2, 4), 30)
        let radius = reach / tan(min(bend, 3.0) / 2)
        return max((Drive.lateralAcceleration * radius).squareRoot(), 2)
    }
}
