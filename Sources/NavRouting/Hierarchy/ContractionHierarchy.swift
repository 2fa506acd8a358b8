import NavMap

/// The turn graph with the shortcuts that contraction adds, for every metric: the topology of a customisable
/// contraction hierarchy (Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", 2016).
///
/// Vertices are the turn graph's states by rank. Between two vertices there is one arc, stored with the lower one, which
/// stands for both directions.
public final class ContractionHierarchy: Sendable {
    /// The turns that are contracted.
    public let turns: TurnGraph
    /// Vertices: one for each state.
    let vertexCount: Int
    /// Arcs, shortcuts included.
    public let arcCount: Int

    /// The rank of each state, and the state of each rank.
    let ranks: FlatArray<UInt32>
    let states: FlatArray<TurnState>
    /// The next vertex up the tree; ``EliminationTree/none`` for a root.
    let parents: FlatArray<UInt32>
    /// Where each vertex' arcs begin; they are sorted by their upper end.
    let upOffsets: FlatArray<UInt32>
    let upHeads: FlatArray<UInt32>
    /// Where each vertex' arcs to lower vertices begin: their lower ends, ascending, and the arcs.
    let downOffsets: FlatArray<UInt32>
    let downTails: FlatArray<UInt32>
    let downArcs: FlatArray<UInt32>
    /// For each arc of the turn graph its arc here, doubled, plus 1 when it leads down; ``noArc`` for a loop.
    let slots: FlatArray<UInt32>
    /// How the vertices are shared out to threads.
    let parts: HierarchyParts

    static let noArc = UInt32.max
    /// The most arcs for each state on average. A nested dissection of a city leaves 9, of a continent 15; what is far
    /// beyond comes of an order that somebody made to fill the memory.
    static let greatestDensity = 64

    /// Contracts a turn graph in the order of its edges' ranks: any order is right, a nested dissection is fast.
    ///
    /// Nil when the tiles came without ranks, or with ranks so bad that contraction would fill the memory.
    public init?(_ turns: TurnGraph) {
        guard let edgeRanks = turns.graph.edgeRanks else { return nil }
        let tree = EliminationTree(turns) { edgeRanks[turns.edge(of: $0).index] }
        let count = turns.stateCount
        let upper = Self.upperNeighbours(turns, tree.ranks)
        guard
            let (offsets, heads) = Self.contract(
                upper.offsets, upper.heads, tree.parents, limit: (count + 1_000) * Self.greatestDensity)
        else { return nil }
        self.turns = turns
        vertexCount = count
        arcCount = heads.count
        ranks = FlatArray(tree.ranks)
        states = FlatArray(tree.states)
        parents = FlatArray(tree.parents)
        parts = HierarchyParts(parents: tree.parents)
        upOffsets = FlatArray(offsets)
        upHeads = FlatArray(heads)

        var downOffsets = ContiguousArray<UInt32>(repeating: 0, count: count + 1)
        for head in heads { downOffsets[Int(head) + 1] += 1 }
        for vertex in 0..<count { downOffsets[vertex + 1] += downOffsets[vertex] }
        guard zip(downOffsets, downOffsets.dropFirst()).allSatisfy({ $1 - $0 <= ArcMiddles.noPlace }) else {
            return nil
        }
        self.downOffsets = FlatArray(downOffsets)
        downTails = FlatArray(repeating: 0, count: heads.count)
        downArcs = FlatArray(repeating: 0, count: heads.count)
        for vertex in 0..<count {
            for arc in offsets[vertex]..<offsets[vertex + 1] {
                let head = Int(heads[Int(arc)])
                let slot = Int(downOffsets[head])
                downOffsets[head] += 1
                downTails[slot] = UInt32(vertex)
                downArcs[slot] = arc
            }
        }
        slots = FlatArray(repeating: Self.noArc, count: turns.arcCount)
        for state in 0..<count {
            for arc in turns.arcs(from: TurnState(state)) {
                let tail = ranks[state]
                let head = ranks[Int(turns.arcTargets[arc])]
                if tail < head { slots[arc] = self.arc(from: tail, to: head) << 1 }
                if tail > head { slots[arc] = self.arc(from: head, to: tail) << 1 | 1 }
            }
        }
    }

    /// The arc between two vertices that are joined, the lower one first.
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

    /// The neighbours of each vertex with a higher rank, ascending and once each.
    private static func upperNeighbours(
        _ turns: TurnGraph, _ ranks: ContiguousArray<UInt32>
    ) -> (offsets: ContiguousArray<UInt32>, heads: ContiguousArray<UInt32>) {
        let count = turns.stateCount
        // Sorted by the upper end first; passing that list in order leaves each lower end's list sorted.
        var byUpper = ContiguousArray<UInt32>(repeating: 0, count: count + 1)
        var byLower = byUpper
        func forEach(_ body: (_ lower: UInt32, _ upper: UInt32) -> Void) {
            for state in 0..<count {
                for arc in turns.arcs(from: TurnState(state)) {
                    let (tail, head) = (ranks[state], ranks[Int(turns.arcTargets[arc])])
                    if tail != head { body(min(tail, head), max(tail, head)) }
                }
            }
        }
        forEach { lower, upper in
            byUpper[Int(upper) + 1] += 1
            byLower[Int(lower) + 1] += 1
        }
        for vertex in 0..<count {
            byUpper[vertex + 1] += byUpper[vertex]
            byLower[vertex + 1] += byLower[vertex]
        }
        var tails = ContiguousArray<UInt32>(repeating: 0, count: Int(byUpper[count]))
        var next = byUpper
        forEach { lower, upper in
            tails[Int(next[Int(upper)])] = lower
            next[Int(upper)] += 1
        }
        var heads = tails
        next = byLower
        for upper in 0..<count {
            for slot in byUpper[upper]..<byUpper[upper + 1] {
                let lower = Int(tails[Int(slot)])
                if next[lower] > byLower[lower], heads[Int(next[lower]) - 1] == UInt32(upper) { continue }
                heads[Int(next[lower])] = UInt32(upper)
                next[lower] += 1
            }
        }
        // Repeated neighbours leave gaps at the ends of the lists.
        var offsets: ContiguousArray<UInt32> = [0]
        offsets.reserveCapacity(count + 1)
        var end = 0
        for vertex in 0..<count {
            for slot in byLower[vertex]..<next[vertex] {
                heads[end] = heads[Int(slot)]
                end += 1
            }
            offsets.append(UInt32(end))
        }
        heads.removeLast(heads.count - end)
        return (offsets, heads)
    }

    /// Adds the shortcuts: each vertex passes its neighbours on to the first of them. Nil beyond `limit` arcs.
    private static func contract(
        _ offsets: ContiguousArray<UInt32>, _ neighbours: ContiguousArray<UInt32>, _ parents: ContiguousArray<UInt32>,
        limit: Int
    ) -> (offsets: ContiguousArray<UInt32>, heads: ContiguousArray<UInt32>)? {
        let count = parents.count
        var firstChild = ContiguousArray<UInt32>(repeating: EliminationTree.none, count: count)
        var nextSibling = firstChild
        for vertex in stride(from: count - 1, through: 0, by: -1) where parents[vertex] != EliminationTree.none {
            let parent = Int(parents[vertex])
            nextSibling[vertex] = firstChild[parent]
            firstChild[parent] = UInt32(vertex)
        }
        var starts: ContiguousArray<UInt32> = [0]
        starts.reserveCapacity(count + 1)
        var heads = ContiguousArray<UInt32>()
        heads.reserveCapacity(neighbours.count * 6)
        var merged: ContiguousArray<UInt32> = []
        var other: ContiguousArray<UInt32> = []
        for vertex in 0..<count {
            merged.removeAll(keepingCapacity: true)
            merged.append(contentsOf: neighbours[Int(offsets[vertex])..<Int(offsets[vertex + 1])])
            var child = firstChild[vertex]
            while child != EliminationTree.none {
                // The child's first neighbour is this vertex.
                let passed = Int(starts[Int(child)]) + 1..<Int(starts[Int(child) + 1])
                if merged.isEmpty {
                    merged.append(contentsOf: heads[passed])
                } else if !passed.isEmpty {
                    unite(merged, heads[passed], into: &other)
                    swap(&merged, &other)
                }
                child = nextSibling[Int(child)]
            }
            guard heads.count + merged.count <= limit else { return nil }
            heads.append(contentsOf: merged)
            starts.append(UInt32(heads.count))
        }
        return (starts, heads)
    }

    /// The union of two ascending lists.
    private static func unite(
        _ first: ContiguousArray<UInt32>, _ second: ArraySlice<UInt32>, into result: inout ContiguousArray<UInt32>
    ) {
        result.removeAll(keepingCapacity: true)
        result.reserveCapacity(first.count + second.count)
        first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { second in
                var (left, right) = (0, 0)
                while left < first.count, right < second.count {
                    let (a, b) = (first[left], second[right])
                    result.append(min(a, b))
                    if a <= b { left += 1 }
                    if b <= a { right += 1 }
                }
                result.append(contentsOf: first[left...])
                result.append(contentsOf: second[right...])
            }
        }
    }
}
