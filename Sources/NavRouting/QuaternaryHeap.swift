/// A four-ary min-heap of (cost, state) that breaks ties by the smaller state, so that searches are deterministic.
///
/// Four children share a cache line, which makes it faster than a binary heap for searches with many pushes.
struct QuaternaryHeap {
    struct Entry {
        var cost: UInt32
        var state: TurnState

        @inline(__always)
        var key: UInt64 { UInt64(cost) << 32 | UInt64(state) }
    }

    private var entries: ContiguousArray<Entry> = []

    var first: Entry? { entries.first }
    var isEmpty: Bool { entries.isEmpty }

    mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    mutating func push(_ cost: UInt32, _ state: TurnState) {
        let entry = Entry(cost: cost, state: state)
        entries.append(entry)
        var hole = entries.count - 1
        while hole > 0 {
            let parent = (hole - 1) / 4
            guard entry.key < entries[parent].key else { break }
            entries[hole] = entries[parent]
            hole = parent
        }
        entries[hole] = entry
    }

    mutating func popFirst() -> Entry? {
        guard let result = entries.first, let moved = entries.popLast() else { return nil }
        guard !entries.isEmpty else { return result }
        var hole = 0
        while true {
            let child = hole * 4 + 1
            guard child < entries.count else { break }
            var smallest = child
            for other in (child + 1)..<max(child + 1, min(child + 4, entries.count))
            where entries[other].key < entries[smallest].key {
                smallest = other
            }
            guard entries[smallest].key < moved.key else { break }
            entries[hole] = entries[smallest]
            hole = smallest
        }
        entries[hole] = moved
        return result
    }
}
