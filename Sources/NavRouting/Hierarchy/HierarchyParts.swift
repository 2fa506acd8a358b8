import NavMap

/// A division of a hierarchy among threads into runs of whole, independent subtrees, and the vertices above them.
///
/// Ranks are in postorder, so a subtree is a range that ends at its root. Vertices in no part form the top: the first
/// separators of the dissection.
struct HierarchyParts: Sendable {
    /// Ranges of whole subtrees, ascending.
    let subtrees: [Range<Int>]
    /// The vertices in none of the subtrees, ascending.
    let top: ContiguousArray<UInt32>
    let isTop: FlatArray<Bool>

    /// The divisor of the vertex count that gives the largest subtree; larger ones are split.
    static let share = 24
    /// The least number of vertices that justifies a thread.
    static let smallest = 1_024

    init(parents: FlatArray<UInt32>) {
        let count = parents.count
        let limit = max(count / Self.share, Self.smallest)
        var sizes = ContiguousArray<UInt32>(repeating: 1, count: count)
        for vertex in 0..<count where parents[vertex] != EliminationTree.none {
            sizes[Int(parents[vertex])] += sizes[vertex]
        }
        var subtrees: [Range<Int>] = []
        var top: ContiguousArray<UInt32> = []
        isTop = FlatArray(repeating: false, count: count)
        for vertex in 0..<count {
            if sizes[vertex] > limit {
                top.append(UInt32(vertex))
                isTop[vertex] = true
                continue
            }
            let isRoot = parents[vertex] == EliminationTree.none || sizes[Int(parents[vertex])] > limit
            guard isRoot else { continue }
            let range = vertex + 1 - Int(sizes[vertex])..<vertex + 1
            // Small neighbours are merged into one part.
            if let last = subtrees.last, last.upperBound == range.lowerBound, last.count + range.count <= limit {
                subtrees[subtrees.count - 1] = last.lowerBound..<range.upperBound
            } else {
                subtrees.append(range)
            }
        }
        self.subtrees = subtrees
        self.top = top
    }
}
