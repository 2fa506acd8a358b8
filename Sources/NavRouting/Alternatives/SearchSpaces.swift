import NavMap

/// The scratch memory of ``SearchSpaces``, for one search at a time.
final class SearchSpacesWorkspace {
    /// Costs from the origins (x) and to the destinations (y), ``HierarchyMetric/unreachable`` where unvisited.
    fileprivate(set) var costs = FlatArray<SIMD2<UInt32>>(repeating: SIMD2(), count: 0)
    /// The parent vertex of each cost, or ``terminal`` plus the number of a seed.
    fileprivate(set) var parents = FlatArray<SIMD2<UInt32>>(repeating: SIMD2(), count: 0)
    /// The visited vertices: those of the upward search in ascending order, then those of ``SearchSpaces/widen(around:)``.
    fileprivate(set) var order: ContiguousArray<UInt32> = []
    /// The number of the last search that visited each vertex.
    fileprivate var visits = FlatArray<UInt32>(repeating: 0, count: 0)
    fileprivate var search: UInt32 = 0
    fileprivate var frontier: ContiguousArray<UInt32> = []

    /// A flag in the parent of a vertex whose cost comes from a seed.
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

/// The search spaces of both sides of a query up the elimination tree, with exact costs.
///
/// For every vertex above an origin or a destination they hold the cheapest path from the origins to it and from it to
/// the destinations.
///
/// The upward pass gives each vertex the cheapest path over lower vertices. All higher neighbours lie above the same
/// seeds, so one downward pass over the visited vertices completes the costs (as in Delling, Goldberg, Nowatzyk and
/// Werneck, "PHAST", 2011). Every path from an origin to a destination crosses a vertex above both; the other visited
/// vertices are separators around either end.
struct SearchSpaces {
    let costs: HierarchyMetric
    let workspace: SearchSpacesWorkspace
    /// The cost of the cheapest path; ``HierarchyMetric/unreachable`` when there is none.
    private(set) var best = HierarchyMetric.unreachable
    /// The highest vertex on it.
    private(set) var top = EliminationTree.none

    /// Searches for paths that cost up to `stretch` times the cheapest.
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

    /// Also computes costs for the vertices above a state: separators around it, which further paths cross.
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

    /// Adds a vertex to the frontier, then removes and returns the frontier's lowest vertex.
    private func advance(to vertex: UInt32) -> UInt32 {
        if vertex != EliminationTree.none { workspace.frontier.append(vertex) }
        guard let least = workspace.frontier.min() else { return EliminationTree.none }
        workspace.frontier.removeAll { $0 == least }
        return least
    }

    /// Adds paths over higher vertices, from the highest of some vertices down.
    ///
    /// All vertices above them must be included or already processed.
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

    /// Returns the costs from the origins (x) and to the destinations (y).
    @inline(__always)
    func costs(_ vertex: UInt32) -> SIMD2<UInt32> { workspace.costs[Int(vertex)] }

    /// Returns the cost of the cheapest path over a vertex.
    @inline(__always)
    func cost(over vertex: UInt32) -> UInt32 {
        let label = workspace.costs[Int(vertex)]
        return label.x &+ label.y
    }

    /// Returns the last vertex that the best path shares with the path from the origins to `vertex`; nil when they
    /// diverge at once.
    ///
    /// A lower bound: the paths may share more inside the next arc.
    func fork(before vertex: UInt32) -> UInt32? {
        var vertex = vertex
        while true {
            let parent = workspace.parents[Int(vertex)].x
            if parent & SearchSpacesWorkspace.terminal != 0 { return nil }
            vertex = parent
            if cost(over: vertex) == best { return vertex }
        }
    }

    /// Returns the first vertex that the best path shares with the path from `vertex` to the destinations.
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
