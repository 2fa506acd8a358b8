/// The order in which the states of a turn graph are contracted, and the tree that results.
///
/// Contracting a vertex joins all its later neighbours; its parent is the first of them. Everything that a search from
/// a vertex can reach upwards lies on the way from it to the root. Ranks are given in postorder, so that the vertices
/// below each vertex have the ranks right before it: another order of the same tree, with the same shortcuts.
struct EliminationTree {
    /// Stands for "no parent".
    static let none = UInt32.max

    /// The rank of each state.
    let ranks: ContiguousArray<UInt32>
    /// The state of each rank.
    let states: ContiguousArray<UInt32>
    /// The parent of each rank, ``none`` for a root.
    let parents: ContiguousArray<UInt32>

    /// Orders states by `position`, equal ones by number, and makes the tree.
    ///
    /// The tree is Liu's ("The role of elimination trees in sparse factorization", 1990): nearly linear time.
    init(_ turns: TurnGraph, position: (TurnState) -> UInt32) {
        let count = turns.stateCount
        var keys = ContiguousArray<UInt64>()
        keys.reserveCapacity(count)
        for state in 0..<count { keys.append(UInt64(position(TurnState(state))) << 32 | UInt64(state)) }
        keys.sort()
        var ranks = ContiguousArray<UInt32>(repeating: 0, count: count)
        for (rank, key) in keys.enumerated() { ranks[Int(truncatingIfNeeded: key & 0xFFFF_FFFF)] = UInt32(rank) }

        var parents = ContiguousArray<UInt32>(repeating: Self.none, count: count)
        var ancestors = parents
        for (rank, key) in keys.enumerated() {
            let state = Int(truncatingIfNeeded: key & 0xFFFF_FFFF)
            let current = UInt32(rank)
            func join(_ neighbour: TurnState) {
                var vertex = ranks[Int(neighbour)]
                guard vertex < current else { return }
                while ancestors[Int(vertex)] != Self.none {
                    let next = ancestors[Int(vertex)]
                    if next == current { return }
                    ancestors[Int(vertex)] = current
                    vertex = next
                }
                ancestors[Int(vertex)] = current
                parents[Int(vertex)] = current
            }
            for arc in turns.arcs(from: TurnState(state)) { join(turns.arcTargets[arc]) }
            for slot in turns.reverseOffsets[state]..<turns.reverseOffsets[state + 1] {
                join(turns.reverseSources[Int(slot)])
            }
        }

        let postorder = Self.postorder(parents)
        var states = ContiguousArray<UInt32>(repeating: 0, count: count)
        var newParents = ContiguousArray<UInt32>(repeating: Self.none, count: count)
        for (rank, key) in keys.enumerated() {
            let state = UInt32(truncatingIfNeeded: key)
            let place = postorder[rank]
            ranks[Int(state)] = place
            states[Int(place)] = state
            if parents[rank] != Self.none { newParents[Int(place)] = postorder[Int(parents[rank])] }
        }
        self.ranks = ranks
        self.states = states
        self.parents = newParents
    }

    /// The place of each vertex when children come before their parents and subtrees stay together.
    private static func postorder(_ parents: ContiguousArray<UInt32>) -> ContiguousArray<UInt32> {
        let count = parents.count
        var sizes = ContiguousArray<UInt32>(repeating: 1, count: count)
        for vertex in 0..<count where parents[vertex] != none { sizes[Int(parents[vertex])] += sizes[vertex] }
        // From the last vertex to the first each takes the end of what is left of its parent's range.
        var ends = ContiguousArray<UInt32>(repeating: 0, count: count)
        var rootEnd = UInt32(count)
        var places = ContiguousArray<UInt32>(repeating: 0, count: count)
        for vertex in stride(from: count - 1, through: 0, by: -1) {
            let end: UInt32
            if parents[vertex] == none {
                end = rootEnd
                rootEnd -= sizes[vertex]
            } else {
                end = ends[Int(parents[vertex])]
                ends[Int(parents[vertex])] -= sizes[vertex]
            }
            places[vertex] = end - 1
            ends[vertex] = end - 1
        }
        return places
    }
}
