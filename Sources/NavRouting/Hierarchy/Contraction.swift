import NavMap

/// The contraction of a turn graph's states: each vertex passes its later neighbours on to the first of them, its parent.
struct Contraction {
    /// The index of each vertex's first upward arc.
    let offsets: FlatArray<UInt32>
    /// The upper ends of the arcs, ascending within a vertex.
    let heads: FlatArray<UInt32>
    /// For each arc of the turn graph, the index of its arc here times 2, plus 1 when it leads down; ``ContractionHierarchy/noArc`` for a
    /// loop.
    let slots: FlatArray<UInt32>

    /// Nil when there would be more than `limit` arcs.
    init?(_ turns: TurnGraph, _ tree: EliminationTree, limit: Int) {
        let count = turns.stateCount
        let turnsUp = TurnsUp(turns, tree)
        let slots = FlatArray(repeating: ContractionHierarchy.noArc, count: turns.arcCount)
        let offsets = FlatArray<UInt32>(uninitialized: count + 1)
        offsets[0] = 0
        // Children by parent.
        let firstChild = FlatArray(repeating: EliminationTree.none, count: count)
        let nextSibling = FlatArray<UInt32>(uninitialized: count)
        for vertex in stride(from: count - 1, through: 0, by: -1) where tree.parents[vertex] != EliminationTree.none {
            let parent = Int(tree.parents[vertex])
            nextSibling[vertex] = firstChild[parent]
            firstChild[parent] = UInt32(truncatingIfNeeded: vertex)
        }
        var heads = FlatArray<UInt32>(uninitialized: turns.arcCount * 4)
        var headCount = 0
        // Sized for the longest possible list; untouched pages take no memory.
        var merged = FlatArray<UInt32>(uninitialized: count)
        var other = FlatArray<UInt32>(uninitialized: count)
        for vertex in 0..<count {
            let own = Int(turnsUp.offsets[vertex])..<Int(turnsUp.offsets[vertex + 1])
            var length = 0
            for turn in own {
                let head = TurnsUp.head(turnsUp.values[turn])
                if length > 0, merged[length - 1] == head { continue }
                merged[length] = head
                length += 1
            }
            var child = firstChild[vertex]
            while child != EliminationTree.none {
                // The child's first neighbour is this vertex, so it is skipped.
                let passed = Int(offsets[Int(child)]) + 1
                let passedCount = Int(offsets[Int(child) + 1]) - passed
                length = Self.unite(merged.base, length, heads.base + passed, passedCount, into: other.base)
                swap(&merged, &other)
                child = nextSibling[Int(child)]
            }
            guard headCount + length <= limit else { return nil }
            if headCount + length > heads.count {
                let larger = FlatArray<UInt32>(uninitialized: (headCount + length) * 2)
                larger.base.update(from: heads.base, count: headCount)
                heads = larger
            }
            (heads.base + headCount).update(from: merged.base, count: length)
            // Both lists ascend.
            var place = headCount
            for turn in own {
                let value = turnsUp.values[turn]
                while heads[place] != TurnsUp.head(value) { place += 1 }
                slots[TurnsUp.arc(value)] = UInt32(place) << 1 | TurnsUp.leadsDown(value)
            }
            headCount += length
            offsets[vertex + 1] = UInt32(headCount)
        }
        self.offsets = offsets
        self.heads = FlatArray(heads, prefix: headCount)
        self.slots = slots
    }

    /// Writes the union of two ascending lists and returns its length.
    @inline(__always)
    private static func unite(
        _ first: UnsafePointer<UInt32>, _ firstCount: Int, _ second: UnsafePointer<UInt32>, _ secondCount: Int,
        into result: UnsafeMutablePointer<UInt32>
    ) -> Int {
        var (left, right, length) = (0, 0, 0)
        while left < firstCount, right < secondCount {
            let (a, b) = (first[left], second[right])
            result[length] = min(a, b)
            length += 1
            left += a <= b ? 1 : 0
            right += b <= a ? 1 : 0
        }
        (result + length).update(from: first + left, count: firstCount - left)
        length += firstCount - left
        (result + length).update(from: second + right, count: secondCount - right)
        return length + secondCount - right
    }
}

/// The arcs of a turn graph grouped by the lower of their two vertices, ascending by the upper one.
private struct TurnsUp {
    let offsets: FlatArray<UInt32>
    /// The upper vertex, then the arc, then whether it leads down, packed into one word.
    let values: FlatArray<UInt64>

    @inline(__always)
    static func head(_ value: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: value >> 32) }
    @inline(__always)
    static func arc(_ value: UInt64) -> Int { Int(truncatingIfNeeded: value & 0xFFFF_FFFF) >> 1 }
    @inline(__always)
    static func leadsDown(_ value: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: value & 1) }

    init(_ turns: TurnGraph, _ tree: EliminationTree) {
        let count = turns.stateCount
        let (ranks, states) = (tree.ranks, tree.states)
        let offsets = FlatArray<UInt32>(repeating: 0, count: count + 1)
        let ends = FlatArray<UInt32>(uninitialized: count)
        values = turns.withArcs { arcs in
            for state in 0..<count {
                let tail = ranks[state]
                for arc in Int(arcs.offsets[state])..<Int(arcs.offsets[state + 1]) {
                    let head = ranks[Int(arcs.targets[arc])]
                    if head != tail { offsets[Int(min(tail, head)) + 1] += 1 }
                }
            }
            for vertex in 0..<count {
                ends[vertex] = offsets[vertex]
                offsets[vertex + 1] += offsets[vertex]
            }
            let values = FlatArray<UInt64>(uninitialized: Int(offsets[count]))
            for vertex in 0..<count {
                let (state, tail) = (Int(states[vertex]), UInt32(truncatingIfNeeded: vertex))
                for arc in Int(arcs.offsets[state])..<Int(arcs.offsets[state + 1]) {
                    let head = ranks[Int(arcs.targets[arc])]
                    guard head != tail else { continue }
                    let low = Int(min(tail, head))
                    values[Int(ends[low])] =
                        UInt64(max(tail, head)) << 32 | UInt64(arc) << 1 | (head < tail ? 1 : 0)
                    ends[low] += 1
                }
            }
            for vertex in 0..<count { Self.sort(values.base, Int(offsets[vertex])..<Int(offsets[vertex + 1])) }
            return values
        }
        self.offsets = offsets
    }

    /// Sorts the values of a vertex, by insertion when there are few, which is the usual case.
    @inline(__always)
    private static func sort(_ values: UnsafeMutablePointer<UInt64>, _ range: Range<Int>) {
        guard range.count <= 24 else {
            var many = UnsafeMutableBufferPointer(start: values + range.lowerBound, count: range.count)
            return many.sort()
        }
        for index in range.dropFirst() {
            let value = values[index]
            var hole = index
            while hole > range.lowerBound, values[hole - 1] > value {
                values[hole] = values[hole - 1]
                hole -= 1
            }
            values[hole] = value
        }
    }
}
