/// A comparison of two runs over the same bags, metric by metric.
///
/// Each bag is its own control: only the difference between its two values counts. The interval of the mean difference contains
/// the means that a sign-flip permutation test does not reject (E. J. G. Pitman, "Significance tests which may be applied to
/// samples from any populations", 1937; P. Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005, chapter 3).
/// Whether it contains 0 depends only on the bags that differ, see ``SignFlipTest``, not on their names or order. The test
/// assumes only that chance increases and decreases values equally often. The level of 1 % is shared among the compared
/// metrics (Bonferroni), so at most one in a hundred comparisons of equal builds reports any metric. A difference in fewer
/// than eight bags (one compared metric) or eleven bags (all metrics) cannot be distinguished from chance and is not reported
/// as a change.
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
    /// The most sums that the test of a mean of 0 distinguishes; this test decides whether there is a change.
    private static let mostSums = 4_096
    /// The most sums that the tests of other means distinguish: enough for a bound to within 1 % of its distance from the mean.
    private static let mostBoundSums = 256

    package let rows: [Row]
    /// The bags whose verdict differs, with the verdicts before and after.
    package let verdicts: [(bag: String, before: BagResult.Verdict, after: BagResult.Verdict)]
    /// The event differences of each bag that has any.
    package let changes: [(bag: String, changes: [ChangeLine])]
    /// The bags that only one of the two results has.
    package let unpaired: [String]

    /// The greatest difference of a metric that is compared: a result file may contain any number.
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
        // A figure that only one of the two builds can measure is not a change of the drive.
        let known = Metric.allCases.filter {
            before.figures.contains($0.rawValue) && after.figures.contains($0.rawValue)
        }
        let values = known.map { metric in
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
        // Sums must not depend on the order of the bags, not even in their last digit.
        let ordered = differences.sorted()
        let mean = ordered.reduce(0, +) / Double(max(ordered.count, 1))
        return Row(
            metric: metric, pairs: ordered.count, differing: ordered.count { $0 != 0 }, mean: mean,
            interval: interval(ordered, mean: mean, level: level))
    }

    /// Returns the interval of means that the test does not reject.
    private static func interval(_ differences: [Double], mean: Double, level: Double) -> ClosedRange<Double> {
        guard let least = differences.first, let greatest = differences.last, least < greatest || least != 0 else {
            return 0...0
        }
        func rejects(_ candidate: Double) -> Bool {
            SignFlipTest.rejects(differences.map { $0 - candidate }, level: level, limit: mostBoundSums)
        }
        let rejectsZero = SignFlipTest.rejects(differences, level: level, limit: mostSums)
        let width = max(greatest - least, abs(greatest), abs(least)) * 2
        func bound(_ far: Double) -> Double {
            var (inside, outside) = (mean, far)
            // The test of 0 is the most precise one, so it decides on which side of 0 the bound is.
            if (far < 0) == (mean > 0), mean != 0 {
                if rejectsZero { outside = 0 } else { inside = 0 }
            }
            // If a mean beyond the reach of the values is not rejected either, the interval is unbounded on that side.
            guard outside == 0 || rejects(outside) else { return far > mean ? .infinity : -.infinity }
            for _ in 0..<24 {
                let middle = (inside + outside) / 2
                if rejects(middle) { outside = middle } else { inside = middle }
            }
            return inside
        }
        return bound(mean - width)...bound(mean + width)
    }
}
