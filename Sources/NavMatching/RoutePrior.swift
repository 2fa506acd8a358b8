import Glibc
public import NavMap

/// The active route as a prior where the fixes are ambiguous.
///
/// It affects decisions, never places. Leaving the route costs a constant once, following it earns nothing, and a
/// vehicle that has left it is treated like any other. The prior thus decides at a fork until the fixes do, and delays
/// their decision by no more than that constant.
public struct RoutePrior: Sendable {
    /// Log probability of leaving the route where it continues.
    public let leavingLog: Double
    private let edges: Set<EdgeIndex>

    /// Creates a prior.
    ///
    /// - Parameters:
    ///   - edges: The rest of the route, valid in the matcher's graph.
    ///   - followingOdds: The odds of the driver following the route rather than leaving it, at least 1.
    public init(edges: some Sequence<EdgeIndex>, followingOdds: Double = 4) {
        self.edges = Set(edges)
        leavingLog = -log(max(followingOdds.isFinite ? followingOdds : 1, 1))
    }

    /// Whether the route contains an edge.
    @inline(__always)
    public func contains(_ edge: EdgeIndex) -> Bool { edges.contains(edge) }
}
