import NavMap

/// Finds alternatives between two sets of places over a contraction hierarchy.
///
/// Candidates are ways over one via vertex each, the cheapest from the origins to it and on to the destinations, for
/// all vertices that the two sides of the query visit. The most promising are laid out edge by edge and checked for all
/// ``AlternativeCriteria``; what is returned satisfies every one of them.
struct AlternativeSearch {
    /// Ways that are laid out at most for each request; bounds the time of a search that finds nothing.
    static let attempts = 14

    /// Into how many parts the best way is cut for places to look around. On Porto's 5 to 30 km, 4 find 0.06 routes more
    /// than 1 on average for 0.05 ms; all vertices of the map would find 0.1 more.
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

    /// The best way and what of it is looked up.
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

    /// A way that satisfies the criteria.
    struct Found {
        var path: StatePath
        /// The comparison with the way that alternatives are asked for.
        var comparison: PathComparison
        /// The greatest factor by which a part costs more than the best way between the same two points.
        var stretch: Double
    }

    /// The cheapest way; nil without one.
    func best() -> StatePath? {
        guard spaces.top != EliminationTree.none else { return nil }
        return layOut(over: spaces.top, along: nil)
    }

    /// Up to `limit` alternatives to a way that is being driven, or else to the best one, the most useful first.
    ///
    /// Where the way that is being driven is not the best one, the best one is the first alternative if it differs
    /// enough.
    ///
    /// - Parameter accepting: What else a way must satisfy.
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

    /// Looks at the separators around some places on the best way too.
    private func widen(along path: StatePath) {
        var next = 1
        for (index, cost) in path.costs.enumerated() where next < Self.parts {
            guard UInt64(cost) * UInt64(Self.parts) >= UInt64(path.cost) * UInt64(next) else { continue }
            spaces.widen(around: path.states[index])
            next += 1
        }
    }

    // MARK: Candidates

    /// A group of vertices over which the same way leads.
    private struct Group {
        var objective: Int64
        var vertex: UInt32
    }

    /// Via vertices, the most promising first, one for each way.
    ///
    /// The order is that of Abraham et al.: twice the cost, plus what is shared with the best way, less the plateau: the
    /// part where the cheapest way from the origins and the one to the destinations agree.
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

    // MARK: Laying out

    /// The way over a vertex. Where it follows the best way, it is copied from there.
    private func layOut(over via: UInt32, along best: Known?) -> StatePath? {
        let parents = spaces.workspace.parents
        let states = costs.hierarchy.states
        var path = StatePath()
        path.cost = spaces.cost(over: via)
        // Back to where the best way is left, or to the origin.
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
        // On to where the best way is met again, or to the destination.
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
        // Costs beyond what a label can hold would have ended the sum elsewhere.
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

    /// Returns the comparison of a way with the first of `known`; nil when it costs too much or shares too much with any.
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

    /// Whether every part that costs no more than the criterion's share of the best way is a cheapest way.
    ///
    /// The part up to the last vertex that lies on a cheapest way from the origin, and the one from the first that lies
    /// on a cheapest way to the destination, are cheapest ways themselves; what is left to ask is one query around both
    /// (the T-test of Abraham et al., with the plateau that is already known).
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

    /// Whether a way passes a crossing twice or turns round where the best way does not.
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
