import NavMap

/// The costs from every state to the open ends of the loaded tiles, for one metric.
///
/// A route over missing tiles leaves the loaded ones at one open end and returns at another, so the two least costs
/// give a lower bound of its cost with one lookup per query. They are computed by two sweeps over the hierarchy for
/// each direction (Delling, Goldberg, Nowatzyk and Werneck, "PHAST", 2011).
struct OpenEndCosts: Sendable {
    /// Costs from the end of the state's edge to a node where outgoing edges may be missing.
    private let leavingCosts: FlatArray<UInt32>
    /// Costs from a node where incoming edges may be missing to the end of the state's edge.
    private let returningCosts: FlatArray<UInt32>

    /// Returns the leaving cost of a vertex, given by its rank, ms; ``HierarchyMetric/unreachable`` when there is none.
    @inline(__always)
    func leaving(_ vertex: UInt32) -> UInt32 { leavingCosts[Int(vertex)] }

    /// Returns the returning cost of a vertex, given by its rank, ms; ``HierarchyMetric/unreachable`` when there is
    /// none.
    @inline(__always)
    func returning(_ vertex: UInt32) -> UInt32 { returningCosts[Int(vertex)] }

    /// Nil when there are no open ends.
    init?(_ hierarchy: ContractionHierarchy, _ metric: Metric, _ arcs: FlatArray<SIMD2<UInt32>>) {
        let graph = hierarchy.turns.graph
        let count = hierarchy.vertexCount
        leavingCosts = FlatArray(repeating: HierarchyMetric.unreachable, count: count)
        returningCosts = FlatArray(repeating: HierarchyMetric.unreachable, count: count)
        var isOpen = false
        for vertex in 0..<count {
            let edge = hierarchy.turns.edge(of: hierarchy.states[vertex])
            guard metric.allows(edge) else { continue }
            if graph.lacksDepartures(graph.edgeHeads[edge.index]) {
                leavingCosts[vertex] = 0
                isOpen = true
            }
            if graph.lacksArrivals(graph.edgeTails[edge.index]) {
                returningCosts[vertex] = min(metric.cost(of: edge), HierarchyMetric.unreachable)
                isOpen = true
            }
        }
        guard isOpen else { return nil }
        let (offsets, heads, costs) = (hierarchy.upOffsets.base, hierarchy.upHeads.base, arcs.base)
        let (leaving, returning) = (leavingCosts.base, returningCosts.base)
        for vertex in 0..<count {
            for arc in Int(offsets[vertex])..<Int(offsets[vertex + 1]) {
                let head = Int(heads[arc])
                leaving[head] = min(leaving[head], leaving[vertex] &+ costs[arc].y)
                returning[head] = min(returning[head], returning[vertex] &+ costs[arc].x)
            }
        }
        for vertex in stride(from: count - 1, through: 0, by: -1) {
            for arc in Int(offsets[vertex])..<Int(offsets[vertex + 1]) {
                let head = Int(heads[arc])
                leaving[vertex] = min(leaving[vertex], leaving[head] &+ costs[arc].x)
                returning[vertex] = min(returning[vertex], returning[head] &+ costs[arc].y)
            }
        }
    }
}
