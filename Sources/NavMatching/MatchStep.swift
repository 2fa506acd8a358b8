public import NavMap

/// A driven part of an edge.
public struct Stretch: Sendable, Hashable {
    public var edge: EdgeIndex
    /// Metres from the edge's start to where it was entered.
    public var from: Double
    /// Metres from the edge's start to where it was left; below ``from`` only when noise moved the fixes backwards.
    public var to: Double
}

/// One step of the matcher's belief, with back-pointers to the previous step that ``PathTracker`` follows.
public struct MatchStep: Sendable {
    public struct Node: Sendable {
        /// The edge; nil for "on no mapped road".
        public var edge: EdgeIndex?
        /// Metres from the edge's start.
        public var offset: Double
        /// Log probability of the most probable history that ends here, relative to the best of all.
        public var best: Double
        /// The node of the previous step; nil at the start.
        public var parent: Int?
        /// The stretches driven since the previous step, in ``MatchStep/stretches``; empty when no road connects them.
        public var stretches: Range<Int>
    }

    public let graph: RoadGraph
    public let nodes: [Node]
    /// The stretches that were driven to reach the nodes.
    public let stretches: [Stretch]
    /// Whether the belief was restarted, so that no node has a parent.
    public let isRestart: Bool
}
