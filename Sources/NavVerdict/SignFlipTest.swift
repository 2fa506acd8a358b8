import Glibc

/// A sign-flip test of whether values are equally likely negative and positive: it rejects this if few choices of their signs give a sum
/// of the observed magnitude.
///
/// The sums of all choices of signs are kept as a sorted list with their probabilities, starting with the greatest value. Equal sums are
/// joined, and sums that the remaining values cannot move across the observed sum are removed. The test is exact while the list stays
/// within a limit: up to 12 values with a limit of 2¹², mostly up to 20, and any number of values that are multiples of one number, such
/// as counts. Beyond the limit, neighbouring sums are joined at their mean. The result is deterministic and independent of the order of
/// the values.
struct SignFlipTest {
    /// The number of values after which the sum of the remaining, smaller values counts as normally distributed if the list is not exact.
    private static let mostSingle = 200
    /// The number of standard deviations that a sum of the remaining values exceeds with a probability below 2e-8 (W. Hoeffding, 1963).
    private static let farthest = 6.0

    /// The most sums in the list.
    private let limit: Int
    private var sums = [0.0]
    private var weights = [1.0]
    private var isExact = true

    private init(limit: Int) { self.limit = limit }

    /// Whether at most a share `level` of the choices of signs gives a sum of at least the magnitude of the observed one.
    ///
    /// - Parameters:
    ///   - values: the values in any order; zeros are ignored.
    ///   - limit: the most sums in the list.
    static func rejects(_ values: [Double], level: Double, limit: Int) -> Bool {
        let values = values.filter { $0 != 0 }.sorted { ($0.magnitude, $0) > ($1.magnitude, $1) }
        var (rest, squares) = ([0.0], [0.0])
        for value in values.reversed() {
            rest.append(rest[rest.count - 1] + value.magnitude)
            squares.append(squares[squares.count - 1] + value * value)
        }
        // Differences of decimal fractions that should be equal may differ in their last digits.
        let tolerance = 1e-9 * max(rest[values.count], 1)
        let observed = abs(values.reduce(0, +)) - tolerance
        guard observed > 0 else { return false }
        var (list, certain) = (SignFlipTest(limit: limit), 0.0)
        for (index, value) in values.enumerated() {
            let left = values.count - index
            if index >= mostSingle, !list.isExact {
                certain += list.normalTail(from: observed, deviation: squares[left].squareRoot())
                break
            }
            let reach = min(rest[left - 1], farthest * squares[left - 1].squareRoot())
            let window = (observed - reach)..<(observed + reach)
            certain += list.add(value.magnitude, within: window, joining: tolerance)
            // Both tails are equal.
            if 2 * certain > level { return false }
            if 2 * (certain + list.weights.reduce(0, +)) <= level { return true }
        }
        return 2 * certain <= level
    }

    /// Adds a value with either sign and removes sums outside the window.
    ///
    /// - Returns: the probability of the sums above the window.
    private mutating func add(_ value: Double, within window: Range<Double>, joining tolerance: Double) -> Double {
        var above = 0.0
        var (merged, shares) = ([Double](), [Double]())
        merged.reserveCapacity(2 * sums.count)
        shares.reserveCapacity(2 * sums.count)
        // The lower list, with the value's minus sign, is exhausted first.
        var (low, high) = (0, 0)
        while high < sums.count {
            let isLow = low < sums.count && sums[low] - value <= sums[high] + value
            let sum = isLow ? sums[low] - value : sums[high] + value
            let share = weights[isLow ? low : high] / 2
            if isLow { low += 1 } else { high += 1 }
            if sum >= window.upperBound { above += share }
            guard share > 0, window.contains(sum) else { continue }
            if let last = merged.last, sum - last <= tolerance {
                shares[shares.count - 1] += share
            } else {
                merged.append(sum)
                shares.append(share)
            }
        }
        (sums, weights) = (merged, shares)
        if sums.count > limit { thin() }
        return above
    }

    /// Joins neighbouring sums at their mean.
    private mutating func thin() {
        isExact = false
        let width = (sums[sums.count - 1] - sums[0]) / Double(limit - 1)
        var (joined, shares) = ([Double](), [Double]())
        var index = 0
        while index < sums.count {
            let end = sums[index] + width
            var (moment, share) = (0.0, 0.0)
            repeat {
                moment += sums[index] * weights[index]
                share += weights[index]
                index += 1
            } while index < sums.count && sums[index] < end
            joined.append(moment / share)
            shares.append(share)
        }
        (sums, weights) = (joined, shares)
    }

    /// Returns the probability that a listed sum plus a normally distributed number is at least `sum`.
    private func normalTail(from sum: Double, deviation: Double) -> Double {
        zip(sums, weights).reduce(0) { $0 + $1.1 * erfc((sum - $1.0) / (deviation * 2.0.squareRoot())) / 2 }
    }
}
