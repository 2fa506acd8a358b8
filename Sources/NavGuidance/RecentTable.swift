/// A table of recently used values by dense index: when it is full, the values not used since it was last full are evicted.
///
/// It replaces a dictionary, whose hash function costs more than processing most junctions.
struct RecentTable<Value> {
    private static var capacity: Int { 8_192 }
    private var recent = SlotTable<UInt32, Value>()
    private var former = SlotTable<UInt32, Value>()

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
struct SlotTable<Key: FixedWidthInteger & UnsignedInteger, Value> {
    private(set) var count = 0
    /// The key of each slot's value.
    private var keys: [Key] = []
    private var values: [Value?] = []
    /// 64 minus the binary logarithm of the number of slots.
    private var shift: UInt64 = 64

    /// The marker of a free slot; not a key, because a graph has fewer edges, nodes and traits.
    private static var free: Key { .max }

    func find(_ key: Key) -> Value? { keys.isEmpty ? nil : values[slot(of: key)] }

    mutating func insert(_ value: Value, at key: Key) {
        if 2 * count >= keys.count { grow() }
        let slot = slot(of: key)
        if keys[slot] == Self.free { count += 1 }
        keys[slot] = key
        values[slot] = value
    }

    /// Returns the slot that holds a key, else the free slot for it.
    private func slot(of key: Key) -> Int {
        // 2⁶⁴ divided by the golden ratio spreads neighbours over the slots.
        var slot = Int((UInt64(key) &* 0x9E37_79B9_7F4A_7C15) >> shift)
        while keys[slot] != key, keys[slot] != Self.free { slot = (slot + 1) & (keys.count - 1) }
        return slot
    }

    private mutating func grow() {
        let former = self
        let size = max(1024, 4 * former.keys.count)
        keys = Array(repeating: Self.free, count: size)
        values = Array(repeating: nil, count: size)
        shift = UInt64(64 - size.trailingZeroBitCount)
        for (key, value) in zip(former.keys, former.values) where key != Self.free {
            let slot = slot(of: key)
            keys[slot] = key
            values[slot] = value
        }
    }
}
