public import NavMap

/// A part of an edge that was driven.
public struct Stretch: Sendable, Hashable {
    public var edge: EdgeIndex
    /// Metres from the edge's start where it was entered.
    public var from: Double
    /// Metres from the edge's start where it was left; below ``from`` only when the fixes moved back by their noise.
    public var to: Double
}

/// One step of the matcher's belief, with pointers to the step before: what ``PathTracker`` follows back.
public struct MatchStep: Sendable {
    public struct Node: Sendable {
        /// The edge; nil for being on no mapped road.
        public var edge: EdgeIndex?
        /// Metres from the edge's start.
        public var offset: Double
        /// Log probability of the most probable history that ends here, relative to the best of all.
        public var best: Double
        /// The node of the step before; nil at the start.
        public var parent: Int?
        /// The stretches driven since, in ``MatchStep/stretches``; empty when no road leads here.
        public var stretches: Range<Int>
    }

    public let graph: RoadGraph
    public let nodes: [Node]
    /// The stretches that were driven to reach them.
    public let stretches: [Stretch]
    /// Whether the belief began anew, so that no node has a parent.
    public let isRestart: Bool
}
