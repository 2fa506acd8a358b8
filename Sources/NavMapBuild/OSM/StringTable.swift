/// A table of distinct texts by number: 0 is the empty text, then come the words of ``Word``, then the interned texts.
///
/// Numbers are assigned in order of first appearance, so the same texts in the same order get the same numbers.
package struct StringTable: Sendable {
    private var bytes: ContiguousArray<UInt8> = []
    private var ends: ContiguousArray<UInt32> = []
    private var slots: ContiguousArray<UInt32>

    /// Creates a table with only the known words.
    package init() {
        slots = ContiguousArray(repeating: .max, count: 1024)
        for word in Word.allCases {
            _ = intern(word.text)
        }
    }

    package var count: Int { ends.count }

    /// Returns the number of `text`, adding it if it is new.
    package mutating func intern(_ text: String) -> UInt32 {
        var text = text
        return text.withUTF8 { intern(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the number of the text with these bytes, adding it if it is new.
    package mutating func intern(_ text: UnsafeRawBufferPointer) -> UInt32 {
        if ends.count * 2 >= slots.count { grow() }
        var slot = Self.hash(text) & (slots.count - 1)
        while slots[slot] != .max {
            if isEqual(slots[slot], text) { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        // The table holds at most 2^32 - 1 texts and 4 GiB; beyond that, texts become empty rather than wrong.
        guard ends.count < Int(UInt32.max) - 1, bytes.count + text.count <= Int(UInt32.max) else { return 0 }
        let id = UInt32(ends.count)
        bytes.append(contentsOf: text)
        ends.append(UInt32(bytes.count))
        slots[slot] = id
        return id
    }

    /// Returns the number of the text with these bytes; nil when it is not in the table.
    package func find(_ text: UnsafeRawBufferPointer) -> UInt32? {
        var slot = Self.hash(text) & (slots.count - 1)
        while slots[slot] != .max {
            if isEqual(slots[slot], text) { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Returns the text with a number; empty for a number that the table has not assigned.
    ///
    /// Bytes that are not UTF-8 are replaced, as OSM's texts come from files.
    package subscript(id: UInt32) -> String {
        withBytes(id) { String(decoding: $0, as: UTF8.self) }
    }

    /// Calls `body` with the bytes of the text with a number, or with none if the table has not assigned the number.
    package func withBytes<R>(_ id: UInt32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        bytes.withUnsafeBytes { all in
            guard Int(id) < ends.count else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
            let start = id == 0 ? 0 : Int(ends[Int(id) - 1])
            return body(UnsafeRawBufferPointer(rebasing: all[start..<Int(ends[Int(id)])]))
        }
    }

    private func isEqual(_ id: UInt32, _ text: UnsafeRawBufferPointer) -> Bool {
        withBytes(id) { $0.count == text.count && $0.elementsEqual(text) }
    }

    private mutating func grow() {
        slots = ContiguousArray(repeating: .max, count: slots.count * 2)
        for id in 0..<UInt32(ends.count) {
            var slot = withBytes(id) { Self.hash($0) } & (slots.count - 1)
            while slots[slot] != .max { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = id
        }
    }

    /// Returns the folded 64-bit FNV-1a hash; it is unseeded, so that a table has the same layout in every run.
    private static func hash(_ text: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return Int(truncatingIfNeeded: (hash ^ (hash >> 29)) & 0x7FFF_FFFF)
    }
}
