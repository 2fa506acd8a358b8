/// The tags of one object by key, created once and refilled for each object, so that a look-up costs one load.
package struct TagSet: Sendable {
    private var values = ContiguousArray<UInt32>(repeating: 0, count: TagKey.allCases.count)
    private var used: ContiguousArray<TagKey> = []

    package init() {}

    /// Replaces all tags by those of object `index` of `lists`; of a repeated key the last one counts.
    package mutating func load(_ lists: TagLists, _ index: Int) {
        for key in used { values[Int(key.rawValue)] = 0 }
        used.removeAll(keepingCapacity: true)
        for at in lists.starts[index]..<lists.starts[index + 1] {
            used.append(lists.keys[at])
            values[Int(lists.keys[at].rawValue)] = lists.values[at]
        }
    }

    /// Returns the text number of a key's value, 0 without the key.
    @inline(__always)
    package subscript(key: TagKey) -> UInt32 { values[Int(key.rawValue)] }

    /// Returns the value of a key if it is a known word; nil without the key or for any other text.
    @inline(__always)
    package func word(_ key: TagKey) -> Word? {
        let value = values[Int(key.rawValue)]
        return value == 0 ? nil : Word(rawValue: value)
    }

    @inline(__always)
    package func has(_ key: TagKey) -> Bool { values[Int(key.rawValue)] != 0 }
}
