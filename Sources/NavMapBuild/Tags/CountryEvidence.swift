/// The evidence of an extract's country: `addr:country` and `is_in:country_code` of any object, and the zone tags of ways, such as
/// `maxspeed:type=PT:urban`.
package struct CountryEvidence: Sendable, Equatable {
    /// The number of times each country is named, by packed code.
    package private(set) var counts: [UInt16: Int] = [:]

    package init() {}

    /// Counts a value if it is a country code.
    package mutating func add(_ value: UnsafeRawBufferPointer) {
        guard value.count == 2, value.allSatisfy({ $0 >= 65 && $0 <= 90 }) else { return }
        add(Countries.packed(value[0], value[1]))
    }

    /// Counts a packed code; 0 is ignored.
    package mutating func add(_ code: UInt16) {
        if code != 0 { counts[code, default: 0] += 1 }
    }

    /// Adds the evidence of another part of the extract.
    package mutating func add(_ other: CountryEvidence) {
        for (code, count) in other.counts { counts[code, default: 0] += count }
    }

    /// The country that the objects agree on, packed: at least three name it, and at most one in twenty names another.
    ///
    /// 0 without agreement, as in an extract across a border.
    package var country: UInt16 {
        let total = counts.values.reduce(0, +)
        guard let best = counts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }), best.value >= 3,
            best.value * 20 >= total * 19
        else { return 0 }
        return best.key
    }
}
