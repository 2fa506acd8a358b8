extension RandomAccessCollection where Index == Int {
    /// Returns the first index whose element satisfies a predicate that is false before some point and true after it.
    @inlinable @inline(__always)
    package func partitioningIndex(where predicate: (Element) -> Bool) -> Int {
        var low = startIndex
        var high = endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if predicate(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
