package import NavGeo

/// The true course of a drive, from a reference receiver or a simulation.
package struct Truth: Sendable {
    /// A segment of a road, from one OpenStreetMap node to the next.
    package struct Segment: Sendable, Hashable {
        package var from: Int64
        package var to: Int64

        package init(from: Int64, to: Int64) { (self.from, self.to) = (from, to) }
    }

    /// A motion of the vehicle between two points of the line, as their indices.
    struct Motion: Sendable, Equatable {
        var from: Int
        var to: Int
    }

    /// The shortest motion with a known direction, metres: more than the noise of a reference receiver.
    private static let motionLength = 5.0
    /// The longest gap between positions, and before the first and after the last, that counts as covered by the truth, seconds.
    ///
    /// An unreported deviation of this length does not count as missed yet.
    package static let longestGap = DriveFigures.missedAfter

    /// The times of ``line``'s points, seconds since the drive's start.
    package let times: [Double]
    /// The line that was driven.
    package let line: NavGeo.Polyline
    /// The segments that were driven; nil when unknown.
    package let segments: Set<Segment>?
    /// The latest motion at each point of the line, retained while the vehicle is stationary; nil before the first.
    let motions: [Motion?]

    /// Creates a truth from positions by time; fewer than two positions are ignored.
    package init(_ positions: [(time: Double, coordinate: NavGeo.Coordinate)], segments: Set<Segment>? = nil) {
        let ordered = positions.sorted { $0.time < $1.time }
        times = ordered.map(\.time)
        line = NavGeo.Polyline(ordered.map(\.coordinate))
        self.segments = segments
        var (motion, place): (Motion?, Int) = (nil, 0)
        motions = ordered.indices.map { index in
            if Geodesy.distance(ordered[place].coordinate, ordered[index].coordinate) >= Self.motionLength {
                (motion, place) = (Motion(from: place, to: index), index)
            }
            return motion
        }
    }

    var hasPositions: Bool { times.count > 1 }

    /// Whether a time is between the first and the last position, with a margin of one second.
    func reaches(_ time: Double) -> Bool {
        guard let first = times.first, let last = times.last else { return false }
        return time >= first - 1 && time <= last + 1
    }

    /// Whether there are positions throughout a time span.
    func covers(_ span: ClosedRange<Double>) -> Bool {
        var last = span.lowerBound
        for time in times[index(of: span.lowerBound)...] {
            guard min(time, span.upperBound) - last <= Self.longestGap else { return false }
            guard time < span.upperBound else { return true }
            last = time
        }
        return span.upperBound - last <= Self.longestGap
    }

    /// Returns the stretch of the line around a time; nil outside the drive.
    func stretch(at time: Double, within seconds: Double) -> ClosedRange<Double>? {
        guard hasPositions, reaches(time) else { return nil }
        let lower = max(index(of: time - seconds) - 1, 0)
        let upper = min(index(of: time + seconds), times.count - 1)
        return line.cumulativeLengths[lower]...line.cumulativeLengths[max(lower, upper)]
    }

    /// Returns the interpolated position at a time; nil outside the drive and in a gap.
    func position(at time: Double) -> NavGeo.Coordinate? {
        guard hasPositions, reaches(time) else { return nil }
        let after = min(max(index(of: time), 1), times.count - 1)
        let (start, end) = (times[after - 1], times[after])
        guard end - start <= Self.longestGap else { return nil }
        let share = end > start ? min(max((time - start) / (end - start), 0), 1) : 0
        let lengths = line.cumulativeLengths
        return line.coordinate(at: lengths[after - 1] + share * (lengths[after] - lengths[after - 1]))
    }

    /// Returns the index of the first point at or after a time.
    func index(of time: Double) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
