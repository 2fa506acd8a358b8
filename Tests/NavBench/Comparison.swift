/// A measurement of both sides, navbus and a peer, in the same rounds.
///
/// A run measures one round and returns its values by the names of the measures. It is called once per round and must
/// not leave state that affects the other side.
package struct Comparison {
    /// One of the values that a run returns.
    package struct Measure: Sendable, Hashable {
        /// The key in a run's result, and the last part of the figure's name; empty when the comparison's name suffices.
        package var name: String
        /// The unit of its values.
        package var unit: String

        /// A measure and its unit.
        package init(_ name: String, _ unit: String) {
            self.name = name
            self.unit = unit
        }

        /// The three percentiles of a latency, in microseconds.
        package static let latencies = [Measure("p50", "us"), Measure("p99", "us"), Measure("p99.9", "us")]
    }

    /// One round of one side: the values by the names of their measures.
    package typealias Run = () throws -> [String: Double]

    /// The first part of the figures' names.
    package var name: String
    /// The peer; nil when there is none.
    package var peer: String?
    /// The measures that a run returns.
    package var measures: [Measure]
    /// The side of navbus; nil if only the peer is measured.
    package var ours: Run?
    /// The side of the peer; nil if only navbus is measured.
    package var theirs: Run?

    /// Creates a comparison from its parts.
    package init(_ name: String, peer: String?, _ measures: [Measure], ours: Run?, theirs: Run?) {
        self.name = name
        self.peer = peer
        self.measures = measures
        self.ours = ours
        self.theirs = theirs
    }

    func figureName(_ measure: Measure) -> String { measure.name.isEmpty ? name : "\(name).\(measure.name)" }
}

/// Runs comparisons in alternating rounds, so that a temporary slowdown of the machine affects both sides.
package struct Rounds {
    /// The number of rounds.
    package var count: Int

    /// Creates `count` rounds, at least one.
    package init(_ count: Int) { self.count = max(1, count) }

    /// Measures every comparison once per round, one side right after the other, in an order that alternates between
    /// rounds.
    ///
    /// - Parameter progress: receives the completed share of the work, 0 ... 1, and the name of the next measurement.
    /// - Returns: the medians over the rounds of each value and of each ratio, in the given order.
    package func run(
        _ comparisons: [Comparison], progress: (Double, String) -> Void = { _, _ in }
    ) throws -> [Figure] {
        var results = comparisons.map { _ in [(ours: [String: Double], theirs: [String: Double])]() }
        let steps = Double(max(1, count * comparisons.count))
        for round in 0..<count {
            for (index, comparison) in comparisons.enumerated() {
                let done = Double(round * comparisons.count + index)
                progress(done / steps, "round \(round + 1) of \(count): \(comparison.name)")
                results[index].append(try Self.measure(comparison, oursFirst: round % 2 == 0))
            }
        }
        progress(1, "")
        return zip(comparisons, results).flatMap { comparison, rounds in
            comparison.measures.map { Self.figure(comparison, $0, rounds) }
        }
    }

    private static func measure(
        _ comparison: Comparison, oursFirst: Bool
    ) throws -> (ours: [String: Double], theirs: [String: Double]) {
        var result: (ours: [String: Double], theirs: [String: Double]) = ([:], [:])
        for isOurs in [oursFirst, !oursFirst] {
            guard let run = isOurs ? comparison.ours : comparison.theirs else { continue }
            let values = try run()
            for measure in comparison.measures where values[measure.name] == nil {
                throw BenchError("\(comparison.figureName(measure)) was not measured")
            }
            if isOurs { result.ours = values } else { result.theirs = values }
        }
        return result
    }

    private static func figure(
        _ comparison: Comparison, _ measure: Comparison.Measure,
        _ rounds: [(ours: [String: Double], theirs: [String: Double])]
    ) -> Figure {
        let ours = rounds.compactMap { $0.ours[measure.name] }
        let theirs = rounds.compactMap { $0.theirs[measure.name] }
        let ratios = zip(ours, theirs).filter { $1 != 0 }.map { $0 / $1 }
        return Figure(
            name: comparison.figureName(measure), value: Statistics.median(ours), unit: measure.unit,
            peer: comparison.peer, peerValue: Statistics.median(theirs), ratio: Statistics.median(ratios))
    }
}

/// The reason why a benchmark has no figure: what failed, where, and the program's output.
package struct BenchError: Error, CustomStringConvertible {
    /// One or more sentences.
    package let description: String

    /// Creates an error with a description.
    package init(_ description: String) { self.description = description }
}
