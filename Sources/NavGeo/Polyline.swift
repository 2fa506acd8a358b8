/// A chain of positions with cumulative lengths.
public struct Polyline: Sendable, Equatable {
    /// The positions, in travel order.
    public let coordinates: [Coordinate]
    /// Metres from the start to each position: as many values as ``coordinates``, from 0, never decreasing.
    public let cumulativeLengths: [Double]

    /// Creates a polyline; consecutive equal positions are kept, with a segment of length 0.
    public init(_ coordinates: [Coordinate]) {
        self.coordinates = coordinates
        var lengths: [Double] = []
        lengths.reserveCapacity(coordinates.count)
        var total = 0.0
        for (index, coordinate) in coordinates.enumerated() {
            if index > 0 { total += Geodesy.distance(coordinates[index - 1], coordinate) }
            lengths.append(total)
        }
        cumulativeLengths = lengths
    }

    /// Creates a polyline with cumulative lengths that the caller computed with ``Geodesy/distance(_:_:)``.
    package init(_ coordinates: [Coordinate], cumulativeLengths: [Double]) {
        precondition(coordinates.count == cumulativeLengths.count, "each coordinate needs one cumulative length")
        self.coordinates = coordinates
        self.cumulativeLengths = cumulativeLengths
    }

    /// Total length in metres; 0 for fewer than two positions.
    public var length: Double { cumulativeLengths.last ?? 0 }

    /// Returns the segment that contains the point `distance` metres from the start, as the index of its first position.
    public func segment(at distance: Double) -> Int {
        guard coordinates.count > 1 else { return 0 }
        var low = 0
        var high = coordinates.count - 2
        while low < high {
            let middle = (low + high + 1) / 2
            if cumulativeLengths[middle] <= distance { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Returns the index of the position that is nearest to `distance` metres from the start, measured along the line.
    public func index(nearest distance: Double) -> Int {
        guard coordinates.count > 1 else { return 0 }
        let index = segment(at: distance)
        let isFirst = distance - cumulativeLengths[index] <= cumulativeLengths[index + 1] - distance
        return isFirst ? index : index + 1
    }

    /// Returns the position `distance` metres from the start, clamped to the ends; nil for an empty polyline.
    public func coordinate(at distance: Double) -> Coordinate? {
        guard coordinates.count > 1 else { return coordinates.first }
        let index = segment(at: distance)
        let length = cumulativeLengths[index + 1] - cumulativeLengths[index]
        let fraction = length > 0 ? min(max((distance - cumulativeLengths[index]) / length, 0), 1) : 0
        return Polyline.interpolate(coordinates[index], coordinates[index + 1], fraction)
    }

    /// Returns the direction of travel `distance` metres from the start, radians clockwise from north; nil when all segments have length 0.
    public func bearing(at distance: Double) -> Double? {
        guard coordinates.count > 1 else { return nil }
        let index = segment(at: distance)
        let hasLength = { cumulativeLengths[$0 + 1] > cumulativeLengths[$0] }
        guard
            let usable = (index..<coordinates.count - 1).first(where: hasLength)
                ?? (0..<index).last(where: hasLength)
        else { return nil }
        return Geodesy.bearing(from: coordinates[usable], to: coordinates[usable + 1])
    }

    /// The tolerance within which two distances along a polyline count as equal, metres: well above rounding errors, well below the detail
    /// of a road's shape.
    private static let rounding = 0.1

    /// Returns the direction of travel on arrival at the point `distance` metres from the start, radians clockwise from north: at a corner,
    /// that of the segment before it. At the start it is that of the first segment; nil when all segments have length 0.
    public func bearing(arrivingAt distance: Double) -> Double? {
        bearing(at: max(distance - Self.rounding, 0))
    }

    /// A position projected onto a polyline.
    public struct Projection: Sendable, Equatable {
        /// Metres from the polyline's start.
        public var offset: Double
        /// Metres from the projected position to the polyline.
        public var distance: Double
        /// The position on the polyline.
        public var coordinate: Coordinate
        /// The index of the segment's first position.
        public var segment: Int
    }

    /// Returns the nearest point within `range` metres from the start (by default on the whole polyline), the first of equally near ones;
    /// nil for fewer than two positions, or for a range beyond the polyline's ends.
    public func project(_ coordinate: Coordinate, within range: ClosedRange<Double>? = nil) -> Projection? {
        guard coordinates.count > 1 else { return nil }
        if let range, range.lowerBound > length || range.upperBound < 0 { return nil }
        let range = range.map { $0.clamped(to: 0...(length > 0 ? length : 0)) }
        let first = range.map { segment(at: $0.lowerBound) } ?? 0
        let last = range.map { segment(at: $0.upperBound) } ?? coordinates.count - 2
        guard first <= last else { return nil }
        let frame = LocalFrame(origin: coordinate)
        var best: Projection?
        var start = frame.point(coordinates[first])
        for index in first...last {
            let end = frame.point(coordinates[index + 1])
            var hit = SegmentProjection(of: LocalPoint(east: 0, north: 0), start: start, end: end)
            let length = cumulativeLengths[index + 1] - cumulativeLengths[index]
            var offset = cumulativeLengths[index] + hit.fraction * length
            if let range, length > 0, !range.contains(offset) {
                offset = min(max(offset, range.lowerBound), range.upperBound)
                hit.fraction = min(max((offset - cumulativeLengths[index]) / length, 0), 1)
                hit.point = LocalPoint(
                    east: start.east + (end.east - start.east) * hit.fraction,
                    north: start.north + (end.north - start.north) * hit.fraction)
                hit.distance = hit.point.length
            }
            if hit.distance < best?.distance ?? .infinity {
                best = Projection(
                    offset: offset, distance: hit.distance, coordinate: frame.coordinate(of: hit.point), segment: index)
            }
            start = end
        }
        return best
    }

    /// Returns the part between two distances from the start, with interpolated ends; empty when the range lies outside.
    public func slice(from start: Double, to end: Double) -> [Coordinate] {
        let (start, end) = (max(start, 0), min(end, length))
        guard end > start, let first = coordinate(at: start), let last = coordinate(at: end) else { return [] }
        var result = [first]
        var index = segment(at: start) + 1
        while index < coordinates.count, cumulativeLengths[index] < end {
            result.append(coordinates[index])
            index += 1
        }
        result.append(last)
        return result
    }

    /// Returns the point at a fraction of the way between two positions, the short way round the world.
    package static func interpolate(_ first: Coordinate, _ second: Coordinate, _ fraction: Double) -> Coordinate {
        // Return the ends exactly: a + (b - a) may differ from b.
        if fraction >= 1 { return second }
        let eastward = Geodesy.wrappedLongitude(second.longitude - first.longitude)
        return Coordinate(
            latitude: first.latitude + (second.latitude - first.latitude) * fraction,
            longitude: Geodesy.wrappedLongitude(first.longitude + eastward * fraction))
    }
}
