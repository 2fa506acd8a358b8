import Glibc
public import NavMap

/// The route that the driver is asked to follow, as a hint where the fixes leave a choice.
///
/// It works on decisions, never on places: leaving the route costs a constant once, following it earns nothing, and a vehicle that has left
/// is judged like any other. So the hint settles a fork until the fixes speak, and can delay by no more than that constant what they say.
public struct RoutePrior: Sendable {
    /// Log probability of leaving the route at a place where it goes on.
    public let leavingLog: Double
    private let edges: Set<EdgeIndex>

    /// A hint.
    ///
    /// - Parameters:
    ///   - edges: the rest of the route, valid in the matcher's graph.
    ///   - followingOdds: how much likelier it is that the driver follows than leaves, at least 1.
    public init(edges: some Sequence<EdgeIndex>, followingOdds: Double = 4) {
        self.edges = Set(edges)
        leavingLog = -log(max(followingOdds.isFinite ? followingOdds : 1, 1))
    }

    /// Whether the route runs over an edge.
    @inline(__always)
    public func contains(_ edge: EdgeIndex) -> Bool { edges.contains(edge) }
}
