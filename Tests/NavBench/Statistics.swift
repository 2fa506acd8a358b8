/// Summaries of many values.
package enum Statistics {
    /// Returns the middle value, or the mean of the two in the middle; nil without values.
    package static func median(_ values: [Double]) -> Double? {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return nil }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// Returns the nearest-rank percentile of values in ascending order: the smallest value that at least `permille`
    /// thousandths of them do not exceed; nil without values.
    package static func percentile(_ sorted: [Int64], permille: Int) -> Int64? {
        guard !sorted.isEmpty else { return nil }
        let rank = (sorted.count * min(max(permille, 0), 1000) + 999) / 1000
        return sorted[max(rank, 1) - 1]
    }

    /// Returns the latencies of one round by the names of their figures: `p50`, `p99` and `p99.9`, in microseconds.
    package static func latencies(nanoseconds: [Int64]) -> [String: Double] {
        let sorted = nanoseconds.sorted()
        var result: [String: Double] = [:]
        for (name, permille) in [("p50", 500), ("p99", 990), ("p99.9", 999)] {
            if let value = percentile(sorted, permille: permille) { result[name] = Double(value) / 1000 }
        }
        return result
    }
}
