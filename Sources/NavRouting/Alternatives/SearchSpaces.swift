import NavMap

/// Scratch memory for ``SearchSpaces``, of one search at a time.
final class SearchSpacesWorkspace {
    /// Costs from the origins (x) and to the destinations (y), ``HierarchyMetric/unreachable`` where unvisited.
    fileprivate(set) var costs = FlatArray<SIMD2<UInt32>>(repeating: SIMD2(), count: 0)
    /// The vertices that the costs come from, or ``terminal`` and the number of a seed.
    fileprivate(set) var parents = FlatArray<SIMD2<UInt32>>(repeating: SIMD2(), count: 0)
    /// The visited vertices: those of the climb ascending, then those of ``SearchSpaces/widen(around:)``.
    fileprivate(set) var order: ContiguousArray<UInt32> = []
    /// The search that visited each vertex last.
    fileprivate var visits = FlatArray<UInt32>(repeating: 0, count: 0)
    fileprivate var search: UInt32 = 0
    fileprivate var frontier: ContiguousArray<UInt32> = []

    /// Set in the parent of a vertex whose cost is a seed's.
    static let terminal: UInt32 = 1 << 31

    fileprivate func prepare(_ vertexCount: Int) {
        let clean = SIMD2(repeating: HierarchyMetric.unreachable)
        if costs.count < vertexCount {
            costs = FlatArray(repeating: clean, count: vertexCount)
            parents = FlatArray(repeating: SIMD2(), count: vertexCount)
            visits = FlatArray(repeating: 0, count: vertexCount)
            search = 0
        } else {
            for vertex in order { costs.base[Int(vertex)] = clean }
        }
        if search == .max {
            visits = FlatArray(repeating: 0, count: visits.count)
            search = 0
        }
        search += 1
        order.removeAll(keepingCapacity: true)
        frontier.removeAll(keepingCapacity: true)
    }
}

/// The search spaces of both sides of a query up the elimination tree, with true costs: for every vertex above an origin or a
/// destination the cheapest way from the origins to it and from it to the destinations.
///
/// Climbing gives each vertex the cheapest way over lower ones. All higher ones that it is joined with lie above the
/// same seeds, so one pass back down the visited vertices completes the costs (as in Delling, Goldberg, Nowatzyk and
/// Werneck, "PHAST", 2011). Every way from an origin to a destination leads through a vertex above both; separators
/// around the origin and around the destination are the others.
struct SearchSpaces {
    let costs: HierarchyMetric
    let workspace: SearchSpacesWorkspace
    /// The cost of the cheapest way, ``HierarchyMetric/unreachable`` without one.
    private(set) var best = HierarchyMetric.unreachable
    /// The highest vertex on it.
    private(set) var top = EliminationTree.none

    /// Searches as far as ways that cost up to `stretch` times the cheapest.
    init(
        _ costs: HierarchyMetric, _ workspace: SearchSpacesWorkspace, from origins: [HierarchySeed],
        to destinations: [HierarchySeed], stretch: Double
    ) {
        self.costs = costs
        self.workspace = workspace
        workspace.prepare(costs.hierarchy.vertexCount)
        let ranks = costs.hierarchy.ranks
        for (number, seed) in origins.enumerated() where seed.cost < HierarchyMetric.unreachable {
            let vertex = ranks[Int(seed.state)]
            workspace.frontier.append(vertex)
            guard seed.cost < workspace.costs[Int(vertex)].x else { continue }
            workspace.costs.base[Int(vertex)].x = seed.cost
            workspace.parents.base[Int(vertex)].x = SearchSpacesWorkspace.terminal | UInt32(number)
        }
        for (number, seed) in destinations.enumerated() where seed.cost < HierarchyMetric.unreachable {
            let vertex = ranks[Int(seed.state)]
            workspace.frontier.append(vertex)
            guard seed.cost < workspace.costs[Int(vertex)].y else { continue }
            workspace.costs.base[Int(vertex)].y = seed.cost
            workspace.parents.base[Int(vertex)].y = SearchSpacesWorkspace.terminal | UInt32(number)
        }
        climb(stretch)
        descend(workspace.order[...])
    }

    /// Gives costs to the vertices above a state too: separators around it, over which further ways lead.
    func widen(around state: TurnState) {
        let tree = costs.hierarchy.parents.base
        let visits = workspace.visits.base
        let start = workspace.order.count
        var vertex = costs.hierarchy.ranks[Int(state)]
        while vertex != EliminationTree.none, visits[Int(vertex)] != workspace.search {
            visits[Int(vertex)] = workspace.search
            workspace.order.append(vertex)
            vertex = tree[Int(vertex)]
        }
        descend(workspace.order[start...])
    }

    private mutating func climb(_ stretch: Double) {
        let hierarchy = costs.hierarchy
        let tree = hierarchy.parents.base
        let (offsets, heads, arcs) = (hierarchy.upOffsets.base, hierarchy.upHeads.base, costs.costs.base)
        let (labels, parents, visits) = (workspace.costs.base, workspace.parents.base, workspace.visits.base)
        var limit = HierarchyMetric.unreachable
        var vertex = advance(to: EliminationTree.none)
        while vertex != EliminationTree.none {
            workspace.order.append(vertex)
            visits[Int(vertex)] = workspace.search
            let label = labels[Int(vertex)]
            if label.x &+ label.y < best {
                best = label.x &+ label.y
                top = vertex
                limit = UInt32(min(Double(best) * stretch, Double(HierarchyMetric.unreachable)))
            }
            let range = Int(offsets[Int(vertex)])..<Int(offsets[Int(vertex) + 1])
            if label.x < limit {
                for arc in range {
                    let cost = label.x &+ arcs[arc].x
                    let head = Int(heads[arc])
                    if cost < labels[head].x {
                        labels[head].x = cost
                        parents[head].x = vertex
                    }
                }
            }
            if label.y < limit {
                for arc in range {
                    let cost = label.y &+ arcs[arc].y
                    let head = Int(heads[arc])
                    if cost < labels[head].y {
                        labels[head].y = cost
                        parents[head].y = vertex
                    }
                }
            }
            vertex = workspace.frontier.isEmpty ? tree[Int(vertex)] : advance(to: tree[Int(vertex)])
        }
    }

    /// The lowest vertex where a way up stands, with one more that stands at `vertex`.
    private func advance(to vertex: UInt32) -> UInt32 {
        if vertex != EliminationTree.none { workspace.frontier.append(vertex) }
        guard let least = workspace.frontier.min() else { return EliminationTree.none }
        workspace.frontier.removeAll { $0 == least }
        return least
    }

    /// Takes the ways over higher vertices into account, from the highest of some vertices down. All that lie above them
    /// are among them or done.
    private func descend(_ vertices: ArraySlice<UInt32>) {
        let hierarchy = costs.hierarchy
        let (offsets, heads, arcs) = (hierarchy.upOffsets.base, hierarchy.upHeads.base, costs.costs.base)
        let (labels, parents) = (workspace.costs.base, workspace.parents.base)
        for vertex in vertices.reversed() {
            var label = labels[Int(vertex)]
            var parent = parents[Int(vertex)]
            for arc in Int(offsets[Int(vertex)])..<Int(offsets[Int(vertex) + 1]) {
                let head = heads[arc]
                let over = labels[Int(head)] &+ SIMD2(arcs[arc].y, arcs[arc].x)
                if over.x < label.x {
                    label.x = over.x
                    parent.x = head
                }
                if over.y < label.y {
                    label.y = over.y
                    parent.y = head
                }
            }
            labels[Int(vertex)] = label
            parents[Int(vertex)] = parent
        }
    }

    /// Costs from the origins (x) and to the destinations (y).
    @inline(__always)
    func costs(_ vertex: UInt32) -> SIMD2<UInt32> { workspace.costs[Int(vertex)] }

    /// Returns the cost of the cheapest way over a vertex.
    @inline(__always)
    func cost(over vertex: UInt32) -> UInt32 {
        let label = workspace.costs[Int(vertex)]
        return label.x &+ label.y
    }

    /// The last vertex of the best way that lies on the way from the origins to `vertex`; nil when they part at once.
    ///
    /// A lower bound: the ways may share more inside the arc that leads on from there.
    func fork(before vertex: UInt32) -> UInt32? {
        var vertex = vertex
        while true {
            let parent = workspace.parents[Int(vertex)].x
            if parent & SearchSpacesWorkspace.terminal != 0 { return nil }
            vertex = parent
            if cost(over: vertex) == best { return vertex }
        }
    }

    /// The first vertex of the best way that lies on the way from `vertex` to the destinations.
    func merge(after vertex: UInt32) -> UInt32? {
        var vertex = vertex
        while true {
            let parent = workspace.parents[Int(vertex)].y
            if parent & SearchSpacesWorkspace.terminal != 0 { return nil }
            vertex = parent
            if cost(over: vertex) == best { return vertex }
        }
    }
}
