import NavGeo
import NavMap

/// A converter of driven stretches into OSM segments, each once per traversal, in driving order.
struct SegmentWriter {
    /// An edge that is being driven.
    private struct Traversal {
        let key: EdgeKey
        let wayID: Int64
        let shape: EdgeShape
        /// Metres from the edge's start to where it was entered.
        let from: Double
        /// Whether the path begins on this edge, so that the part before ``from`` was not driven.
        let beginsPath: Bool
        /// Metres from the edge's start that have been reached.
        var reached: Double
        /// The current segment, and the metres from the edge's start to its start and end.
        var segment = 0
        var start = 0.0
        var end: Double

        init(_ edge: EdgeIndex, from: Double, graph: RoadGraph, beginsPath: Bool) {
            key = graph.key(of: edge)
            wayID = graph.wayID(of: edge)
            shape = graph.shape(of: edge)
            self.from = from
            self.beginsPath = beginsPath
            reached = from
            end = Geodesy.distance(shape[0].coordinate, shape[1].coordinate)
            while end <= from, moveOn() {}
        }

        /// Moves to the next segment; returns false at the last.
        mutating func moveOn() -> Bool {
            guard segment < shape.count - 2 else { return false }
            segment += 1
            start = end
            end += Geodesy.distance(shape[segment].coordinate, shape[segment + 1].coordinate)
            return true
        }

        /// Metres driven on the current segment.
        var driven: Double { min(reached, end) - max(from, start) }

        var drivenSegment: DrivenSegment {
            DrivenSegment(fromNodeID: shape.nodeID(segment), toNodeID: shape.nodeID(segment + 1), wayID: wayID)
        }
    }

    private let includesPartialEnds: Bool
    private var current: Traversal?

    /// Metres by which the first or last segment of a path may be incomplete and still count as whole: about the
    /// uncertainty of a place on a road under open sky.
    private static let wholeTolerance = 3.0
    /// Metres that must be driven of a first or last segment for it to count as partly driven; less may be noise.
    private static let touchedTolerance = 5.0
    /// The tolerance at an edge's end, metres, because lengths are stored in single precision.
    private static let precision = 0.02

    init(includesPartialEnds: Bool) { self.includesPartialEnds = includesPartialEnds }

    mutating func begin(at edge: EdgeIndex, offset: Double, on graph: RoadGraph) {
        current = Traversal(edge, from: offset, graph: graph, beginsPath: true)
    }

    /// Adds the stretches of one step; the first continues where the last step ended.
    mutating func drive(_ stretches: ArraySlice<Stretch>, on graph: RoadGraph, _ segments: inout [DrivenSegment]) {
        for (index, stretch) in zip(stretches.indices, stretches) {
            let continuesEdge = index == stretches.startIndex && current?.key == graph.key(of: stretch.edge)
            if !continuesEdge {
                turnRound(&segments)
                current = Traversal(stretch.edge, from: stretch.from, graph: graph, beginsPath: false)
            }
            let atEnd = stretch.to >= Double(graph.edgeLengths[stretch.edge.index]) - SegmentWriter.precision
            let isLeft = index < stretches.endIndex - 1
            extend(to: stretch.to, &segments)
            if isLeft, atEnd { leave(&segments) }
        }
    }

    /// Ends the path; later stretches are not connected with it.
    mutating func end(_ segments: inout [DrivenSegment]) {
        defer { current = nil }
        guard let current else { return }
        if includesPartialEnds {
            if current.driven >= min(SegmentWriter.touchedTolerance, current.end - current.start) || segments.isEmpty {
                segments.append(current.drivenSegment)
            }
        } else if current.end - current.reached <= SegmentWriter.wholeTolerance, countsAtStart(current) {
            segments.append(current.drivenSegment)
        }
    }

    private mutating func extend(to offset: Double, _ segments: inout [DrivenSegment]) {
        guard var traversal = current else { return }
        current = nil
        traversal.reached = max(traversal.reached, offset)
        while traversal.end < traversal.reached - SegmentWriter.precision {
            let passed = traversal
            guard traversal.moveOn() else { break }
            if countsAtStart(passed) { segments.append(passed.drivenSegment) }
        }
        current = traversal
    }

    /// Finishes the current edge at its end.
    private mutating func leave(_ segments: inout [DrivenSegment]) {
        guard var traversal = current else { return }
        traversal.reached = .infinity
        repeat {
            if countsAtStart(traversal) { segments.append(traversal.drivenSegment) }
        } while traversal.moveOn()
        current = nil
    }

    /// Finishes the current edge where the vehicle turns around.
    ///
    /// The current segment counts only if at least half of it was driven.
    private mutating func turnRound(_ segments: inout [DrivenSegment]) {
        if let traversal = current, traversal.driven * 2 >= traversal.end - traversal.start, countsAtStart(traversal) {
            segments.append(traversal.drivenSegment)
        }
        current = nil
    }

    /// Whether a segment that was driven to its end counts, given where it was entered.
    private func countsAtStart(_ traversal: Traversal) -> Bool {
        let missing = traversal.from - traversal.start
        guard missing > SegmentWriter.precision else { return true }
        guard traversal.beginsPath else { return traversal.driven * 2 >= traversal.end - traversal.start }
        return includesPartialEnds
            ? traversal.driven >= SegmentWriter.touchedTolerance : missing <= SegmentWriter.wholeTolerance
    }
}
