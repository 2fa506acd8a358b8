import NavMap

/// A turn graph with the shortcuts that contraction adds, independent of the metric.
///
/// It is the topology of a customisable contraction hierarchy (Dibbelt, Strasser and Wagner, "Customizable Contraction
/// Hierarchies", 2016).
///
/// Vertices are the turn graph's states by rank. There is at most one arc between two vertices; it is stored with the
/// lower one and represents both directions.
public final class ContractionHierarchy: Sendable {
    public let turns: TurnGraph
    /// The number of vertices, one for each state.
    let vertexCount: Int
    /// The number of arcs, including shortcuts.
    public let arcCount: Int

    /// The rank of each state, and the state of each rank.
    let ranks: FlatArray<UInt32>
    let states: FlatArray<TurnState>
    /// The parent in the elimination tree; ``EliminationTree/none`` for a root.
    let parents: FlatArray<UInt32>
    /// The index of each vertex's first upward arc; arcs are sorted by their upper end.
    let upOffsets: FlatArray<UInt32>
    let upHeads: FlatArray<UInt32>
    /// The index of each vertex's first arc to lower vertices: their lower ends, ascending, and the arcs.
    let downOffsets: FlatArray<UInt32>
    let downTails: FlatArray<UInt32>
    let downArcs: FlatArray<UInt32>
    /// For each arc of the turn graph, the index of its arc here times 2, plus 1 when it leads down; ``noArc`` for a loop.
    let slots: FlatArray<UInt32>
    /// The division of the vertices among threads.
    let parts: HierarchyParts

    static let noArc = UInt32.max
    /// The greatest average number of arcs per state.
    ///
    /// A nested dissection of a city leaves 9, one of a continent 15; a far greater number indicates ranks crafted to
    /// exhaust memory.
    static let greatestDensity = 64

    /// Contracts a turn graph in the order of its edges' ranks; every order is correct, and a nested dissection is fast.
    ///
    /// Nil when the tiles have no ranks, or ranks so bad that contraction would exhaust memory.
    public init?(_ turns: TurnGraph) {
        guard let edgeRanks = turns.graph.edgeRanks else { return nil }
        let tree = EliminationTree(turns) { edgeRanks[turns.edge(of: $0).index] }
        let count = turns.stateCount
        guard let contraction = Contraction(turns, tree, limit: (count + 1_000) * Self.greatestDensity)
        else { return nil }
        let (offsets, heads) = (contraction.offsets, contraction.heads)
        self.turns = turns
        vertexCount = count
        arcCount = heads.count
        ranks = tree.ranks
        states = tree.states
        parents = tree.parents
        parts = HierarchyParts(parents: tree.parents)
        upOffsets = offsets
        upHeads = heads
        slots = contraction.slots

        downOffsets = FlatArray(repeating: 0, count: count + 1)
        for arc in 0..<heads.count { downOffsets[Int(heads[arc]) + 1] += 1 }
        for vertex in 0..<count {
            guard downOffsets[vertex + 1] <= ArcMiddles.noPlace else { return nil }
            downOffsets[vertex + 1] += downOffsets[vertex]
        }
        downTails = FlatArray(uninitialized: heads.count)
        downArcs = FlatArray(uninitialized: heads.count)
        let next = FlatArray<UInt32>(uninitialized: count)
        for vertex in 0..<count { next[vertex] = downOffsets[vertex] }
        for vertex in 0..<count {
            for arc in offsets[vertex]..<offsets[vertex + 1] {
                let head = Int(heads[Int(arc)])
                let slot = Int(next[head])
                next[head] += 1
                downTails[slot] = UInt32(truncatingIfNeeded: vertex)
                downArcs[slot] = arc
            }
        }
    }

    /// Returns the arc between two joined vertices, given the lower one first.
    @inline(__always)
    func arc(from lower: UInt32, to upper: UInt32) -> UInt32 {
        var low = upOffsets[Int(lower)]
        var high = upOffsets[Int(lower) + 1]
        while low < high {
            let middle = (low + high) / 2
            if upHeads[Int(middle)] < upper { low = middle + 1 } else { high = middle }
        }
        return low < upOffsets[Int(lower) + 1] && upHeads[Int(low)] == upper ? low : Self.noArc
    }
}
