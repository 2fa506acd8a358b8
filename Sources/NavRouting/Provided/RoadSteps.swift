package import NavMap

/// A road segment of a route between two consecutive OSM nodes.
package struct RoadStep: Sendable, Equatable {
    /// OSM node at which the segment is entered.
    package var from: Int64
    /// OSM node at which the segment is left.
    package var to: Int64
    /// OSM way; nil for any.
    package var wayID: Int64?

    package init(from: Int64, to: Int64, wayID: Int64? = nil) {
        self.from = from
        self.to = to
        self.wayID = wayID
    }
}

/// The known edges of a leg in travel order; consecutive edges need not be connected.
package struct EdgeSequence: Sendable, Equatable {
    /// The edges, without immediate repetitions.
    package var edges: [EdgeIndex] = []
    /// The segment of the first edge on which the leg begins.
    package var firstSegment = 0
    /// The segment of the last edge on which the leg ends.
    package var lastSegment = 0
}

/// A finder of edges by the OSM nodes along them.
struct StepFinder {
    private let metric: Metric
    private let segments: RoadSegments

    init(_ metric: Metric) {
        self.metric = metric
        segments = metric.turns.segments(metric.turns.graph)
    }

    /// Returns the edges of some steps; skips a step whose nodes no permitted road joins.
    func edges(_ steps: [RoadStep]) -> EdgeSequence {
        var result = EdgeSequence()
        for step in steps {
            guard let (edge, segment) = place(of: step, after: result) else { continue }
            if edge == result.edges.last, segment > result.lastSegment {
                result.lastSegment = segment
                continue
            }
            if result.edges.isEmpty { result.firstSegment = segment }
            result.edges.append(edge)
            result.lastSegment = segment
        }
        return result
    }

    /// Returns the edge and segment of a step: the continuation of the sequence if possible, otherwise the start of an edge.
    private func place(of step: RoadStep, after sequence: EdgeSequence) -> (EdgeIndex, Int)? {
        let node = segments.firstNode(from: step.from)
        guard node < segments.nodes.count, segments.nodes[node] == step.from else { return nil }
        var best: (edge: EdgeIndex, segment: Int, rank: Int)?
        for slot in Int(segments.slotOffsets[node])..<Int(segments.slotOffsets[node + 1])
        where segments.slotTargets[slot] == step.to {
            let edge = EdgeIndex(rawValue: segments.slotEdges[slot])
            guard metric.allows(edge) else { continue }
            let segment = Int(segments.slotSegments[slot] - segments.offsets[edge.index])
            var rank = segment == 0 ? 1 : 2
            if edge == sequence.edges.last, segment == sequence.lastSegment + 1 { rank = 0 }
            if let way = step.wayID, segments.ways[edge.index] != way { rank += 4 }
            if rank < best?.rank ?? .max { best = (edge, segment, rank) }
        }
        return best.map { ($0.edge, $0.segment) }
    }
}
