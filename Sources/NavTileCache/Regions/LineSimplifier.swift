import Glibc

/// A line simplification that omits points of little effect.
enum LineSimplifier {
    /// Returns the line simplified by the Douglas–Peucker algorithm (1973): the omitted points are within `tolerance`
    /// metres of the result.
    static func simplified(_ line: [ProjectedLine.Vertex], tolerance: Double) -> [ProjectedLine.Vertex] {
        guard line.count > 2 else { return line }
        var isKept = [Bool](repeating: false, count: line.count)
        isKept[0] = true
        isKept[line.count - 1] = true
        var open = [(0, line.count - 1)]
        while let (first, last) = open.popLast() {
            var farthest = (index: first, metres: tolerance)
            for index in first + 1..<max(last, first + 1) {
                let distance = metres(line[index], line[first], line[last])
                if distance > farthest.metres { farthest = (index, distance) }
            }
            guard farthest.index != first else { continue }
            isKept[farthest.index] = true
            open.append((first, farthest.index))
            open.append((farthest.index, last))
        }
        return zip(line, isKept).filter { $0.1 }.map { $0.0 }
    }

    /// Returns the distance of a point from a segment, metres by the scale at the point.
    private static func metres(
        _ point: ProjectedLine.Vertex, _ start: ProjectedLine.Vertex, _ end: ProjectedLine.Vertex
    ) -> Double {
        let (dx, dy) = (end.place.x - start.place.x, end.place.y - start.place.y)
        let (px, py) = (point.place.x - start.place.x, point.place.y - start.place.y)
        let squared = dx * dx + dy * dy
        let share = squared > 0 ? min(max((px * dx + py * dy) / squared, 0), 1) : 0
        let (x, y) = (px - share * dx, py - share * dy)
        return (x * x + y * y).squareRoot() / point.scale
    }
}
