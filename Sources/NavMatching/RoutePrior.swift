import Glibc
public import NavMap

/// The active route as a prior where the fixes are ambiguous.
///
/// It affects decisions, never places. Leaving the route has a constant cost, following it has no bonus, and a vehicle
/// that has left it is treated like any other. The prior thus decides at a fork until the fixes do, and delays their
/// decision by no more than that constant.
public struct RoutePrior: Sendable {
    /// Log probability of leaving the route where it continues: four drivers follow it for one who does not.
    public let leavingLog = -log(4.0)
    private let edges: Set<EdgeIndex>

    /// Creates a prior.
    ///
    /// - Parameter edges: The rest of the route, valid in the matcher's graph.
    public init(edges: some Sequence<EdgeIndex>) { self.edges = Set(edges) }

    /// Whether the route contains an edge.
    @inline(__always)
    public func contains(_ edge: EdgeIndex) -> Bool { edges.contains(edge) }
}
