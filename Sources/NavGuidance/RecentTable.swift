/// A table of values by dense index that keeps those used last: when it is full, those not used since it was last full go.
///
/// It takes the place of a dictionary, whose hash function costs more than most junctions take to be looked at.
struct RecentTable<Value> {
    private static var capacity: Int { 8_192 }
    private var recent = SlotTable<Value>()
    private var former = SlotTable<Value>()

    mutating func find(_ index: UInt32) -> Value? {
        if let known = recent.find(index) { return known }
        guard let known = former.find(index) else { return nil }
        insert(known, at: index)
        return known
    }

    mutating func insert(_ value: Value, at index: UInt32) {
        if recent.count >= Self.capacity { (former, recent) = (recent, SlotTable()) }
        recent.insert(value, at: index)
    }
}

/// A growing table with open addressing; nothing is removed from it.
private struct SlotTable<Value> {
    private(set) var count = 0
    /// The index of each slot's value.
    private var indices: [UInt32] = []
    private var values: [Value?] = []
    /// 32 less the binary logarithm of the number of slots.
    private var shift: UInt32 = 32

    /// No dense index: a graph has fewer edges and nodes.
    private static var free: UInt32 { .max }

    func find(_ index: UInt32) -> Value? { indices.isEmpty ? nil : values[slot(of: index)] }

    mutating func insert(_ value: Value, at index: UInt32) {
        if 2 * count >= indices.count { grow() }
        let slot = slot(of: index)
        if indices[slot] == Self.free { count += 1 }
        indices[slot] = index
        values[slot] = value
    }

    /// Returns the slot that holds an index, else the free slot for it.
    private func slot(of index: UInt32) -> Int {
        // 2³² divided by the golden ratio spreads neighbours over the slots.
        var slot = Int((index &* 0x9E37_79B1) >> shift)
        while indices[slot] != index, indices[slot] != Self.free { slot = (slot + 1) & (indices.count - 1) }
        return slot
    }

    private mutating func grow() {
        let former = self
        let size = max(1024, 4 * former.indices.count)
        indices = Array(repeating: Self.free, count: size)
        values = Array(repeating: nil, count: size)
        shift = UInt32(32 - size.trailingZeroBitCount)
        for (index, value) in zip(former.indices, former.values) where index != Self.free {
            let slot = slot(of: index)
            indices[slot] = index
            values[slot] = value
        }
    }
}
