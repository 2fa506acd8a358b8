package import NavMap

/// A radix sort of 64-bit numbers in time proportional to their count.
package enum NumberOrder {
    private static let digitBits: UInt64 = 12

    /// Returns the indices of numbers in ascending order, with ties in their given order.
    ///
    /// The radix sort uses 12-bit digits, the least significant first, and skips digits that are the same in all
    /// numbers.
    ///
    /// - Parameter numbers: Fewer than 2³².
    package static func places(of numbers: FlatArray<UInt64>) -> FlatArray<UInt32> {
        let count = numbers.count
        let places = FlatArray<UInt32>(uninitialized: count)
        let (from, to) = (numbers.base, places.base)
        var (least, greatest) = (UInt64.max, UInt64.min)
        for index in 0..<count {
            least = min(least, from[index])
            greatest = max(greatest, from[index])
        }
        guard least < greatest else {
            for index in 0..<count { to[index] = UInt32(truncatingIfNeeded: index) }
            return places
        }
        let bits = UInt64(64 - (greatest - least).leadingZeroBitCount)
        let indexBits = UInt64(64 - UInt64(count).leadingZeroBitCount)
        guard bits + indexBits <= 64 else {
            let order = (0..<count).sorted { (from[$0], $0) < (from[$1], $1) }
            for index in 0..<count { to[index] = UInt32(truncatingIfNeeded: order[index]) }
            return places
        }
        // A number and its index in one word.
        var words = FlatArray<UInt64>(uninitialized: count)
        var other = FlatArray<UInt64>(uninitialized: count)
        for index in 0..<count { words.base[index] = (from[index] &- least) &<< indexBits | UInt64(index) }
        var shift = indexBits
        while shift < indexBits + bits {
            pass(words, shift, other)
            swap(&words, &other)
            shift += digitBits
        }
        let mask = (1 << indexBits) - 1 as UInt64
        for index in 0..<count { to[index] = UInt32(truncatingIfNeeded: words.base[index] & mask) }
        return places
    }

    private static func pass(_ words: FlatArray<UInt64>, _ shift: UInt64, _ result: FlatArray<UInt64>) {
        let mask = (1 << digitBits) - 1 as UInt64
        let (from, to, count) = (words.base, result.base, words.count)
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Int(mask) + 2) { starts in
            starts.initialize(repeating: 0)
            for index in 0..<count { starts[Int(truncatingIfNeeded: from[index] &>> shift & mask) + 1] &+= 1 }
            for bucket in 0...Int(mask) { starts[bucket + 1] &+= starts[bucket] }
            for index in 0..<count {
                let bucket = Int(truncatingIfNeeded: from[index] &>> shift & mask)
                to[Int(starts[bucket])] = from[index]
                starts[bucket] &+= 1
            }
        }
    }
}
