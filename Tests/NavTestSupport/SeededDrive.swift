package import NavGeo
package import NavMap
package import NavMatching
package import NavRouting
package import NavSimulation

/// A simulated drive and the fixes of a receiver, derived from a seed.
package struct SeededDrive: Sendable {
    /// The true states, one per fix interval.
    package let states: [DriveState]
    /// The edges driven.
    package let edges: [EdgeIndex]
    /// The receiver's fixes.
    package let fixes: [Fix]

    /// The moment at which drives start, 2026-01-01T00:00:00 UTC.
    package static let start = Timestamp(nanoseconds: 1_767_225_600_000_000_000)

    /// Creates a drive along a path; nil for a path without length.
    package init?(
        _ metric: Metric, path: DrivePath, rate: Double = 1, environment: ReceiverModel.Environment = .open,
        outages: [ClosedRange<Double>] = [], seed: UInt64 = 1
    ) {
        guard let drive = Drive(metric, edges: path.edges, from: path.start, to: path.end) else { return nil }
        states = drive.states(rate: rate)
        edges = path.edges
        fixes = ReceiverModel(environment, outages: outages).fixes(states, start: SeededDrive.start, seed: seed)
    }

    /// Creates a drive along a route; nil when the graph lacks an edge of it.
    package init?(
        _ metric: Metric, route: Route, rate: Double = 1, environment: ReceiverModel.Environment = .open,
        outages: [ClosedRange<Double>] = [], seed: UInt64 = 1
    ) {
        guard let path = DrivePath(route, graph: metric.turns.graph) else { return nil }
        self.init(metric, path: path, rate: rate, environment: environment, outages: outages, seed: seed)
    }
}

/// A clock that is advanced by tests.
package struct SimulatedClock: Sendable {
    /// The current moment.
    package private(set) var now: Timestamp

    /// Creates a clock that shows a moment.
    package init(_ now: Timestamp = SeededDrive.start) { self.now = now }

    /// Advances the clock and returns the new moment.
    @discardableResult
    package mutating func advance(_ seconds: Double) -> Timestamp {
        now = now.advanced(bySeconds: seconds)
        return now
    }
}
