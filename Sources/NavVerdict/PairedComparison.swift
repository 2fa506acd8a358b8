import Glibc
import NavGeo

/// A comparison of two runs over the same bags, metric by metric.
///
/// Each bag is its own control: only the difference between its two values counts. The interval of the mean difference holds
/// the means that a sign-flip permutation test does not reject (E. J. G. Pitman, "Significance tests which may be applied to
/// samples from any populations", 1937; P. Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter 3).
/// It assumes only that chance moves a bag as often one way as the other. The level of 1 % is shared among the compared
/// metrics (Bonferroni), so at most one in a hundred comparisons of equal builds reports any metric. A difference in few bags,
/// fewer than eight for one metric and fewer than eleven for all of them, cannot be distinguished from chance and is not
/// reported as a change.
package struct PairedComparison: Sendable {
    /// The differences of a metric.
    package struct Row: Sendable, Equatable {
        package var metric: String
        package var pairs: Int
        /// Pairs whose values differ.
        package var differing: Int
        /// The mean difference, the new value minus the old.
        package var mean: Double
        /// The interval of the mean difference.
        package var interval: ClosedRange<Double>
        /// The number of bags in which only the old run has a value.
        package var onlyBefore = 0
        /// The number of bags in which only the new run has a value.
        package var onlyAfter = 0
        /// Whether the interval excludes 0.
        package var hasShifted: Bool { !interval.contains(0) }
        /// Whether the values have shifted, or some are missing on one side.
        package var isChange: Bool { hasShifted || onlyBefore + onlyAfter > 0 }
    }

    /// The probability of a false report when nothing differs.
    package static let level = 0.01
    /// The number of random sign patterns when there are too many to try all.
    private static let draws = 1_000
    /// The most pairs for which signs are flipped; the mean of more is practically normal.
    private static let mostFlipped = 200

    package let rows: [Row]
    /// The bags whose verdict differs, with the verdicts before and after.
    package let verdicts: [(bag: String, before: BagResult.Verdict, after: BagResult.Verdict)]
    /// The event differences of each bag that has any.
    package let changes: [(bag: String, changes: [ChangeLine])]
    /// The bags that only one of the two results has.
    package let unpaired: [String]

    /// The greatest difference of a metric that is compared, because a result file may hold any number.
    private static let greatestDifference = 1e12

    /// Compares results; the metrics of bags without a run on either side are not compared.
    ///
    /// - Parameter tolerances: returns the tolerances of a bag by its name.
    package init(
        _ before: FleetResult, _ after: FleetResult, tolerances: (String) -> EventDiff.Tolerances
    ) {
        let old = Dictionary(before.bags.map { ($0.bag, $0) }, uniquingKeysWith: { first, _ in first })
        let new = Set(after.bags.map(\.bag))
        let pairs = after.bags.compactMap { bag in old[bag.bag].map { ($0, bag) } }
        unpaired = after.bags.map(\.bag).filter { old[$0] == nil } + before.bags.map(\.bag).filter { !new.contains($0) }
        verdicts = pairs.filter { $0.0.verdict != $0.1.verdict }.map { ($0.0.bag, $0.0.verdict, $0.1.verdict) }
        let runs = pairs.filter { $0.0.record.failure == nil && $0.1.record.failure == nil }
        changes = runs.compactMap { old, new in
            let lines = EventDiff(old.record.events, new.record.events, tolerances: tolerances(new.bag)).changes
            return lines.isEmpty ? nil : (new.bag, lines.map { ChangeLine($0) })
        }
        let values = Metric.allCases.map { metric in
            (metric.rawValue, runs.map { ($0.record.metrics[metric.rawValue], $1.record.metrics[metric.rawValue]) })
        }
        let differences = values.map { _, pairs in
            pairs.compactMap { before, after -> Double? in
                guard let before, let after, (after - before).magnitude < Self.greatestDifference else { return nil }
                return after - before
            }
        }
        let share = Self.level / Double(max(differences.count { !$0.isEmpty }, 1))
        rows = zip(values, differences).map { metric, differences in
            var row = Self.row(metric.0, differences, level: share)
            row.onlyBefore = metric.1.count { $0 != nil && $1 == nil }
            row.onlyAfter = metric.1.count { $0 == nil && $1 != nil }
            return row
        }.filter { $0.pairs > 0 || $0.isChange }
    }

    static func row(_ metric: String, _ differences: [Double], level: Double) -> Row {
        let mean = differences.reduce(0, +) / Double(max(differences.count, 1))
        return Row(
            metric: metric, pairs: differences.count, differing: differences.count { $0 != 0 }, mean: mean,
            interval: interval(differences, mean: mean, level: level))
    }

    /// Returns the interval of means that the test does not reject.
    static func interval(_ differences: [Double], mean: Double, level: Double) -> ClosedRange<Double> {
        guard let least = differences.min(), let greatest = differences.max(), least < greatest || least != 0 else {
            return 0...0
        }
        let count = Double(differences.count)
        guard differences.count <= mostFlipped else {
            let squares = differences.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            let reach = normalQuantile(1 - level / 2) * (squares / (count - 1) / count).squareRoot()
            return (mean - reach)...(mean + reach)
        }
        let signs = Self.signs(differences.count)
        func rejects(_ candidate: Double) -> Bool {
            let moved = differences.map { $0 - candidate }
            let actual = abs(moved.reduce(0, +))
            let asFar = signs.count { pattern in
                var sum = 0.0
                for (value, sign) in zip(moved, pattern) { sum += sign ? value : -value }
                return abs(sum) >= actual - 1e-9
            }
            return Double(asFar) / Double(signs.count) <= level
        }
        // If a mean beyond the reach of the values is not rejected either, the interval is unbounded on that side.
        let width = max(greatest - least, abs(greatest), abs(least)) * 2
        func bound(_ far: Double) -> Double {
            guard rejects(far) else { return far > mean ? .infinity : -.infinity }
            var (inside, outside) = (mean, far)
            for _ in 0..<24 {
                let middle = (inside + outside) / 2
                if rejects(middle) { outside = middle } else { inside = middle }
            }
            return outside
        }
        // The limited precision of the bounds must not exclude 0 if the test does not reject it.
        let (low, high) = (bound(mean - width), bound(mean + width))
        return rejects(0) ? low...high : min(low, 0)...max(high, 0)
    }

    /// Returns patterns of signs: all of them for few values, else patterns drawn with a fixed seed.
    private static func signs(_ count: Int) -> [[Bool]] {
        if count <= 12 { return (0..<(1 << count)).map { bits in (0..<count).map { bits >> $0 & 1 == 1 } } }
        var generator = SplitMix64(seed: 0x9e37_79b9_7f4a_7c15)
        // The observed pattern is one of the possible ones.
        return [[Bool](repeating: true, count: count)]
            + (1..<draws).map { _ in (0..<count).map { _ in generator.next() & 1 == 1 } }
    }

    /// Returns the quantile of the normal distribution, by bisection of its distribution function.
    private static func normalQuantile(_ share: Double) -> Double {
        var (low, high) = (0.0, 10.0)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if 1 - erfc(middle / 2.0.squareRoot()) / 2 < share { low = middle } else { high = middle }
        }
        return high
    }
}
