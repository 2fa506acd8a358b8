import NavMap

/// The order in which the states of a turn graph are contracted, and the tree that results.
///
/// Contracting a vertex joins all its later neighbours; its parent is the first of them. Everything that a search from
/// a vertex can reach upwards lies on the way from it to the root. Ranks are given in postorder, so that the vertices
/// below each vertex have the ranks right before it: another order of the same tree, with the same shortcuts.
struct EliminationTree {
    /// Stands for "no parent".
    static let none = UInt32.max

    let ranks: FlatArray<UInt32>
    let states: FlatArray<UInt32>
    /// The parent of each rank, ``none`` for a root.
    let parents: FlatArray<UInt32>

    /// Orders states by `position`, equal ones by number, and makes the tree.
    ///
    /// The tree is Liu's ("The role of elimination trees in sparse factorization", 1990): nearly linear time.
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

    /// The parent of each vertex, by the places of states in an order.
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

    /// The place of each vertex when children come before their parents and subtrees stay together.
    private static func postorder(_ parents: FlatArray<UInt32>) -> FlatArray<UInt32> {
        let count = parents.count
        let sizes = FlatArray<UInt32>(repeating: 1, count: count)
        for vertex in 0..<count where parents[vertex] != none { sizes[Int(parents[vertex])] += sizes[vertex] }
        // From the last vertex to the first each takes the end of what is left of its parent's range.
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
