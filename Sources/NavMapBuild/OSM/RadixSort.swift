enum RadixSort {
    /// Sorts ids ascending, 11 bits per pass, skipping the passes whose bits are all equal.
    ///
    /// It is linear in the count, with one buffer of the same size, and about ten times as fast as a comparison sort for
    /// millions of ids.
    static func sort(_ ids: inout ContiguousArray<Int64>) {
        let count = ids.count
        guard count > 256 else {
            ids.sort()
            return
        }
        // Flipping the sign bit orders negative ids, which editors assign to new objects, before positive ones.
        let sign = UInt64(1) << 63
        var all = UInt64.max
        var any: UInt64 = 0
        for id in ids {
            let key = UInt64(bitPattern: id) ^ sign
            all &= key
            any |= key
        }
        var buffer = ContiguousArray<Int64>(repeating: 0, count: count)
        for shift in stride(from: UInt64(0), to: 64, by: 11) where (any ^ all) >> shift & 0x7FF != 0 {
            var starts = ContiguousArray<Int>(repeating: 0, count: 2049)
            for id in ids { starts[Int((UInt64(bitPattern: id) ^ sign) >> shift & 0x7FF) + 1] += 1 }
            for digit in 1...2048 { starts[digit] += starts[digit - 1] }
            ids.withUnsafeBufferPointer { source in
                buffer.withUnsafeMutableBufferPointer { target in
                    for id in source {
                        let digit = Int((UInt64(bitPattern: id) ^ sign) >> shift & 0x7FF)
                        target[starts[digit]] = id
                        starts[digit] += 1
                    }
                }
            }
            swap(&ids, &buffer)
        }
    }

    /// Removes equal neighbours of a sorted array.
    static func removeDuplicates(_ ids: inout ContiguousArray<Int64>) {
        guard var last = ids.first else { return }
        var kept = 1
        for index in 1..<ids.count where ids[index] != last {
            last = ids[index]
            ids[kept] = last
            kept += 1
        }
        ids.removeLast(ids.count - kept)
    }
}
