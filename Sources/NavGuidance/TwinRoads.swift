internal import NavGeo
internal import NavMap

/// Detection of roads that are mapped twice.
extension JunctionModel {
    /// The greatest distance between two lines of one road, metres. 7: the width of two lanes.
    private static let twinGap = 7.0

    /// Whether two edges are one road drawn twice: they lead from the same node to the same node, side by side.
    func areTwins(_ one: EdgeIndex?, _ other: EdgeIndex?) -> Bool {
        guard let one, let other, one != other, graph.edgeTails[one.index] == graph.edgeTails[other.index],
            graph.edgeHeads[one.index] == graph.edgeHeads[other.index]
        else { return false }
        let frame = LocalFrame(origin: graph.nodePositions[graph.edgeTails[one.index].index].coordinate)
        let lines = [one, other].map { edge in graph.shape(of: edge).coordinates.map(frame.point) }
        return isBeside(lines[0], lines[1]) && isBeside(lines[1], lines[0])
    }

    private func isBeside(_ line: [LocalPoint], _ other: [LocalPoint]) -> Bool {
        line.allSatisfy { point in
            zip(other, other.dropFirst()).contains { start, end in
                SegmentProjection(of: point, start: start, end: end).distance <= Self.twinGap
            }
        }
    }
}
