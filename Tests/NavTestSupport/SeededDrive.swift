public import NavGeo
public import NavMap
public import NavMatching
public import NavRouting
public import NavSimulation

/// A simulated drive with the fixes of a receiver, from a seed.
public struct SeededDrive: Sendable {
    /// The truth, one state per fix interval.
    public let states: [DriveState]
    /// The edges driven.
    public let edges: [EdgeIndex]
    /// The receiver's fixes.
    public let fixes: [Fix]

    /// The moment at which drives start, 2026-01-01T00:00:00 UTC.
    public static let start = Timestamp(nanoseconds: 1_767_225_600_000_000_000)

    /// Creates a drive along a path; nil for a path without length.
    public init?(
        _ metric: Metric, path: DrivePath, rate: Double = 1, environment: ReceiverModel.Environment = .open,
        outages: [ClosedRange<Double>] = [], seed: UInt64 = 1
    ) {
        guard let drive = Drive(metric, edges: path.edges, from: path.start, to: path.end) else { return nil }
        states = drive.states(rate: rate)
        edges = path.edges
        fixes = ReceiverModel(environment, outages: outages).fixes(states, start: SeededDrive.start, seed: seed)
    }

    /// Creates a drive along a route; nil when the graph lacks an edge of it.
    public init?(
        _ metric: Metric, route: Route, rate: Double = 1, environment: ReceiverModel.Environment = .open,
        outages: [ClosedRange<Double>] = [], seed: UInt64 = 1
    ) {
        guard let path = DrivePath(route, graph: metric.turns.graph) else { return nil }
        self.init(metric, path: path, rate: rate, environment: environment, outages: outages, seed: seed)
    }
}

/// A clock that tests move by hand.
public struct SimulatedClock: Sendable {
    /// The current moment.
    public private(set) var now: Timestamp

    /// Creates a clock that shows a moment.
    public init(_ now: Timestamp = SeededDrive.start) { self.now = now }

    /// Advances the clock and returns the new moment.
    @discardableResult
    public mutating func advance(_ seconds: Double) -> Timestamp {
        now = now.advanced(bySeconds: seconds)
        return now
    }
}
