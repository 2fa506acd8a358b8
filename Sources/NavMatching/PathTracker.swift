import NavMap

/// A piece of road between two consecutive OSM nodes, driven once.
public struct DrivenSegment: Sendable, Hashable {
    /// OSM id of the node at which the segment was entered.
    public var fromNodeID: Int64
    /// OSM id of the node at which the segment was left.
    public var toNodeID: Int64
    public var wayID: Int64
}

/// A tracker of the driven path: every OSM segment from the first fix to the last, each once per traversal, in driving order.
///
/// The Viterbi path is decided and emitted as soon as all histories share an ancestor; the lag bounds the wait.
///
/// Emitted segments are never withdrawn. If a later fix contradicts them, the path continues along the other history.
public struct PathTracker: Sendable {
    /// The maximum number of steps to wait while histories differ.
    public let lag: Int

    /// The default ``lag``: distinguishing the branches of a fork takes about three steps after it.
    public static let usualLag = 3

    /// A place of the path, in the order of the steps.
    struct Place {
        /// The edge; nil for being on no mapped road.
        var edge: EdgeIndex?
        var offset: Double
        var stretches: [Stretch]
    }

    /// The decided places, one per step; recorded on request only.
    private(set) var places: [Place] = []
    private let recordsPlaces: Bool
    private var steps: [MatchStep] = []
    private var firstKept = 0
    private var writer: SegmentWriter

    /// Creates an empty tracker.
    ///
    /// - Parameters:
    ///   - lag: The number of steps to wait for agreement, at least 0; after it the most probable history is taken.
    ///   - includesPartialEnds: Whether partly driven segments at both ends of the path count.
    public init(lag: Int = PathTracker.usualLag, includesPartialEnds: Bool = false) {
        self.init(lag: lag, includesPartialEnds: includesPartialEnds, recordsPlaces: false)
    }

    init(lag: Int, includesPartialEnds: Bool, recordsPlaces: Bool) {
        self.lag = max(lag, 0)
        self.recordsPlaces = recordsPlaces
        writer = SegmentWriter(includesPartialEnds: includesPartialEnds)
    }

    /// Adds the next step of a matcher and returns the segments that it confirms as driven.
    public mutating func append(_ step: MatchStep) -> [DrivenSegment] {
        var segments: [DrivenSegment] = []
        if step.isRestart { segments = finish() }
        steps.append(step)
        settle(&segments)
        return segments
    }

    /// Returns the rest of the path along the most probable history and empties the tracker.
    public mutating func finish() -> [DrivenSegment] {
        var segments: [DrivenSegment] = []
        if firstKept < steps.count, let last = steps.last, let best = PathTracker.bestNode(of: last) {
            write(endingAt: best, of: steps.count - 1, &segments)
        }
        writer.end(&segments)
        steps.removeAll(keepingCapacity: true)
        firstKept = 0
        return segments
    }

    /// Emits all steps whose node is the same in every possible history.
    private mutating func settle(_ segments: inout [DrivenSegment]) {
        guard let newest = steps.last, let best = PathTracker.bestNode(of: newest) else { return }
        var alive = PathTracker.mask(of: newest)
        var index = steps.count - 1
        while index > firstKept {
            var parents: UInt64 = 0
            for (number, node) in steps[index].nodes.enumerated() where alive & 1 << UInt64(number) != 0 {
                if let parent = node.parent { parents |= 1 << UInt64(parent) }
            }
            index -= 1
            alive = parents
            if parents.nonzeroBitCount == 1 {
                write(endingAt: parents.trailingZeroBitCount, of: index, &segments)
                return
            }
        }
        if steps.count - firstKept > lag {
            write(endingAt: ancestor(of: best, at: firstKept), of: firstKept, &segments)
        }
    }

    /// Returns the ancestor, at the step of an index, of a node of the newest step.
    private func ancestor(of node: Int, at index: Int) -> Int {
        var node = node
        for step in steps[(index + 1)...].reversed() { node = step.nodes[node].parent ?? 0 }
        return node
    }

    /// Emits the history up to a node of a step and drops it.
    private mutating func write(endingAt node: Int, of index: Int, _ segments: inout [DrivenSegment]) {
        var chain: [Int] = []
        var node = node
        for step in steps[firstKept...index].reversed() {
            chain.append(node)
            node = step.nodes[node].parent ?? 0
        }
        for (step, number) in zip(steps[firstKept...index], chain.reversed()) {
            let node = step.nodes[number]
            if recordsPlaces {
                places.append(
                    Place(edge: node.edge, offset: node.offset, stretches: Array(step.stretches[node.stretches])))
            }
            if node.stretches.isEmpty {
                writer.end(&segments)
                if let edge = node.edge { writer.begin(at: edge, offset: node.offset, on: step.graph) }
            } else {
                writer.drive(step.stretches[node.stretches], on: step.graph, &segments)
            }
        }
        firstKept = index + 1
        if firstKept > PathTracker.trimming {
            steps.removeFirst(firstKept)
            firstKept = 0
        }
    }

    /// The number of emitted steps that are kept before they are removed in one batch.
    private static let trimming = 256

    private static func mask(of step: MatchStep) -> UInt64 {
        step.nodes.count < 64 ? (1 << UInt64(step.nodes.count)) - 1 : .max
    }

    private static func bestNode(of step: MatchStep) -> Int? {
        step.nodes.indices.max { (step.nodes[$0].best, $1) < (step.nodes[$1].best, $0) }
    }
}
