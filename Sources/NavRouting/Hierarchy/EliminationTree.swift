import NavMap

/// The order in which a turn graph's states are contracted, and the resulting elimination tree.
///
/// Contracting a vertex joins all its later neighbours; its parent is the first of them. Everything that an upward
/// search from a vertex can reach lies on its path to the root. Ranks are in postorder, so that the descendants of a
/// vertex have the ranks right before it. Postorder gives the same tree and the same shortcuts.
struct EliminationTree {
    /// The value for "no parent".
    static let none = UInt32.max

    let ranks: FlatArray<UInt32>
    let states: FlatArray<UInt32>
    /// The parent of each rank; ``none`` for a root.
    let parents: FlatArray<UInt32>

    /// Sorts states by `position`, ties by number, and builds the tree.
    ///
    /// The algorithm is Liu's ("The role of elimination trees in sparse factorization", 1990), in nearly linear time.
    init(_ turns: TurnGraph, position: (TurnState) -> UInt32) {
        let count = turns.stateCount
        let positions = FlatArray<UInt64>(uninitialized: count)
        for state in 0..<count { positions[state] = UInt64(position(TurnState(state))) }
        let order = NumberOrder.places(of: positions)
        let first = Self.parents(turns, order)
        let places = Self.postorder(first)
        ranks = FlatArray(uninitialized: count)
        states = FlatArray(uninitialized: count)
        parents = FlatArray(repeating: Self.none, count: count)
        for rank in 0..<count {
            let (state, place) = (order[rank], places[rank])
            ranks[Int(state)] = place
            states[Int(place)] = state
            if first[rank] != Self.none { parents[Int(place)] = places[Int(first[rank])] }
        }
    }

    /// Returns the parent of each vertex, by the positions of states in an order.
    private static func parents(_ turns: TurnGraph, _ order: FlatArray<UInt32>) -> FlatArray<UInt32> {
        let count = order.count
        let (ranks, parents) = (FlatArray<UInt32>(uninitialized: count), FlatArray(repeating: none, count: count))
        let ancestors = FlatArray(repeating: none, count: count)
        for rank in 0..<count { ranks[Int(order[rank])] = UInt32(truncatingIfNeeded: rank) }
        @inline(__always)
        func join(_ neighbour: TurnState, _ current: UInt32) {
            var vertex = Int(ranks[Int(neighbour)])
            guard vertex < current else { return }
            while ancestors[vertex] != none {
                let next = ancestors[vertex]
                if next == current { return }
                ancestors[vertex] = current
                vertex = Int(next)
            }
            ancestors[vertex] = current
            parents[vertex] = current
        }
        turns.withArcs { arcs in
            for rank in 0..<count {
                let (state, current) = (Int(order[rank]), UInt32(truncatingIfNeeded: rank))
                for arc in Int(arcs.offsets[state])..<Int(arcs.offsets[state + 1]) { join(arcs.targets[arc], current) }
                for slot in Int(arcs.reverseOffsets[state])..<Int(arcs.reverseOffsets[state + 1]) {
                    join(arcs.reverseSources[slot], current)
                }
            }
        }
        return parents
    }

    /// Returns the position of each vertex in postorder: children before parents, subtrees contiguous.
    private static func postorder(_ parents: FlatArray<UInt32>) -> FlatArray<UInt32> {
        let count = parents.count
        let sizes = FlatArray<UInt32>(repeating: 1, count: count)
        for vertex in 0..<count where parents[vertex] != none { sizes[Int(parents[vertex])] += sizes[vertex] }
        // From the last vertex to the first, each vertex takes the end of the remaining part of its parent's range.
        let (ends, places) = (FlatArray<UInt32>(uninitialized: count), FlatArray<UInt32>(uninitialized: count))
        var rootEnd = UInt32(count)
        for vertex in stride(from: count - 1, through: 0, by: -1) {
            let end: UInt32
            if parents[vertex] == none {
                end = rootEnd
                rootEnd -= sizes[vertex]
            } else {
                let parent = Int(parents[vertex])
                end = ends[parent]
                ends[parent] -= sizes[vertex]
            }
            ends[vertex] = end - 1
            places[vertex] = end - 1
        }
        return places
    }
}
