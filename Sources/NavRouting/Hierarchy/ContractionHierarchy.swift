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
        guard let (offsets, heads) = Self.contract(turns, tree, limit: (count + 1_000) * Self.greatestDensity)
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
        downTails = FlatArray(uninitialized: heads.count)
        downArcs = FlatArray(uninitialized: heads.count)
        let (downTails, downArcs) = (downTails.base, downArcs.base)
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
        findSlots()
    }

    /// Notes the arc of every turn, with the lower end of its two.
    private func findSlots() {
        // Never read where the vertex at hand has not written.
        let scratch = FlatArray<UInt32>(uninitialized: vertexCount)
        let (places, slots, ranks) = (scratch.base, slots.base, ranks.base)
        let (offsets, heads) = (upOffsets.base, upHeads.base)
        for vertex in 0..<vertexCount {
            for arc in offsets[vertex]..<offsets[vertex + 1] { places[Int(heads[Int(arc)])] = arc }
            let state = states[vertex]
            for turn in turns.arcs(from: state) {
                let head = Int(ranks[Int(turns.arcTargets[turn])])
                if head > vertex { slots[turn] = places[head] << 1 }
            }
            for slot in Int(turns.reverseOffsets[Int(state)])..<Int(turns.reverseOffsets[Int(state) + 1]) {
                let tail = Int(ranks[Int(turns.reverseSources[slot])])
                if tail > vertex { slots[Int(turns.reverseArcs[slot])] = places[tail] << 1 | 1 }
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

    /// The neighbours of a vertex with a higher rank, ascending and once each.
    private static func upperNeighbours(
        of vertex: UInt32, _ turns: TurnGraph, _ tree: EliminationTree, into list: inout ContiguousArray<UInt32>
    ) {
        list.removeAll(keepingCapacity: true)
        let state = tree.states[Int(vertex)]
        for arc in turns.arcs(from: state) {
            let rank = tree.ranks[Int(turns.arcTargets[arc])]
            if rank > vertex { list.append(rank) }
        }
        for slot in Int(turns.reverseOffsets[Int(state)])..<Int(turns.reverseOffsets[Int(state) + 1]) {
            let rank = tree.ranks[Int(turns.reverseSources[slot])]
            if rank > vertex { list.append(rank) }
        }
        sortFew(&list)
        var kept = 0
        for index in list.indices where index == 0 || list[index] != list[kept - 1] {
            list[kept] = list[index]
            kept += 1
        }
        list.removeLast(list.count - kept)
    }

    /// Sorts a list that is short as a rule: by insertion then.
    private static func sortFew(_ list: inout ContiguousArray<UInt32>) {
        guard list.count <= 16 else { return list.sort() }
        for index in list.indices.dropFirst() {
            let value = list[index]
            var hole = index
            while hole > 0, list[hole - 1] > value {
                list[hole] = list[hole - 1]
                hole -= 1
            }
            list[hole] = value
        }
    }

    /// Adds the shortcuts: each vertex passes its neighbours on to the first of them. Nil beyond `limit` arcs.
    private static func contract(
        _ turns: TurnGraph, _ tree: EliminationTree, limit: Int
    ) -> (offsets: ContiguousArray<UInt32>, heads: ContiguousArray<UInt32>)? {
        let (count, parents) = (turns.stateCount, tree.parents)
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
        heads.reserveCapacity(turns.arcCount * 4)
        var merged: ContiguousArray<UInt32> = []
        var other: ContiguousArray<UInt32> = []
        for vertex in 0..<count {
            upperNeighbours(of: UInt32(vertex), turns, tree, into: &merged)
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
