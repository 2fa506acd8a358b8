import NavMap

/// The costs of one ``Metric`` on the arcs of a ``ContractionHierarchy``.
///
/// An arc costs what the cheapest way between its ends over lower vertices costs, which is found triangle by triangle
/// from the lowest vertex up.
public final class HierarchyMetric: @unchecked Sendable {
    /// The topology.
    public let hierarchy: ContractionHierarchy
    /// The costs of edges and turns.
    public let metric: Metric

    /// The cost of what cannot be driven: two of them still fit 32 bits. Costs up to 24 days are told apart.
    static let unreachable = UInt32(Int32.max)

    /// Up (x) and down (y) each arc, ms.
    let costs: FlatArray<SIMD2<UInt32>>
    /// How far it is to where the loaded tiles end; nil when they end nowhere.
    private(set) var openEnds: OpenEndCosts?

    /// Customises a hierarchy on the calling thread.
    public convenience init(_ hierarchy: ContractionHierarchy, _ metric: Metric) {
        self.init(respecting: metric, hierarchy)
        let places = FlatArray<UInt32>(repeating: 0, count: hierarchy.vertexCount)
        customise(0..<hierarchy.vertexCount, places)
        openEnds = OpenEndCosts(hierarchy, metric, costs)
    }

    /// The costs of the turns alone, still without ways over lower vertices.
    private init(respecting metric: Metric, _ hierarchy: ContractionHierarchy) {
        self.hierarchy = hierarchy
        self.metric = metric
        costs = FlatArray(
            repeating: SIMD2(repeating: Self.unreachable), count: hierarchy.arcCount)
        let turns = hierarchy.turns
        for arc in 0..<turns.arcCount where metric.arcCosts[arc] != Metric.forbidden {
            let slot = hierarchy.slots[arc]
            guard slot != ContractionHierarchy.noArc else { continue }
            let edge = metric.edgeCosts[turns.edge(of: turns.arcTargets[arc]).index]
            let (sum, overflow) = metric.arcCosts[arc].addingReportingOverflow(edge)
            let cost = overflow ? Self.unreachable : min(sum, Self.unreachable)
            let index = Int(slot >> 1)
            if slot & 1 == 0 {
                costs.base[index].x = min(costs.base[index].x, cost)
            } else {
                costs.base[index].y = min(costs.base[index].y, cost)
            }
        }
    }

    /// Whether one of the turns from a state into another has exactly this cost, the second edge's included.
    @inline(__always)
    func isTurn(from state: TurnState, to next: TurnState, costing cost: UInt32) -> Bool {
        let turns = hierarchy.turns
        let edge = metric.edgeCosts[turns.edge(of: next).index]
        for arc in turns.arcs(from: state)
        where turns.arcTargets[arc] == next && metric.arcCosts[arc] != Metric.forbidden
            && metric.arcCosts[arc] &+ edge == cost
        { return true }
        return false
    }

    /// Brings the arcs of vertices to their final cost; all vertices below them are done already.
    ///
    /// - Parameter places: scratch of the calling thread, one number for each vertex.
    private func customise(_ vertices: Range<Int>, _ places: FlatArray<UInt32>) {
        let costs = costs.base
        let places = places.base
        let (upOffsets, upHeads) = (hierarchy.upOffsets.base, hierarchy.upHeads.base)
        let (downOffsets, downTails, downArcs) =
            (hierarchy.downOffsets.base, hierarchy.downTails.base, hierarchy.downArcs.base)
        for vertex in vertices {
            for arc in upOffsets[vertex]..<upOffsets[vertex + 1] { places[Int(upHeads[Int(arc)])] = arc }
            for slot in Int(downOffsets[vertex])..<Int(downOffsets[vertex + 1]) {
                let arc = Int(downArcs[slot])
                let first = costs[arc]
                let toLower = SIMD2(first.y, first.x)
                let end = Int(upOffsets[Int(downTails[slot]) + 1])
                var other = arc + 1
                while other < end {
                    let place = Int(places[Int(upHeads[other])])
                    let cost = toLower &+ costs[other]
                    costs[place] = pointwiseMin(costs[place], cost)
                    other += 1
                }
            }
        }
    }
}
