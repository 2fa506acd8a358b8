import NavMap

/// The scratch memory of searches over a ``ContractionHierarchy``, for one search at a time.
public final class HierarchyWorkspace {
    /// Costs from the origins (x) and to the destinations (y), ``HierarchyMetric/unreachable`` between two searches.
    fileprivate var costs = FlatArray<SIMD2<UInt32>>(repeating: SIMD2(), count: 0)
    /// The parent vertex of a cost, or ``terminal`` plus the number of a seed.
    fileprivate var forwardParents = FlatArray<UInt32>(repeating: 0, count: 0)
    fileprivate var backwardParents = FlatArray<UInt32>(repeating: 0, count: 0)
    /// The next vertices of paths up the tree that have not merged yet.
    fileprivate var frontier = QuaternaryHeap()
    fileprivate var unpacking = UnpackingScratch()

    /// A flag in the parent of a vertex that is a seed.
    fileprivate static let terminal: UInt32 = 1 << 31

    /// Creates empty scratch memory, which grows with the first search.
    public init() {}

    fileprivate func prepare(_ vertexCount: Int) {
        guard costs.count < vertexCount else { return }
        costs = FlatArray(repeating: SIMD2(repeating: HierarchyMetric.unreachable), count: vertexCount)
        forwardParents = FlatArray(repeating: 0, count: vertexCount)
        backwardParents = FlatArray(repeating: 0, count: vertexCount)
    }
}

/// A state where a search starts or ends, with its initial cost.
package struct HierarchySeed {
    package var state: TurnState
    /// The initial cost, ms.
    package var cost: UInt32
}

/// A search for the cheapest path between two sets of states; both sides climb the elimination tree, without a queue.
package struct HierarchyQuery {
    package struct Path {
        package var cost: UInt32
        /// The number of the seeds it starts and ends at.
        var origin: Int
        var destination: Int
        /// The highest vertex on the path.
        var top: UInt32
    }

    let costs: HierarchyMetric
    let workspace: HierarchyWorkspace

    package init(_ costs: HierarchyMetric, _ workspace: HierarchyWorkspace) {
        self.costs = costs
        self.workspace = workspace
        workspace.prepare(costs.hierarchy.vertexCount)
    }

    /// Returns the cheapest path from an origin to a destination that costs less than `bound`; nil when there is none.
    package func run(from origins: [HierarchySeed], to destinations: [HierarchySeed], bound: UInt32 = .init(Int32.max))
        -> Path?
    {
        let hierarchy = costs.hierarchy
        workspace.frontier.removeAll()
        for (number, seed) in origins.enumerated() where seed.cost < bound {
            let vertex = Int(hierarchy.ranks[Int(seed.state)])
            workspace.frontier.push(UInt32(vertex), 0)
            guard seed.cost < workspace.costs[vertex].x else { continue }
            workspace.costs.base[vertex].x = seed.cost
            workspace.forwardParents[vertex] = HierarchyWorkspace.terminal | UInt32(number)
        }
        for (number, seed) in destinations.enumerated() where seed.cost < bound {
            let vertex = Int(hierarchy.ranks[Int(seed.state)])
            workspace.frontier.push(UInt32(vertex), 0)
            guard seed.cost < workspace.costs[vertex].y else { continue }
            workspace.costs.base[vertex].y = seed.cost
            workspace.backwardParents[vertex] = HierarchyWorkspace.terminal | UInt32(number)
        }
        let (cost, top) = climb(bound)
        guard cost < bound else { return nil }
        return Path(
            cost: cost, origin: seedNumber(workspace.forwardParents, top),
            destination: seedNumber(workspace.backwardParents, top), top: top)
    }

    private func seedNumber(_ parents: FlatArray<UInt32>, _ top: UInt32) -> Int {
        var vertex = top
        while true {
            let parent = parents[Int(vertex)]
            if parent & HierarchyWorkspace.terminal != 0 { return Int(parent & ~HierarchyWorkspace.terminal) }
            vertex = parent
        }
    }

    /// Visits all vertices above the seeds from the lowest up, and resets their costs.
    private func climb(_ bound: UInt32) -> (cost: UInt32, top: UInt32) {
        let hierarchy = costs.hierarchy
        let parents = hierarchy.parents.base
        let (offsets, heads, arcs) = (hierarchy.upOffsets.base, hierarchy.upHeads.base, costs.costs.base)
        let labels = workspace.costs.base
        let (forward, backward) = (workspace.forwardParents.base, workspace.backwardParents.base)
        let clean = SIMD2(repeating: HierarchyMetric.unreachable)
        var best = bound
        var top = EliminationTree.none
        var vertex = nextVertex(parents, after: nil)
        while vertex != EliminationTree.none {
            let label = labels[Int(vertex)]
            labels[Int(vertex)] = clean
            if label.x &+ label.y < best {
                best = label.x &+ label.y
                top = vertex
            }
            let start = Int(offsets[Int(vertex)])
            let end = Int(offsets[Int(vertex) + 1])
            if label.x < best {
                for arc in start..<end {
                    let cost = label.x &+ arcs[arc].x
                    let head = Int(heads[arc])
                    if cost < labels[head].x {
                        labels[head].x = cost
                        forward[head] = vertex
                    }
                }
            }
            if label.y < best {
                for arc in start..<end {
                    let cost = label.y &+ arcs[arc].y
                    let head = Int(heads[arc])
                    if cost < labels[head].y {
                        labels[head].y = cost
                        backward[head] = vertex
                    }
                }
            }
            vertex = nextVertex(parents, after: vertex)
        }
        return (best, top)
    }

    /// Returns the lowest vertex of the frontier after the paths at `visited` have advanced.
    @inline(__always)
    private func nextVertex(_ parents: UnsafeMutablePointer<UInt32>, after visited: UInt32?) -> UInt32 {
        if let visited {
            let parent = parents[Int(visited)]
            if workspace.frontier.isEmpty { return parent }
            return advance(to: parent)
        }
        return advance(to: EliminationTree.none)
    }

    private func advance(to vertex: UInt32) -> UInt32 {
        if vertex != EliminationTree.none {
            // Most steps lead to a vertex below all other paths.
            guard let least = workspace.frontier.first else { return vertex }
            if vertex < least.cost { return vertex }
            workspace.frontier.push(vertex, 0)
        }
        guard let least = workspace.frontier.popFirst()?.cost else { return EliminationTree.none }
        while workspace.frontier.first?.cost == least { _ = workspace.frontier.popFirst() }
        return least
    }

    /// Returns the states of a path in travel order, including both seeds; must be called before the next search.
    package func states(of path: Path) -> ContiguousArray<TurnState> {
        let states = costs.hierarchy.states
        var chain: ContiguousArray<UInt32> = [path.top]
        while true {
            let parent = workspace.forwardParents[Int(chain[chain.count - 1])]
            if parent & HierarchyWorkspace.terminal != 0 { break }
            chain.append(parent)
        }
        chain.reverse()
        var result: ContiguousArray<TurnState> = [states[Int(chain[0])]]
        var vertex = path.top
        while true {
            let parent = workspace.backwardParents[Int(vertex)]
            if parent & HierarchyWorkspace.terminal != 0 { break }
            chain.append(parent)
            vertex = parent
        }
        unpack(chain, into: &result)
        return result
    }

    /// Appends the states after the first vertex of a chain, up to and including the last, on the cheapest paths over
    /// lower vertices.
    func unpack(_ chain: ContiguousArray<UInt32>, into result: inout ContiguousArray<TurnState>) {
        ArcUnpacking(costs: costs).append(chain, to: &result, &workspace.unpacking)
    }
}
