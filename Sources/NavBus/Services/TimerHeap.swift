/// An entry of a ``TimerHeap``; only the heap sets both values.
protocol TimerEntry: AnyObject {
    /// The time when the timer is due, in monotonic nanoseconds.
    var dueAt: Int64 { get set }
    /// The index in the heap, -1 when it is in none.
    var heapIndex: Int { get set }
}

/// A binary heap of timers whose entries know their index, so that moving or removing a timer takes logarithmic time and
/// leaves nothing behind.
struct TimerHeap<Entry: TimerEntry> {
    private var entries: ContiguousArray<Entry> = []

    var count: Int { entries.count }

    /// The time when the earliest timer is due, `Int64.max` when there is none.
    var next: Int64 { entries.isEmpty ? .max : entries[0].dueAt }

    func due(_ now: Int64) -> Entry? { next <= now ? entries.first : nil }

    /// Sets when an entry is due; `Int64.max` removes it.
    mutating func set(_ entry: Entry, _ dueAt: Int64) {
        if dueAt == .max { return remove(entry) }
        if entry.heapIndex < 0 {
            entry.heapIndex = entries.count
            entry.dueAt = dueAt
            entries.append(entry)
            return rise(entry.heapIndex)
        }
        let before = entry.dueAt
        if before == dueAt { return }
        entry.dueAt = dueAt
        if dueAt < before { rise(entry.heapIndex) } else { sink(entry.heapIndex) }
    }

    mutating func remove(_ entry: Entry) {
        let index = entry.heapIndex
        guard index >= 0 else { return }
        entry.heapIndex = -1
        let last = entries.removeLast()
        if index == entries.count { return }
        entries[index] = last
        last.heapIndex = index
        rise(index)
        sink(last.heapIndex)
    }

    private mutating func rise(_ start: Int) {
        var index = start
        while index > 0, entries[index].dueAt < entries[(index - 1) / 2].dueAt {
            exchange(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in 2 * index + 1...2 * index + 2
            where child < entries.count && entries[child].dueAt < entries[least].dueAt { least = child }
            if least == index { return }
            exchange(index, least)
            index = least
        }
    }

    private mutating func exchange(_ first: Int, _ second: Int) {
        entries.swapAt(first, second)
        entries[first].heapIndex = first
        entries[second].heapIndex = second
    }
}
