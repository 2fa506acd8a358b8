/// The evidence of an extract's objects about the country that it lies in: `addr:country` and `is_in:country_code` of any
/// object, and the zone tags of ways, such as `maxspeed:type=PT:urban`.
package struct CountryEvidence: Sendable, Equatable {
    /// The number of times that each country is named, by its packed code.
    package private(set) var counts: [UInt16: Int] = [:]

    package init() {}

    /// Counts a value; one that is no country's code does not count.
    package mutating func add(_ value: UnsafeRawBufferPointer) {
        guard value.count == 2, value.allSatisfy({ $0 >= 65 && $0 <= 90 }) else { return }
        add(UInt16(value[0]) << 8 | UInt16(value[1]))
    }

    /// Counts a packed code, 0 for none.
    package mutating func add(_ code: UInt16, times: Int = 1) {
        if code != 0 { counts[code, default: 0] += times }
    }

    /// Takes over what another part of the extract says.
    package mutating func add(_ other: CountryEvidence) {
        for (code, count) in other.counts { counts[code, default: 0] += count }
    }

    /// The country that the objects agree on, packed: at least three name it, and no more than one in twenty another;
    /// else 0, as in an extract over a border.
    package var country: UInt16 {
        let total = counts.values.reduce(0, +)
        guard let best = counts.max(by: { ($0.value, $1.key) < ($1.value, $0.key) }), best.value >= 3,
            best.value * 20 >= total * 19
        else { return 0 }
        return best.key
    }
}
