package import NavGeo

/// Functions for map lines.
package enum Line {
    /// Returns a line with fewer points; every omitted point is within `tolerance` metres of the new line (Douglas and
    /// Peucker's method).
    package static func simplified(_ line: [Coordinate], tolerance: Double) -> [Coordinate] {
        guard line.count > 2 else { return line }
        let frame = LocalFrame(origin: line[0])
        let points = line.map(frame.point)
        var isKept = [Bool](repeating: false, count: line.count)
        isKept[0] = true
        isKept[line.count - 1] = true
        var parts = [(0, line.count - 1)]
        while let (first, last) = parts.popLast() {
            var farthest = (index: first, distance: tolerance)
            for index in (first + 1)..<max(last, first + 1) {
                let distance = SegmentProjection(of: points[index], start: points[first], end: points[last]).distance
                if distance > farthest.distance { farthest = (index, distance) }
            }
            guard farthest.index > first else { continue }
            isKept[farthest.index] = true
            parts.append((first, farthest.index))
            parts.append((farthest.index, last))
        }
        return line.indices.filter { isKept[$0] }.map { line[$0] }
    }

    /// Returns latitudes and longitudes in millionths of a degree, packed.
    static func packed(_ lines: [[Coordinate]]) -> (lat: String, lon: String) {
        let points = lines.joined()
        return (
            Packing.text(points.map { Int64(($0.latitude * 1e6).rounded()) }),
            Packing.text(points.map { Int64(($0.longitude * 1e6).rounded()) })
        )
    }
}
