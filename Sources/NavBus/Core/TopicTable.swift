internal import Glibc

/// A hash table from a topic's frame to its index; a lookup creates no String.
package struct TopicTable {
    private var keys: ContiguousArray<[UInt8]> = []
    /// Open addressing over a power of two, at most half full; -1 marks a free slot.
    private var slots: ContiguousArray<Int32> = ContiguousArray(repeating: -1, count: 16)
    private var last = 0

    /// Returns the topic's frame: its name and a NUL, so that no name is a prefix of another.
    package static func key(_ topic: String) -> [UInt8] { Array(topic.utf8) + [0] }

    /// Returns the index of the topic whose frame is `frame`.
    @inline(__always)
    mutating func find(_ frame: UnsafeRawBufferPointer) -> Int? {
        if last < keys.count, isEqual(last, frame) { return last }
        guard let index = probe(frame) else { return nil }
        last = index
        return index
    }

    /// Adds a new topic and returns its index.
    mutating func insert(_ topic: String) -> Int {
        keys.append(Self.key(topic))
        if keys.count * 2 > slots.count {
            slots = ContiguousArray(repeating: -1, count: slots.count * 2)
            for index in keys.indices { place(index) }
        } else {
            place(keys.count - 1)
        }
        return keys.count - 1
    }

    private mutating func place(_ index: Int) {
        var slot = keys[index].withUnsafeBytes { Self.hash($0) } & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(truncatingIfNeeded: index)
    }

    private func probe(_ frame: UnsafeRawBufferPointer) -> Int? {
        var slot = Self.hash(frame) & (slots.count - 1)
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if isEqual(index, frame) { return index }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    @inline(__always)
    private func isEqual(_ index: Int, _ frame: UnsafeRawBufferPointer) -> Bool {
        keys[index].withUnsafeBytes { key in
            guard key.count == frame.count, let left = key.baseAddress, let right = frame.baseAddress else {
                return false
            }
            return memcmp(left, right, key.count) == 0
        }
    }

    /// Returns the FNV-1a hash.
    ///
    /// The table holds only topics this node chose, so no other node can provoke collisions.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int(truncatingIfNeeded: (hash ^ (hash >> 32)) & 0x7fff_ffff)
    }
}
