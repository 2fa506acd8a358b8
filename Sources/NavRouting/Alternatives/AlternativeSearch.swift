import NavMap

/// A search for alternatives between two sets of places over a contraction hierarchy.
///
/// A candidate is the path over one via vertex: the cheapest from the origins to it and on to the destinations. Every
/// vertex that the two sides of the query visit is a via vertex. The most promising candidates are unpacked edge by
/// edge and checked against ``AlternativeCriteria``; every returned path meets all of them.
struct AlternativeSearch {
    /// The maximum number of paths unpacked per request; bounds the time of a search that finds nothing.
    static let attempts = 14

    /// The number of parts of the best path between which its surroundings are searched.
    ///
    /// On routes of 5 to 30 km in Porto, 4 parts find 0.06 alternatives more on average than 1 part, for 0.05 ms. All
    /// vertices of the map would find 0.1 more.
    static let parts = 4

    let costs: HierarchyMetric
    let criteria: AlternativeCriteria
    let ends: HierarchyEnds
    let spaces: SearchSpaces
    private let query: HierarchyQuery
    private let turns: TurnGraph

    init(_ costs: HierarchyMetric, _ criteria: AlternativeCriteria, _ ends: HierarchyEnds, _ workspace: SearchWorkspace)
    {
        self.costs = costs
        self.criteria = criteria
        self.ends = ends
        turns = costs.hierarchy.turns
        query = HierarchyQuery(costs, workspace.hierarchy)
        spaces = SearchSpaces(
            costs, workspace.spaces, from: ends.origins, to: ends.destinations, stretch: criteria.stretch)
    }

    /// A known path with its lookup tables.
    struct Known {
        let path: StatePath
        let index: PathIndex

        init(_ path: StatePath, _ turns: TurnGraph, to end: EdgePosition) {
            self.path = path
            var edges: ContiguousArray<EdgeIndex> = []
            edges.reserveCapacity(path.states.count + 1)
            for state in path.states { edges.append(turns.edge(of: state)) }
            edges.append(end.edge)
            index = PathIndex(edges, count: edges.count)
        }
    }

    /// A path that meets the criteria.
    struct Found {
        var path: StatePath
        /// The comparison with the path that alternatives are requested for.
        var comparison: PathComparison
        /// The greatest factor by which a part costs more than the best path between the same two points.
        var stretch: Double
    }

    /// Returns the cheapest path; nil when there is none.
    func best() -> StatePath? {
        guard spaces.top != EliminationTree.none else { return nil }
        return layOut(over: spaces.top, along: nil)
    }

    /// Returns up to `limit` alternatives to the path being driven, or otherwise to the best one, the most useful first.
    ///
    /// If the path being driven is not the best one, the best one is the first alternative, provided that it differs enough.
    ///
    /// - Parameter accepting: A further condition on paths.
    func run(
        limit: Int, best: StatePath, current: StatePath?, accepting: (StatePath) -> Bool = { _ in true }
    ) -> [Found] {
        let best = Known(best, turns, to: end(of: best))
        var known = [best]
        var found: [Found] = []
        guard limit > 0 else { return [] }
        if let current {
            known.insert(Known(current, turns, to: end(of: current)), at: 0)
            if accepting(best.path), let (comparison, stretch) = compare(best.path, with: known[0...0], best) {
                found.append(Found(path: best.path, comparison: comparison, stretch: stretch))
            }
        }
        widen(along: best.path)
        var attempts = 0
        for candidate in candidates() {
            guard found.count < limit, attempts < Self.attempts else { break }
            attempts += 1
            guard let path = layOut(over: candidate, along: best),
                let (comparison, stretch) = compare(path, with: known[...], best), !turnsBack(path, best),
                accepting(path), isLocallyOptimal(path)
            else { continue }
            known.append(Known(path, turns, to: end(of: path)))
            found.append(Found(path: path, comparison: comparison, stretch: stretch))
        }
        return found
    }

    /// Also searches the separators around some places on the best path.
    private func widen(along path: StatePath) {
        var next = 1
        for (index, cost) in path.costs.enumerated() where next < Self.parts {
            guard UInt64(cost) * UInt64(Self.parts) >= UInt64(path.cost) * UInt64(next) else { continue }
            spaces.widen(around: path.states[index])
            next += 1
        }
    }

    // MARK: Candidates

    /// A group of vertices on the same path.
    private struct Group {
        var objective: Int64
        var vertex: UInt32
    }

    /// Returns via vertices, the most promising first, one for each path.
    ///
    /// The order is that of Abraham et al.: twice the cost, plus the cost shared with the best path, minus the plateau.
    /// The plateau is the part that the cheapest path from the origins and the one to the destinations have in common.
    private func candidates() -> ContiguousArray<UInt32> {
        let best = spaces.best
        let limit = UInt32(min(Double(best) * criteria.stretch, Double(HierarchyMetric.unreachable - 1)))
        let greatestShared = Double(best) * criteria.sharing
        var keys: ContiguousArray<(cost: UInt32, x: UInt32, vertex: UInt32, shared: UInt32)> = []
        for vertex in spaces.workspace.order {
            let label = spaces.costs(vertex)
            let cost = label.x &+ label.y
            guard cost <= limit, cost > best else { continue }
            var shared: UInt32 = 0
            if let fork = spaces.fork(before: vertex) { shared += spaces.costs(fork).x }
            if let merge = spaces.merge(after: vertex) { shared += spaces.costs(merge).y }
            guard Double(shared) <= greatestShared,
                Double(cost - shared) <= criteria.detourStretch * Double(best - min(shared, best))
            else { continue }
            keys.append((cost, label.x, vertex, shared))
        }
        keys.sort { ($0.cost, $0.x, $0.vertex) < ($1.cost, $1.x, $1.vertex) }
        var groups: ContiguousArray<Group> = []
        var start = 0
        while start < keys.count {
            var end = start + 1
            while end < keys.count, keys[end].cost == keys[start].cost { end += 1 }
            let plateau = Int64(keys[end - 1].x) - Int64(keys[start].x)
            let middle = keys[(start + end) / 2]
            groups.append(
                Group(objective: 2 * Int64(middle.cost) + Int64(middle.shared) - plateau, vertex: middle.vertex))
            start = end
        }
        groups.sort { ($0.objective, $0.vertex) < ($1.objective, $1.vertex) }
        return ContiguousArray(groups.lazy.map(\.vertex))
    }

    // MARK: Unpacking

    /// Unpacks the path over a vertex; the parts that follow the best path are copied from there.
    private func layOut(over via: UInt32, along best: Known?) -> StatePath? {
        let parents = spaces.workspace.parents
        let states = costs.hierarchy.states
        var path = StatePath()
        path.cost = spaces.cost(over: via)
        // Backwards to where the best path is left, or to the origin.
        var chain: ContiguousArray<UInt32> = [via]
        while true {
            let vertex = chain[chain.count - 1]
            if let best, let place = place(of: vertex, on: best), best.path.costs[place] == spaces.costs(vertex).x {
                path.states.append(contentsOf: best.path.states[...place])
                path.costs.append(contentsOf: best.path.costs[...place])
                path.origin = best.path.origin
                break
            }
            let parent = parents[Int(vertex)].x
            if parent & SearchSpacesWorkspace.terminal != 0 {
                path.origin = Int(parent & ~SearchSpacesWorkspace.terminal)
                path.states.append(states[Int(vertex)])
                path.costs.append(spaces.costs(vertex).x)
                break
            }
            chain.append(parent)
        }
        chain.reverse()
        // Forwards to where the best path is rejoined, or to the destination.
        var vertex = via
        var rest: ArraySlice<TurnState> = []
        while true {
            if let best, let place = place(of: vertex, on: best),
                best.path.cost - best.path.costs[place] == spaces.costs(vertex).y
            {
                rest = ArraySlice(best.path.states[(place + 1)...])
                path.destination = best.path.destination
                break
            }
            let parent = parents[Int(vertex)].y
            if parent & SearchSpacesWorkspace.terminal != 0 {
                path.destination = Int(parent & ~SearchSpacesWorkspace.terminal)
                break
            }
            chain.append(parent)
            vertex = parent
        }
        var unpacked: ContiguousArray<TurnState> = []
        query.unpack(chain, into: &unpacked)
        path.states.reserveCapacity(path.states.count + unpacked.count + rest.count)
        path.costs.reserveCapacity(path.states.count + unpacked.count + rest.count)
        for state in unpacked { path.append(state, costs.metric) }
        for state in rest { path.append(state, costs.metric) }
        // Rejects a path whose costs exceeded the range of a label.
        guard let last = path.costs.last, last <= path.cost else { return nil }
        return path
    }

    private func place(of vertex: UInt32, on best: Known) -> Int? {
        let state = costs.hierarchy.states[Int(vertex)]
        guard let place = best.index.place(of: turns.edge(of: state)), place < best.path.states.count,
            best.path.states[place] == state
        else {
            return nil
        }
        return place
    }

    // MARK: Criteria

    /// Compares a path with the first of `known`; returns nil when it costs too much or shares too much with any of them.
    private func compare(
        _ path: StatePath, with known: ArraySlice<Known>, _ best: Known
    ) -> (PathComparison, stretch: Double)? {
        let greatestShared = Double(best.path.cost) * criteria.sharing
        var first: PathComparison?
        for other in known {
            let comparison = compare(path, with: other)
            guard Double(comparison.shared) <= greatestShared, comparison.longestPiece >= criteria.detour,
                comparison.forks <= criteria.forks
            else { return nil }
            if first == nil { first = comparison }
        }
        let stretch = compare(path, with: best).stretch
        guard stretch <= criteria.detourStretch else { return nil }
        return first.map { ($0, stretch) }
    }

    private func compare(_ path: StatePath, with other: Known) -> PathComparison {
        PathComparison(
            path, with: other.path, other.index, turns, to: end(of: path),
            skipped: ends.originPlaces[path.origin].offset)
    }

    private func end(of path: StatePath) -> EdgePosition { ends.destinationPlaces[ends.places[path.destination]] }

    /// Whether every part within the local optimality limit is a cheapest path.
    ///
    /// The part up to the last vertex on a cheapest path from the origin is optimal, and so is the part from the first
    /// vertex on a cheapest path to the destination. One query across both decides the rest: the T-test of Abraham et
    /// al. with the known plateau.
    private func isLocallyOptimal(_ path: StatePath) -> Bool {
        let ranks = costs.hierarchy.ranks
        var (first, last) = (path.states.count - 1, 0)
        for (index, state) in path.states.enumerated() {
            let label = spaces.costs(ranks[Int(state)])
            if label.x == path.costs[index] { last = index }
            if label.y == path.cost - path.costs[index], index < first { first = index }
        }
        let reach = UInt32(Double(spaces.best) * criteria.localOptimality)
        guard first <= last else { return false }
        if path.costs[last] - path.costs[first] >= reach { return true }
        var start = first
        while start > 0, path.costs[start - 1] + reach >= path.costs[last] { start -= 1 }
        var end = last
        while end + 1 < path.states.count, path.costs[end + 1] <= path.costs[first] + reach { end += 1 }
        let origin = HierarchySeed(state: path.states[start], cost: 0)
        if path.cost <= path.costs[first] + reach {
            let place = ends.places[path.destination]
            let seeds = zip(ends.destinations, ends.places).filter { $0.1 == place }.map(\.0)
            return query.run(from: [origin], to: seeds, bound: path.cost - path.costs[start]) == nil
        }
        let goal = HierarchySeed(state: path.states[end], cost: 0)
        return query.run(from: [origin], to: [goal], bound: path.costs[end] - path.costs[start]) == nil
    }

    /// Whether a path passes a crossing twice or makes a U-turn where the best path does not.
    private func turnsBack(_ path: StatePath, _ best: Known) -> Bool {
        let graph = turns.graph
        var nodes = PathIndex(EmptyCollection(), count: path.states.count + 2)
        var isShared: [Bool] = []
        isShared.reserveCapacity(path.states.count)
        for (index, state) in path.states.enumerated() {
            let edge = turns.edge(of: state)
            isShared.append(best.index.place(of: edge) != nil)
            if index == 0 { nodes.insert(graph.edgeTails[edge.index].rawValue, 0) }
            if let before = nodes.insert(graph.edgeHeads[edge.index].rawValue, UInt32(index)),
                !isShared[index] || !isShared[before]
            {
                return true
            }
        }
        guard let last = path.states.last, let bestLast = best.path.states.last else { return false }
        let back = graph.opposite(end(of: path).edge)
        return back == turns.edge(of: last) && (turns.edge(of: bestLast) != back || end(of: best.path) != end(of: path))
    }
}
